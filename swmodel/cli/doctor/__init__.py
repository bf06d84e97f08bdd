"""What this installation can do, with advice on what is missing or broken."""

from __future__ import annotations

import sys

from ...errors import SetupError
from ...parallel import environment
from .findings import Finding, machine, one_process, packages
from .several import several_devices, several_processes, transports

__all__ = ["Finding", "report"]


def report(console=None) -> int:
    """Print a table of all findings; returns 0 if everything that is installed works, 3 if something does not.

    MPI and the packages for films may be missing: the model runs on one process without them.
    """
    from rich.console import Console

    console = console or Console()
    environment.prepare()
    broken = False
    for title, examine in (
        ("Packages", packages),
        ("Machine", machine),
        ("One process", one_process),
        ("Several processes (MPI)", several_processes),
        ("Several devices (sharded)", several_devices),
        ("Which transport", transports),
    ):
        findings = list(examine())
        broken = broken or any(finding.broken for finding in findings)
        console.print(table(title, findings))
        sys.stdout.flush()
    console.print("Something does not work: see the lines marked ✗." if broken else "Ready.")
    return SetupError.exit_code if broken else 0


def table(title: str, findings: list[Finding]):
    """The findings as a table, each with its advice below."""
    from rich.table import Table
    from rich.text import Text

    rows = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1))
    rows.add_column(width=1)
    rows.add_column(min_width=16)
    rows.add_column(overflow="fold")
    for finding in findings:
        mark, style = ("✗", "red") if finding.broken else ("–", "yellow") if finding.advice else ("✓", "green")
        rows.add_row(Text(mark, style), Text(finding.what), Text(finding.found))
        if finding.advice:
            rows.add_row("", "", Text(f"→ {finding.advice}", style))
    return rows
