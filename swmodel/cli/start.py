"""Start a task: check its configuration, then compute it as one of several ranks, alone, or on new processes."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

import swmodel

from ..parallel import environment, streams
from .options import get_command_line, overrides_from_options, reword_for_options
from .rank import abort_on_signal, compute, lock_run_folder, run_as_rank, start_logging
from .tasks import NON_RESUMABLE_TASKS, RECORDING_TASKS, TaskSpec

if TYPE_CHECKING:
    from ..config.options.model import Config


def start_task(task, source, settings, output, force, quiet, task_options=lambda config: {}, check=None, **options):
    """Start a task in its folder, then exit with its exit code.

    Args:
        source, settings, output, force, quiet: from the command line.
        task_options: a function of the configuration that returns the options of the task, or raises an error.
        check: see `make_config`; None: `check_config`, or `check_without_harmonics` for tasks that write no records.
        options: the command-line options in `options.KEY_OF_OPTION`.
    """
    overrides, writes_records = overrides_from_options(settings, options), task in RECORDING_TASKS

    def make_spec(rank_info=None):
        """The TaskSpec with a complete, checked configuration; only rank 0 examines the folder."""
        from ..config.loading.load import gather_sources
        from ..config.remarks import remarks
        from ..files import run_folder
        from ..files.restart.folder import check_initial_restart

        sources = gather_sources(source, overrides)
        config = make_config(
            sources, overrides, rank_info, check or (None if writes_records else check_without_harmonics)
        )
        directory = output or Path("outputs", config.case.name if task == "run" else f"{config.case.name}-{task}")
        spec = TaskSpec(config, directory, None, task, task_options(config))
        if rank_info is not None and rank_info.rank:
            return spec
        run_folder.check_overwritable(directory, force)
        if config.input.state:
            check_initial_restart(config.input.state, directory)
        return spec._replace(remarks=tuple(remarks(config, sources, writes_records)))

    run_task(make_spec, partial(swmodel.load, source, overrides), quiet)


def run_task(make_spec, load_config, quiet):
    """Run a task as one of several ranks, in this process, or on new processes, then exit with its exit code.

    `make_spec(rank_info)` returns a TaskSpec; `rank_info` is None if this process is not one of several ranks.
    `load_config` returns the unchecked configuration of the task. Both may raise errors.
    """
    streams.ignore_broken_stdout()
    context, rank_info = click.get_current_context(), environment.get_rank_info()
    if rank_info is not None:
        context.exit(run_as_rank(rank_info, make_spec, load_config, quiet, get_command_line()))
    environment.check_address_space()
    if not quiet:
        start_logging(0)  # before the checks, because these may compile native steps and log that
    spec = make_spec()
    exit_code = run_in_this_process(spec, quiet) if spec.config.run.nproc == 1 else run_on_processes(spec, quiet)
    if not quiet and exit_code == 0:
        click.echo(spec.task_module().summary(spec.directory))
    context.exit(exit_code)


def make_config(sources, overrides, rank_info=None, check=None, has_all_options=False):
    """The complete, checked configuration from the sources of `config.loading.load.gather_sources`.

    Args:
        rank_info: if this process is a rank, the number of ranks replaces `run.nproc`.
        check: a function that returns the resolved configuration, or raises an error; None: `check_config`.
        has_all_options: see `config.loading.load.load`.

    Raises:
        ConfigError: all problems of the configuration, in the words of the command line.
        UsageError: one of `overrides` sets `run.nproc`, but the number of ranks differs.
    """
    from ..config import ConfigError
    from ..config.loading.merge import merge
    from ..errors import UsageError
    from ..model.resolve import config_for_processes
    from ..model.validate import check_config

    try:
        config = merge(sources, has_all_options)
        if rank_info is not None:
            has_nproc_override = any(text.partition("=")[0].strip() == "run.nproc" for text in overrides)
            if has_nproc_override and config.run.nproc != rank_info.size:
                raise UsageError(
                    f"--nproc {config.run.nproc}, but {rank_info.size} processes were started; leave --nproc out"
                )
            config = config_for_processes(config, rank_info.size)
        return (check or check_config)(config)
    except ConfigError as error:
        raise ConfigError(reword_for_options(problem) for problem in error.problems) from None


def check_without_harmonics(config: Config):
    """The `check` of `make_config` for tasks that write no records; it removes `output.harmonics`."""
    from ..model.validate import check_config

    return check_config(config.model_copy(update={"output": config.output.model_copy(update={"harmonics": ()})}))


def run_in_this_process(spec, quiet) -> int:
    """Run the task in this process, without MPI; returns the exit code 0, or raises an error."""
    from ..errors import WriteError
    from ..files.restart.folder import resume_hint
    from ..parallel.stop import StopRequests

    with StopRequests() as stop, contextlib.ExitStack() as stack:
        lock_run_folder(stack, spec, quiet)
        abort_on_signal(stack, stop, spec)
        try:
            compute(spec, quiet, get_command_line())
        except WriteError as error:
            raise WriteError(f"{error}{resume_hint(spec.directory)}") from error
    return 0


def run_on_processes(spec, quiet) -> int:
    """Run the task on `run.nproc` new processes and wait for them; returns the exit code."""
    from ..model import launch, progress

    nproc, directory = spec.config.run.nproc, spec.directory
    options = ["--restart", str(spec.restart.path)] if spec.restart else []
    options += [] if spec.task == "run" else ["--task", spec.task, "--options", json.dumps(spec.options)]
    command = launch.run_command(nproc, directory, *options, transport=spec.config.run.transport)
    with contextlib.ExitStack() as stack:
        lock = lock_run_folder(stack, spec, quiet)
        with progress.make_reporter(quiet) as report:
            return launch.run(command, nproc, directory, report, lock, spec.task not in NON_RESUMABLE_TASKS)
