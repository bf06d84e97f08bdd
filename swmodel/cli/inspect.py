"""`swmodel info` and `swmodel doctor`: what a run holds, and what this installation can do."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("path", metavar="DIR|FILE.nc|CONFIG", type=click.Path(path_type=Path))
@click.option("--kernel", is_flag=True, help="Describe the native step of a case or a configuration: what it computes.")
@click.option("--verify", is_flag=True, help="Read all files through, and compare them with their checksums.")
def info(path, kernel, verify):
    """Describe a run or a NetCDF file: grid, time, fields, state; or verify that its files are intact."""
    if kernel:
        if verify:
            raise click.UsageError("--verify is of files, --kernel of a configuration")
        describe_kernel(str(path))
        return
    if verify:
        from ..files.verify import require_intact, verdicts

        found = verdicts(path)
        for name, verdict in found.items():
            click.echo(f"{name}: {verdict}")
        require_intact(path, found)
        return
    from ..plotting.info import describe_results

    click.echo(describe_results(path))


def describe_kernel(source: str):
    """Print what the native step of a configuration computes, and its expected share of the memory bandwidth."""
    from ..config import load
    from ..errors import SetupError
    from ..model.resolve import resolved
    from ..parallel import environment
    from ..setup.setup import setup_of

    setup = setup_of(load(source))
    environment.prepare()
    from ..bench.expected import expect
    from ..executors.native.describe import describe

    click.echo(describe(setup))
    try:
        click.echo(expect(resolved(setup)))
    except (ImportError, SetupError) as error:
        click.echo(f"expected     not measured: {error}")


@click.command()
def doctor():
    """Check this installation, with exchanges between two processes by MPI and without."""
    from ..parallel import xla_flags
    from .doctor import report

    xla_flags.check_flags()
    click.get_current_context().exit(report())
