"""The report of `swmodel doctor`: what this installation can do, and advice about missing or broken parts."""

from __future__ import annotations

import sys

from ...errors import SetupError
from ...parallel import environment
from .distributed import check_mpi, check_sharded, describe_transports
from .findings import Finding, check_one_process, check_packages, describe_machine

__all__ = ["print_report"]


def print_report() -> int:
    """Print all findings in tables; returns 3 if a required package is missing or an installed part fails, else 0.

    MPI and the packages for animations may be missing, because the model runs on one process without them.
    """
    from rich.console import Console

    console, is_broken = Console(), False
    environment.prepare_environment()
    for title, check in (
        ("Packages", check_packages),
        ("Machine", describe_machine),
        ("One process", check_one_process),
        ("Several processes (MPI)", check_mpi),
        ("Several devices (sharded)", check_sharded),
        ("Which transport", describe_transports),
    ):
        findings = list(check())
        is_broken = is_broken or any(finding.is_broken for finding in findings)
        console.print(make_table(title, findings))
        sys.stdout.flush()
    console.print("Something does not work: see the rows marked ✗." if is_broken else "Ready.")
    return SetupError.exit_code if is_broken else 0


def make_table(title: str, findings: list[Finding]):
    """The findings as a table, each with its advice below."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1))
    table.add_column(width=1)
    table.add_column(min_width=16)
    table.add_column(overflow="fold")
    for finding in findings:
        mark, style = ("✗", "red") if finding.is_broken else ("–", "yellow") if finding.advice else ("✓", "green")
        table.add_row(Text(mark, style), Text(finding.subject), Text(finding.result))
        if finding.advice:
            table.add_row("", "", Text(f"→ {finding.advice}", style))
    return table
