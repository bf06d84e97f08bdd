"""Start the ranks of a run on this machine without MPI: `python -m swmodel.parallel.spawn N COMMAND...`.

This program replaces mpiexec for the sharded transport. The environment of each process contains its rank, the number
of ranks and the address of the first one. If a signal kills a process, all others are killed. If one exits with an
error, the others have GRACE_SECONDS to end; after `kill_other_ranks` all end at once. SIGINT and SIGTERM are
forwarded; a second signal ends all processes. The processes end when this program ends, which ends with its parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

from .environment import RANK_VARIABLE, SIZE_VARIABLE

LOCALHOST = "127.0.0.1"
#: Environment variable with the process id of this program, the parent of the ranks.
SPAWN_PID_VARIABLE = "SWMODEL_SPAWN"
#: The signal of `kill_other_ranks`, and the signals that are forwarded.
FAILURE_SIGNAL, FORWARDED_SIGNALS = signal.SIGUSR1, (signal.SIGINT, signal.SIGTERM)
#: Time that other processes have to end after one has failed, and interval between checks, s.
GRACE_SECONDS, POLL_SECONDS = 10.0, 0.05
#: The line on stderr about the process that failed first, if a signal killed a process or others do not end.
RANK_ENDED_LINE = "swmodel.parallel.spawn: rank {rank} ended: {how}"
#: Linux: the option of prctl that requests a signal when the parent ends.
PR_SET_PDEATHSIG = 1


def main(size: int, command: list[str]) -> int:
    """Start `size` processes and wait for them; returns the exit code from `wait_for_ranks`."""
    parent = os.getppid()
    received_signals: list[int] = []
    ranks: dict[int, subprocess.Popen] = {}
    for number in (*FORWARDED_SIGNALS, FAILURE_SIGNAL):
        signal.signal(number, lambda number, frame: received_signals.append(number))
    variables = {
        "JAX_COORDINATOR_ADDRESS": f"{LOCALHOST}:{free_port()}",
        SPAWN_PID_VARIABLE: str(os.getpid()),
        SIZE_VARIABLE: str(size),
    }
    # JAX's runtime would use a proxy even for this machine.
    no_proxy = ",".join(filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), LOCALHOST)))
    try:
        for rank in range(size):
            environ = os.environ | variables | {"no_proxy": no_proxy, RANK_VARIABLE: str(rank)}
            ranks[rank] = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
        return wait_for_ranks(ranks, received_signals, parent)
    finally:
        for process in ranks.values():
            process.kill()


def wait_for_ranks(ranks: dict[int, subprocess.Popen], received_signals: list[int], parent: int) -> int:
    """Wait until all ranks have ended, or until the caller must kill those that have not.

    Returns the exit code or the signal of the first failure; without one 0, or SIGKILL if the caller must kill ranks.
    `received_signals` receives the signals sent to this process; `parent` is the id of its parent.
    """
    first_failed_rank, deadline, has_forwarded_signal = None, 0.0, False
    while True:
        signals = [received_signals.pop(0) for _ in range(len(received_signals))]
        time.sleep(POLL_SECONDS)  # meanwhile a process that has sent FAILURE_SIGNAL ends with its exit code
        alive = [process for process in ranks.values() if process.poll() is None]
        codes = {rank: process.returncode for rank, process in ranks.items() if process.returncode}
        if codes and first_failed_rank is None:
            first_failed_rank = min(codes, key=lambda rank: codes[rank])  # killed processes have negative codes
            deadline = time.monotonic() + GRACE_SECONDS
        code = 0 if first_failed_rank is None else codes[first_failed_rank]
        if code and (min(codes.values()) < 0 or (alive and time.monotonic() > deadline)):
            how = f"exit code {code}" if code > 0 else f"{signal.strsignal(-code)} (signal {-code})"
            print(RANK_ENDED_LINE.format(rank=first_failed_rank, how=how), file=sys.stderr, flush=True)
            return abs(code)
        if not alive:
            return code
        if FAILURE_SIGNAL in signals or (signals and has_forwarded_signal) or os.getppid() != parent:
            return code or signal.SIGKILL
        for number in signals:
            has_forwarded_signal = True
            for process in alive:
                process.send_signal(number)


def end_with_parent():
    """Make Linux kill this process when its parent ends; without effect on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_other_ranks():
    """Ask `spawn`, if it started this process, to end all other ranks, because this one has failed."""
    if os.environ.get(SPAWN_PID_VARIABLE) == str(os.getppid()):
        os.kill(os.getppid(), FAILURE_SIGNAL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
