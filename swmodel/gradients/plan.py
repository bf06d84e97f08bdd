"""The Plan of a backward sweep: the carries that fit into memory; the rest is computed again.

Steps are grouped into segments of equal length; the last one may be shorter. The backward sweep keeps the carry before
each step of the present segment. For other segments it keeps only some carries at their starts: checkpoints, from which
the rest is computed again. The schedule has the fewest steps for its number of checkpoints.

Reference: Griewank, A., and A. Walther (2000), Algorithm 799: revolve, ACM Trans. Math. Softw. 26(1), 19-45.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from checkpoint_schedules import Forward, MultistageCheckpointSchedule

from ..errors import UsageError
from ..parallel.environment import free_memory, resident_memory, world

#: Carries in memory besides those of the Plan: the present and the next one, and the cotangents of both.
IN_FLIGHT = 6
#: Estimates before compilation: its bytes, and carries of an adjoint step.
COMPILING, WORKSPACE = 200 * 10**6, 12
#: Fraction of the memory that remains free.
SPARE = 0.03


class Plan(NamedTuple):
    """The numbers of carries in memory."""

    steps: int  # steps of the trajectory
    length: int  # steps of a segment
    checkpoints: int  # carries kept besides those of a segment

    @property
    def segments(self) -> int:
        """Number of segments."""
        return max(1, -(-self.steps // self.length))

    def step(self, segment: int) -> int:
        """The step at which a segment begins; at most the last step."""
        return min(segment * self.length, self.steps)

    def actions(self) -> Iterator:
        """The schedule's actions on segments: Forward, Copy, Move, Reverse, EndForward, EndReverse."""
        return iter(MultistageCheckpointSchedule(self.segments, min(self.checkpoints, self.segments - 1), 0))

    def runs(self) -> float:
        """Steps forward in a backward sweep, with those of the first run, relative to the number of steps."""
        forward = [a for a in self.actions() if isinstance(a, Forward)]
        return sum(self.step(a.n1) - self.step(a.n0) for a in forward) / max(1, self.steps)


def plan(steps: int, room: int, step: float = 1.0) -> Plan:
    """The Plan with the fewest runs for a trajectory of `steps`, with memory for `room` carries.

    A step of a segment takes `step` carries. UsageError: a checkpoint and a step do not fit.
    """
    if room >= max(1, steps * step):
        return Plan(steps, max(1, steps), 0)
    if room < least(step):
        raise UsageError("too little memory for a checkpoint and a step")
    shares = {max(least(step) - 1, min(room - 1, room * eighths // 8)) for eighths in range(1, 8)}
    plans = [Plan(steps, int(share / step), room - share) for share in sorted(shares)]
    return min(plans, key=lambda p: (p.runs(), p.length))


def least(step: float) -> int:
    """Carries that a checkpoint and a step take."""
    return 1 + math.ceil(step)


class MemoryBudget:
    """The limit of the memory in which a process computes during a backward sweep, bytes, and its present use.

    On GPUs it is their memory. `memory` None: all that JAX may use there; on processors half of the free memory, shared
    by this machine's processes.
    """

    def __init__(self, sweeps, x, memory: int | None):
        shards = jax.tree.leaves(sweeps.fixed.state)[0].addressable_shards
        self.gpus = [shard.device for shard in shards if shard.device.platform != "cpu"]
        self.sweeps, self.transport = sweeps, sweeps.transport
        self.carry, step, *besides = sweeps.bytes_of(x)
        self.step = float(self.transport.reduce(np.asarray(step / self.carry), "max"))  # the same in uneven blocks
        self.beside = sum(besides) + IN_FLIGHT * self.carry
        if self.gpus:
            memory = memory or self.statistics("bytes_limit")
        elif memory is None:
            place = world()
            memory = resident_memory() + free_memory() // 2 // (place.local_size if place else 1)
        else:
            give_back_memory()
        self.memory = memory

    def statistics(self, name: str) -> int:
        """A number that JAX knows about the memory of the GPUs, summed over them."""
        return sum(gpu.memory_stats()[name] for gpu in self.gpus)

    def carries(self, workspace: int, length: int | None) -> int:
        """The number of carries that fit on all processes, beside `workspace` bytes and stacks for `length` steps."""
        self.sweeps.release(length)
        present = (self.statistics("bytes_in_use") if self.gpus else resident_memory()) - self.sweeps.kept_bytes()
        free = (1 - SPARE) * self.memory - present - workspace - self.beside
        return int(self.transport.reduce(np.asarray(free // self.carry, np.int64), "min"))


def fit(sweeps, x, memory: int | None, before: Plan | None = None) -> Plan:
    """The Plan with the fewest steps that fits into the memory of all processes of the run; compiles the sweeps.

    Segments of the Plan `before` that still fit are kept, without compilation. UsageError: the smallest backward sweep
    does not fit.
    """
    budget, steps, tried, found = MemoryBudget(sweeps, x, memory), sweeps.steps, set(), None
    fewest = least(budget.step)
    best = before or plan(steps, max(fewest, budget.carries(COMPILING + WORKSPACE * budget.carry, None)), budget.step)
    while best.length not in tried:
        tried.add(best.length)
        length, left = best.length, budget.carries(sweeps.prepare(x, best.length), best.length)
        if left < min(fewest, math.ceil(max(1, steps) * budget.step)):
            needed = (budget.memory + (fewest - left) * budget.carry) * (1 + SPARE)
            given, needed = (f"{size / 1e6:.0f} MB" for size in (budget.memory, needed))
            raise UsageError(f"{given} of memory are too little: a process needs {needed} for derivatives")
        taken = math.ceil(length * budget.step)
        if left > taken or left >= steps * budget.step:
            prepared = Plan(steps, length, left - taken)
            if before is not None:
                return prepared
            found = min(found or prepared, prepared, key=Plan.runs)
        best = plan(steps, left, budget.step)
        if found and found.runs() <= best.runs():
            break
    return found


def give_back_memory():
    """Let the C library return freed arrays of a megabyte and more to the system at once.

    By default it keeps arrays of up to 32 MB: at 400 x 400 cells 125 MB above the limit of 800 MB.
    """
    library, mmap_threshold = ctypes.CDLL(None), -3
    if hasattr(library, "mallopt"):
        library.mallopt(mmap_threshold, 2**20)
