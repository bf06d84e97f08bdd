"""Starting a job: check its configuration, then compute it as one rank, in this process, or on processes of its own."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path

import click

import swmodel

from ..parallel import environment, streams
from .job import KEEPING_NOTHING, RECORDING, Job
from .options import as_typed, command_line, overrides_of
from .rank import compute, end_soon, occupy, run_as_rank, start_log


def begin(task, source, settings, output, force, quiet, job_options=lambda config: {}, check=None, **options):
    """Start a task in a folder of its own; exits with its exit code.

    Most arguments come from the command line; `options` are those of `options.KEYS`. `job_options` is a function of the
    configuration that returns the options of the task, or raises. `check`: see `configure`.
    """
    overrides, records = overrides_of(settings, options), task in RECORDING

    def request(place=None):
        """The configuration, complete and checked, with the folder for its results. Rank 0 examines the folder."""
        from ..config.loading.load import gather
        from ..config.remarks import remarks
        from ..files import run_folder
        from ..files.restart.folder import check_start

        sources = gather(source, overrides)
        config = configure(sources, overrides, place, check or (None if records else check_without_analysis))
        directory = output or Path("outputs", config.case.name if task == "run" else f"{config.case.name}-{task}")
        job = Job(config, directory, None, task, job_options(config))
        if place is not None and place.rank:
            return job
        run_folder.check_vacant(directory, force)
        if config.input.state:
            check_start(config.input.state, directory)
        return job._replace(remarks=tuple(remarks(config, sources, records=records)))

    start(request, partial(swmodel.load, source, overrides), quiet)


def start(request, configuration, quiet):
    """Run a job as one rank, in this process, or on processes of its own; exits with its exit code.

    `request` is a function that returns a Job. Its argument is the place of this process among others, or None if it
    is alone. `configuration` returns the configuration of the job, not checked yet. Both may raise.
    """
    streams.ignore_broken_stdout()
    context, place = click.get_current_context(), environment.world()
    if place is not None:
        context.exit(run_as_rank(place, request, configuration, quiet, command_line()))
    environment.check_address_space()
    if not quiet:
        start_log(0)  # native steps are compiled while the request is checked
    job = request()
    code = run_here(job, quiet) if job.config.run.nproc == 1 else run_on_many(job, quiet)
    if not quiet and code == 0:
        click.echo(job.work().summary(job.directory))
    context.exit(code)


def configure(sources, overrides, place=None, check=None, complete=False):
    """The complete, checked configuration from the sources of `config.loading.load.gather`, with the overrides.

    The number of processes among which this one has a `place` is `run.nproc`. `check` returns the resolved
    configuration, or raises; None: `validate.check_config`. `complete`: see `config.loading.load.load`.
    """
    from ..config import ConfigError
    from ..config.loading.merge import merge
    from ..errors import UsageError
    from ..model.resolve import for_processes
    from ..model.validate import check_config

    try:
        config = merge(sources, complete)
        if place is not None:
            by_user = any(text.startswith("run.nproc=") for text in overrides)
            if by_user and config.run.nproc != place.size:
                raise UsageError(f"--nproc {config.run.nproc}, but {place.size} processes were started; leave it out")
            config = for_processes(config, place.size)
        return (check or check_config)(config)
    except ConfigError as error:
        raise ConfigError(as_typed(problem) for problem in error.problems) from None


def check_without_analysis(config):
    """The resolved configuration of a task that analyses no tides (`output.harmonics`); see `configure`."""
    from ..model.validate import check_config

    return check_config(config.model_copy(update={"output": config.output.model_copy(update={"harmonics": ()})}))


def run_here(job, quiet) -> int:
    """Run in this process; returns the exit code 0. Needs no MPI."""
    from ..errors import WriteError
    from ..files.restart.folder import how_to_continue
    from ..parallel.stop import Stop

    with Stop() as stop, contextlib.ExitStack() as stack:
        occupy(stack, job, quiet)
        end_soon(stack, stop, job)
        try:
            compute(job, quiet, command_line())
        except WriteError as error:
            raise WriteError(f"{error}{how_to_continue(job.directory)}") from error
    return 0


def run_on_many(job, quiet) -> int:
    """Start `run.nproc` processes and wait for them; returns the exit code."""
    from ..model import launch, progress

    nproc, directory = job.config.run.nproc, job.directory
    options = ["--restart", str(job.restart.path)] if job.restart else []
    options += [] if job.task == "run" else ["--task", job.task, "--options", json.dumps(job.options)]
    line = launch.command(nproc, directory, *options, transport=job.config.run.transport)
    with contextlib.ExitStack() as stack:
        lock = occupy(stack, job, quiet)
        with progress.reporter(quiet) as report:
            return launch.run(line, nproc, directory, report, lock, job.task not in KEEPING_NOTHING)
