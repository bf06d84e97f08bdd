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

from ...ocean.scheme import Scheme
from ...ocean.state import Carry
from ...ocean.timestep import Leapfrog, Multistep, RungeKutta
from ...parallel.transport.halo import between, last, within
from . import CONVENTION, REMEDY
from .compile import Request, function
from .derive import derived
from .evaluate import evaluate
from .generate import generated
from .trace import MASKS, Tracing, carried, kinds_of, weights_of

#: Columns of one flag, as in job.h, and most numbers of a vector; rows begin with a multiple of it before the block.
LANES = 16
#: Bytes by which fields are staggered: rows of equal arrays would share the sets of the first-level cache.
STAGGER = 320
LINE = 64
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


def register() -> None:
    """Make the foreign calls known to JAX.

    Raises:
        ImportError: they were not compiled, or for another processor.
    """
    try:
        from . import _step
    except ImportError as error:
        raise ImportError(f"the native step cannot be used ({error}); {REMEDY}, or choose the executor xla") from error
    if getattr(_step, "convention", 1) != CONVENTION:
        raise ImportError(f"the native step was compiled from another version of swmodel; {REMEDY}")
    for name in ("step", "put", "get", "flag"):
        jax.ffi.register_ffi_target(f"swmodel_{name}", getattr(_step, name), platform="cpu")


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


#: Bytes of the fields of a block above which several steps in one sweep are faster, and how many steps.
BEYOND_CACHE, MANY_STEPS = 32 * 2**20, 4


