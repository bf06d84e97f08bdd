"""The compiled step in JAX: foreign calls that take the fields with their halos and advance them in place.

During a sequence of steps the fields are in one array, the memory, plane after plane. Each row has further columns on
both sides for halos and whole vectors. `put` copies fields into the memory, `get` copies them back. Halos and edges are
passed as small arrays, because an operation of JAX on a full array would take longer than the call.

Arrays of a step (step.cc reads them in this order):

    memory      planes of fields
    planes      [3, fields]: for each field, the planes to read, to write, and to send to the neighbours
    halos       west, east [fields, rows, halo]; south, north [fields, halo, columns + 2 halo], corners included
    extent      [2]: rows and columns of the block within the arrays; the rest is unchanged or undefined
    scalars     [steps of the sweep, n]: numbers that are the same for all cells
    static      slip [1]; row_statics [n, rows, 1]; statics [n, rows, columns] and mask_bits [rows, columns]
    flags       [rows, groups of columns] (uint8): the Flags of pass_arguments.h

Row_statics, statics, mask_bits and flags have `static_halo` further rows on each side, and the last three also
`row_padding` further columns.

Results: memory, then edges west, east [fields, rows, halo], south, north [fields, halo, columns].
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...ocean.drying import BREAKING_LIMITS, THIN_LAYER_LIMITS
from ...ocean.state import Carry
from ...parallel.transport.halo import concatenate_halo, last_values, zero_beyond
from ...parallel.transport.programs import MAX_PROGRAMS
from .derive import step_programs
from .generate import BREAKING_PASS, SMOOTH_PASS, round_up
from .generated_step import CACHE_BYTES, GROUP_COLUMNS, GeneratedStep, StaticInputs
from .rewrite import MAX_COLUMN_SHIFT
from .step_library import StepRequest, function_address
from .trace import Tracing, carry_field_names, stepper_weights

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport

#: Bytes of the longest vectors.
MAX_VECTOR_BYTES = 64
#: Offset of planes, bytes: without it the rows of all fields would share the same sets of the first-level cache.
PLANE_STAGGER_BYTES = 320
CACHE_LINE_BYTES = 64


class Edges(NamedTuple):
    """The outermost columns and rows of the exchanged fields; or halos, which are edges of the neighbours."""

    west: Any
    east: Any
    south: Any
    north: Any

    @classmethod
    def from_fields(cls, fields, halo: int, extent) -> Edges:
        """The edges of fields [ny, nx], `halo` columns and rows wide."""
        rows, columns = extent or (None, None)
        return cls(
            west=jnp.stack([f[:, :halo] for f in fields]),
            east=jnp.stack([last_values(f, halo, -1, columns) for f in fields]),
            south=jnp.stack([f[:halo] for f in fields]),
            north=jnp.stack([last_values(f, halo, -2, rows) for f in fields]),
        )

    def exchange(self, halo: int, transport: Transport, extent) -> Edges:
        """The halos from the edges of all blocks: four messages, as in `transport.halo.add_halo`."""
        rows, columns = extent or (None, None)
        west, east = transport.swap(self.west, self.east, 1)
        corners = [last_values(strip, halo, -2, rows) for strip in (west, east)]
        south = concatenate_halo(west[:, :halo], self.south, east[:, :halo], -1, columns)
        north = concatenate_halo(corners[0], self.north, corners[1], -1, columns)
        return Edges(west, east, *transport.swap(south, north, 0))

    def narrow(self, n_fields: int, halo: int) -> Edges:
        """The edges of the first fields, `halo` columns and rows wide."""
        west, east, south, north = (strip[:n_fields] for strip in self)
        return Edges(west[..., :halo], east[..., -halo:], south[..., :halo, :], north[..., -halo:, :])


class PlaneRotation(NamedTuple):
    """The planes of fields, which may change from pass to pass and from step to step, until they repeat."""

    planes: np.ndarray  # [steps, passes, 3, fields]: planes that each pass reads, writes, and sends to neighbours
    n_planes: int  # planes in use

    def planes_at(self, step, pass_number: int, steps_later: int = 0):
        """The planes [3, fields] of a pass, `step` + `steps_later` steps after the first; `step` may be traced."""
        return jnp.asarray(self.planes)[(step + steps_later) % len(self.planes), pass_number]


class NativeCalls:
    """The foreign calls of a generated step on a block, within a program.

    `step_code` is the StepCode, `names` are the fields of a carry. `halo` is the number of rows and columns of
    neighbours that one step needs, `plane_size` the length of a plane.
    """

    def __init__(self, generated_step: GeneratedStep, static: StaticInputs, dt, transport: Transport):
        self.generated_step, self.static, self.dt, self.dtype = generated_step, static, dt, dt.dtype
        self.transport, self.shape, self.extent = transport, transport.shape, transport.extent()
        self.request = generated_step.request(static.kinds, self.dtype)
        self.step_code, self.halo = self.request.step_code, self.request.step_code.halo
        self.names = carry_field_names(generated_step.scheme, generated_step.method, generated_step.derivative)
        self.row_padding = generated_step.row_padding(self.step_code)
        rows, columns = self.shape
        self.row_stride = round_up(columns + 2 * self.row_padding, CACHE_LINE_BYTES // self.dtype.itemsize)
        self.plane_size = rows * self.row_stride + PLANE_STAGGER_BYTES // self.dtype.itemsize
        self.memory_layout = int64_attributes(
            row_padding=self.row_padding, stride=self.row_stride, plane_size=self.plane_size
        )
        self.rotation = self.plane_rotation()

    def plane_rotation(self, excluded=()) -> PlaneRotation:
        """The planes of all fields except `excluded` ones; a pass writes into the planes that it reads."""
        rotating = [name for name in self.step_code.fields if name not in excluded]
        own_planes = [[rotating.index(name) if name in rotating else 0 for name in self.step_code.fields]]
        planes = np.array(own_planes, np.int32) if excluded else self.step_code.planes_by_step
        return PlaneRotation(
            np.repeat(np.repeat(planes[:, None, None], 3, 2), len(self.step_code.programs), 1), len(rotating)
        )

    def advance(self, carry: Carry, n, update=None, summary=()):
        """The carry n steps later; with `update` also the summary, updated after each sweep, as in `xla.make_loop`."""
        fields, tree = jax.tree.flatten((carry.state, carry.memory))

        def update_summary(summary, fields, step):
            return update(summary, type(carry.state)._make(fields[: len(carry.state)]), step)

        fields, summary = self.run(fields, carry.step, n, update and update_summary, summary)
        state, memory = jax.tree.unflatten(tree, fields)
        advanced = Carry(state, memory, carry.step + n)
        return (advanced, summary) if update else advanced

    def run(self, fields, step, n, update=None, summary=()) -> tuple[list, Any]:
        """The fields of the carry [ny, nx], in the order of `names`, n steps after `step`; and the summary."""
        code, steps_per_sweep, first_step = self.step_code, self.generated_step.steps_per_sweep, step
        indices, fields_by_name = np.array(self.field_indices(self.names)), dict(zip(self.names, fields, strict=True))

        def planes_of_pass_at(step):
            return partial(self.rotation.planes_at, step - first_step)

        memory = self.put_into_new_memory(indices, fields)
        flags = self.flags(skip_land=not self.generated_step.derivative)
        edges = self.edges_of([fields_by_name[name] for name in code.fields if name in fields_by_name], steps_per_sweep)
        for n_steps in sorted({steps_per_sweep, 1}, reverse=True):
            edges = self.narrow_edges(edges, len(fields), n_steps)

            def body(_, loop_state, n_steps=n_steps):
                memory, edges, step, summary = loop_state
                memory, edges = self.advance_memory(memory, edges, step, flags, n_steps, planes_of_pass_at(step))
                if update:
                    planes = planes_of_pass_at(step + n_steps)(0)[0][indices]
                    summary = update(summary, self.views(memory, planes), step + n_steps)
                    # The barrier keeps the next sweep, which overwrites the memory, after `update`.
                    memory, summary = jax.lax.optimization_barrier((memory, summary))
                return memory, edges, step + n_steps, summary

            memory, edges, step, summary = jax.lax.fori_loop(0, n // n_steps, body, (memory, edges, step, summary))
            n = n % n_steps
        return self.get(memory, planes_of_pass_at(step)(0)[0][indices]), summary

    def edges_of(self, fields, n_steps: int):
        return Edges.from_fields(fields, n_steps * self.halo, self.extent)

    def narrow_edges(self, edges, n_fields: int, n_steps: int):
        """The edges that sweeps of `n_steps` steps need: of all fields, or, for one step, of those with halos."""
        return edges.narrow(
            n_fields if n_steps > 1 else len(self.step_code.programs[0].halo_fields), n_steps * self.halo
        )

    def put_into_new_memory(self, planes, fields):
        """A new memory with the fields in these planes; the other planes hold finite numbers."""
        unused_planes = [plane for plane in range(self.rotation.n_planes) if plane not in planes]
        return self.put([*planes, *unused_planes], [*fields, *[fields[0]] * len(unused_planes)])

    def field_indices(self, names) -> list[int]:
        return [self.step_code.fields.index(name) for name in names]

    def put(self, planes, fields, memory=None, n_planes=None):
        """The memory with the fields [ny, nx] put into `planes`; without `memory` a new one of `n_planes` planes."""
        n_planes = self.rotation.n_planes if n_planes is None else n_planes
        size = n_planes * self.plane_size if memory is None else memory.size
        call = jax.ffi.ffi_call(
            "swmodel_put",
            jax.ShapeDtypeStruct((size,), self.dtype),
            input_output_aliases={} if memory is None else {1 + len(fields): 0},
            vmap_method="sequential",
        )
        return call(plane_array(planes), *fields, *([] if memory is None else [memory]), **self.memory_layout)

    def get(self, memory, planes) -> list:
        """The fields [ny, nx] in `planes` of the memory, with zeros beyond the block."""
        results = [jax.ShapeDtypeStruct(self.shape, self.dtype)] * len(planes)
        call = jax.ffi.ffi_call("swmodel_get", results, vmap_method="sequential")
        return [zero_beyond(field, self.extent) for field in call(memory, plane_array(planes), **self.memory_layout)]

    def views(self, memory, planes) -> list:
        """The fields of `get`, as slices of the memory; faster for code that reads few points, or each point once."""
        rows, columns = self.shape

        def view(plane):
            padded = memory.reshape(-1, self.plane_size)[plane, : rows * self.row_stride].reshape(rows, self.row_stride)
            return zero_beyond(padded[:, self.row_padding : self.row_padding + columns], self.extent)

        return [view(plane) for plane in planes]

    def flags(self, skip_land: bool = False):
        """The Flag (pass_arguments.h) of each group of columns: COAST where land is within reach of the computed cells.

        With `skip_land`, cells far from any water are skipped. They keep their values in the memory, which neighbouring
        cells read, so all planes must hold finite numbers.
        """
        rows, columns = self.static.mask_bits.shape
        result = jax.ShapeDtypeStruct((rows, -(-columns // GROUP_COLUMNS)), np.uint8)
        code, lanes = self.step_code, MAX_VECTOR_BYTES // self.dtype.itemsize
        mask_offsets = np.array(
            [(row, vector * lanes + column) for row, vector, column in code.mask_offsets] or [(0, 0)]
        )
        (south, west), (north, east) = np.maximum(-mask_offsets.min(0), 0), np.maximum(mask_offsets.max(0), 0)
        windows = {"land": (south, north, west, east)}
        # Ring buffers hold rows that the loop has computed further south, so groups there must not be skipped.
        field_reach = max(code.halo, code.static_halo) + MAX_COLUMN_SHIFT
        warmup_rows = max(s.warmup_rows for s in code.schedules)
        east_reach = field_reach + max(s.west_reach for s in code.schedules)
        writes_only_carry = set(code.fields) <= set(
            carry_field_names(self.generated_step.scheme, self.generated_step.method)
        )
        row_reach = 0 if writes_only_carry else field_reach
        windows["water"] = row_reach, row_reach + warmup_rows, field_reach, east_reach
        window_reaches = {
            f"{name}_{side}": reach
            for name, window in windows.items()
            for side, reach in zip(("south", "north", "west", "east"), window, strict=True)
        }
        call = jax.ffi.ffi_call("swmodel_land_flags", result, vmap_method="sequential")
        return call(self.static.mask_bits, **int64_attributes(skip_land=skip_land, **window_reaches))

    def advance_memory(self, memory, edges: Edges, step, flags, n_steps: int, planes_of_pass):
        """Run all passes of `n_steps` steps from `step` on; returns the memory and the edges for the next pass.

        planes_of_pass(pass, steps_later=0) is the array `planes` (see the module) of a pass, that many steps later.
        """
        code, static, (rows, columns) = self.step_code, self.static, self.shape
        array, halo = partial(jax.ShapeDtypeStruct, dtype=self.dtype), n_steps * self.halo
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        scalars = self.step_scalars(step, n_steps)
        arrays = extent, scalars, static.slip, static.row_statics, static.statics, static.mask_bits
        exceeds_cache = len(code.fields) * self.plane_size * self.dtype.itemsize > CACHE_BYTES
        options = self.memory_layout | int64_attributes(
            function=function_address(self.request), threads=self.generated_step.threads, exceeds_cache=exceeds_cache
        )
        for pass_number, program in enumerate(code.programs):
            n_sent = len(code.fields if n_steps > 1 else program.sent_fields)
            column, row = array((n_sent, rows, halo)), array((n_sent, halo, columns))
            call = jax.ffi.ffi_call(
                "swmodel_run_pass",
                [array(memory.shape), column, column, row, row],
                input_output_aliases={0: 0},
                vmap_method="sequential",
            )
            if pass_number == 0 or not code.is_split_by_smoothness:
                halos = edges.exchange(halo, self.transport, self.extent)
            if pass_number == 0 and code.is_split_by_smoothness:
                flags_of_passes = self.pass_flags(memory, planes_of_pass(0), halos, extent, flags)
            flags_of_pass = flags_of_passes[pass_number] if code.is_split_by_smoothness else flags
            options["pass"] = np.int64(pass_number)
            memory, *new_edges = call(memory, planes_of_pass(pass_number), *halos, *arrays, flags_of_pass, **options)
            edges = Edges(*new_edges)
        return memory, edges

    def pass_flags(self, memory, planes, halos: Edges, extent, flags):
        """The flags [3, rows, groups] of the passes of `generate.split_by_smoothness`; `flags` are those of land."""
        code, (rows, columns) = self.step_code, self.shape
        # Unchanged groups are computed if a term acts at rest or each step has its own planes, as in derivatives.
        acts_at_rest = any(term.acts_at_rest for term in self.generated_step.scheme.active_terms)
        options = self.memory_layout | int64_attributes(
            itemsize=self.dtype.itemsize,
            rows=rows,
            columns=columns,
            halo=self.halo,
            static_halo=self.generated_step.static_halo,
            field_index=code.fields.index("h"),
            exchange_index=code.programs[0].halo_fields.index("h"),
            mark_row=function_address(self.request, "swmodel_mark_row"),
            warmup_rows_breaking=code.schedules[BREAKING_PASS].warmup_rows,
            warmup_rows_smooth=code.schedules[SMOOTH_PASS].warmup_rows,
            skip_unchanged=self.generated_step.rotates_planes and not acts_at_rest,
        )
        thickness = self.static.scalars["drying_thickness"].reshape(())
        # The limits are a little stricter than needed, so that rounding never marks a breaking or thin cell as smooth.
        limits = jnp.stack(
            [1.001 * THIN_LAYER_LIMITS[1] * thickness, jnp.asarray(0.999 * BREAKING_LIMITS[0], self.dtype), thickness]
        )
        names = self.generated_step.scheme.state_type._fields
        histories = [self.field_indices([f"{when}{name}" for when in ("", "memory0.", "memory1.")]) for name in names]
        arrays = (memory, planes, *halos, extent, self.static.depth, self.static.mask_bits, flags, limits)
        result = jax.ShapeDtypeStruct((2, *flags.shape), np.uint8)
        call = jax.ffi.ffi_call("swmodel_drying_flags", result, vmap_method="sequential")
        flags_of_passes = call(*arrays, jnp.asarray(histories, jnp.int32), **options)
        # The copy pass has the flags of the breaking pass.
        return flags_of_passes[np.array([BREAKING_PASS, SMOOTH_PASS, BREAKING_PASS])]

    def step_scalars(self, step, n_steps: int):
        """The numbers that are the same for all cells, for each of the next steps, [n_steps, n].

        The foreign call computes their products, so that the bits do not depend on XLA.
        """
        steps = step + jnp.arange(n_steps, dtype=step.dtype)
        return jax.vmap(make_step_scalars(self.request), in_axes=(None, 0, None))(self.static.scalars, steps, self.dt)


@lru_cache(maxsize=MAX_PROGRAMS)
def make_step_scalars(request: StepRequest):
    """Make the function (scalars, step, dt) -> step scalars [n], traced once for all programs that use it."""
    scheme, method, kinds, dtype, derivative, controls, rotates_planes = request

    def step_scalars(scalars, step, dt):
        tracing = Tracing(scheme, kinds, scalars | stepper_weights(method, step, dt), np.dtype(dtype), controls)
        step_programs(tracing, method, step, derivative, controls, rotates_planes)
        values_by_name = tracing.graph.values
        return jnp.stack([jnp.asarray(values_by_name[name], dtype).reshape(()) for name in request.step_code.scalars])

    return jax.jit(step_scalars, inline=True)


def plane_array(indices):
    return jnp.asarray(indices, jnp.int32).reshape(-1)


def int64_attributes(**options: int) -> dict:
    return {name: np.int64(value) for name, value in options.items()}
