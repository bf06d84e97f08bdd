"""The steps of native calls: scheme and stepper, static fields, and the number of steps in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from ...ocean.scheme import Scheme
from ...ocean.timestep import Method, RungeKutta
from ...parallel import foreign
from . import built, library_unsupported_reason
from .compile import Request
from .graph import evaluate, leaves_of
from .trace import MASKS, kinds_of, lengths_of, numbers_of

#: Columns of one flag, as in job.h, and most numbers in a vector; the columns before the block are a multiple of it.
LANES = 16
#: Size above which the fields of a block do not stay in the cache, bytes.
BEYOND_CACHE = 32 * 2**20
#: Steps in one sweep where that is faster than one: where the fields do not stay in the cache.
MANY_STEPS = 4


def register() -> None:
    """Register the foreign calls with JAX."""
    if reason := library_unsupported_reason():
        raise ImportError(f"the native step cannot be used: {reason}; {foreign.REMEDY}, or choose the executor xla")
    for name in ("swmodel_step", "swmodel_put", "swmodel_get", "swmodel_flag", "swmodel_rough"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(built().calls, name)), platform="cpu")


def choose_steps_per_sweep(smallest, width: int, method, itemsize: int, drying: bool) -> int:
    """Steps in one sweep: four where the fields of a block exceed the cache and halos are wide enough.

    The smallest block of the layout decides, so that all ranks agree. ab2, float32, ms a step with one and with four:
    3600 x 1800 6.63 and 6.18 on one rank of two threads, 7.18 and 6.01 on two ranks; 1800 x 900 1.44 and 1.40. With 720
    x 360 cells, 0.251 and 0.259. Six are no faster than four. Each stage of a Runge-Kutta method is a separate call.
    With drying each step finds out where the sea is gentle.
    """
    ny, nx = smallest
    if drying or isinstance(method, RungeKutta) or 3 * (1 + method.counts[1]) * ny * nx * itemsize <= BEYOND_CACHE:
        return 1
    return max(1, min(MANY_STEPS, min(ny, nx) // width))


DATA = ("numbers", "slip", "lines", "fields", "cells", "depth")


@partial(jax.tree_util.register_dataclass, meta_fields=("kinds",), data_fields=DATA)
@dataclass
class Static:
    """The constant inputs of the calls during a run; `kinds` (`trace.kinds_of`) is compiled in."""

    kinds: tuple
    numbers: dict[str, Any]
    slip: Any
    lines: Any
    fields: Any
    cells: Any
    depth: Any = None  # m, like `fields`; of schemes with drying


class Kernel(NamedTuple):
    """The steps of one scheme and stepper."""

    scheme: Scheme
    method: Method
    margin: int  # rows and columns of the static fields around the block
    steps_per_sweep: int = 1  # steps in one call; more than one with multistep methods and the leapfrog only
    threads: int = 0  # most threads; 0: all of XLA's pool
    derivative: tuple[str, ...] = ()  # as controls: see `generate.generate`
    controls: tuple[str, ...] = ()
    moving: bool = True  # whether fields may change their planes from step to step: `Program.moves`
    least: int = 0  # fewest columns on either side of each row (`lead`), where several kernels share a memory

    def static_of(self, grid, params, shape, xp=np) -> Static:
        """The Grid and the Params of a block for the calls; masks are packed into one byte a cell.

        Args:
            grid, params: with `margin` cells of neighbours.
            shape: rows and columns of the block.
            xp: numpy, or jax.numpy for traced arrays.
        """
        kinds, dtype = kinds_of(grid, params), grid.depth.dtype
        made = self.made(kinds, dtype)
        given = {"f": grid.f, "depth": grid.depth, **lengths_of(grid), **params}
        numbers = {name: given[name] for name in numbers_of(kinds)}
        values = {name: given[name] for name, kind in kinds if kind != "number"}
        values |= {name: getattr(grid, name) for name in MASKS}
        rows, columns = size = [length + 2 * self.margin for length in shape]
        parts = evaluate(made.parts, values, numbers, xp)
        around = xp.where(grid.share > 0, xp.rint(4 / xp.where(grid.share > 0, grid.share, 1)), 0)
        around = xp.where((grid.slip == 0) & (around > 0) & (around < 4), around + 4, around)
        cells = grid.wet + 2 * grid.open_u + 4 * grid.open_v + 8 * around + 64 * grid.side_u + 128 * grid.side_v
        cells = cells.astype(np.uint8)
        # The boundary condition is the value of s at any corner that is not interior.
        boundary = xp.max(xp.where(grid.share != 1, grid.slip, 0))
        beyond = self._beyond(made)
        depth = {"depth": grid.depth}
        return Static(
            kinds,
            numbers,
            boundary.reshape(1).astype(dtype),
            stacked(parts, made.lines, (rows, 1), ((0, 0), (0, 0)), dtype, xp),
            stacked(parts, made.statics, size, beyond, dtype, xp),
            xp.pad(xp.broadcast_to(cells, (rows, columns)), beyond, mode="edge"),
            stacked(depth, ["depth"], size, beyond, dtype, xp)[0] if self.scheme.drying else None,
        )

    def places_of(self, kinds, dtype, fields) -> tuple[int, ...] | None:
        """The static fields that depend only on these Params; None if one depends on others, too, or is a line."""
        made, fields = self.made(kinds, dtype), set(fields)
        below = {name: leaves_of(made.parts[name]) for name in (*made.statics, *made.lines)}
        touched = [name for name, leaves in below.items() if leaves & fields]
        if any(below[name] - fields or name in made.lines for name in touched):
            return None
        return tuple(made.statics.index(name) for name in touched)

    def fields_at(self, places, kinds, params: dict, shape):
        """The static fields at these places from varying Params, NumPy array [n, rows, columns]; see `places_of`."""
        dtype = next(field.dtype for field in params.values() if field.dtype.kind == "f")
        made = self.made(kinds, dtype)
        names, size = [made.statics[place] for place in places], [length + 2 * self.margin for length in shape]
        parts = evaluate({name: made.parts[name] for name in names}, params, {}, np)
        return stacked(parts, names, size, self._beyond(made), dtype, np)

    def request(self, kinds, dtype) -> Request:
        """The Request of the step."""
        return Request(self.scheme, self.method, kinds, str(dtype), self.derivative, self.controls, self.moving)

    def made(self, kinds, dtype):
        """The Generated step."""
        return self.request(kinds, dtype).made

    def lead(self, made) -> int:
        """Columns on either side of each row, for halos and for vectors that extend beyond the block."""
        beyond = max((s.east + 3) * LANES + s.late for s in made.schedules)
        return max(self.least, -(-(self.margin + beyond) // LANES) * LANES)

    def _beyond(self, made):
        """The padding of static fields, as for `numpy.pad`."""
        return (0, 0), (self.lead(made) - self.margin,) * 2


def stacked(parts: dict, names, size, beyond, dtype, xp):
    """Parts by name as one array [n, rows, columns], each broadcast to `size` and padded by `beyond`; removes them."""
    if not names:
        return xp.zeros((1, 1, 1), dtype)
    some = (xp.pad(xp.broadcast_to(parts.pop(name), tuple(size)), beyond, mode="edge") for name in names)
    if xp is not np:
        return xp.stack(list(some)).astype(dtype)
    shape = (length + sum(more) for length, more in zip(size, beyond, strict=True))
    whole = np.empty((len(names), *shape), dtype)  # filled one by one, which needs less memory than a list of all
    for number, field in enumerate(some):
        whole[number] = field
    return whole
