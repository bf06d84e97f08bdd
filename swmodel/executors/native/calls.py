"""The compiled step as JAX sees it: foreign calls that take the fields with their halos and advance them in place.

For a run of steps the fields lie in a memory of their own: in planes one after the other, each row with further columns
on both sides for halos and whole vectors. `put` copies fields there, `get` copies them back. Halos come in and edges go
out as small arrays: a full array touched outside the call would cost more than the call.

Arrays of a step (step.cc reads them in this order):

    memory      planes of fields
    planes      [3, fields]: where each field is read, where it is written, and where the neighbours' halos are taken
    halos       west, east [fields, ny, halo]; south, north [fields, halo, nx + 2 halo], corners included
    extent      [2]: rows and columns of the block within the arrays; the rest is left as it is, or undefined
    values      [steps_per_sweep, n]: what is the same for all cells
    static      slip [1]; lines [n, rows, 1], fields [n, rows, columns], cells [rows, columns] (uint8), with margins
    flags       [rows, groups of columns] (uint8): where land is in reach

Results: memory, then edges west, east [fields, ny, halo], south, north [fields, halo, nx].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...parallel.transport.halo import between, last, within
from .compile import function
from .fuse import FARTHEST
from .trace import carried

#: Columns of one flag, as in job.h, and most numbers of a vector; the columns before the block are a multiple of it.
LANES = 16
#: Bytes of the longest vectors.
LARGEST = 64
#: Bytes by which planes are staggered: else the rows of all fields would share the same sets of the first-level cache.
STAGGER = 320
LINE = 64
#: Bytes above which the fields of a block do not stay in the cache.
BEYOND_CACHE = 32 * 2**20
DATA = ("numbers", "slip", "lines", "fields", "cells")


@partial(jax.tree_util.register_dataclass, meta_fields=("kinds",), data_fields=DATA)
@dataclass
class Static:
    """Everything that stays the same during a run, as the calls take it; `kinds` (`trace.kinds_of`) is compiled in."""

    kinds: tuple
    numbers: dict[str, Any]
    slip: Any
    lines: Any
    fields: Any
    cells: Any


class Edges(NamedTuple):
    """The outermost columns and rows of the fields that are exchanged, or the halos made of the neighbours'."""

    west: Any
    east: Any
    south: Any
    north: Any


def exchange(edges: Edges, halo: int, shift, extent=None) -> Edges:
    """The halos that belong to the edges of all blocks: four messages, as in `transport.halo.pad`."""
    west, east = shift(edges.east, 1, +1), shift(edges.west, 1, -1)
    rows, columns = extent or (None, None)
    ends = [last(strip, halo, -2, rows) for strip in (west, east)]
    south = between(west[:, :halo], edges.south, east[:, :halo], -1, columns)
    north = between(ends[0], edges.north, ends[1], -1, columns)
    return Edges(west, east, shift(north, 0, +1), shift(south, 0, -1))


