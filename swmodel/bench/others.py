"""The share of the cores that other programs take during a sample: busy time of the cores minus that of our processes.

The load average would show it minutes late, and counts our own ranks. Time that a virtual machine does not get from its
host (steal) also counts as taken by others.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

#: Fraction of the cores above which times count as disturbed. Daemons of an idle machine take less than 0.01.
DISTURBED = 0.05
STAT = Path("/proc/stat")
#: Columns of a line of /proc/stat: time of programs, of the kernel for them, and steal.
USER, NICE, SYSTEM, STEAL = 1, 2, 3, 8


class Clock(NamedTuple):
    """Readings, s: wall clock, busy time of our cores together, and CPU time of this process and its ended children."""

    wall: float
    busy: float
    own: float


def read() -> Clock | None:
    """The clock now; None if the system does not tell, or if ranks are Slurm's children, not ours."""
    if "SLURM_JOB_ID" in os.environ or not STAT.is_file() or not hasattr(os, "sched_getaffinity"):
        return None
    times = os.times()
    busy = busy_ticks(STAT.read_text(), os.sched_getaffinity(0)) / os.sysconf("SC_CLK_TCK")
    own = times.user + times.system + times.children_user + times.children_system
    return Clock(time.monotonic(), busy, own)


def busy_ticks(text: str, cpus) -> int:
    """Busy ticks of the cores numbered `cpus` in the text of /proc/stat."""
    ours = {f"cpu{number}" for number in cpus}
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    return sum(int(line[n]) for line in lines if line[0] in ours for n in (USER, NICE, SYSTEM, STEAL))


def share(before: Clock | None, after: Clock | None, cores: int) -> float | None:
    """The fraction of the time of all cores that others took between two readings; None without readings."""
    if before is None or after is None or after.wall <= before.wall:
        return None
    taken = (after.busy - before.busy) - (after.own - before.own)
    return max(0.0, taken / (cores * (after.wall - before.wall)))


def now(cores: int, seconds: float = 0.5) -> float | None:
    """The fraction of the cores that others take now, measured for so many seconds."""
    before = read()
    if before is not None:
        time.sleep(seconds)
    return share(before, read(), cores)
