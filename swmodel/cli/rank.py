"""The work of one process of a task: of the only process, or of one of the ranks that mpiexec or srun started."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import time
import traceback
from functools import partial
from pathlib import Path

import click

from ..errors import EXIT_INTERNAL, EXIT_STOPPED, FilesError, NumericalError, SetupError, Stopped, exit_code
from ..model import progress
from ..parallel import environment
from .messages import FormattedError, format_error, print_error
from .options import PATH
from .tasks import NON_RESUMABLE_TASKS, TaskSpec


@click.command(hidden=True)
@click.argument("directory", type=PATH)
@click.argument("command_line")
@click.option("--restart", metavar="FILE", help="Continue from this restart file.")
@click.option("--task", default="run", help="Name of the task.")
@click.option("--options", default="{}", metavar="JSON", help="Options of the task.")
def worker(directory, command_line, restart, task, options):
    """Compute, as one rank, the task that the launcher has prepared in DIRECTORY. COMMAND_LINE is recorded in files."""
    from ..config import load
    from ..files.restart.folder import RestartFile
    from ..files.run_folder import CONFIG

    context, rank_info = click.get_current_context(), environment.get_rank_info()
    if rank_info is None:
        error = SetupError("mpiexec gives its processes no rank numbers: does it belong to the MPI of mpi4py?")
        report_failure(error)
        context.exit(error.exit_code)
    load_config = partial(load, directory / CONFIG, environ={})

    def make_spec(rank_info):
        return TaskSpec(load_config(), directory, restart and RestartFile(Path(restart)), task, json.loads(options))

    context.exit(run_as_rank(rank_info, make_spec, load_config, True, command_line))


def run_as_rank(rank_info, make_spec, load_config, quiet, command_line) -> int:
    """Compute as one rank of several; returns the exit code.

    A rank that cannot be connected reports its own error. Connected ranks share all errors before the computation
    starts: rank 0 reports the first one, and all ranks end with the same code. A rank that fails later reports its
    error and ends the other ranks, because they may be waiting for it.

    Args:
        make_spec, load_config: see `start.run_task`.
    """
    from ..parallel.abort import abort_mpich
    from ..parallel.stop import StopRequests
    from ..parallel.watchdog import Watchdog
    from .rank_checks import call_collectively, check_ranks_match, check_transport, connect_ranks, local_ranks_and_cores

    comm, rank = None, rank_info.rank
    with StopRequests() as stop, contextlib.ExitStack() as stack:
        try:
            comm = connect_ranks(rank_info, load_config)
            spec = call_collectively(comm, lambda: make_spec(rank_info))
            run, directory = spec.config.run, spec.directory
            check_ranks_match(comm, spec.config)
            if environment.STARTED_BY_LAUNCHER_VARIABLE not in os.environ:
                ranks_and_cores = local_ranks_and_cores(comm)
                call_collectively(
                    comm, lambda: lock_run_folder(stack, spec, quiet, *ranks_and_cores) if rank == 0 else None
                )
            abort_on_signal(stack, stop, spec, rank)
            watchdog = Watchdog(rank, rank_info.size, directory, run.watchdog, partial(report_stuck, directory))
            stack.enter_context(watchdog)
            environment.prepare_environment(spec.reproducible, rank_info, run.devices)
            check_transport(comm, rank_info, run)
        except (FormattedError, SetupError) as error:
            if comm is None or rank == 0:
                report_failure(error)
            if comm is None:
                abort_mpich(error.exit_code)
            return error.exit_code
        try:
            compute(spec, quiet or rank > 0, command_line, rank_info, watchdog.watch)
        except BaseException as error:
            return abort_all_ranks(error, rank, directory)
        if rank == 0 and not quiet:
            click.echo(spec.task_module().summary(directory))
        return 0


def lock_run_folder(stack, spec, quiet, n_ranks=None, n_cores=None):
    """Prepare the run folder, lock it until the context `stack` ends, and announce the task; returns the lock file.

    `n_ranks`, `n_cores`: see `rank_checks.local_ranks_and_cores`; None: `run.nproc` and the cores of this process.
    """
    from ..files import lock, run_folder

    lock_file = stack.enter_context(lock.hold_folder(spec.directory))
    is_new_run = spec.restart is None and not spec.options.get("resume")
    (run_folder.prepare_for_new_run if is_new_run else run_folder.remove_status_and_blowup)(spec.directory)
    run_folder.write_config(spec.directory, spec.config)
    if not quiet:
        announce_task(spec, n_ranks or spec.config.run.nproc, n_cores or environment.n_cores())
    return lock_file


def abort_on_signal(stack, stop, spec, rank=0):
    """Until the context `stack` ends, let a signal end a non-resumable task after a second, whatever it computes."""
    from ..files.status import write_final_status
    from ..parallel.abort import abort
    from ..parallel.stop import end_after_signal

    def end_task(signal_number):
        if rank > 0:
            time.sleep(1.0)  # rank 0 has most likely received the signal too and will end this rank
        error = Stopped(f"stopped by {signal.Signals(signal_number).name}; no results were kept, start again")
        if rank == 0:
            with contextlib.suppress(FilesError):
                write_final_status(spec.directory, "stopped", EXIT_STOPPED, str(error))
            print_error(error)
        abort(EXIT_STOPPED)

    if spec.task in NON_RESUMABLE_TASKS:
        stack.enter_context(end_after_signal(stop, end_task))


def report_failure(error: Exception):
    """Report to the user, through the launcher if there is one, why the task ends."""
    if environment.STARTED_BY_LAUNCHER_VARIABLE in os.environ:
        progress.send_message({"failed": format_error(error), "exit_code": exit_code(error)})
    else:
        print(format_error(error), file=sys.stderr, flush=True)


def report_stuck(directory, message: str):
    """Record and report that the task is stuck; the watchdog then ends it."""
    from ..files.status import write_final_status

    write_final_status(directory, "failed", EXIT_INTERNAL, message)
    report_failure(FormattedError(f"Error: {message}", EXIT_INTERNAL))


def compute(spec, quiet, command_line, rank_info=None, watch_progress=lambda progress: None):
    """Compute the task in this process; status.json records how it ends.

    `watch_progress`: the argument `watch` of the task (`tasks.TASK_MODULES`).
    """
    from ..files.status import write_final_status
    from .rank_checks import check_devices

    config, directory = spec.config.model_copy(), spec.directory
    rank = 0 if rank_info is None else rank_info.rank
    config._is_checked = True
    options = spec.options | ({"restart": spec.restart.path} if spec.restart else {})
    environment.prepare_environment(spec.reproducible, rank_info, config.run.devices)
    start_logging(rank)
    try:
        if rank_info is None:
            check_devices(config.run.devices)
        with progress.make_reporter(quiet) as report:
            spec.task_module().compute(config, directory, options, report, command_line, watch_progress)
        if rank == 0:
            write_final_status(directory, "completed", 0, "")
    except (Exception, KeyboardInterrupt) as error:
        if rank == 0:
            record_failure(error, directory)
        raise


def record_failure(error, directory):
    """Record in status.json that an error ended the task, unless its end is recorded already."""
    from ..files.status import write_final_status

    code = exit_code(error)
    write_final_status(directory, "stopped" if code == EXIT_STOPPED else "failed", code, str(error))


def abort_all_ranks(error, rank, directory) -> int:
    """Report an error on this rank and end all ranks; returns the exit code if all ranks raise the same error.

    The launcher reads the reason from status.json, because the last output of the rank that ends the others may be
    lost.
    """
    from ..parallel.abort import abort

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # so that another rank can end this one
    code, has_launcher = exit_code(error), environment.STARTED_BY_LAUNCHER_VARIABLE in os.environ
    if isinstance(error, NumericalError | Stopped):
        if rank == 0:
            print_error(error)
        return code
    try:
        # Wait, because most likely rank 0 has the same error and ends this rank, or another rank has died, so that
        # messages fail on this rank.
        time.sleep((rank > 0) + (type(error).__name__ == "JaxRuntimeError"))
        if rank > 0:
            record_failure(error, directory)
        if has_launcher:
            progress.send_message({"rank": rank, "exit_code": code})
        if code == EXIT_INTERNAL:
            sys.stderr.write("".join(f"[rank {rank}] {line}" for line in traceback.format_exc().splitlines(True)))
        elif not has_launcher:
            print_error(error)
    finally:
        abort(code)


def start_logging(rank: int):
    """Log to stderr: messages from level INFO on rank 0, and only warnings, with the rank's number, on other ranks."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(f"{f'[rank {rank}] ' if rank else ''}%(levelname)s: %(message)s"))
    log = logging.getLogger("swmodel")
    log.handlers = [handler]
    log.setLevel(logging.WARNING if rank else logging.INFO)


