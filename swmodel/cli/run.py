"""`swmodel run`: check a configuration, then run it on one process or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import swmodel

from . import options
from .start import start_task

if TYPE_CHECKING:
    from ..config.options.model import Config


@click.command()
@options.common_options
@options.distributed_options
@click.option("--reproducible", is_flag=True, help="Make xla give the same bits on any number of processes; slower.")
@options.walltime
def run(**arguments):
    """Run a case, a case file (.py) or a configuration (.toml).

    \b
    swmodel run jet
    swmodel run my_case.py -s case.speed=3
    swmodel run jet -s grid.nx=90 -s grid.ny=45 --days 3 --output outputs/small
    swmodel run jet --transport sharded --nproc 2 --devices 2
    swmodel run my.toml --force
    swmodel run my.toml --from outputs/spinup --days 30
    mpiexec -n 4 swmodel run jet

    With --from a new run starts at step 0, with the date of that state. Grid and tracers must be the
    same; depth, coefficients, forcing, time step and precision may differ.

    Exit codes: 0 done, 2 usage or configuration, 3 environment, 4 the solution blew up, 5 files, 70 internal, 75
    stopped and resumable; docs/exit-codes.md has more.
    """
    start_task("run", **arguments)


def compute(config: Config, directory, options, report, command_line, watch):
    """The task `run`; see `cli.tasks.TASK_MODULES`. The option `restart` is the path of a restart file."""
    from ..model.run import run

    restart = options.get("restart")
    simulation = swmodel.Simulation(config, restart=restart)
    watch(lambda: simulation.step)
    run(simulation, directory, report, command_line, resume=restart is not None)


def summary(directory) -> str:
    """A text with the files, the duration and the speed of the run, and the command that draws its results."""
    from ..files.status import read_status
    from ..model import progress

    return progress.summary(read_status(directory), directory)
