"""What one process of a run does, alone or as one of the ranks that mpiexec or srun started."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

import click

from ..errors import INTERNAL, STOPPED, NumericalError, SetupError, exit_code
from .job import Job


@click.command(hidden=True)
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("command_line")
@click.option("--restart", metavar="FILE", help="Go on from this restart file.")
def worker(directory, command_line, restart):
    """Compute the run that `swmodel run` has prepared in DIRECTORY, as one rank. COMMAND_LINE goes on record."""
    from ..config import load
    from ..environment import world
    from ..restart.folder import Restart
    from ..run_folder import CONFIG

    def request(place):
        return Job(load(directory / CONFIG, environ={}), directory, restart and Restart(Path(restart)))

    place = world()
    if place is None:
        raise SetupError("this command is for the processes that `swmodel run` starts")
    click.get_current_context().exit(run_as_rank(place, request, True, command_line))


def run_as_rank(place, request, quiet, command_line) -> int:
    """Compute as one rank of several; the exit code.

    What is wrong before the start is agreed between all ranks, said by rank 0, and ends all ranks with the same code. A
    rank that fails later says so and ends the others, which may be waiting for it.

    Args:
        place: this process's place as mpiexec describes it.
        request: function of `place` that returns a Job, or raises.
        command_line: what the user typed, for the history of the files.
    """
    from .. import progress
    from .tell import tell, words

    try:
        comm = connect(place)
    except SetupError as error:
        if place.rank == 0:
            tell(error)
        return exit_code(error)
    problem = None
    try:
        job = request(place)
        if place.rank == 0 and progress.LAUNCHER not in os.environ:
            job.prepare()
            announce(job, quiet)
    except Exception as error:
        problem = words(error), exit_code(error)
    problems = [problem for problem in comm.allgather(problem) if problem is not None]
    if problems:
        message, code = problems[0]
        if place.rank == 0:
            print(message, file=sys.stderr, flush=True)
        return code
    try:
        compute(job, quiet or place.rank > 0, command_line, place)
    except (Exception, KeyboardInterrupt) as error:
        return end_all(error, comm, job.directory)
    if place.rank == 0 and not quiet:
        from ..status import read_status

        click.echo(progress.summary(read_status(job.directory), job.directory))
    return 0


def connect(place):
    """MPI's communicator of all ranks, from mpi4py.

    Raises:
        SetupError: mpi4py is missing, or its MPI is not the one that started the processes.
    """
    from .. import environment, progress

    environment.prepare(place=place)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise SetupError(f'mpi4py cannot be used ({error}); pip install "swmodel[mpi]"') from error
    comm = MPI.COMM_WORLD
    if comm.Get_size() != place.size:
        library = MPI.Get_library_version().strip().splitlines()[0]
        raise SetupError(
            f"{place.size} processes were started, but MPI here knows of {comm.Get_size()}: mpiexec is not that of the "
            f"MPI that mpi4py uses ({library}); start with `swmodel run --nproc {place.size}` or the other mpiexec"
        )
    if progress.LAUNCHER in os.environ:
        progress.send({"rank": place.rank, "pid": os.getpid(), "host": socket.gethostname()})
    return comm


def compute(job, quiet, command_line, place=None):
    """Run the model in this process; a failure is recorded in status.json."""
    from .. import environment, progress

    config, directory, restart = job
    environment.prepare(config.run.reproducible, place)
    start_log(place)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        import swmodel

        with progress.reporter(quiet) as report:
            simulation = swmodel.Simulation(config, restart and restart.path)
            simulation.run(directory, report, command_line, resume=restart is not None)
    except (Exception, KeyboardInterrupt) as error:
        if place is None or place.rank == 0:
            record(error, directory)
        raise


def record(error, directory):
    """Write the end of a run that failed into its status.json, unless it is written already."""
    from ..status import finish

    code = exit_code(error)
    finish(directory, "stopped" if code == STOPPED else "failed", code, str(error))


def end_all(error, comm, directory) -> int:
    """Say what went wrong on this rank and end all ranks; the exit code, for an error that all ranks have together."""
    from .. import progress
    from .tell import tell

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # from another rank that ends all of us
    code, rank = exit_code(error), comm.Get_rank()
    if isinstance(error, NumericalError):
        if rank == 0:
            tell(error)
        return code
    if rank > 0:
        time.sleep(1.0)  # rank 0 has most likely met the same error, and ends us
        record(error, directory)
    if progress.LAUNCHER in os.environ:
        progress.send({"rank": rank, "exit_code": code})
    if code == INTERNAL:
        sys.stderr.write("".join(f"[rank {rank}] {line}" for line in traceback.format_exc().splitlines(True)))
        sys.stderr.flush()
    elif code != STOPPED or progress.LAUNCHER not in os.environ:  # the launcher says itself that it was stopped
        tell(error)
    comm.Abort(code)
    return code


def start_log(place):
    """Log on stderr: rank 0 what informs, other ranks, with their number, what warns."""
    rank = 0 if place is None else place.rank
    prefix = f"[rank {rank}] " if rank else ""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(f"{prefix}%(levelname)s: %(message)s"))
    log = logging.getLogger("swmodel")
    log.handlers = [handler]
    log.setLevel(logging.WARNING if rank else logging.INFO)


def announce(job, quiet):
    """Say in a line what is going to be computed."""
    from ..environment import cores

    if quiet:
        return
    config, directory, restart = job
    run, grid = config.run, config.grid
    first = f"from step {restart.step} on, " if restart else ""
    processes = "1 process" if run.nproc == 1 else f"{run.nproc} processes ({run.layout} blocks)"
    click.echo(
        f"{config.case.name}: {grid.nx} x {grid.ny} cells, {first}{run.steps} steps of {config.time.dt:.4g} s "
        f"({run.steps * config.time.dt / 86400:.4g} days), {processes}, into {directory}"
    )
    if run.nproc > cores():
        click.echo(f"{run.nproc} processes share the {cores()} cores of this machine: right, but slow", err=True)
