"""`swmodel info` and `swmodel doctor`: what a run holds, and what this installation can do."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("path", metavar="DIR|FILE.nc", type=click.Path(path_type=Path))
def info(path):
    """Describe a run or a NetCDF file: grid, time, fields, state."""
    from ..info import describe

    click.echo(describe(path))


@click.command()
def doctor():
    """Check this installation, with exchanges between two processes by MPI and without."""
    from .. import xla_flags
    from ..doctor import report

    xla_flags.check()
    click.get_current_context().exit(report())
