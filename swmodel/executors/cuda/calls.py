"""The kernels of a step in JAX: a foreign call that launches them, on fields in planes with halos.

As in `native.calls`, but a pass writes into planes that it does not read. If a block is its own neighbour, one call
takes several steps, because kernels copy the halos.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import SetupError
from ...parallel.transport.halo import zero_beyond
from ..native.calls import Edges, NativeCalls, PlaneRotation, int64_attributes
from ..native.generate import max_reach
from ..native.graph import Program, nodes_of
from ..native.kernel import StepKernel
from . import library
from .kernels import BLOCK_THREADS, CELLS_PER_THREAD, block_unsupported_reason
from .split import Region

#: The mask bits of a cell without land around it, as in native/job.h.
ALL_WATER_BITS = 1 + 2 + 4 + 8 * 4
#: The length of a row is a multiple of this many numbers, so that warps read whole lines of memory.
ROW_ALIGNMENT = 32


class CudaCalls(NativeCalls):
    """The launches of the kernels of a step on a block, within a program; see `native.calls.NativeCalls`."""

    def __init__(self, kernel: StepKernel, static, dt, transport):
        super().__init__(kernel, static, dt, transport)
        rows, columns = self.shape
        if reason := block_unsupported_reason(rows, columns):
            raise SetupError(f"run.executor: {reason}; use more devices, or xla")
        self.kernels = library.load(self.request).kernels
        # The same number for a step and its adjoint, because they share a memory.
        self.halo_rows = max(self.halo, kernel.scheme.adjoint_static_halo)
        self.plane_rows = round_up(rows, CELLS_PER_THREAD * BLOCK_THREADS[1]) + 2 * self.halo_rows
        self.row_stride = round_up(columns + 2 * self.row_padding, ROW_ALIGNMENT)
        self.plane_size = self.plane_rows * self.row_stride
        self.wraps = is_own_neighbour(transport)

    def plane_rotation(self, excluded=()) -> PlaneRotation:
        """The planes of all fields except `excluded` ones; a pass writes into planes that it does not read."""
        return find_plane_rotation(self.step_code.programs, self.step_code.fields, excluded)

    def edges_of(self, fields, n_steps: int):
        return () if self.wraps else super().edges_of(fields, n_steps)

    def narrow_edges(self, edges, n_fields: int, n_steps: int):
        return () if self.wraps else super().narrow_edges(edges, n_fields, n_steps)

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
        """1 for each block of threads with land within reach of its cells [blocks down, blocks across]."""
        mask_reach, (n_rows, n_columns) = self.reach_of_masks(), self.static.mask_bits.shape
        size = BLOCK_THREADS[1] * self.kernels.cells_per_thread, BLOCK_THREADS[0]
        corner = self.kernel.static_halo - mask_reach, (n_columns - self.shape[1]) // 2 - mask_reach
        land = (self.static.mask_bits != ALL_WATER_BITS)[corner[0] : n_rows, corner[1] : n_columns]
        blocks = self.blocks(Region())[::-1]
        padded_shape = [n * each + 2 * mask_reach for n, each in zip(blocks, size, strict=True)]
        land = land[: padded_shape[0], : padded_shape[1]]
        land = jnp.pad(land, [(0, n - m) for n, m in zip(padded_shape, land.shape, strict=True)], mode="edge")
        window = [each + 2 * mask_reach for each in size]
        return jax.lax.reduce_window(land.astype(np.uint8), np.uint8(0), jax.lax.max, window, size, "VALID")

    def blocks(self, region: Region) -> tuple[int, int]:
        """The numbers of blocks of threads of a kernel, across and down."""
        (rows, columns), (south, north, west, east) = self.shape, region
        rows_of_block = BLOCK_THREADS[1] * self.kernels.cells_per_thread
        return -(-(columns + west + east) // BLOCK_THREADS[0]), -(-(rows + south + north) // rows_of_block)

    def reach_of_masks(self) -> int:
        return max_reach(self.step_code.programs, ("mask",))

    def advance_memory(self, memory, edges: Edges, step, flags, n_steps: int, planes):
        """Run all passes of `n_steps` steps from `step` on; see `native.calls.NativeCalls.advance_memory`."""
        static, code, (rows, columns) = self.static, self.step_code, self.shape
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        scalars, kernels = self.step_scalars(step, n_steps), self.kernels
        options = int64_attributes(
            library=library.load(self.request).handle,
            rows=rows,
            columns=columns,
            halo=self.halo,
            stride=self.row_stride,
            plane_size=self.plane_size,
            halo_rows=self.halo_rows,
            row_padding=self.row_padding,
            margin=self.kernel.static_halo,
            constant_bytes=kernels.constant_bytes,
        )
        array = partial(jax.ShapeDtypeStruct, dtype=self.dtype)
        temporaries = kernels.temporaries * self.plane_size * self.dtype.itemsize
        work = jax.ShapeDtypeStruct((kernels.constant_bytes + temporaries,), np.uint8)

        def call_passes(passes: range, steps_later, strips, results, wraps):
            plane_indices = jnp.stack([jnp.stack([planes(p, n) for p in passes]) for n in steps_later])
            arrays = extent, scalars, static.slip, static.row_statics, static.fields, static.mask_bits, flags, *strips
            programs, regions = ([parts[p] for p in passes] for parts in (code.programs, kernels.regions))
            lists = {
                "reads": [len(program.reads) for program in programs],
                "sends": [len(program.sends) for program in programs],
                "kernels": [len(each) for each in regions],
                "blocks": [size for each in regions for region in each for size in self.blocks(region)],
            }
            lists = {name: np.array(numbers, np.int64) for name, numbers in lists.items()}
            foreign_call = jax.ffi.ffi_call(
                "swmodel_cuda_step",
                [array(memory.shape), work, *results],
                input_output_aliases={0: 0},
                vmap_method="sequential",
            )
            call_options = int64_attributes(**{"pass": passes.start}, wraps=wraps)
            new_memory, _, *rest = foreign_call(memory, plane_indices, *arrays, **options, **lists, **call_options)
            return new_memory, rest

        if self.wraps:
            memory, _ = call_passes(range(len(code.programs)), range(n_steps), (), (), True)
            return memory, edges
        for pass_number, program in enumerate(code.programs):
            halos = edges.exchange(self.halo, self.transport, self.extent)
            n_sent = len(program.sends)
            column, row = array((n_sent, rows, self.halo)), array((n_sent, self.halo, columns))
            pass_range = range(pass_number, pass_number + 1)
            memory, edges = call_passes(pass_range, (0,), halos, (column, column, row, row), False)
            edges = Edges(*edges)
        return memory, edges


def is_own_neighbour(transport) -> bool:
    return transport.name == "serial"


def find_plane_rotation(programs: Sequence[Program], fields, excluded=()) -> PlaneRotation:
    """The planes of all fields except excluded ones, for passes that write into planes that they do not read.

    Fields that take over each other's memory share planes. The fields start in the first planes, in their order, and
    return to them after a few steps.
    """
    rotating = [name for name in fields if name not in excluded]
    cycles, first = [], 0
    for group in plane_sharing_groups(programs, rotating):
        cycle, count = shortest_cycle(programs, group)
        cycles.append([[{key: first + plane for key, plane in each.items()} for each in passes] for passes in cycle])
        first += count
    n_steps = math.lcm(*map(len, cycles))
    planes_of_fields = np.zeros((n_steps, len(programs), 3, len(fields)), np.int32)
    for step in range(n_steps):
        for cycle in cycles:
            for number, planes in enumerate(cycle[step % len(cycle)]):
                for (row, name), plane in planes.items():
                    planes_of_fields[step, number, row, fields.index(name)] = plane
    columns = [fields.index(name) for name in rotating]
    first_planes = list(planes_of_fields[0, 0, 0, columns])
    order = np.argsort([*first_planes, *(plane for plane in range(first) if plane not in first_planes)])
    planes_of_fields[..., columns] = order[planes_of_fields[..., columns]]
    return PlaneRotation(planes_of_fields, first)


def plane_sharing_groups(programs: Sequence[Program], names: Sequence[str]) -> list[list[str]]:
    """The names in groups of fields that may take over each other's memory after a pass."""
    group = {name: [name] for name in names}
    for name, other in (pair for program in programs for pair in program.planes_after.items()):
        if name in group and other in group and group[name] is not group[other]:
            group[name] += group[other]
            group |= dict.fromkeys(group[other], group[name])
    return [group[name] for name in names if group[name][0] == name]


