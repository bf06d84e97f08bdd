"""The memory that a backward sweep takes, and the Plan that keeps within a bound."""

from __future__ import annotations

import jax
import numpy as np

from ..environment import free_memory, resident_memory, world
from ..errors import UsageError
from .plan import Plan, plan
from .sweeps import Sweeps

#: Carries beside those of the Plan: one on the way forward and its successor, the cotangents and theirs.
IN_FLIGHT = 4


def fit(sweeps: Sweeps, x, fixed, memory: int | None, transport) -> Plan:
    """The Plan with the fewest steps within the memory that all processes of the run may hold.

    Args:
        memory: bytes that this process may hold; None: half of what is free, shared by this machine's processes.

    Raises:
        UsageError: the least that a backward sweep needs does not fit.
    """
    carry, active = jax.eval_shape(sweeps.start, x, fixed)
    size, static = nbytes(carry), nbytes(active)
    if memory is None:
        place = world()
        memory = resident_memory() + free_memory() // 2 // (place.local_size if place else 1)
    workspace = 12 * size
    for _ in range(2):
        free = memory - resident_memory() - workspace - 3 * static - IN_FLIGHT * size
        room = int(transport.reduce(np.asarray(free // size), "min"))
        if room < min(2, sweeps.steps):
            least = resident_memory() + workspace + 3 * static + (IN_FLIGHT + 2) * size
            raise UsageError(
                f"{megabytes(memory)} of memory are too little for derivatives: a process needs {megabytes(least)}"
            )
        chosen = plan(sweeps.steps, room)
        workspace = sweeps.workspace(x, fixed, chosen.length)
    return chosen


def nbytes(tree) -> int:
    """Bytes of all arrays of a tree."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def megabytes(size: int) -> str:
    """A number of bytes in words."""
    return f"{size / 1e6:.0f} MB"
