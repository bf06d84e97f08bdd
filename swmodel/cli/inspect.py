"""`swmodel info` and `swmodel doctor`: describe a run, and check this installation."""

from __future__ import annotations

import click

from ..parallel import environment
from .options import PATH


@click.command()
@click.argument("path", metavar="DIR|FILE|CONFIG", type=PATH)
@click.option("--kernel", is_flag=True, help="Describe the native step of a configuration.")
@click.option("--verify", is_flag=True, help="Compare all files with their checksums.")
def info(path, kernel, verify):
    """Describe a run, one of its files or a configuration, or verify the files of a run.

    \b
    swmodel info outputs/jet
    swmodel info outputs/jet --verify
    swmodel info jet
    """
    from .. import cases

    if kernel and verify:
        raise click.UsageError("--kernel describes a configuration, --verify checks files: choose one of them")
    if kernel:
        print_kernel(str(path))
    elif verify:
        from ..files.verify import require_intact, verdicts

        verdict_of_file = verdicts(path)
        for name, verdict in verdict_of_file.items():
            click.echo(f"{name}: {verdict}")
        require_intact(path, verdict_of_file)
    elif path.suffix in (".toml", ".py") or (str(path) in cases.names() and not path.exists()):
        print_setup(str(path))
    else:
        from ..plotting.info import describe_results

        click.echo(describe_results(path))


def print_setup(source: str):
    """Print what a run of a configuration will compute."""
    from ..config import load
    from ..model.validate import check_setup
    from ..setup.describe import describe_setup
    from ..setup.setup import setup_of

    environment.prepare_environment()
    click.echo(describe_setup(check_setup(setup_of(load(source)), unattended=True)))


def print_kernel(source: str):
    """Print what the native step of a configuration computes, and its expected share of the memory bandwidth."""
    from ..config import load
    from ..errors import SetupError
    from ..model.resolve import resolve_setup
    from ..setup.setup import setup_of

    setup = setup_of(load(source))
    environment.prepare_environment()
    from ..bench.expected_bandwidth import describe_expected_share
    from ..executors.native.step_table import describe_step

    click.echo(describe_step(setup))
    try:
        click.echo(describe_expected_share(resolve_setup(setup)))
    except (ImportError, SetupError) as error:
        click.echo(f"expected     not measured: {error}")


@click.command()
def doctor():
    """Check this installation, with exchanges between two processes."""
    from .doctor import print_report

    click.get_current_context().exit(print_report())
