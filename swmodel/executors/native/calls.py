"""The compiled step in JAX: foreign calls that take the fields with their halos and advance them in place.

During a sequence of steps the fields lie in one memory, in planes one after the other. Each row has further columns on
both sides for halos and whole vectors. `put` copies fields there, `get` copies them back. Halos and edges pass as small
arrays: an operation of JAX on a full array would cost more than the call.

Arrays of a step (step.cc reads them in this order):

    memory      planes of fields
    planes      [3, fields]: the planes to read, to write, and to take the neighbours' halos from, of each field
    halos       west, east [fields, ny, halo]; south, north [fields, halo, nx + 2 halo], corners included
    extent      [2]: rows and columns of the block within the arrays; the rest is unchanged, or undefined
    values      [steps_per_sweep, n]: numbers that are the same for all cells
    static      slip [1]; lines [n, rows, 1], fields [n, rows, columns], cells [rows, columns] (uint8), with margins
    flags       [rows, groups of columns] (uint8): 1 with land in reach

Results: memory, then edges west, east [fields, ny, halo], south, north [fields, halo, nx].
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...ocean.drying import BENDS, FILM
from ...ocean.state import Carry
from ...parallel.transport.halo import between, last, within
from ...parallel.transport.programs import MOST
from .compile import Request, function
from .derive import derived
from .fuse import FARTHEST
from .kernel import BEYOND_CACHE, LANES, Kernel, Static
from .trace import Tracing, carried, weights_of

#: Bytes of the longest vectors.
LARGEST = 64
#: Offset of planes, bytes: without it the rows of all fields would share the same sets of the first-level cache.
STAGGER = 320
LINE = 64


class Edges(NamedTuple):
    """The outermost columns and rows of the exchanged fields, or the halos from the neighbours' ones."""

    west: Any
    east: Any
    south: Any
    north: Any

    @classmethod
    def of(cls, fields, halo: int, extent) -> Edges:
        """The edges of fields [ny, nx], `halo` columns and rows wide."""
        rows, columns = extent or (None, None)
        return cls(
            west=jnp.stack([f[:, :halo] for f in fields]),
            east=jnp.stack([last(f, halo, -1, columns) for f in fields]),
            south=jnp.stack([f[:halo] for f in fields]),
            north=jnp.stack([last(f, halo, -2, rows) for f in fields]),
        )

    def exchanged(self, halo: int, transport, extent) -> Edges:
        """The halos from the edges of all blocks: four messages, as in `transport.halo.pad`."""
        rows, columns = extent or (None, None)
        west, east = transport.swap(self.west, self.east, 1)
        ends = [last(strip, halo, -2, rows) for strip in (west, east)]
        south = between(west[:, :halo], self.south, east[:, :halo], -1, columns)
        north = between(ends[0], self.north, ends[1], -1, columns)
        return Edges(west, east, *transport.swap(south, north, 0))

    def narrowed(self, fields: int, halo: int) -> Edges:
        """The edges of the first fields, `halo` columns and rows wide."""
        west, east, south, north = (strip[:fields] for strip in self)
        return Edges(west[..., :halo], east[..., -halo:], south[..., :halo, :], north[..., -halo:, :])


class Rotation(NamedTuple):
    """The planes of fields, which may change from pass to pass and from step to step, and then repeat."""

    planes: np.ndarray  # [steps, passes, 3, fields]: from which each pass reads, writes, and hands to neighbours
    count: int  # planes in use

    def at(self, turn, number: int, later: int = 0):
        """The planes [3, fields] of a pass, `turn` + `later` steps after the first; `turn` may be traced."""
        return jnp.asarray(self.planes)[(turn + later) % len(self.planes), number]


