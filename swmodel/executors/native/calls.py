"""The compiled step as JAX sees it: foreign calls that take the fields with their halos and advance them in place.

For a run of steps the fields lie in memory of their own, in planes one after the other, with columns around each row
that halos and whole vectors need; `put` brings them there, `get` gets them back. Halos come in and edges go out as
small arrays. A full array touched outside the call would cost more than the call.

Arrays of a step (step.cc reads them in this order):

    memory      planes of fields
    planes      [3, fields]: those that each field is read from, written to, and handed to the neighbours from
    halos       west, east [fields, ny, halo]; south, north [fields, halo, nx + 2 halo], corners included
    extent      [2]: rows and columns of the fields that are the block; the rest is left as it is, or undefined
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

from ...parallel.transport.halo import between, last
from .compile import function
from .generate import generated

#: Columns of one flag, as in job.h, and most numbers of a vector; rows begin with a multiple of it before the block.
LANES = 16
#: Bytes by which fields are staggered: rows of equal arrays would share the sets of the first-level cache.
STAGGER = 320
LINE = 64
#: Bytes of the fields of a block above which they do not stay in the cache.
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
    """The outermost columns and rows of the fields that travel, or the halos that come from the neighbours'."""

    west: Any
    east: Any
    south: Any
    north: Any


def edges_of(fields, halo: int, extent=None) -> Edges:
    """The outermost `halo` columns and rows of the fields [ny, nx], of which `extent` belongs to the block."""
    rows, columns = extent or (None, None)
    return Edges(
        west=jnp.stack([f[:, :halo] for f in fields]),
        east=jnp.stack([last(f, halo, -1, columns) for f in fields]),
        south=jnp.stack([f[:halo] for f in fields]),
        north=jnp.stack([last(f, halo, -2, rows) for f in fields]),
    )


def exchange(edges: Edges, halo: int, shift, extent=None) -> Edges:
    """The halos that belong to the edges of all blocks: four messages, as in `transport.halo.pad`."""
    west, east = shift(edges.east, 1, +1), shift(edges.west, 1, -1)
    rows, columns = extent or (None, None)
    ends = [last(strip, halo, -2, rows) for strip in (west, east)]
    south = between(west[:, :halo], edges.south, east[:, :halo], -1, columns)
    north = between(ends[0], edges.north, ends[1], -1, columns)
    return Edges(west, east, shift(north, 0, +1), shift(south, 0, -1))


class Calls:
    """The foreign calls for one kernel on blocks [rows, columns], of which `extent` is used; None: all.

    Attributes:
        made: the Generated step.
        width: rows and columns of neighbours that a pass needs.
        plane: numbers of the memory that a field takes.
    """

    def __init__(self, kernel, static: Static, rows: int, columns: int, dtype, extent):
        self.kernel, self.static, self.dtype = kernel, static, dtype
        self.request = kernel.request(static.kinds, dtype)
        self.made = generated(*self.request)
        self.width = self.made.width
        self.rows, self.columns = rows, columns
        self.extent = jnp.asarray((rows, columns) if extent is None else extent, jnp.int32)
        self.lead = kernel.lead(self.made)
        line = LINE // dtype.itemsize
        stride = -(-(columns + 2 * self.lead) // line) * line
        self.plane = rows * stride + STAGGER // dtype.itemsize
        self.place = _int32(lead=self.lead, stride=stride) | {"plane": np.int64(self.plane)}

    def put(self, planes, fields, memory=None, most=None):
        """The memory with the fields [ny, nx] in its `planes`; where none is given one of `most` planes, not filled."""
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
        """The fields [ny, nx] in `planes` of the memory."""
        results = [jax.ShapeDtypeStruct((self.rows, self.columns), self.dtype)] * len(planes)
        return jax.ffi.ffi_call("swmodel_get", results, vmap_method="sequential")(memory, _planes(planes), **self.place)

    def views(self, memory, planes) -> list:
        """The same as `get`, for whoever reads a few points of them, or all once: slices of the memory."""
        lead, stride = (int(self.place[name]) for name in ("lead", "stride"))

        def view(plane):
            rows = memory[plane * self.plane : plane * self.plane + self.rows * stride].reshape(self.rows, stride)
            return rows[:, lead : lead + self.columns]

        return [view(plane) for plane in planes]

    def flags(self, leave_out: bool = False):
        """Where land is in reach of what is computed.

        Args:
            leave_out: whether what is far from any water is not computed. It keeps what the memory has there, which is
                read beside it: there have to be finite numbers in all planes.
        """
        rows, columns = self.static.cells.shape
        result = jax.ShapeDtypeStruct((rows, -(-columns // LANES)), np.uint8)
        rows_away = max(self.made.width, self.made.margin) + 1  # of one step, however many a sweep takes
        # A turn of the loop computes at most `east` vectors ahead, from values that are less than a vector away.
        ahead = max(s.east for s in self.made.schedules) + 1
        dry = {"dry_rows": 0, "dry_groups": 0}
        if leave_out:
            warm = max(s.warm + s.ahead for s in self.made.schedules)
            dry = {"dry_rows": rows_away + warm, "dry_groups": -(-rows_away // LANES)}
        call = jax.ffi.ffi_call("swmodel_flag", result, vmap_method="sequential")
        return call(self.static.cells, **_int32(far_rows=rows_away, west_groups=1, east_groups=ahead, **dry))

    def step(self, number: int, memory, halos: Edges, values, flags, planes=None):
        """One pass: the memory, and the edges of the fields that the next one reads.

        Args:
            planes: [3, fields], from which planes each field is read, where it is written, and from which it is given
                to the neighbours; None: a field has the plane of its number.
        """
        levels, static, made = values.shape[0], self.static, self.made
        halo, given = halos.west.shape[-1], len(made.programs[number].gives) if levels == 1 else len(made.fields)
        array = partial(jax.ShapeDtypeStruct, dtype=self.dtype)
        column, row = array((given, self.rows, halo)), array((given, halo, self.columns))
        call = jax.ffi.ffi_call(
            "swmodel_step",
            [array(memory.shape), column, column, row, row],
            input_output_aliases={0: 0},
            vmap_method="sequential",
        )
        if planes is None:
            planes = np.tile(np.arange(len(made.fields), dtype=np.int32), (3, 1))
        arrays = self.extent, values, static.slip, static.lines, static.fields, static.cells, flags
        memory, *edges = call(
            memory,
            planes,
            *halos,
            *arrays,
            function=np.int64(function(self.request)),
            **self.place,
            **_int32(
                levels=levels,
                margin=self.kernel.margin,
                rows=self.rows,
                columns=self.columns,
                threads=self.kernel.threads,
                large=len(made.fields) * self.plane * self.dtype.itemsize > BEYOND_CACHE,
                width=self.width,
                **{"pass": number},
            ),
        )
        return memory, Edges(*edges)


def narrowed(edges: Edges, fields: int, halo: int) -> Edges:
    """The edges of the first fields, `halo` columns and rows wide."""
    west, east, south, north = (strip[:fields] for strip in edges)
    return Edges(west[..., :halo], east[..., -halo:], south[..., :halo, :], north[..., -halo:, :])


def _planes(numbers):
    return jnp.asarray(numbers, jnp.int32).reshape(-1)


def _int32(**options: int) -> dict:
    return {name: np.int32(value) for name, value in options.items()}
