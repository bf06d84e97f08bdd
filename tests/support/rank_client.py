"""Run functions of tests on several ranks: a server of four ranks (rank_server.py) serves a whole test run."""

import contextlib
import fcntl
import os
import pickle
import subprocess
import sys
import time
from multiprocessing.connection import Client, Connection
from pathlib import Path

from support.quick_compilation import QUICK_ENVIRONMENT, XLA_FLAGS
from swmodel.model.launch import find_mpiexec
from swmodel.parallel import environment

TESTS = Path(__file__).parents[1]
SERVER = TESTS / "support" / "rank_server.py"
#: The environment of ranks that compile as with `--reproducible`, instead of quickly.
REPRODUCIBLE_ENVIRONMENT = {"XLA_FLAGS": "--xla_cpu_max_isa=AVX", "JAX_DISABLE_MOST_OPTIMIZATIONS": ""}
#: A shell command that starts a rank with its own hash seed, so that the order of sets of texts differs between ranks.
HASH_SEED_COMMAND = 'PYTHONHASHSEED=${PMI_RANK:-$OMPI_COMM_WORLD_RANK} exec "$@"'


class RankServerClient:
    """Calls functions on the ranks of a server, which the first process that needs ranks starts.

        ranks((2, 2), function, *arguments)     # [the result of function((2, 2), *arguments) on each of four ranks]
        ranks(3, function, *arguments)          # [the result of function(*arguments) on each of three ranks]

    The function must be importable from a module; arguments and results must be picklable. An exception on a rank fails
    the test with its traceback.

    Args:
        folder: a folder shared by all processes of the test run.
        owner: id of the process with which the server ends.
        name: name of the server's files.
        environ: environment variables in addition to those of quick compilation; empty ones are removed.
    """

    def __init__(self, folder: Path, owner: int, name="ranks", **environ):
        self.folder, self.owner, self.environ = folder, owner, environ
        self.address, self.lock, self.log = (folder / f"{name}.{ending}" for ending in ("address", "lock", "log"))

    def __call__(self, layout_or_size, function, *arguments):
        layout = (1, layout_or_size) if isinstance(layout_or_size, int) else layout_or_size
        call = pickle.dumps((function, not isinstance(layout_or_size, int), arguments))
        with self.wait_for_server() as connection:
            log_size = self.log.stat().st_size
            try:
                connection.send_bytes(pickle.dumps((layout, call)))
                return connection.recv()
            except (EOFError, OSError):
                time.sleep(1.0)  # wait for the last output
                text = self.log.read_bytes()[log_size:].decode(errors="replace")
                raise AssertionError(f"{function} on {layout_or_size}:\n{text}") from None

    def with_environment(self, name: str, **environ):
        return RankServerClient(self.folder, self.owner, name, **environ)

    def wait_for_server(self) -> Connection:
        """A connection that the server has accepted; the server serves one connection at a time."""
        while True:
            connection = self.connect()
            with contextlib.suppress(EOFError, OSError):  # another test has ended the server
                connection.recv()
                return connection

    def connect(self) -> Connection:
        """A connection to the server, which this method starts if it does not run."""
        with self.lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with contextlib.suppress(OSError):
                return Client(self.address.read_text(), "AF_UNIX")
            self.address.unlink(missing_ok=True)
            server = self.start_server()
            while not self.address.exists():
                assert server.poll() is None, self.log.read_text(errors="replace")
                time.sleep(0.05)
            return Client(self.address.read_text(), "AF_UNIX")

    def start_server(self) -> subprocess.Popen:
        """Start the server, which compiles programs quickly; its ranks share the cores with other processes."""
        quick = QUICK_ENVIRONMENT | {"XLA_FLAGS": f"{XLA_FLAGS} --xla_cpu_max_isa=AVX"}  # as with `--reproducible`
        environ = os.environ | environment.OVERSUBSCRIPTION_VARIABLES | quick | self.environ
        path = os.pathsep.join([str(TESTS.parent), str(TESTS), os.environ.get("PYTHONPATH", "")])
        environ |= {"NPROC": "1", "JAX_CPU_ENABLE_ASYNC_DISPATCH": "false", "PYTHONPATH": path}
        environ = {key: value for key, value in environ.items() if value and key != "MPIEXEC_TIMEOUT"}
        command = [find_mpiexec(), "-n", "4", "sh", "-c", HASH_SEED_COMMAND, "sh", sys.executable, str(SERVER)]
        command += [str(self.address), str(self.owner)]
        with self.log.open("a") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return subprocess.Popen(command, env=environ, start_new_session=True, **streams)
