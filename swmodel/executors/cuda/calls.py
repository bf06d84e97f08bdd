"""The kernels of a step in JAX: a foreign call that launches them, on fields in planes with halos.

The calls work as in `native.calls`, but a pass writes into planes that it does not read. If a block is its own
neighbour, kernels copy the halos, and one call may take several steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import SetupError
from ...parallel.transport.halo import zero_beyond
from ..native.calls import Edges, NativeCalls, PlaneRotation, int64_attributes
from ..native.generate import max_reach, round_up
from ..native.generated_step import ALL_WATER_BITS, GeneratedStep
from ..native.graph import Program, nodes_of
from . import kernel_library
from .kernels import BLOCK_THREADS, CELLS_PER_THREAD, block_unsupported_reason
from .split import Margins

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport

#: The length of a row is a multiple of this many numbers, so that all rows of a field are aligned alike.
ROW_ALIGNMENT = 32


class CudaCalls(NativeCalls):
    """The launches of the kernels of a step on a block, within a program; see `native.calls.NativeCalls`."""

    def __init__(self, generated_step: GeneratedStep, static, dt, transport: Transport):
        super().__init__(generated_step, static, dt, transport)
        rows, columns = self.shape
        if reason := block_unsupported_reason(rows, columns):
            raise SetupError(f"run.executor: {reason}; use more devices, or xla")
        self.kernels = kernel_library.load(self.request).kernels
        # A step and its adjoint share a memory, so `halo_rows` is the same for both.
        self.halo_rows = max(self.halo, generated_step.scheme.adjoint_static_halo)
        self.plane_rows = round_up(rows, CELLS_PER_THREAD * BLOCK_THREADS[1]) + 2 * self.halo_rows
        self.row_stride = round_up(columns + 2 * self.row_padding, ROW_ALIGNMENT)
        self.plane_size = self.plane_rows * self.row_stride
        self.is_own_neighbour = is_own_neighbour(transport)

    def plane_rotation(self, excluded=()) -> PlaneRotation:
        """The planes of all fields except `excluded` ones; a pass writes into planes that it does not read."""
        return find_plane_rotation(self.step_code.programs, self.step_code.fields, excluded)

    def edges_of(self, fields, n_steps: int):
        return () if self.is_own_neighbour else super().edges_of(fields, n_steps)

    def narrow_edges(self, edges, n_fields: int, n_steps: int):
        return () if self.is_own_neighbour else super().narrow_edges(edges, n_fields, n_steps)

    def put_into_new_memory(self, planes, fields):
        return self.put(planes, fields)

    def put(self, planes, fields, memory=None, n_planes=None):
        """The memory with the fields [ny, nx] put into `planes`; without `memory` a new one of `n_planes` planes."""
        if memory is None:
            n_planes = self.rotation.n_planes if n_planes is None else n_planes
            memory = jnp.zeros(n_planes * self.plane_size, self.dtype)
        planes_of_memory = memory.reshape(-1, self.plane_rows, self.row_stride)
        for number, field in enumerate(fields):
            start = (planes[number], self.halo_rows, self.row_padding)
            planes_of_memory = jax.lax.dynamic_update_slice(
                planes_of_memory, field[None], tuple(jnp.asarray(n, jnp.int32) for n in start)
            )
        return planes_of_memory.reshape(-1)

    def get(self, memory, planes) -> list:
        """The fields [ny, nx] in `planes` of the memory, with zeros beyond the block."""
        return self.views(memory, planes)

    def views(self, memory, planes) -> list:
        """The fields of `get`, as slices of the memory."""
        planes_of_memory, (rows, columns) = memory.reshape(-1, self.plane_rows, self.row_stride), self.shape

        def view(number):
            start = (planes[number], jnp.int32(self.halo_rows), jnp.int32(self.row_padding))
            return zero_beyond(jax.lax.dynamic_slice(planes_of_memory, start, (1, rows, columns))[0], self.extent)

        return [view(number) for number in range(len(planes))]

    def flags(self, skip_land: bool = False):
        """For each block of threads, [y, x], 1 if land is within reach of a cell, else 0; `skip_land` has no effect."""
        mask_reach, (n_rows, n_columns) = self.mask_reach(), self.static.mask_bits.shape
        size = BLOCK_THREADS[1] * self.kernels.cells_per_thread, BLOCK_THREADS[0]
        corner = self.generated_step.static_halo - mask_reach, (n_columns - self.shape[1]) // 2 - mask_reach
        land = (self.static.mask_bits != ALL_WATER_BITS)[corner[0] : n_rows, corner[1] : n_columns]
        grid_size = self.grid_size(Margins())[::-1]
        padded_shape = [n * each + 2 * mask_reach for n, each in zip(grid_size, size, strict=True)]
        land = land[: padded_shape[0], : padded_shape[1]]
        land = jnp.pad(land, [(0, n - m) for n, m in zip(padded_shape, land.shape, strict=True)], mode="edge")
        window = [each + 2 * mask_reach for each in size]
        return jax.lax.reduce_window(land.astype(np.uint8), np.uint8(0), jax.lax.max, window, size, "VALID")

    def grid_size(self, margins: Margins) -> tuple[int, int]:
        """The numbers of blocks of threads of a kernel, in x and y."""
        (rows, columns), (south, north, west, east) = self.shape, margins
        rows_of_block = BLOCK_THREADS[1] * self.kernels.cells_per_thread
        return -(-(columns + west + east) // BLOCK_THREADS[0]), -(-(rows + south + north) // rows_of_block)

    def mask_reach(self) -> int:
        return max_reach(self.step_code.programs, ("mask",))

    def advance_memory(self, memory, edges: Edges, step, flags, n_steps: int, planes_of_pass):
        """Run all passes of `n_steps` steps from `step` on; see `native.calls.NativeCalls.advance_memory`."""
        static, code, (rows, columns) = self.static, self.step_code, self.shape
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        scalars, kernels = self.step_scalars(step, n_steps), self.kernels
        options = int64_attributes(
            library=kernel_library.load(self.request).handle,
            rows=rows,
            columns=columns,
            halo=self.halo,
            stride=self.row_stride,
            plane_size=self.plane_size,
            halo_rows=self.halo_rows,
            row_padding=self.row_padding,
            static_halo=self.generated_step.static_halo,
            constant_bytes=kernels.constant_bytes,
            is_own_neighbour=self.is_own_neighbour,
        )
        array = partial(jax.ShapeDtypeStruct, dtype=self.dtype)
        temporary_bytes = kernels.n_temporaries * self.plane_size * self.dtype.itemsize
        workspace = jax.ShapeDtypeStruct((kernels.constant_bytes + temporary_bytes,), np.uint8)

        def call_passes(passes: range, steps_later, halos, results):
            plane_indices = jnp.stack([jnp.stack([planes_of_pass(p, n) for p in passes]) for n in steps_later])
            arrays = extent, scalars, static.slip, static.row_statics, static.statics, static.mask_bits, flags, *halos
            programs, margins_of_passes = [code.programs[p] for p in passes], [kernels.margins[p] for p in passes]
            lists = {
                "n_halo_fields": [len(program.halo_fields) for program in programs],
                "n_sent_fields": [len(program.sent_fields) for program in programs],
                "n_kernels": [len(margins_of_kernels) for margins_of_kernels in margins_of_passes],
                "grid_sizes": [
                    size
                    for margins_of_kernels in margins_of_passes
                    for margins in margins_of_kernels
                    for size in self.grid_size(margins)
                ],
            }
            numbers = {name: np.array(values, np.int64) for name, values in lists.items()}
            foreign_call = jax.ffi.ffi_call(
                "swmodel_cuda_step",
                [array(memory.shape), workspace, *results],
                input_output_aliases={0: 0},
                vmap_method="sequential",
            )
            first_pass = np.int64(passes.start)
            new_memory, _, *rest = foreign_call(
                memory, plane_indices, *arrays, **options, **numbers, first_pass=first_pass
            )
            return new_memory, rest

        if self.is_own_neighbour:
            memory, _ = call_passes(range(len(code.programs)), range(n_steps), (), ())
            return memory, edges
        for pass_number, program in enumerate(code.programs):
            halos = edges.exchange(self.halo, self.transport, self.extent)
            n_sent = len(program.sent_fields)
            column, row = array((n_sent, rows, self.halo)), array((n_sent, self.halo, columns))
            pass_range = range(pass_number, pass_number + 1)
            memory, edges = call_passes(pass_range, (0,), halos, (column, column, row, row))
            edges = Edges(*edges)
        return memory, edges


def is_own_neighbour(transport: Transport) -> bool:
    return transport.name == "serial"


def find_plane_rotation(programs: Sequence[Program], fields, excluded=()) -> PlaneRotation:
    """The planes of all fields except `excluded` ones, for passes that write into planes that they do not read.

    Fields that take over each other's memory share planes. The fields start in the first planes, in their order, and
    return to them after a few steps.
    """
    rotating = [name for name in fields if name not in excluded]
    cycles, n_planes = [], 0
    for group in plane_sharing_groups(programs, rotating):
        cycle, n_group_planes = cycle_with_fewest_planes(programs, group)
        cycles.append([[{key: n_planes + plane for key, plane in each.items()} for each in passes] for passes in cycle])
        n_planes += n_group_planes
    n_steps = math.lcm(*map(len, cycles))
    planes_of_fields = np.zeros((n_steps, len(programs), 3, len(fields)), np.int32)
    for step in range(n_steps):
        for cycle in cycles:
            for pass_number, pass_planes in enumerate(cycle[step % len(cycle)]):
                for (row, name), plane in pass_planes.items():
                    planes_of_fields[step, pass_number, row, fields.index(name)] = plane
    columns = [fields.index(name) for name in rotating]
    first_planes = list(planes_of_fields[0, 0, 0, columns])
    order = np.argsort([*first_planes, *(plane for plane in range(n_planes) if plane not in first_planes)])
    planes_of_fields[..., columns] = order[planes_of_fields[..., columns]]
    return PlaneRotation(planes_of_fields, n_planes)


def plane_sharing_groups(programs: Sequence[Program], names: Sequence[str]) -> list[list[str]]:
    """The names, in groups of fields that may take over each other's memory after a pass."""
    group = {name: [name] for name in names}
    for name, other in (pair for program in programs for pair in program.planes_after.items()):
        if name in group and other in group and group[name] is not group[other]:
            group[name] += group[other]
            group |= dict.fromkeys(group[other], group[name])
    return [group[name] for name in names if group[name][0] == name]


