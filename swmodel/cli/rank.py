"""What one process of a run does, alone or as one of the ranks that mpiexec or srun started."""

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

from ..errors import INTERNAL, STOPPED, FilesError, NumericalError, SetupError, Stopped, exit_code
from ..model import progress
from ..parallel import environment
from .job import KEEPING_NOTHING, Job
from .messages import Refused, error_text, print_error
from .options import PATH


@click.command(hidden=True)
@click.argument("directory", type=PATH)
@click.argument("command_line")
@click.option("--restart", metavar="FILE", help="Go on from this restart file.")
@click.option("--task", default="run", help="What to compute.")
@click.option("--options", default="{}", metavar="JSON", help="Options of the task.")
def worker(directory, command_line, restart, task, options):
    """Compute what the launcher has prepared in DIRECTORY, as one rank. COMMAND_LINE is recorded."""
    from ..config import load
    from ..files.restart.folder import Restart
    from ..files.run_folder import CONFIG

    context, place = click.get_current_context(), environment.world()
    if place is None:
        error = SetupError("mpiexec does not tell its processes that they belong together: is it that of mpi4py's MPI?")
        say(error)
        context.exit(error.exit_code)
    configuration = partial(load, directory / CONFIG, environ={})

    def request(place):
        return Job(configuration(), directory, restart and Restart(Path(restart)), task, json.loads(options))

    context.exit(run_as_rank(place, request, configuration, True, command_line))


def run_as_rank(place, request, configuration, quiet, command_line) -> int:
    """Compute as one rank of several; returns the exit code.

    All ranks agree on errors before the start: rank 0 reports them, and all ranks end with the same code. A rank that
    fails later says so and ends the others, which may be waiting for it. `request`, `configuration`: see `start.start`.
    """
    from ..parallel.abort import abort_mpich
    from ..parallel.stop import Stop
    from ..parallel.watchdog import Watchdog
    from .rank_checks import agree, check_same, check_transport, connect, crowd_of

    comm = None
    with Stop() as stop, contextlib.ExitStack() as stack:
        try:
            comm = connect(place, configuration)
            job = agree(comm, lambda: request(place))
            run, directory = job.config.run, job.directory
            check_same(comm, job.config)
            if environment.LAUNCHED not in os.environ:
                crowd = crowd_of(comm)
                agree(comm, lambda: occupy(stack, job, quiet, *crowd) if place.rank == 0 else None)
            end_soon(stack, stop, job, place)
            watchdog = Watchdog(place.rank, place.size, directory, run.watchdog, partial(report_stuck, directory))
            stack.enter_context(watchdog)
            environment.prepare(job.reproducible, place, run.devices)
            check_transport(comm, place, run)
        except (Refused, SetupError) as error:
            if comm is None or place.rank == 0:
                say(error)
            if comm is None:
                abort_mpich(error.exit_code)
            return error.exit_code
        try:
            compute(job, quiet or place.rank > 0, command_line, place, watchdog.watch)
        except BaseException as error:
            return end_all(error, place.rank, directory)
        if place.rank == 0 and not quiet:
            click.echo(job.work().summary(directory))
        return 0


def occupy(stack, job, quiet, ranks=None, cores=None):
    """Take the run folder until the context `stack` ends, and announce the job; returns the lock file.

    `ranks`, `cores`: those of this machine, if other processes have been started; see `rank_checks.crowd_of`.
    """
    from ..files import lock, run_folder

    file = stack.enter_context(lock.held(job.directory))
    fresh = job.restart is None and not job.options.get("resume")
    (run_folder.prepare if fresh else run_folder.reopen)(job.directory)
    run_folder.write_config(job.directory, job.config)
    if not quiet:
        announce(job, ranks or job.config.run.nproc, cores or environment.cores())
    return file


def end_soon(stack, stop, job, place=None):
    """Until the context `stack` ends, have a signal end a task that keeps nothing, whatever it is computing."""
    from ..files.status import finish
    from ..parallel.abort import abort
    from ..parallel.stop import ends_soon

    def end(number):
        if place is not None and place.rank > 0:
            time.sleep(1.0)  # rank 0 has most likely got the signal, too, and ends this rank
        error = Stopped(f"stopped by {signal.Signals(number).name}; nothing is kept, start again")
        if place is None or place.rank == 0:
            with contextlib.suppress(FilesError):
                finish(job.directory, "stopped", STOPPED, str(error))
            print_error(error)
        abort(STOPPED)

    if job.task in KEEPING_NOTHING:
        stack.enter_context(ends_soon(stop, end))


