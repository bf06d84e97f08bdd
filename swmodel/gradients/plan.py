"""The Plan of a backward sweep: how many carries it keeps in memory; it recomputes all others.

Steps are grouped into segments of equal length, except for a shorter last one. The backward sweep keeps the carry
before each step of the current segment. Of the other segments it keeps only some first carries, the checkpoints, from
which it recomputes the rest. The schedule takes the fewest steps for its number of checkpoints.

Reference: Griewank, A., and A. Walther (2000), Algorithm 799: revolve, ACM Trans. Math. Softw. 26(1), 19-45.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from checkpoint_schedules import Forward, MultistageCheckpointSchedule, multistage

from ..errors import UsageError
from ..parallel.environment import free_memory, get_rank_info, resident_memory

# Where numba is installed, it compiles this function of a schedule for three seconds, and then the function is slower
# than in Python.
if hasattr(getattr(multistage, "n_advance", None), "py_func"):
    multistage.n_advance = multistage.n_advance.py_func

#: Carries in memory besides those of the Plan, among them the current and the next one with their cotangents.
EXTRA_CARRIES = 6
#: Estimates before compilation: memory of the compiler, bytes, and temporary memory of an adjoint step, in carries.
COMPILER_BYTES, WORKSPACE_CARRIES = 200 * 10**6, 12
#: Fraction of the memory limit that a Plan leaves free.
FREE_MEMORY_FRACTION = 0.03


class Plan(NamedTuple):
    """How many carries a backward sweep keeps."""

    steps: int  # steps of the trajectory
    segment_steps: int  # steps of a segment
    checkpoints: int  # carries kept besides those of a segment

    @property
    def n_segments(self) -> int:
        return max(1, -(-self.steps // self.segment_steps))

    def first_step(self, segment: int) -> int:
        """The step at which a segment begins; `steps`, the end of the trajectory, after the last segment."""
        return min(segment * self.segment_steps, self.steps)

    def actions(self) -> Iterator:
        """The schedule's actions on segments: Forward, Copy, Move, Reverse, EndForward, EndReverse."""
        return iter(MultistageCheckpointSchedule(self.n_segments, min(self.checkpoints, self.n_segments - 1), 0))

    def forward_runs(self) -> float:
        """Forward steps in all, including the first run, relative to the number of steps."""
        forward_actions = [a for a in self.actions() if isinstance(a, Forward)]
        return sum(self.first_step(a.n1) - self.first_step(a.n0) for a in forward_actions) / max(1, self.steps)