def cycle_with_fewest_planes(programs: Sequence[Program], group: Sequence[str]) -> tuple[list, int]:
    """The planes of a group in each pass of each step until they repeat, as few as possible, and their number.

    The planes of a pass are {(row, name): plane}, with the rows of `PlaneRotation`.
    """
    fields_read = [{node.value for node in nodes_of([program]) if node.op == "field"} for program in programs]
    n_planes = len(group)
    while not (cycle := cycle_of_group(programs, fields_read, group, n_planes)):
        n_planes += 1
    return cycle, n_planes


def cycle_of_group(
    programs: Sequence[Program], fields_read: Sequence[set[str]], group: Sequence[str], n_planes: int
) -> list | None:
    """The cycle of a group in `n_planes` planes; None if these are too few.

    Of the planes that a pass neither reads nor keeps, it writes into those whose last write is oldest.
    """
    plane_of, oldest_first = {name: n for n, name in enumerate(group)}, list(range(n_planes))
    history: list[list[dict]] = []
    step_of: dict[tuple, int] = {}
    while (key := (*plane_of.values(), *oldest_first)) not in step_of:
        step_of[key] = len(history)
        planes_of_passes = []
        for program, names in zip(programs, fields_read, strict=True):
            outputs = [name for name in group if name in program.outputs]
            unchanged = {name: plane_of[program.plane_after(name)] for name in group if name not in outputs}
            occupied = {plane_of[name] for name in group if name in names} | set(unchanged.values())
            free = [plane for plane in oldest_first if plane not in occupied]
            if len(free) < len(outputs):
                return None
            plane_of_output = dict(zip(outputs, free, strict=False))
            written = list(plane_of_output.values())
            oldest_first = [plane for plane in oldest_first if plane not in written] + written
            after = {name: (unchanged | plane_of_output)[name] for name in group}
            planes_of_passes.append(
                {
                    (row, n): planes[n]
                    for row, planes in enumerate((plane_of, plane_of | plane_of_output, after))
                    for n in group
                }
            )
            plane_of = after
        history.append(planes_of_passes)
    return history[step_of[key] :]