class Calls:
    """The foreign calls for one kernel.

    Args:
        dt: time step, s.
        shape: rows and columns of a block.
        shift, extent: of the transport: how halos travel; rows and columns of an array that are the block, None: all.

    Attributes:
        made: the Generated step.
        width: rows and columns of neighbours that a pass needs.
        plane: how many numbers a field takes in the memory.
    """

    def __init__(self, kernel, static: Static, dt, shape, shift, extent=None):
        self.kernel, self.static, self.dt, self.dtype = kernel, static, dt, dt.dtype
        self.request = kernel.request(static.kinds, self.dtype)
        self.made = self.request.made
        self.width = self.made.width
        self.shape, self.shift, self.extent = shape, shift, extent
        rows, columns = shape
        self.lead, line = kernel.lead(self.made), LINE // self.dtype.itemsize
        self.stride = -(-(columns + 2 * self.lead) // line) * line
        self.plane = rows * self.stride + STAGGER // self.dtype.itemsize
        self.place = _numbers(lead=self.lead, stride=self.stride, plane=self.plane)

    def numbers_of(self, names) -> list[int]:
        """The numbers of fields in the step, by their names."""
        return [self.made.fields.index(name) for name in names]

    def put(self, planes, fields, memory=None, most=None):
        """The memory with the fields [ny, nx] in its `planes`; None: a new one of `most` planes, else not filled."""
        most = len(self.made.fields) if most is None else most
        size = most * self.plane if memory is None else memory.size
        call = jax.ffi.ffi_call(
            "swmodel_put",
            jax.ShapeDtypeStruct((size,), self.dtype),
            input_output_aliases={} if memory is None else {1 + len(fields): 0},
            vmap_method="sequential",
        )
        return call(_planes(planes), *fields, *([] if memory is None else [memory]), **self.place)

    def get(self, memory, planes) -> list:
        """The fields [ny, nx] in `planes` of the memory, with zeros beyond the block."""
        results = [jax.ShapeDtypeStruct(self.shape, self.dtype)] * len(planes)
        call = jax.ffi.ffi_call("swmodel_get", results, vmap_method="sequential")
        return [within(field, self.extent) for field in call(memory, _planes(planes), **self.place)]

    def views(self, memory, planes) -> list:
        """The same fields as slices of the memory: for those who read a few points, or everything once."""
        rows, columns = self.shape

        def view(first):
            lines = memory[first : first + rows * self.stride].reshape(rows, self.stride)
            return within(lines[:, self.lead : self.lead + columns], self.extent)

        return [view(plane * self.plane) for plane in planes]

    def edges(self, fields, many: int = 1) -> Edges:
        """The outermost columns and rows of the fields [ny, nx], as wide as a pass of `many` steps needs."""
        halo, (rows, columns) = many * self.width, self.extent or (None, None)
        return Edges(
            west=jnp.stack([f[:, :halo] for f in fields]),
            east=jnp.stack([last(f, halo, -1, columns) for f in fields]),
            south=jnp.stack([f[:halo] for f in fields]),
            north=jnp.stack([last(f, halo, -2, rows) for f in fields]),
        )

    def flags(self, leave_out: bool = False):
        """Where land is in reach of what is computed.

        Args:
            leave_out: whether cells far from any water are left out. They keep what the memory has, and cells beside
                them read it: all planes must hold finite numbers.
        """
        rows, columns = self.static.cells.shape
        result = jax.ShapeDtypeStruct((rows, -(-columns // LANES)), np.uint8)
        made, lanes = self.made, LARGEST // self.dtype.itemsize
        seen = [(row, vector * lanes + column) for row, vector, column in made.masks] or [(0, 0)]
        rows_seen, columns_seen = (np.array(each) for each in zip(*seen, strict=True))
        land = [max(0, int(far.max())) for far in (-rows_seen, rows_seen, -columns_seen, columns_seen)]
        # The rows kept in rings were computed further south, in the columns that fields are read from.
        far, warm = max(made.width, made.margin) + FARTHEST, max(s.warm for s in made.schedules)
        east = far + max(s.late for s in made.schedules)
        alone = set(made.fields) <= set(carried(self.kernel.scheme, self.kernel.method))
        water = [0, warm, far, east] if alone else [far, far + warm, far, east]
        call = jax.ffi.ffi_call("swmodel_flag", result, vmap_method="sequential")
        windows = {
            f"{name}_{side}": reach
            for name, window in (("land", land), ("water", water))
            for side, reach in zip(("south", "north", "west", "east"), window, strict=True)
        }
        return call(self.static.cells, **_numbers(leave_out=leave_out, **windows))

    def step(self, memory, edges: Edges, n, flags, many: int = 1, planes=lambda number: None):
        """All passes of `many` steps from step n on: the memory, and the edges of the fields that the next pass reads.

        Args:
            planes: function from the number of a pass to its `planes`, see `run`.
        """
        values = self.kernel.values(self.static, n, self.dt, many)
        for number in range(len(self.made.programs)):
            halos = exchange(edges, many * self.width, self.shift, self.extent)
            memory, edges = self.run(number, memory, halos, values, flags, planes(number))
        return memory, edges

    def run(self, number: int, memory, halos: Edges, values, flags, planes=None):
        """One pass: the memory, and the edges of the fields that the next pass reads.

        Args:
            planes: [3, fields]: where each field is read, where it is written, where the neighbours' halos are taken;
                None: each has the plane of its number.
        """
        static, made, (rows, columns) = self.static, self.made, self.shape
        given = len(made.fields if values.shape[0] > 1 else made.programs[number].gives)
        array, halo = partial(jax.ShapeDtypeStruct, dtype=self.dtype), halos.west.shape[-1]
        column, row = array((given, rows, halo)), array((given, halo, columns))
        call = jax.ffi.ffi_call(
            "swmodel_step",
            [array(memory.shape), column, column, row, row],
            input_output_aliases={0: 0},
            vmap_method="sequential",
        )
        if planes is None:
            planes = np.tile(np.arange(len(made.fields), dtype=np.int32), (3, 1))
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        arrays = extent, values, static.slip, static.lines, static.fields, static.cells, flags
        large = len(made.fields) * self.plane * self.dtype.itemsize > BEYOND_CACHE
        options = _numbers(function=function(self.request), threads=self.kernel.threads, large=large)
        memory, *edges = call(memory, planes, *halos, *arrays, **self.place, **options, **_numbers(**{"pass": number}))
        return memory, Edges(*edges)


def narrowed(edges: Edges, fields: int, halo: int) -> Edges:
    """The edges of the first fields, `halo` columns and rows wide."""
    west, east, south, north = (strip[:fields] for strip in edges)
    return Edges(west[..., :halo], east[..., -halo:], south[..., :halo, :], north[..., -halo:, :])


def _planes(numbers):
    return jnp.asarray(numbers, jnp.int32).reshape(-1)


def _numbers(**options: int) -> dict:
    return {name: np.int64(value) for name, value in options.items()}
