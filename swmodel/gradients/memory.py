"""The memory that a backward sweep takes, and the Plan that keeps within a bound."""

from __future__ import annotations

import ctypes
import sys

import jax
import numpy as np

from ..environment import free_memory, resident_memory, world
from ..errors import UsageError
from .plan import Plan, plan
from .sweeps import Sweeps

#: Carries beside those of the Plan: one and its successor on the way forward, cotangents and theirs on the way back.
IN_FLIGHT = 6
#: Before compiling is over: bytes that it takes, and carries that a step back takes for itself.
COMPILING, WORKSPACE = 200 * 10**6, 12


def fit(sweeps: Sweeps, x, fixed, memory: int | None, transport) -> Plan:
    """The Plan with the fewest steps within the memory that all processes of the run may hold; compiles the sweeps.

    Args:
        memory: bytes that this process may hold; None: half of what is free, shared by this machine's processes.

    Raises:
        UsageError: the least that a backward sweep needs does not fit.
    """
    carry, active = jax.eval_shape(sweeps.start, x, fixed)
    processes = transport.size if transport.name == "sharded" else 1  # whose arrays these are
    size, fields = nbytes(carry) // processes, nbytes(active) // processes
    if memory is not None:
        give_back_memory()
    else:
        place = world()
        memory = resident_memory() + free_memory() // 2 // (place.local_size if place else 1)

    def room(workspace: int) -> int:
        """Carries that all processes have room for."""
        free = memory - resident_memory() - workspace - 3 * fields - IN_FLIGHT * size
        return int(transport.reduce(np.asarray(free // size), "min"))

    length = plan(sweeps.steps, max(2, room(COMPILING + WORKSPACE * size))).length
    while True:
        workspace = sweeps.prepare(x, fixed, length)
        left = room(workspace)
        if left > length or left >= sweeps.steps:
            return Plan(sweeps.steps, length, left - length)
        if length == 1:
            needed = megabytes(memory + (2 - left) * size)
            raise UsageError(f"{megabytes(memory)} of memory are too little: a process needs {needed} for derivatives")
        length //= 2


def give_back_memory():
    """Have the C library return arrays of a megabyte and more to the system as soon as they are not needed.

    By default it keeps those of up to 32 MB, in pieces: 125 MB more than the bound of 800 MB, at 400 x 400 cells.
    """
    library, mmap_threshold = ctypes.CDLL(None), -3
    if sys.platform == "linux" and hasattr(library, "mallopt"):
        library.mallopt(mmap_threshold, 2**20)


def nbytes(tree) -> int:
    """Bytes of all arrays of a tree."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def megabytes(size: int) -> str:
    """A number of bytes in words."""
    return f"{size / 1e6:.0f} MB"
