"""Start the ranks of a run on this machine without MPI: `python -m swmodel.parallel.spawn N COMMAND...`.

It replaces mpiexec for the sharded transport. The environment of each process has its rank, the number of ranks and the
address of the first one. If a process dies, it kills all others. After an exit with an error the others have GRACE
seconds to end; after `fail` all end at once. It forwards SIGINT and SIGTERM; a second signal ends all. The processes
end with this one, and this one ends with its parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

from .environment import RANK, SIZE

#: The address of this machine, for its own processes.
LOCAL = "127.0.0.1"
#: Variable of the environment: the id of the parent process.
SPAWN = "SWMODEL_SPAWN"
#: The signal of `fail`, and the signals that are forwarded.
FAILED, STOPS = signal.SIGUSR1, (signal.SIGINT, signal.SIGTERM)
#: Time for other processes to end after an error of one, and interval of checks, s.
GRACE, LOOK = 10.0, 0.05
#: The line on stderr about the first process that ended.
ENDED = "swmodel.parallel.spawn: rank {rank} ended: {how}"
#: Linux: the option of prctl for a signal at the end of the parent.
PR_SET_PDEATHSIG = 1


def main(size: int, command: list[str]) -> int:
    """Start `size` processes and wait for them; returns 0, or the exit code of the first that failed."""
    parent, heard, ranks = os.getppid(), [], {}
    for number in (*STOPS, FAILED):
        signal.signal(number, lambda number, frame: heard.append(number))
    place = {"JAX_COORDINATOR_ADDRESS": f"{LOCAL}:{free_port()}", SPAWN: str(os.getpid()), SIZE: str(size)}
    # JAX's runtime would use a proxy even for this machine.
    direct = ",".join(filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), LOCAL)))
    try:
        for rank in range(size):
            environ = os.environ | place | {"no_proxy": direct, RANK: str(rank)}
            options = {"stdin": subprocess.DEVNULL, "preexec_fn": end_with_parent}
            ranks[rank] = subprocess.Popen(command, env=environ, **options)
        return wait(ranks, heard, parent)
    finally:
        for process in ranks.values():
            process.kill()


def wait(ranks: dict[int, subprocess.Popen], heard: list[int], parent: int) -> int:
    """Wait until all have ended, and kill them if necessary; returns the exit code of the first that failed, or 0.

    `heard` has the signals to this process, `parent` is its parent.
    """
    first, deadline, stopping = None, 0.0, False
    while True:
        signals = [heard.pop(0) for _ in range(len(heard))]
        time.sleep(LOOK)  # a process that has sent FAILED ends meanwhile, with its exit code
        alive = [process for process in ranks.values() if process.poll() is None]
        codes = {rank: process.returncode for rank, process in ranks.items() if process.returncode}
        if codes and first is None:
            first, deadline = min(codes, key=codes.get), time.monotonic() + GRACE  # a killed one before others
        if codes and (min(codes.values()) < 0 or (alive and time.monotonic() > deadline)):
            code = codes[first]
            how = f"exit code {code}" if code > 0 else f"{signal.strsignal(-code)} (signal {-code})"
            print(ENDED.format(rank=first, how=how), file=sys.stderr, flush=True)
            return abs(code)
        if not alive:
            return codes.get(first, 0)
        if FAILED in signals or (signals and stopping) or os.getppid() != parent:
            return codes.get(first, signal.SIGKILL)
        for number in signals:
            stopping = True
            for process in alive:
                process.send_signal(number)


def end_with_parent():
    """Let Linux kill this process when its parent ends; no effect elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def fail():
    """Ask `spawn`, if it started this failed process, to end all others."""
    if os.environ.get(SPAWN) == str(os.getppid()):
        os.kill(os.getppid(), FAILED)


def free_port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
