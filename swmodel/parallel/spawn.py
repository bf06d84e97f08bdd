"""Starting the ranks of a run on this machine without MPI: `python -m swmodel.parallel.spawn N COMMAND...`.

It replaces mpiexec for the sharded transport: each process finds its rank, the number of ranks and the address of the
first in its environment. When one dies, all others are killed; when one exits with an error, the others have GRACE
seconds to do the same; when one calls `fail`, all end at once. SIGINT and SIGTERM are handed on; a second one ends all.
The processes end with this one, and this one ends with its parent.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time

from .environment import RANK, SIZE

#: The address of this machine, for its own processes.
LOCAL = "127.0.0.1"
#: Variable of the environment: the process that started this one.
SPAWN = "SWMODEL_SPAWN"
#: The signal by which a process asks to have all ended, and those that are handed on.
FAILED, STOPS = signal.SIGUSR1, (signal.SIGINT, signal.SIGTERM)
#: Time, s, that processes have to end by themselves after one has ended with an error.
GRACE = 10.0
#: Time between two looks at the clock and at the parent, s.
LOOK = 1.0
#: The line on stderr that says which process ended first, and how.
ENDED = "swmodel.parallel.spawn: rank {rank} ended: {how}"
#: Linux: the signal that a process gets when its parent ends (prctl).
PR_SET_PDEATHSIG = 1


def main(size: int, command: list[str]) -> int:
    """Start `size` processes and wait for them; returns 0, or the exit code of the first that failed."""
    place = {"JAX_COORDINATOR_ADDRESS": f"{LOCAL}:{free_port()}", SPAWN: str(os.getpid()), SIZE: str(size)}
    # JAX's runtime would go through a proxy to this machine, too.
    direct = ",".join(filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), LOCAL)))
    processes = Processes()
    try:
        for rank in range(size):
            processes.start(command, os.environ | place | {"no_proxy": direct, RANK: str(rank)}, rank)
        return processes.wait()
    finally:
        processes.end()


class Processes:
    """The processes that are alive. Signals to this one wait until they are read, so that nothing is interrupted.

    Attributes:
        ranks: {rank: process}.
        failed, deadline: (rank, exit code) of the first that ended with an error, and when the others are killed.
        stopping, over: whether a signal was handed on, and whether all are being killed.
    """

    def __init__(self):
        self.ranks, self.failed, self.deadline, self.stopping, self.over = {}, None, 0.0, False, False
        self.parent = os.getppid()
        self._signals, into = os.pipe()
        os.set_blocking(into, False)
        signal.set_wakeup_fd(into)
        for number in (*STOPS, FAILED, signal.SIGCHLD):
            signal.signal(number, lambda *signal: None)

    def start(self, command, environ, rank):
        """Start a process."""
        options = {"stdin": subprocess.DEVNULL, "preexec_fn": end_with_parent}
        self.ranks[rank] = subprocess.Popen(command, env=environ, **options)

    def wait(self) -> int:
        """Wait for all; returns the exit code of the first that failed, or 0."""
        while self.ranks:
            if select.select([self._signals], [], [], LOOK)[0]:
                for number in os.read(self._signals, 1000):
                    self.receive(number)
            self.reap()
            if self.failed and time.monotonic() > self.deadline:
                self.end(*self.failed)
            if os.getppid() != self.parent:
                self.end()
        return abs(self.failed[1]) if self.failed else 0

    def receive(self, number):
        """Hand a signal on, or end all."""
        if number == FAILED or (number in STOPS and self.stopping):
            self.end()
        elif number in STOPS:
            self.stopping = True
            for process in self.ranks.values():
                process.send_signal(number)

    def reap(self):
        """Note which processes have ended."""
        for rank, process in list(self.ranks.items()):
            if (code := process.poll()) is None:
                continue
            del self.ranks[rank]
            if code and self.failed is None:
                self.failed, self.deadline = (rank, code), time.monotonic() + GRACE
            if code < 0:
                self.end(*self.failed)

    def end(self, rank=None, code=0):
        """Kill the processes that are left; the first time, say which rank had ended by itself, if one had."""
        if rank is not None and not self.over:
            how = f"exit code {code}" if code > 0 else f"{signal.strsignal(-code)} (signal {-code})"
            print(ENDED.format(rank=rank, how=how), file=sys.stderr, flush=True)
        self.over = True
        for process in self.ranks.values():
            process.kill()


def end_with_parent():
    """Have this process killed when its parent ends; works on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def fail():
    """In a process that failed: have its parent end the others, if that started them all."""
    if os.environ.get(SPAWN) == str(os.getppid()):
        os.kill(os.getppid(), FAILED)


def free_port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
