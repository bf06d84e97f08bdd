"""The task `ensemble`: all members, from their start or a restart file to the end of the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...files.run_folder import ENSEMBLE
from ...files.status import read_status
from .. import progress

if TYPE_CHECKING:
    from ...config.options.model import Config


def compute(config: Config, directory, options, report, command_line, watch) -> None:
    """Run the members from step 0, or from the restart file options["restart"]; write ensemble.nc and ensemble.png.

    For the arguments see `cli.tasks.TASK_MODULES`.
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
    """Files, wall time and speed, and the next commands, in words."""
    spread = f"Spread of a field NAME: swmodel plot {Path(directory) / ENSEMBLE} --field NAME_spread"
    return f"{progress.summary(read_status(directory), directory)}\n{spread}"
