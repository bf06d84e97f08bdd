"""`swmodel resume`: continue a run or an ensemble that was stopped, or prolong one that has ended."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

import swmodel

from ..files.run_folder import CONFIG
from . import options
from .start import make_config, run_task
from .tasks import RECORDING_TASKS, TaskSpec

if TYPE_CHECKING:
    from ..config.options.model import Config


class RunIsComplete(Exception):
    """The run is already complete."""

    exit_code = 0


@click.command()
@click.argument("directory", metavar="DIR", type=options.PATH)
@click.option("--steps", metavar="N", help="Prolong the run to N time steps in total.")
@click.option("--days", metavar="D", help="Prolong the run to model day D.")
@click.option("--nproc", metavar="N", help="Number of processes.  [as before]")
@options.layout
@options.executor
@options.distributed_options
@options.walltime
@click.option("--from", "file", metavar="FILE", help="Restart file to continue from.  [the newest intact one]")
@options.settings
@options.quiet
def resume(directory, file, settings, quiet, **arguments):
    """Continue the run or the ensemble in DIR.

    \b
    swmodel resume outputs/jet
    swmodel resume outputs/jet --days 20 --nproc 4
    mpiexec -n 4 swmodel resume outputs/jet

    The command drops records after the restart file, and appends new ones to the files of the run. Grid, physics and
    time step must be as before. The number of processes, the executor and most output intervals may change.
    """
    overrides = options.overrides_from_options(settings, arguments)

    def make_spec(rank_info=None):
        """The TaskSpec with a complete, checked configuration.

        Rank 0 examines the restart files; the other ranks do so only to read fields from Python.
        """
        from ..config.loading.load import gather_sources
        from ..errors import FilesError, UsageError
        from ..files import run_folder
        from ..files.restart.folder import RestartFile, choose_restart, require_same_run
        from ..files.restart.python_fields import with_stored_fields
        from ..model.ensemble.settings import check_ensemble
        from ..model.validate import check_config

        path = directory / CONFIG
        if not path.is_file():
            raise FilesError(f"{directory} is not a run folder: it holds no {CONFIG}")
        kind, task, command = run_folder.folder_contents(directory)
        if task not in RECORDING_TASKS:
            hint = f"; continue it with {command}" if command else ", which cannot be continued"
            raise UsageError(f"{directory} holds {kind}{hint}")
        chosen_restart = cache(lambda: choose_restart(directory, file))

        def check(config: Config):
            if config.python.fields:
                config = with_stored_fields(config, chosen_restart()[0].path)
            return (check_ensemble if task == "ensemble" else check_config)(config)

        config = make_config(gather_sources(path, overrides), overrides, rank_info, check, has_all_options=True)
        if rank_info is not None and rank_info.rank:
            return TaskSpec(config, directory, RestartFile(Path()), task)
        run_folder.check_overwritable(directory, force=True)
        restart, remarks = chosen_restart()
        require_same_run(config, restart, task)
        if config.run.steps <= restart.step:
            reached_text = f"step {restart.step} (day {restart.step * config.time.dt / 86400:.4g})"
            raise RunIsComplete(
                f"{directory} has already reached {reached_text}; --days or --steps prolongs the {task}"
            )
        for remark in remarks:
            click.echo(remark, err=True)
        return TaskSpec(config, directory, restart, task)

    run_task(make_spec, partial(swmodel.load, directory / CONFIG, overrides, has_all_options=True), quiet)
