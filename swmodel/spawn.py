"""Processes of this machine that belong together, started without MPI: `python -m swmodel.spawn N COMMAND...`.

What mpiexec does, for the sharded transport: each process finds its rank, their number and the address of the first in
its environment. One that dies takes the others with it; one that leaves with an error gives them GRACE seconds to do
the same. SIGTERM, from a process that failed and says so itself, ends all, and so does the end of what started this.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

from .environment import RANK, SIZE

#: Time in which processes that end together for one reason do so, s.
GRACE = 10.0
#: Time between two looks at the clock and at what started this, s.
LOOK = 1.0
#: The line on stderr that says which process ended first, and how.
ENDED = "swmodel.spawn: rank {rank} ended: {how}"


def main(size: int, command: list[str]) -> int:
    """Start `size` processes and wait for them; the exit code: 0, or of the first that ended with another."""
    place = {"JAX_COORDINATOR_ADDRESS": (address := free_address()), "JAX_COORDINATOR_BIND_ADDRESS": address}
    environ = os.environ | place | {SIZE: str(size), "no_proxy": without_proxy()}
    processes = Processes()
    for rank in range(size):
        processes.start(command, environ | {RANK: str(rank)}, rank)
    return processes.wait()


class Processes:
    """The processes that are alive.

    Attributes:
        ranks: {process id: rank}.
        failed: (rank, exit code) of the first that ended with an error; None if none did.
        deadline: when its time for the others is over.
    """

    def __init__(self):
        self.ranks, self.failed, self.deadline, self.over = {}, None, 0.0, False
        self.parent = os.getppid()
        signal.signal(signal.SIGTERM, lambda *signal: self.end())
        signal.signal(signal.SIGALRM, self.look)
        signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)

    def start(self, command, environ, rank):
        """Start a process."""
        self.ranks[subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL).pid] = rank

    def wait(self) -> int:
        """Wait for all; the exit code of the first that failed, or 0."""
        while self.ranks:
            pid, status = os.wait()
            rank, code = self.ranks.pop(pid), os.waitstatus_to_exitcode(status)
            if code and self.failed is None:
                self.failed, self.deadline = (rank, code), time.monotonic() + GRACE
            if code < 0:
                self.end(rank, code)
        return abs(self.failed[1]) if self.failed else 0

    def look(self, *signal):
        """End what is left when its time is over, or nobody is there any more who wants it."""
        if self.failed and time.monotonic() > self.deadline:
            self.end(*self.failed)
        if os.getppid() != self.parent:
            self.end()

    def end(self, rank=None, code=0):
        """Kill what is left; unless they are being killed already, say for which rank, if one ended by itself."""
        if rank is not None and not self.over:
            how = f"exit code {code}" if code > 0 else f"{signal.strsignal(-code)} (signal {-code})"
            print(ENDED.format(rank=rank, how=how), file=sys.stderr, flush=True)
        self.over = True
        for pid in self.ranks:
            os.kill(pid, signal.SIGKILL)


def free_address() -> str:
    """HOST:PORT on this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())


def without_proxy() -> str:
    """The machines that are reached without a proxy: what the user has set, and this one. JAX's runtime obeys it."""
    return ",".join(filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "127.0.0.1")))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
