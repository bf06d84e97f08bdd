"""`swmodel info` and `swmodel doctor`: what a run holds, and what this installation can do."""

from __future__ import annotations

import click

from ..parallel import environment
from .options import PATH


@click.command()
@click.argument("path", metavar="DIR|FILE|CONFIG", type=PATH)
@click.option("--kernel", is_flag=True, help="Describe the native step of a configuration.")
@click.option("--verify", is_flag=True, help="Compare all files with their checksums.")
def info(path, kernel, verify):
    """Describe a run, a file of one or a configuration; verify files.

    \b
    swmodel info outputs/jet
    swmodel info outputs/jet --verify
    swmodel info jet
    """
    from ..cases import names

    if kernel and verify:
        raise click.UsageError("--kernel or --verify, not both: one is of a configuration, the other of files")
    if kernel:
        describe_kernel(str(path))
    elif verify:
        from ..files.verify import require_intact, verdicts

        found = verdicts(path)
        for name, verdict in found.items():
            click.echo(f"{name}: {verdict}")
        require_intact(path, found)
    elif path.suffix in (".toml", ".py") or (str(path) in names() and not path.exists()):
        describe_setup(str(path))
    else:
        from ..plotting.info import describe_results

        click.echo(describe_results(path))


def describe_setup(source: str):
    """Print what a run of a configuration will compute."""
    from ..config import load
    from ..model.validate import check
    from ..setup.describe import describe
    from ..setup.setup import setup_of

    environment.prepare()
    click.echo(describe(check(setup_of(load(source)), to_the_end=True)))


def describe_kernel(source: str):
    """Print what the native step of a configuration computes, and its expected share of the memory bandwidth."""
    from ..config import load
    from ..errors import SetupError
    from ..model.resolve import resolved
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
    """Check this installation, with exchanges between two processes."""
    from .doctor import report

    click.get_current_context().exit(report())