def announce_task(spec, n_ranks: int, n_cores: int):
    """Print what the task will compute, the remarks, and a warning if there are more ranks or devices than cores."""
    config, directory = spec.config, spec.directory
    run, grid = config.run, config.grid
    start_text = f"continued from step {spec.restart.step}, " if spec.restart else ""
    task_prefix = "" if spec.task == "run" else f"{spec.task}: "
    processes_text = progress.describe_processes(run.nproc, run.devices)
    blocks_text = f" ({run.layout} blocks)" if run.layout and run.blocks > 1 else ""
    members_text = f", {config.ensemble.members} members" if spec.task == "ensemble" else ""
    days_text = f"{run.steps * config.time.dt / 86400:.4g} days"
    click.echo(
        f"{task_prefix}{config.case.name}: {grid.nx} x {grid.ny} cells{members_text}, {run.steps} steps of "
        f"{config.time.dt:.4g} s ({days_text}), {start_text}{processes_text}{blocks_text}, into {directory}"
    )
    for remark in spec.remarks:
        click.echo(remark, err=True)
    if n_ranks * run.devices > n_cores and not (run.devices > 1 and environment.has_gpu()):
        processes_text = progress.describe_processes(n_ranks, run.devices)
        cores_text = "only core" if n_cores == 1 else f"{n_cores} cores"
        click.echo(f"{processes_text} share the {cores_text} of this machine: {n_cores} would be faster", err=True)
