"""A run that is longer than any test, started from the command line as a user does, for tests that disturb it."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from support.faults import PROGRAM, SMALL_OPTIONS
from swmodel.files.restart.folder import list_restart_files
from swmodel.model.launch import find_mpiexec

CASE = ["jet", *SMALL_OPTIONS, "-s", "time.dt=20"]
#: The environment variable that marks the processes of a test, so that they can be found.
TAG_VARIABLE = "LONG_TEST_RUN"


def processes_of(folder) -> dict[int, dict[bytes, bytes]]:
    """{process id: environment} of the running processes whose TAG_VARIABLE is `folder`."""
    processes = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            environ = dict(pair.partition(b"=")[::2] for pair in path.read_bytes().split(b"\0"))
            if environ.get(TAG_VARIABLE.encode()) == os.fsencode(folder):
                processes[int(path.parent.name)] = environ
    return processes


def ranks_of(folder) -> dict[int, int]:
    """{rank: process id} of the ranks among `processes_of(folder)`."""
    processes = processes_of(folder).items()
    names = b"PMI_RANK", b"OMPI_COMM_WORLD_RANK", b"SWMODEL_RANK"
    return {int(environ[name]): pid for pid, environ in processes for name in names if name in environ}


class LongRun:
    """A context with a run of the case jet for 10 000 days, whose run folder is `folder`/run.

    The context starts when the run has written its first restart file, and its end kills all processes of the run. A
    chunk of 500 steps takes about 20 ms, so that a busy machine does not look like a hanging run.

    Args:
        arguments: further arguments of the command.
        mpiexec: number of ranks that mpiexec starts; 0: the launcher of the model starts them.
        chunk: steps between two checks, a quarter of the steps between two restart files.
    """

    def __init__(self, folder, *arguments, mpiexec=0, chunk=500):
        self.folder = Path(folder) / "run"
        self.out, self.err = Path(folder) / "out.txt", Path(folder) / "err.txt"
        intervals = ["-s", f"restart.every_steps={4 * chunk}", "-s", f"run.check_every_steps={chunk}"]
        command = [*PROGRAM, "run", *CASE, *intervals, "--days=10000", "--output=run", *map(str, arguments)]
        if mpiexec:
            command = [find_mpiexec(), "-n", str(mpiexec), *command]
        options = {"cwd": folder, "env": os.environ | {TAG_VARIABLE: str(folder), "MPIEXEC_TIMEOUT": "100"}}
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(command, **options, stdout=out, stderr=err, process_group=0)

    def __enter__(self):
        deadline = time.monotonic() + 60
        while not list_restart_files(self.folder):
            assert self.process.poll() is None, self.err.read_text()
            assert time.monotonic() < deadline, "the run has not written its first restart file"
            time.sleep(0.05)
        return self

    def __exit__(self, *error):
        for pid in (self.process.pid, *self.ranks().values()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def ranks(self) -> dict[int, int]:
        return ranks_of(self.folder.parent)

    def wait_for_end(self, timeout: float) -> tuple[int, str]:
        """Wait until the run has ended by itself; returns its exit code and stderr. Fails after `timeout` s."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s\n{self.err.read_text()}") from None
        return code, self.err.read_text()
