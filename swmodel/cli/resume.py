"""`swmodel resume`: go on with a run, or an ensemble, that was stopped or has ended."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import click

import swmodel

from ..files.run_folder import CONFIG
from . import options
from .job import RECORDING, Job
from .start import configure, start


class NothingToDo(Exception):
    """The run has reached its end already."""

    exit_code = 0


@click.command()
@click.argument("directory", metavar="DIR", type=options.PATH)
@click.option("--steps", metavar="N", help="Prolong the run to N time steps in all.")
@click.option("--days", metavar="D", help="Prolong the run to model day D.")
@click.option("--nproc", metavar="N", help="Number of processes.  [as before]")
@options.layout
@options.executor
@options.distributed
@options.walltime
@click.option("--from", "file", metavar="FILE", help="Restart file to go on from.  [the newest intact one]")
@options.settings
@options.quiet
def resume(directory, file, settings, quiet, **typed):
    """Continue the run, or the ensemble, in DIR.

    \b
    swmodel resume outputs/jet
    swmodel resume outputs/jet --days 20 --nproc 4
    mpiexec -n 4 swmodel resume outputs/jet

    The command drops records behind the restart file, and adds the next ones to the files of the run. Grid, physics
    and time step must be as before. Processes, executor and intervals of output may change.
    """
    overrides = options.overrides_of(settings, typed)

    def request(place=None):
        """The job, complete and checked. Rank 0 examines the restart files."""
        from ..config.loading.load import gather
        from ..errors import FilesError, UsageError
        from ..files import run_folder
        from ..files.restart.folder import Restart, choose, compare
        from ..files.restart.python_fields import with_stored
        from ..model.ensemble.settings import check_ensemble
        from ..model.validate import check_config

        path = directory / CONFIG
        if not path.is_file():
            raise FilesError(f"{directory} is not the folder of a run: it holds no {CONFIG}")
        kind, task, command = run_folder.holding(directory)
        if task not in RECORDING:
            raise UsageError(f"{directory} holds {kind}; go on with it by {command}")
        chosen = cache(lambda: choose(directory, file))

        def check(config):
            if config.python.fields:
                config = with_stored(config, chosen()[0].path)
            return (check_ensemble if task == "ensemble" else check_config)(config)

        config = configure(gather(path, overrides), overrides, place, check, complete=True)
        if place is not None and place.rank:
            return Job(config, directory, Restart(Path()), task)
        run_folder.check_vacant(directory, force=True)
        restart, remarks = chosen()
        compare(config, restart, task)
        if config.run.steps <= restart.step:
            where = f"step {restart.step} (day {restart.step * config.time.dt / 86400:.4g})"
            raise NothingToDo(f"{directory}: {where} is reached already; --days or --steps prolongs the {task}")
        for remark in remarks:
            click.echo(remark, err=True)
        return Job(config, directory, restart, task)

    start(request, partial(swmodel.load, directory / CONFIG, overrides, complete=True), quiet)