def choose_steps_per_sweep(smallest, width: int, method, itemsize: int) -> int:
    """Steps that one sweep takes: four where the fields of a block do not stay in the cache, as far as halos reach.

    The smallest block of the layout decides, so that all ranks answer alike. Measured with ab2, float32, ms a step with
    one and with four: 3600 x 1800 6.63 and 6.18 on one rank of two threads, 7.18 and 6.01 on two ranks; 1800 x 900 1.44
    and 1.40; 720 x 360 0.251 and 0.259. Six are no faster than four.

    Args:
        smallest: fewest rows and columns of a block.
        width: rows and columns of neighbours that one step needs.
        method: the time stepper; the stages of a Runge-Kutta method are calls of their own.
        itemsize: bytes of a number.
    """
    if isinstance(method, RungeKutta):
        return 1
    ny, nx = smallest
    groups = 2 if isinstance(method, Leapfrog) else len(method.table)
    if 3 * groups * ny * nx * itemsize <= BEYOND_CACHE:
        return 1
    return max(1, min(MANY_STEPS, min(ny, nx) // width))


class Kernel(NamedTuple):
    """The calls for one scheme and stepper.

    Attributes:
        scheme: terms of the tendency.
        method: time stepper.
        margin: rows and columns of the static fields around the block.
        steps_per_sweep: steps that one call takes; more than one with multistep methods and the leapfrog only.
        threads: most threads; 0: all of XLA's pool.
        derivative, controls: see `generate.generate`.
        least: least columns on either side of each row (`lead`), where several kernels share a memory.
    """

    scheme: Scheme
    method: Multistep | Leapfrog | RungeKutta
    margin: int
    steps_per_sweep: int = 1
    threads: int = 0
    derivative: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    least: int = 0

    def static_of(self, grid, params, shape, xp=np) -> Static:
        """The Grid and the Params of a block as the calls take them; masks are packed into one byte a cell.

        Args:
            grid, params: with `margin` cells of neighbours.
            shape: rows and columns of the block.
            xp: numpy, or jax.numpy for what is traced.
        """
        kinds, dtype = kinds_of(grid, params), grid.depth.dtype
        made = self.made(kinds, dtype)
        given = {"f": grid.f, "depth": grid.depth, **params}
        numbers = {name: given[name] for name, kind in kinds if kind == "number"}
        numbers |= {"dx": grid.dx.centre, "dy": grid.dy.centre}
        values = {name: given[name] for name, kind in kinds if kind != "number"}
        values |= {name: getattr(grid, name) for name in MASKS}
        rows, columns = (length + 2 * self.margin for length in shape)
        parts = evaluate(made.parts, values, numbers, xp)

        def stacked(names, columns, beyond):
            if not names:
                return xp.zeros((1, 1, 1), dtype)
            some = (xp.pad(xp.broadcast_to(parts.pop(name), (rows, columns)), beyond, mode="edge") for name in names)
            if xp is not np:
                return xp.stack(list(some)).astype(dtype)
            shape = (length + sum(more) for length, more in zip((rows, columns), beyond, strict=True))
            whole = np.empty((len(names), *shape), dtype)  # filled one by one: a list of all would be held beside it
            for number, field in enumerate(some):
                whole[number] = field
            return whole

        around = xp.where(grid.share > 0, xp.rint(4 / xp.where(grid.share > 0, grid.share, 1)), 0)
        cells = (grid.wet + 2 * grid.open_u + 4 * grid.open_v + 8 * around).astype(np.uint8)
        # The boundary condition is the value of s at corners that are not interior, wherever there is one.
        boundary = xp.max(xp.where(grid.share != 1, grid.slip, 0))
        beyond = ((0, 0), (self.lead(made) - self.margin,) * 2)
        return Static(
            kinds,
            numbers,
            boundary.reshape(1).astype(dtype),
            stacked(made.lines, 1, ((0, 0), (0, 0))),
            stacked(made.statics, columns, beyond),
            xp.pad(xp.broadcast_to(cells, (rows, columns)), beyond, mode="edge"),
        )

    def request(self, kinds, dtype) -> Request:
        """Which step is compiled."""
        return Request(self.scheme, self.method, kinds, str(dtype), self.derivative, self.controls)

    def made(self, kinds, dtype):
        """The Generated step."""
        return generated(*self.request(kinds, dtype))

    def lead(self, made) -> int:
        """Columns on either side of each row, for halos and for vectors that begin or end beyond the block.

        Args:
            made: the Generated step.
        """
        vectors = max(max(s.west, s.east) for s in made.schedules) + 2
        return max(self.least, -(-(self.margin + vectors * LANES) // LANES) * LANES)

    def advance(self, carry: Carry, static: Static, dt, shift, n, extent=None) -> Carry:
        """The carry n steps later."""
        fields, tree = jax.tree.flatten((carry.state, carry.memory))
        return Carry(*tree.unflatten(self.run(fields, static, dt, shift, carry.step, n, extent)), carry.step + n)

    def run(self, fields, static: Static, dt, shift, step, n, extent=None) -> list:
        """The fields of the carry [ny, nx], in the order of `trace.carried`, n steps after `step`."""
        call = Calls(self, static, *fields[0].shape, fields[0].dtype, extent)
        names, made = carried(self.scheme, self.method, self.derivative), call.made
        planes, given = [made.fields.index(name) for name in names], dict(zip(names, fields, strict=True))
        memory, flags = call.put(planes, fields), call.flags()
        edges = edges_of([given[n] for n in made.fields if n in given], call.width * self.steps_per_sweep, extent)
        for many in sorted({self.steps_per_sweep, 1}, reverse=True):
            halo = call.width * many
            edges = narrowed(edges, len(fields) if many > 1 else len(made.programs[0].reads), halo)

            def body(_, now, many=many, halo=halo):
                memory, edges, step = now
                values = self.values(static, step, dt, many)
                for number in range(len(made.programs)):
                    memory, edges = call.step(number, memory, exchange(edges, halo, shift, extent), values, flags)
                return memory, edges, step + many

            memory, edges, step = jax.lax.fori_loop(0, n // many, body, (memory, edges, step))
            n = n % many
        return [within(field, extent) for field in call.get(memory, planes)]

    def values(self, static: Static, step, dt, many: int = 1):
        """What is the same for all cells in the next steps [many, n].

        Products are formed in the call, so that their bits do not depend on what XLA makes of them.
        """
        made = self.made(static.kinds, dt.dtype)

        def of_one(step):
            numbers = static.numbers | weights_of(self.method, step, dt)
            tracing = Tracing(self.scheme, static.kinds, numbers, np.dtype(dt.dtype), self.controls)
            derived(tracing, self.method, step, self.derivative, self.controls)
            values = tracing.graph.values
            return jnp.stack([jnp.asarray(values[name], dt.dtype).reshape(()) for name in made.values])

        return jax.vmap(of_one)(step + jnp.arange(many, dtype=step.dtype))


class Calls:
    """The foreign calls for one kernel on blocks [rows, columns], of which `extent` is used; None: all.

    Attributes:
        made: the Generated step.
        width: rows and columns of neighbours that a pass needs.
        plane: numbers of the memory that a field takes.
    """

    def __init__(self, kernel: Kernel, static: Static, rows: int, columns: int, dtype, extent):
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

    def flags(self):
        """Where land is in reach of what is computed."""
        rows, columns = self.static.cells.shape
        result = jax.ShapeDtypeStruct((rows, -(-columns // LANES)), np.uint8)
        far = max(s.lead + s.east for s in self.made.schedules) + 1
        call = jax.ffi.ffi_call("swmodel_flag", result, vmap_method="sequential")
        return call(self.static.cells, **_int32(far_rows=self.kernel.margin, far_groups=far))

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
