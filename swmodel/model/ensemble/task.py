"""The task `ensemble`: all members from their start, or from a restart file, to the end of the configuration."""

from __future__ import annotations

from pathlib import Path

from ...files.run_folder import CONFIG, ENSEMBLE, RESTARTS
from ...files.status import NAME as STATUS
from ...files.status import read_status
from ..progress import workers

PICTURE = "ensemble.png"


def compute(config, directory, options, report, command_line, watch) -> None:
    """Write ensemble.nc and ensemble.png, by the time loop of runs; see `cli.job.TASKS`.

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
    status, directory = read_status(directory), Path(directory)
    names = (ENSEMBLE, PICTURE, RESTARTS, CONFIG, STATUS)
    return (
        f"{directory}: {', '.join(name for name in names if (directory / name).exists())}\n"
        f"{status['members']} members, {status['steps']} steps, {status['model_seconds'] / 86400:.4g} model days in "
        f"{status['wall_seconds']:.1f} s, of which compilation {status['compile_seconds']:.1f} s\n"
        f"{status['member_steps_per_second']:.4g} members x steps per second on "
        f"{workers(status['nproc'], status['devices'])}\n"
        f"Next: swmodel plot {directory / ENSEMBLE}"
    )
