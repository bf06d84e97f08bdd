"""The task `run`: a simulation from its start, or from a restart file, to the end of its configuration."""

from __future__ import annotations


def compute(config, directory, options, report, command_line, watch):
    """Run the model; see `cli.job.TASKS`. The option `restart` is the path of a restart file."""
    import swmodel

    from ..model.run import run

    restart = options.get("restart")
    simulation = swmodel.Simulation(config, restart)
    watch(lambda: simulation.step)
    run(simulation, directory, report, command_line, resume=restart is not None)


def summary(directory) -> str:
    """How long the run took, and what to type next."""
    from ..files.status import read_status
    from ..model import progress

    return progress.summary(read_status(directory), directory)
