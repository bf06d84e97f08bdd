"""The kernels of a step in JAX: a foreign call that launches them, on fields in planes with halos.

As in `native.calls`, but a pass writes into planes that it does not read, and where a block is its own neighbour the
call takes several steps, as the kernels copy the halos.
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
from ...parallel.transport.halo import within
from ..native.calls import Calls, Edges, Rotation
from ..native.generate import reach
from ..native.graph import Program, nodes_of
from ..native.kernel import Kernel
from . import library
from .kernels import ROWS, THREADS
from .split import Region

#: The value of a cell without land around it, as in native/job.h.
ALL_WATER = 1 + 2 + 4 + 8 * 4
#: Columns that a row begins with, and the length of a row, in numbers: warps then read whole lines of memory.
ALIGNED = 32
#: Kernels count the cells of a plane in 32 bits; CUDA allows so many blocks of threads one above the other.
MOST_CELLS, MOST_BLOCKS = 2**31 - 1, 2**16 - 1


class CudaCalls(Calls):
    """The launches of the kernels of a step on a block, within a program; see `native.calls.Calls`."""

    def __init__(self, kernel: Kernel, static, dt, transport):
        super().__init__(kernel, static, dt, transport)
        (rows, columns), self.halo, self.kernels = self.shape, self.width, library.load(self.request).kernels
        # The same for a step and its adjoint, which share a memory.
        self.around = max(self.halo, kernel.scheme.margin_of(2))
        self.tall = rounded(rows, ROWS * THREADS[1]) + 2 * self.around
        self.stride = rounded(columns + 2 * self.lead, ALIGNED)
        self.plane = self.tall * self.stride
        if self.plane > MOST_CELLS or self.blocks(Region())[1] > MOST_BLOCKS:
            raise SetupError(
                f"run.executor: cuda cannot be used for a block of {rows} x {columns} cells; use more devices, or xla"
            )
        self.alone = is_alone(transport)

    def planes_in_turn(self, pinned=()) -> Rotation:
        """The planes of the fields but for `pinned` ones: a pass writes into planes that it does not read."""
        return rotation(self.made.programs, self.made.fields, pinned)

    def edges(self, fields, many: int):
        return () if self.alone else super().edges(fields, many)

    def narrowed(self, edges, fields: int, many: int):
        return () if self.alone else super().narrowed(edges, fields, many)

    def put_all(self, planes, fields):
        return self.put(planes, fields)

    def put(self, planes, fields, memory=None, most=None):
        """The memory with the fields [ny, nx] in its `planes`; None: a new one of `most` planes."""
        if memory is None:
            most = self.rotation.count if most is None else most
            memory = jnp.zeros(most * self.plane, self.dtype)
        whole = memory.reshape(-1, self.tall, self.stride)
        for number, field in enumerate(fields):
            start = (planes[number], self.around, self.lead)
            whole = jax.lax.dynamic_update_slice(whole, field[None], tuple(jnp.asarray(n, jnp.int32) for n in start))
        return whole.reshape(-1)

    def get(self, memory, planes) -> list:
        """The fields [ny, nx] in `planes` of the memory, with zeros beyond the block."""
        return self.views(memory, planes)

    def views(self, memory, planes) -> list:
        """The same fields as slices of the memory."""
        whole, (rows, columns) = memory.reshape(-1, self.tall, self.stride), self.shape

        def view(number):
            start = (planes[number], jnp.int32(self.around), jnp.int32(self.lead))
            return within(jax.lax.dynamic_slice(whole, start, (1, rows, columns))[0], self.extent)

        return [view(number) for number in range(len(planes))]

    def flags(self, leave_out: bool = False):
        """1 for each block of threads with land in reach of its cells [down, across]."""
        far, (tall, wide) = self.reach_of_masks(), self.static.cells.shape
        size = THREADS[1] * self.kernels.rows, THREADS[0]
        corner = self.kernel.margin - far, (wide - self.shape[1]) // 2 - far
        land = (self.static.cells != ALL_WATER)[corner[0] : tall, corner[1] : wide]
        blocks = self.blocks(Region())[::-1]
        whole = [n * each + 2 * far for n, each in zip(blocks, size, strict=True)]
        land = land[: whole[0], : whole[1]]
        land = jnp.pad(land, [(0, n - m) for n, m in zip(whole, land.shape, strict=True)], mode="edge")
        window = [each + 2 * far for each in size]
        return jax.lax.reduce_window(land.astype(np.uint8), np.uint8(0), jax.lax.max, window, size, "VALID")

    def blocks(self, region: Region) -> tuple[int, int]:
        """The blocks of threads of a kernel, across and down."""
        (rows, columns), (south, north, west, east) = self.shape, region
        return -(-(columns + west + east) // THREADS[0]), -(-(rows + south + north) // (THREADS[1] * self.kernels.rows))

    def reach_of_masks(self) -> int:
        """The largest distance at which cells read masks."""
        return reach(self.made.programs, ("mask",))

    def step(self, memory, edges: Edges, n, flags, many: int, planes):
        """All passes of `many` steps from step n on; see `native.calls.Calls.step`."""
        static, made, (rows, columns) = self.static, self.made, self.shape
        count = len(made.programs)
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        values, kernels = self.values(n, many), self.kernels
        options = self.numbers(
            library=library.load(self.request).handle, rows=rows, columns=columns, halo=self.halo, stride=self.stride
        )
        options |= self.numbers(plane=self.plane, around=self.around, lead=self.lead, margin=self.kernel.margin)
        options |= self.numbers(numbers=kernels.numbers)
        array = partial(jax.ShapeDtypeStruct, dtype=self.dtype)
        temporaries = kernels.temporaries * self.plane * self.dtype.itemsize
        work = jax.ShapeDtypeStruct((kernels.numbers + temporaries,), np.uint8)

        def call(first, some, later, strips, results, wraps):
            at = jnp.stack([jnp.stack([planes(p, n) for p in range(first, first + some)]) for n in later])
            given = memory, at, extent, values, static.slip, static.lines, static.fields, static.cells, flags, *strips
            passes, regions = made.programs[first : first + some], kernels.regions[first : first + some]
            lists = {
                "reads": [len(program.reads) for program in passes],
                "gives": [len(program.gives) for program in passes],
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
            found, _, *rest = foreign_call(*given, **options, **lists, **self.numbers(**{"pass": first}, wraps=wraps))
            return found, rest

        if self.alone:
            memory, _ = call(0, count, range(many), (), (), True)
            return memory, edges
        for number, program in enumerate(made.programs):
            halos = edges.exchanged(self.halo, self.transport, self.extent)
            given = len(program.gives)
            column, row = array((given, rows, self.halo)), array((given, self.halo, columns))
            memory, edges = call(number, 1, (0,), halos, (column, column, row, row), False)
            edges = Edges(*edges)
        return memory, edges

    @staticmethod
    def numbers(**options: int) -> dict:
        """Numbers of the foreign call."""
        return {name: np.int64(value) for name, value in options.items()}


def is_alone(transport) -> bool:
    """Whether a block is its own neighbour on all sides."""
    return transport.name == "serial"


def rotation(programs: Sequence[Program], fields, pinned=()) -> Rotation:
    """The planes of all fields but the pinned ones, for passes that write into planes that they do not read.

    Fields that change places in memory share planes. The fields begin in the first planes, in their order, and come
    back to them after few steps.
    """
    own = [name for name in fields if name not in pinned]
    cycles, first = [], 0
    for group in groups(programs, own):
        cycle, count = shortest_cycle(programs, group)
        cycles.append([[{key: first + plane for key, plane in each.items()} for each in turn] for turn in cycle])
        first += count
    turns = math.lcm(*map(len, cycles))
    found = np.zeros((turns, len(programs), 3, len(fields)), np.int32)
    for turn in range(turns):
        for cycle in cycles:
            for number, planes in enumerate(cycle[turn % len(cycle)]):
                for (row, name), plane in planes.items():
                    found[turn, number, row, fields.index(name)] = plane
    columns = [fields.index(name) for name in own]
    begin = list(found[0, 0, 0, columns])
    order = np.argsort([*begin, *(plane for plane in range(first) if plane not in begin)])
    found[..., columns] = order[found[..., columns]]
    return Rotation(found, first)


def groups(programs: Sequence[Program], names: Sequence[str]) -> list[list[str]]:
    """The names in groups: a field is with those in whose memory it may lie after a pass."""
    group = {name: [name] for name in names}
    for name, other in (pair for program in programs for pair in program.moves.items()):
        if name in group and other in group and group[name] is not group[other]:
            group[name] += group[other]
            group |= dict.fromkeys(group[other], group[name])
    return [group[name] for name in names if group[name][0] == name]


def shortest_cycle(programs: Sequence[Program], group: Sequence[str]) -> tuple[list, int]:
    """The planes of a group in each pass of each step, until they repeat, and their number: as few as will do.

    Those of a pass are {(row, name): plane}, with the rows of `Rotation`.
    """
    read = [{node.value for node in nodes_of([program]) if node.op == "field"} for program in programs]
    for count in itertools.count(len(group)):
        if cycle := cycle_of(programs, read, group, count):
            return cycle, count


def cycle_of(programs: Sequence[Program], read: Sequence[set[str]], group: Sequence[str], count: int) -> list | None:
    """The cycle of a group in so many planes; None: they are too few.

    A pass writes into the plane that was written the longest time ago, of those that it neither reads nor keeps.
    """
    where, order, history, known = {name: n for n, name in enumerate(group)}, list(range(count)), [], {}
    while (key := (*where.values(), *order)) not in known:
        known[key] = len(history)
        turn = []
        for program, names in zip(programs, read, strict=True):
            outputs = [name for name in group if name in program.outputs]
            kept = {name: where[program.slot(name)] for name in group if name not in outputs}
            taken = {where[name] for name in group if name in names} | set(kept.values())
            free = [plane for plane in order if plane not in taken]
            if len(free) < len(outputs):
                return None
            new = dict(zip(outputs, free, strict=False))
            order = [plane for plane in order if plane not in new.values()] + list(new.values())
            after = {name: (kept | new)[name] for name in group}
            turn.append({(row, n): at[n] for row, at in enumerate((where, where | new, after)) for n in group})
            where = after
        history.append(turn)
    return history[known[key] :]


def rounded(number: int, to: int) -> int:
    """The least multiple of `to` that is not below a number."""
    return -(-number // to) * to
