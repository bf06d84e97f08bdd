"""Four ranks that serve a whole test run: `mpiexec -n 4 python rank_server.py ADDRESS OWNER` (rank_client.py).

The first rank writes the path of its socket into the file ADDRESS. As many ranks as a request needs compute it; the
model sees only these ranks. The others sleep, and leave the cores to those that compute. A rank whose function raises
an exception ends all ranks, because others may wait for it. All ranks also end when a request takes too long, or when
the process OWNER, the test run, ends.
"""

import faulthandler
import itertools
import os
import pickle
import sys
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Listener
from pathlib import Path

import jax
from mpi4py import MPI

from support import examine_in_process, quick_compilation
from swmodel.files.integrity import guard
from swmodel.parallel.environment import RANK_VARIABLES_BY_LAUNCHER
from swmodel.parallel.transport import messages, mpi
from swmodel.parallel.transport.programs import cached_jit

WORLD = MPI.COMM_WORLD.Clone()
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
#: JAX's default rules for promoting types and shapes, which users' programs have.
PROMOTION = {"jax_numpy_dtype_promotion": "standard", "jax_numpy_rank_promotion": "allow"}
#: Longest time for a request, s; a list with the start time of the current request, empty between requests.
MAX_REQUEST_SECONDS, request_start_times = 240.0, []


@cache
def communicators(size: int) -> tuple:
    """Communicators of the first `size` ranks: the model's world, and those for messages in programs and outside."""
    group = WORLD.Create_group(WORLD.Get_group().Incl(range(size)))
    return group, group.Clone(), group.Clone()


def set_world_size(size: int):
    """Let the model see only the first `size` ranks, through its communicators and the variables of a launcher."""
    world, device_comm, host_comm = communicators(size)
    if world != MPI.COMM_WORLD:
        cached_jit.cache_clear()  # programs are cached by layout, but use the communicators of their compilation
    MPI.COMM_WORLD, messages.DEVICE_COMM, mpi.HOST_COMM = world, device_comm, host_comm
    for name in itertools.chain(*RANK_VARIABLES_BY_LAUNCHER):
        os.environ.pop(name, None)
    rank_variables = {"PMI_RANK": RANK, "PMI_SIZE": size, "MPI_LOCALRANKID": RANK, "MPI_LOCALNRANKS": size}
    os.environ.update({name: str(number) for name, number in rank_variables.items()})


@contextmanager
def restored_environment():
    """A context that restores the environment, the working folder and the setting for quick compilation."""
    environ, folder, quickly = dict(os.environ), Path.cwd(), jax.config.values[quick_compilation.OPTIMISATION_OPTION]
    try:
        yield
    finally:
        quick_compilation.compile_quickly(quickly)
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(folder)


def compute(request: bytes) -> list | None:
    """Take part in a request; returns the results of all ranks of the layout on rank 0 of the server, else None."""
    layout, call = pickle.loads(request)
    size = layout[0] * layout[1]
    if size <= RANK:
        return None
    request_start_times.append(time.monotonic())
    with restored_environment():
        set_world_size(size)
        function, with_layout, arguments = pickle.loads(call)
        for name, value in PROMOTION.items():  # an import of conftest.py makes these strict
            jax.config.update(name, value)
        result = function(*[layout] * with_layout, *arguments)
    request_start_times.clear()
    if RANK:
        return WORLD.send(result, dest=0)
    return [result, *(receive(rank) for rank in range(1, size))]


def receive(source: int):
    """The next message from a rank; sleeps until it arrives."""
    while not WORLD.Iprobe(source):
        time.sleep(0.005)
    return WORLD.recv(source=source)


def serve(listener: Listener):
    """Take requests from all processes of the test run, one at a time."""
    while True:
        with listener.accept() as connection, suppress(EOFError, OSError):  # the process may have ended
            connection.send("ready")
            request = connection.recv_bytes()
            for rank in range(1, SIZE):
                WORLD.send(request, dest=rank)
            connection.send(compute(request))


def abort(code: int):
    sys.stderr.flush()
    time.sleep(0.5)  # otherwise mpiexec drops the last output
    WORLD.Abort(code)


def watch_owner(owner: int):
    """End all ranks when the process `owner` ends, or when a request takes too long."""
    while is_alive(owner):
        if request_start_times and time.monotonic() > request_start_times[0] + MAX_REQUEST_SECONDS:
            faulthandler.dump_traceback(all_threads=True)
            abort(1)
        time.sleep(0.5)
    WORLD.Abort(0)


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
    return False


def main(address: Path, owner: int):
    jax.config.update("jax_enable_x64", True)
    guard.run_examiner = examine_in_process.examine_here
    if RANK == 0:
        jax.config.update("jax_num_cpu_devices", 4)  # for tests that compare ranks with devices
    jax.devices()  # starts JAX, so that no command changes its devices
    messages.has_mpi4jax()  # imports mpi4jax, which examines MPI's world, before a request replaces it
    threading.Thread(target=watch_owner, args=(owner,), daemon=True).start()
    try:
        if RANK == 0:
            listener = Listener(None, "AF_UNIX", backlog=64)
            address.with_suffix(".new").write_text(listener.address)
            address.with_suffix(".new").rename(address)
            serve(listener)
        while True:
            compute(receive(0))
    except BaseException:
        sys.stderr.write(f"rank {RANK} of the server of ranks\n{traceback.format_exc()}")
        abort(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