def make_plan(steps: int, max_carries: int, carries_per_step: float = 1.0) -> Plan:
    """A Plan with few forward steps for a trajectory of `steps` steps and memory for `max_carries` carries.

    If the whole trajectory does not fit, it tries segments that take one, two, ... seven eighths of the memory. A
    recorded step takes as much memory as `carries_per_step` carries. UsageError: a checkpoint and a step do not fit.
    """
    if max_carries >= max(1, steps * carries_per_step):
        return Plan(steps, max(1, steps), 0)
    if max_carries < min_carries(carries_per_step):
        raise UsageError("too little memory for one checkpoint and one step")
    segment_carries = {
        max(min_carries(carries_per_step) - 1, min(max_carries - 1, max_carries * eighths // 8))
        for eighths in range(1, 8)
    }
    plans = [Plan(steps, int(n / carries_per_step), max_carries - n) for n in sorted(segment_carries)]
    return min(plans, key=lambda p: (p.forward_runs(), p.segment_steps))


def min_carries(carries_per_step: float) -> int:
    """The memory of a checkpoint and a step, in carries."""
    return 1 + math.ceil(carries_per_step)


class MemoryBudget:
    """The memory, in bytes, that a process may use during a backward sweep, and the memory that it uses now.

    On GPUs this is their memory. If `memory` is None, the limit on GPUs is all that JAX may use there, and on CPUs what
    the process occupies now plus its share of half of the free memory, which this machine's processes share equally.
    """

    def __init__(self, sweeps, x, memory: int | None):
        shards = jax.tree.leaves(sweeps.fixed_inputs.state)[0].addressable_shards
        self.gpus = [shard.device for shard in shards if shard.device.platform != "cpu"]
        self.sweeps, self.transport = sweeps, sweeps.transport
        self.carry_bytes, step, *other_bytes = sweeps.estimate_bytes(x)
        # The maximum makes this the same on all processes, even if blocks are uneven.
        self.carries_per_step = float(self.transport.reduce(np.asarray(step / self.carry_bytes), "max"))
        self.reserved_bytes = sum(other_bytes) + EXTRA_CARRIES * self.carry_bytes
        if self.gpus:
            memory = memory or self.memory_statistic("bytes_limit")
        elif memory is None:
            rank_info = get_rank_info()
            memory = resident_memory() + free_memory() // 2 // (rank_info.local_size if rank_info else 1)
        else:
            return_freed_memory()
        self.limit_bytes = memory

    def memory_statistic(self, name: str) -> int:
        """One of JAX's memory statistics, summed over the GPUs."""
        return sum(gpu.memory_stats()[name] for gpu in self.gpus)

    def max_carries(self, workspace_bytes: int, segment_steps: int | None) -> int:
        """How many carries, with those of a segment, fit on every process besides `workspace_bytes`.

        Stacks that are not for segments of `segment_steps` steps are dropped.
        """
        self.sweeps.release(segment_steps)
        used = self.memory_statistic("bytes_in_use") if self.gpus else resident_memory()
        used -= self.sweeps.unused_stack_bytes()
        free = (1 - FREE_MEMORY_FRACTION) * self.limit_bytes - used - workspace_bytes - self.reserved_bytes
        return int(self.transport.reduce(np.asarray(free // self.carry_bytes, np.int64), "min"))


def fit_plan(sweeps, x, memory: int | None, previous: Plan | None = None) -> Plan:
    """A Plan with few forward steps that fits into the memory of every process; compiles the sweeps.

    The segments of the Plan `previous` are kept if they still fit, because these need no compilation. UsageError: not
    even the smallest sweep fits.
    """
    budget, steps, tried_lengths, best_prepared = MemoryBudget(sweeps, x, memory), sweeps.steps, set(), None
    min_needed = min_carries(budget.carries_per_step)
    best = previous or make_plan(
        steps,
        max(min_needed, budget.max_carries(COMPILER_BYTES + WORKSPACE_CARRIES * budget.carry_bytes, None)),
        budget.carries_per_step,
    )
    while best.segment_steps not in tried_lengths:
        length = best.segment_steps
        tried_lengths.add(length)
        max_carries = budget.max_carries(sweeps.prepare(x, length), length)
        if max_carries < min(min_needed, math.ceil(max(1, steps) * budget.carries_per_step)):
            needed = (budget.limit_bytes + (min_needed - max_carries) * budget.carry_bytes) * (1 + FREE_MEMORY_FRACTION)
            available, needed = (f"{size / 1e6:.0f} MB" for size in (budget.limit_bytes, needed))
            raise UsageError(f"{available} of memory are not enough: a process needs {needed} for derivatives")
        segment_carries = math.ceil(length * budget.carries_per_step)
        if max_carries > segment_carries or max_carries >= steps * budget.carries_per_step:
            prepared = Plan(steps, length, max_carries - segment_carries)
            if previous is not None:
                return prepared
            best_prepared = min(best_prepared or prepared, prepared, key=Plan.forward_runs)
        best = make_plan(steps, max_carries, budget.carries_per_step)
        if best_prepared and best_prepared.forward_runs() <= best.forward_runs():
            break
    return best_prepared or best  # its length has been tried, and fits now


def return_freed_memory():
    """Let the C library return freed arrays of a megabyte and more to the system at once.

    By default it keeps arrays of up to 32 MB. At 400 x 400 cells such arrays exceeded a limit of 800 MB by 125 MB.
    """
    library, mmap_threshold = ctypes.CDLL(None), -3
    if hasattr(library, "mallopt"):
        library.mallopt(mmap_threshold, 2**20)
