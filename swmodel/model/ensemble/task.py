"""The task `ensemble`: all members from their start, or from a restart file, to the end of the configuration."""

from __future__ import annotations

from pathlib import Path

from ...files.run_folder import ENSEMBLE
from ...files.status import read_status
from .. import progress


def compute(config, directory, options, report, command_line, watch) -> None:
    """Write ensemble.nc and ensemble.png, by the time loop of runs; see `cli.job.TASK_MODULES`.

    The option `restart` is the path of a restart file.
    """
    from ...plotting.maps import draw_results
    from ..run import run
    from .members import Members

    restart = options.get("restart")
    members = Members(config, restart)
    watch(lambda: members.step)
    run(members, directory, report, command_line, resume=restart is not None)
    if members.transport.rank == 0:
        draw_results(Path(directory) / ENSEMBLE)


def summary(directory) -> str:
    """How long it took, how fast it was, and what to type next."""
    spread = f"Spread: swmodel plot {Path(directory) / ENSEMBLE} --field eta_spread"
    return f"{progress.summary(read_status(directory), directory)}\n{spread}"