def say(error: Exception):
    """Tell the user why the run ends, through the launcher if there is one."""
    if environment.LAUNCHED in os.environ:
        progress.send({"failed": error_text(error), "exit_code": exit_code(error)})
    else:
        print(error_text(error), file=sys.stderr, flush=True)


def report_stuck(directory, message: str):
    """Record and say that the run is stuck; the watchdog ends it."""
    from ..files.status import finish

    finish(directory, "failed", INTERNAL, message)
    say(Refused(f"Error: {message}", INTERNAL))


def compute(job, quiet, command_line, place=None, watch=lambda progress: None):
    """Compute the job in this process; status.json records how it ends. `watch`: that of the watchdog."""
    from ..files.status import finish
    from .rank_checks import check_device

    config, directory, first = job.config.model_copy(), job.directory, place is None or place.rank == 0
    config._checked = True
    options = job.options | ({"restart": job.restart.path} if job.restart else {})
    environment.prepare(job.reproducible, place, config.run.devices)
    start_log(0 if first else place.rank)
    try:
        if place is None:
            check_device(config.run.devices)
        with progress.reporter(quiet) as report:
            job.work().compute(config, directory, options, report, command_line, watch)
        if first:
            finish(directory, "completed", 0, "")
    except (Exception, KeyboardInterrupt) as error:
        if first:
            record(error, directory)
        raise


def record(error, directory):
    """Write the end of a run that failed into its status.json, unless it is written already."""
    from ..files.status import finish

    code = exit_code(error)
    finish(directory, "stopped" if code == STOPPED else "failed", code, str(error))


def end_all(error, rank, directory) -> int:
    """Report an error on this rank, and end all ranks; returns the exit code if all ranks have the error together.

    The launcher reports the reason in status.json: the last line of a rank that ends all ranks may be lost.
    """
    from ..parallel.abort import abort

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # another rank may end all
    code, launched = exit_code(error), environment.LAUNCHED in os.environ
    if isinstance(error, NumericalError | Stopped):
        if rank == 0:
            print_error(error)
        return code
    try:
        # Rank 0 has most likely met the same error, and ends this rank; or a rank has died, and messages fail.
        time.sleep((rank > 0) + (type(error).__name__ == "JaxRuntimeError"))
        if rank > 0:
            record(error, directory)
        if launched:
            progress.send({"rank": rank, "exit_code": code})
        if code == INTERNAL:
            sys.stderr.write("".join(f"[rank {rank}] {line}" for line in traceback.format_exc().splitlines(True)))
        elif not launched:
            print_error(error)
    finally:
        abort(code)


def start_log(rank: int):
    """Log on stderr: information on rank 0; warnings, with the rank's number, on other ranks."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(f"{f'[rank {rank}] ' if rank else ''}%(levelname)s: %(message)s"))
    log = logging.getLogger("swmodel")
    log.handlers = [handler]
    log.setLevel(logging.WARNING if rank else logging.INFO)


def announce(job, ranks: int, cores: int):
    """Announce in a line what is going to be computed, then the remarks, and that more ranks than cores are slow."""
    config, directory = job.config, job.directory
    run, grid = config.run, config.grid
    first = f"from step {job.restart.step} on, " if job.restart else ""
    task = "" if job.task == "run" else f"{job.task}: "
    workers = progress.workers(run.nproc, run.devices)
    blocks = f" ({run.layout} blocks)" if run.layout and run.blocks > 1 else ""
    members = f", {config.ensemble.members} members" if job.task == "ensemble" else ""
    click.echo(
        f"{task}{config.case.name}: {grid.nx} x {grid.ny} cells{members}, {first}{run.steps} steps of "
        f"{config.time.dt:.4g} s ({run.steps * config.time.dt / 86400:.4g} days), {workers}{blocks}, into {directory}"
    )
    for remark in job.remarks:
        click.echo(remark, err=True)
    if ranks * run.devices > cores and not (run.devices > 1 and environment.has_gpu()):
        workers = progress.workers(ranks, run.devices)
        click.echo(f"{workers} share the {cores} cores of this machine: a run with {cores} is faster", err=True)