def shortest_cycle(programs: Sequence[Program], group: Sequence[str]) -> tuple[list, int]:
    """The planes of a group in each pass of each step until they repeat, and the smallest sufficient number of planes.

    The planes of a pass are {(row, name): plane}, with the rows of `PlaneRotation`.
    """
    fields_read = [{node.value for node in nodes_of([program]) if node.op == "field"} for program in programs]
    for n_planes in itertools.count(len(group)):
        if cycle := cycle_of_group(programs, fields_read, group, n_planes):
            return cycle, n_planes


def cycle_of_group(
    programs: Sequence[Program], fields_read: Sequence[set[str]], group: Sequence[str], n_planes: int
) -> list | None:
    """The cycle of a group in `n_planes` planes; None if these are too few.

    A pass writes into the plane that was written the longest time ago, of those that it neither reads nor keeps.
    """
    plane_of, oldest_first, history, step_of = {name: n for n, name in enumerate(group)}, list(range(n_planes)), [], {}
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
                {(row, n): at[n] for row, at in enumerate((plane_of, plane_of | plane_of_output, after)) for n in group}
            )
            plane_of = after
        history.append(planes_of_passes)
    return history[step_of[key] :]


def round_up(number: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is not below `number`."""
    return -(-number // multiple) * multiple