class Calls:
    """The foreign calls of a kernel on a block, within a program.

    `made` is the Generated step, `names` are the fields of a carry. `width` is the number of rows and columns of
    neighbours that a pass needs, `plane` the size of a field in the memory.
    """

    def __init__(self, kernel: Kernel, static: Static, dt, transport):
        self.kernel, self.static, self.dt, self.dtype = kernel, static, dt, dt.dtype
        self.transport, self.shape, self.extent = transport, transport.shape, transport.extent()
        self.request = kernel.request(static.kinds, self.dtype)
        self.made, self.width = self.request.made, self.request.made.width
        self.names = carried(kernel.scheme, kernel.method, kernel.derivative)
        self.lead, line = kernel.lead(self.made), LINE // self.dtype.itemsize
        rows, columns = self.shape
        self.stride = -(-(columns + 2 * self.lead) // line) * line
        self.plane = rows * self.stride + STAGGER // self.dtype.itemsize
        self.place = _numbers(lead=self.lead, stride=self.stride, plane=self.plane)
        self.rotation = self.planes_in_turn()

    def planes_in_turn(self, pinned=()) -> Rotation:
        """The planes of the fields but for `pinned` ones: a pass writes into those that it reads."""
        own = [name for name in self.made.fields if name not in pinned]
        fixed = [[own.index(name) if name in own else 0 for name in self.made.fields]]
        places = np.array(fixed, np.int32) if pinned else self.made.places
        return Rotation(np.repeat(np.repeat(places[:, None, None], 3, 2), len(self.made.programs), 1), len(own))

    def advance(self, carry: Carry, n, look=None, seen=()):
        """The carry n steps later; with `look` also its result after the last step of each pass: see `xla`."""
        fields, tree = jax.tree.flatten((carry.state, carry.memory))

        def look_at(seen, fields, step):
            return look(seen, carry.state._make(fields[: len(carry.state)]), step)

        fields, seen = self.run(fields, carry.step, n, look and look_at, seen)
        later = Carry(*tree.unflatten(fields), carry.step + n)
        return (later, seen) if look else later

    def run(self, fields, step, n, look=None, seen=()) -> tuple[list, Any]:
        """The fields of the carry [ny, nx], in the order of `names`, n steps after `step`; the result of `look`."""
        made, steps_per_sweep, before = self.made, self.kernel.steps_per_sweep, step
        own, given = np.array(self.numbers_of(self.names)), dict(zip(self.names, fields, strict=True))

        def planes(step):
            return partial(self.rotation.at, step - before)

        memory = self.put_all(own, fields)
        flags = self.flags(leave_out=not self.kernel.derivative)
        edges = self.edges([given[name] for name in made.fields if name in given], steps_per_sweep)
        for many in sorted({steps_per_sweep, 1}, reverse=True):
            edges = self.narrowed(edges, len(fields), many)

            def body(_, now, many=many):
                memory, edges, step, seen = now
                memory, edges = self.step(memory, edges, step, flags, many, planes(step))
                if look:
                    # The barrier keeps the next pass, which writes into the memory, after `look`.
                    seen = look(seen, self.views(memory, planes(step + many)(0)[0][own]), step + many)
                    memory, seen = jax.lax.optimization_barrier((memory, seen))
                return memory, edges, step + many, seen

            memory, edges, step, seen = jax.lax.fori_loop(0, n // many, body, (memory, edges, step, seen))
            n = n % many
        return self.get(memory, planes(step)(0)[0][own]), seen

    def edges(self, fields, many: int):
        """The edges of fields for passes of so many steps."""
        return Edges.of(fields, many * self.width, self.extent)

    def narrowed(self, edges, fields: int, many: int):
        """The edges that passes of so many steps take: of all fields, or of those that one step reads."""
        return edges.narrowed(fields if many > 1 else len(self.made.programs[0].reads), many * self.width)

    def put_all(self, planes, fields):
        """The memory of a run with the fields in these planes; others hold finite numbers."""
        spare = [plane for plane in range(self.rotation.count) if plane not in planes]
        return self.put([*planes, *spare], [*fields, *[fields[0]] * len(spare)])

    def numbers_of(self, names) -> list[int]:
        """The numbers of fields in the step, by their names."""
        return [self.made.fields.index(name) for name in names]

    def put(self, planes, fields, memory=None, most=None):
        """The memory with the fields [ny, nx] in its `planes`; None: a new one of `most` planes."""
        most = self.rotation.count if most is None else most
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
        """The same fields as slices of the memory, for readers of few points or of everything once."""
        rows, columns = self.shape

        def view(plane):
            lines = memory.reshape(-1, self.plane)[plane, : rows * self.stride].reshape(rows, self.stride)
            return within(lines[:, self.lead : self.lead + columns], self.extent)

        return [view(plane) for plane in planes]

    def flags(self, leave_out: bool = False):
        """1 where land is in reach of the computed cells.

        With `leave_out`, cells far from any water are skipped. They keep their values in the memory, which cells beside
        them read: all planes must hold finite numbers.
        """
        rows, columns = self.static.cells.shape
        result = jax.ShapeDtypeStruct((rows, -(-columns // LANES)), np.uint8)
        made, lanes = self.made, LARGEST // self.dtype.itemsize
        seen = np.array([(row, vector * lanes + column) for row, vector, column in made.masks] or [(0, 0)])
        (south, west), (north, east) = np.maximum(-seen.min(0), 0), np.maximum(seen.max(0), 0)
        windows = {"land": (south, north, west, east)}
        # Rows in rings were computed further south, in the columns where fields are read.
        far, warm = max(made.width, made.margin) + FARTHEST, max(s.warm for s in made.schedules)
        further_east = far + max(s.late for s in made.schedules)
        alone = set(made.fields) <= set(carried(self.kernel.scheme, self.kernel.method))
        windows["water"] = (0, warm, far, further_east) if alone else (far, far + warm, far, further_east)
        numbers = {
            f"{name}_{side}": reach
            for name, window in windows.items()
            for side, reach in zip(("south", "north", "west", "east"), window, strict=True)
        }
        call = jax.ffi.ffi_call("swmodel_flag", result, vmap_method="sequential")
        return call(self.static.cells, **_numbers(leave_out=leave_out, **numbers))

    def step(self, memory, edges: Edges, n, flags, many: int, planes):
        """All passes of `many` steps from step n on: the memory, and the edges of the fields for the next pass.

        planes(pass, later=0) is the array `planes` above, of a pass of the step that is `later` steps later.
        """
        made, static, (rows, columns) = self.made, self.static, self.shape
        array, halo = partial(jax.ShapeDtypeStruct, dtype=self.dtype), many * self.width
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        arrays = extent, self.values(n, many), static.slip, static.lines, static.fields, static.cells, flags
        large = len(made.fields) * self.plane * self.dtype.itemsize > BEYOND_CACHE
        options = self.place | _numbers(function=function(self.request), threads=self.kernel.threads, large=large)
        for number, program in enumerate(made.programs):
            given = len(made.fields if many > 1 else program.gives)
            column, row = array((given, rows, halo)), array((given, halo, columns))
            call = jax.ffi.ffi_call(
                "swmodel_step",
                [array(memory.shape), column, column, row, row],
                input_output_aliases={0: 0},
                vmap_method="sequential",
            )
            if number == 0 or not made.parted:
                halos = edges.exchanged(halo, self.transport, self.extent)
            if number == 0 and made.parted:
                parts = self.parts(memory, planes(0), halos, extent, flags)
            given = (*arrays[:-1], parts[number] if made.parted else flags)
            memory, *edges = call(memory, planes(number), *halos, *given, **options, **_numbers(**{"pass": number}))
            edges = Edges(*edges)
        return memory, edges

    def parts(self, memory, planes, halos: Edges, extent, flags):
        """The flags [3, ...] of the passes of `generate.parts_of`; `flags` are those of land."""
        made, (rows, columns) = self.made, self.shape
        numbers = {
            "item": self.dtype.itemsize, "rows": rows, "columns": columns, "halo": self.width,
            "margin": self.kernel.margin, "field": made.fields.index("h"), "strip": made.programs[0].reads.index("h"),
        }  # fmt: skip
        numbers["mark_row"] = function(self.request, "swmodel_mark_row")
        numbers |= {"warm_rest": made.schedules[0].warm, "warm_gentle": made.schedules[1].warm}
        thickness = self.static.numbers["drying_thickness"].reshape(())
        limits = jnp.stack([1.001 * FILM[1] * thickness, jnp.asarray(0.999 * BENDS[0], self.dtype), thickness])
        names = self.kernel.scheme.state._fields
        histories = [self.numbers_of([f"{when}{name}" for when in ("", "memory0.", "memory1.")]) for name in names]
        # Fields that terms of the user change may change anywhere; a tape has a plane for each step.
        numbers["leave_out"] = self.kernel.moving and not self.kernel.scheme.own
        given = (memory, planes, *halos, extent, self.static.depth, self.static.cells, flags, limits)
        given = (*given, jnp.asarray(histories, jnp.int32))
        result = jax.ShapeDtypeStruct((2, *flags.shape), np.uint8)
        call = jax.ffi.ffi_call("swmodel_rough", result, vmap_method="sequential")
        return call(*given, **(self.place | _numbers(**numbers)))[np.array([0, 1, 0])]

    def values(self, step, many: int):
        """The numbers that are the same for all cells, in each of the next steps [many, n].

        The call computes products itself, so that their bits do not depend on XLA.
        """
        steps = step + jnp.arange(many, dtype=step.dtype)
        return jax.vmap(values_of(self.request), in_axes=(None, 0, None))(self.static.numbers, steps, self.dt)


@lru_cache(maxsize=MOST)
def values_of(request: Request):
    """The function (numbers, step, dt) -> values [n] of one step; see `Calls.values`.

    The dynamics run once for all programs that use it.
    """
    scheme, method, kinds, dtype, derivative, controls, moving = request

    def values(numbers, step, dt):
        tracing = Tracing(scheme, kinds, numbers | weights_of(method, step, dt), np.dtype(dtype), controls)
        derived(tracing, method, step, derivative, controls, moving)
        named = tracing.graph.values
        return jnp.stack([jnp.asarray(named[name], dtype).reshape(()) for name in request.made.values])

    return jax.jit(values, inline=True)


def _planes(numbers):
    return jnp.asarray(numbers, jnp.int32).reshape(-1)


def _numbers(**options: int) -> dict:
    return {name: np.int64(value) for name, value in options.items()}
