"""The kernels of a step in JAX: a foreign call that launches them, on fields in planes with halos.

As in `native.calls`, but a pass writes into planes that it does not read, and where a block is its own neighbour the
call takes several steps, as the kernels copy the halos.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ...parallel.transport.halo import within
from ..native.calls import Calls, Edges, Rotation
from ..native.generate import reach
from ..native.graph import Program
from ..native.kernel import Kernel
from . import library
from .kernels import ROWS, THREADS

#: The value of a cell without land around it, as in native/job.h.
ALL_WATER = 1 + 2 + 4 + 8 * 4
#: Columns that a row begins with, and the length of a row, in numbers: warps then read whole lines of memory.
ALIGNED = 32


class CudaCalls(Calls):
    """The launches of the kernels of a step on a block, within a program; see `native.calls.Calls`."""

    def __init__(self, kernel: Kernel, static, dt, transport):
        super().__init__(kernel, static, dt, transport)
        (rows, columns), self.halo, self.cells = self.shape, self.width, library.load(self.request).rows
        # The same for a step and its adjoint, which share a memory.
        self.around = max(self.halo, kernel.scheme.margin_of(2))
        self.tall = rounded(rows, ROWS * THREADS[1]) + 2 * self.around
        self.stride = rounded(columns + 2 * self.lead, ALIGNED)
        self.plane = self.tall * self.stride
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
        """The fields [ny, nx] in `planes` of the memory, with zeros beyond the block, and 0 for each -0."""
        return [field + 0 for field in self.views(memory, planes)]

    def views(self, memory, planes) -> list:
        """The same fields as slices of the memory."""
        whole, (rows, columns) = memory.reshape(-1, self.tall, self.stride), self.shape

        def view(number):
            start = (planes[number], jnp.int32(self.around), jnp.int32(self.lead))
            return within(jax.lax.dynamic_slice(whole, start, (1, rows, columns))[0], self.extent)

        return [view(number) for number in range(len(planes))]

    def flags(self, leave_out: bool = False):
        """1 for each block of threads with land in reach of its cells [down, across]."""
        far, (rows, columns), (tall, wide) = self.reach_of_masks(), self.shape, self.static.cells.shape
        size = THREADS[1] * self.cells, THREADS[0]
        corner = self.kernel.margin - far, (wide - columns) // 2 - far
        land = (self.static.cells != ALL_WATER)[corner[0] : tall, corner[1] : wide]
        blocks = [-(-cells // each) for cells, each in zip((rows, columns), size, strict=True)]
        whole = [n * each + 2 * far for n, each in zip(blocks, size, strict=True)]
        land = land[: whole[0], : whole[1]]
        land = jnp.pad(land, [(0, n - m) for n, m in zip(whole, land.shape, strict=True)], mode="edge")
        window = [each + 2 * far for each in size]
        return jax.lax.reduce_window(land.astype(np.uint8), np.uint8(0), jax.lax.max, window, size, "VALID")

    def reach_of_masks(self) -> int:
        """The largest distance at which cells read masks."""
        return reach(self.made.programs, ("mask",))

    def step(self, memory, edges: Edges, n, flags, many: int, planes):
        """All passes of `many` steps from step n on; see `native.calls.Calls.step`."""
        static, made, (rows, columns) = self.static, self.made, self.shape
        count = len(made.programs)
        extent = jnp.asarray(self.shape if self.extent is None else self.extent, jnp.int32)
        values, kernels = self.values(n, many), library.load(self.request)
        options = self.numbers(
            library=kernels.handle, cells=kernels.rows, rows=rows, columns=columns, halo=self.halo, stride=self.stride
        )
        options |= self.numbers(plane=self.plane, around=self.around, lead=self.lead, margin=self.kernel.margin)
        array = partial(jax.ShapeDtypeStruct, dtype=self.dtype)
        work = jax.ShapeDtypeStruct((kernels.workspace,), np.uint8)

        def call(first, some, later, strips, results, wraps):
            at = jnp.stack([jnp.stack([planes(p, n) for p in range(first, first + some)]) for n in later])
            given = memory, at, extent, values, static.slip, static.lines, static.fields, static.cells, flags, *strips
            lengths = {
                name: np.array([len(getattr(p, name)) for p in made.programs[first : first + some]], np.int64)
                for name in ("reads", "gives")
            }
            made_call = jax.ffi.ffi_call(
                "swmodel_cuda_step",
                [array(memory.shape), work, *results],
                input_output_aliases={0: 0},
                vmap_method="sequential",
            )
            found, _, *rest = made_call(*given, **options, **lengths, **self.numbers(**{"pass": first}, wraps=wraps))
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


def rotation(programs: list[Program], fields, pinned=()) -> Rotation:
    """The planes of all fields but the pinned ones, for passes that write into free planes.

    Outputs take the planes that have been free for the longest time, so that the planes return to the first ones.
    """
    own = [name for name in fields if name not in pinned]
    written = [[name for name in program.outputs if name not in pinned] for program in programs]
    where = {name: plane for plane, name in enumerate(own)}
    free = list(range(len(own), len(own) + max(map(len, written))))
    start, count, turns = (dict(where), list(free)), len(own) + len(free), []
    while not turns or (where, free) != start:
        passes = []
        for program, outputs in zip(programs, written, strict=True):
            new = dict(zip(outputs, free, strict=False))
            after = {name: where[program.slot(name)] for name in own} | new
            passes.append([[planes.get(name, 0) for name in fields] for planes in (where, where | new, after)])
            free = [plane for plane in free if plane not in after.values()]
            free += [plane for plane in where.values() if plane not in after.values()]
            where = after
        turns.append(passes)
    return Rotation(np.array(turns, np.int32), count)


def rounded(number: int, to: int) -> int:
    """The least multiple of `to` that is not below a number."""
    return -(-number // to) * to
