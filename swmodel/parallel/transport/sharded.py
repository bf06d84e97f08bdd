"""Blocks on the devices of JAX: one program for all by jax.shard_map, halo exchange by lax.ppermute.

An array of a jitted program has the blocks' arrays side by side, in the order of the mesh. It is [..., py ny, px nx]
for blocks [..., ny, nx]. With one axis it has the blocks' arrays one after the other; numbers are the same for all. All
blocks have one shape: if the grid does not divide evenly, short blocks have land beyond their last row or column.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from functools import wraps
from math import gcd

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...errors import SetupError, UsageError
from ..decomposition import Block, Span, block, split
from .transport import Transport

AXES = ("y", "x")
OPERATIONS = {"sum": np.sum, "max": np.max, "min": np.min}


class Sharded(Transport):
    """The Transport of a run on `devices` devices of each process, arranged in the `mesh` [py, px].

    The devices of a process are a rectangle of `local` rows and columns, in `processes` rows and columns.
    """

    name = "sharded"

    def __init__(self, layout: tuple[int, int], ny: int, nx: int, devices: int):
        self.layout, self.devices = layout, devices
        columns = gcd(devices, layout[1])
        self.local = devices // columns, columns
        self.processes = layout[0] // self.local[0], layout[1] // self.local[1]
        self.mesh = mesh_of(self.local, self.processes)
        self.rank, self.size = jax.process_index(), self.processes[0] * self.processes[1]
        #: Spans of the rows and columns of the blocks, the longest first.
        self.spans = split(ny, layout[0]), split(nx, layout[1])
        self.shape, self.smallest = (tuple(spans[end].length for spans in self.spans) for end in (0, -1))
        self.block = self.block_of(self.rank)
        places = [number for number, device in enumerate(self.mesh.devices.flat) if device.process_index == self.rank]
        self._devices = [self.mesh.devices.flat[number] for number in places]
        self.blocks = [block(number, layout, ny, nx) for number in places]

    def block_of(self, rank: int) -> Block:
        """A process's part of the grid."""
        parts = zip(self.spans, divmod(rank, self.processes[1]), self.local, strict=True)
        spans = (spans[place * local : (place + 1) * local] for spans, place, local in parts)
        return Block(rank, self.processes, *(Span(some[0].start, some[-1].stop, some[0].size) for some in spans))

    def extent(self):
        return None if self.smallest == self.shape else self._of_place(lambda span: span.length)

    def offset(self):
        return self._of_place(lambda span: span.start)

    def _of_place(self, number):
        """`number` of the rows and of the columns of the block of a program."""
        lists = zip(self.spans, self.place(), strict=True)
        return [jnp.asarray([number(span) for span in spans])[place] for spans, place in lists]

    def place(self):
        return tuple(jax.lax.axis_index(axis) for axis in AXES)

    def first(self):
        row, column = self.place()
        return (row == 0) & (column == 0)

    def shift(self, slab, axis: int, step: int):
        parts = self.layout[axis]
        ring = [(place, (place + step) % parts) for place in range(parts)]
        return slab if parts == 1 else jax.lax.ppermute(slab, AXES[axis], ring)

    def sum(self, array):
        return jax.lax.psum(array, AXES)

    def require_block(self, array):
        # Without these types JAX does not know which arrays differ between devices, and derivatives of sums are wrong.
        if not jax.typeof(array).manual_axis_type.varying:
            raise UsageError(
                f"on {self.layout[0] * self.layout[1]} devices, carry and static must be arguments of the function in "
                "jax.shard_map(function, mesh=step.mesh, in_specs=step.specs(...), ...), without check_vma=False"
            )

    def transpose(self, array, axis: int):
        if self.layout[axis] == 1:
            return array
        parts = array.ndim - 3
        return jax.lax.all_to_all(array, AXES[axis], split_axis=parts, concat_axis=parts, tiled=True)

    def jit(self, program, **options):

        @wraps(program)
        def on_all_blocks(*args, **kwargs):
            leaves, tree = jax.tree.flatten((args, kwargs))
            places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]

            def on_block(*arrays):
                traced = dict(zip(places, arrays, strict=True))
                args, kwargs = tree.unflatten([traced.get(place, leaf) for place, leaf in enumerate(leaves)])
                return program(*args, **kwargs)

            arrays = [leaves[place] for place in places]
            given, made = tuple(spec(array.ndim) for array in arrays), self._specs(on_block, arrays)
            return jax.shard_map(on_block, mesh=self.mesh, in_specs=given, out_specs=made, check_vma=False)(*arrays)

        return jax.jit(on_all_blocks, **options)

    def _specs(self, on_block, arrays):
        """The PartitionSpecs of the results of a program of one block, which shard_map needs before it traces."""

        def of_one(array):
            shape = (n // parts for n, parts in zip(array.shape, cuts(array.ndim, self.layout), strict=True))
            return jax.ShapeDtypeStruct(tuple(shape), array.dtype)

        rings = list(zip(AXES, self.layout, strict=True))
        _, found = jax.make_jaxpr(on_block, axis_env=rings, return_shape=True)(*map(of_one, arrays))
        return jax.tree.map(lambda one: spec(one.ndim), found)

    def held_bytes(self, tree) -> int:
        # An array of a program has those of all blocks.
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) // self.size

    def make(self, build, margin=0):
        # The host has the arrays of one block at a time.
        margins = margin if isinstance(margin, tuple) else (margin, margin)
        found = [
            jax.tree.map(lambda array, device=device: self._place(np.asarray(array), device, margins), build(block))
            for block, device in zip(self.blocks, self._devices, strict=True)
        ]
        return jax.tree.map(lambda *arrays: self._side_by_side(arrays), *found)

    def _place(self, array, device, margins):
        """The array of a block on its device; a short block has zeros, or cells of its margin, at the end."""
        missing = [(0, 0)] * array.ndim
        for axis in (-2, -1) if array.ndim > 1 else ():
            if array.shape[axis] > 1 or not any(margins):
                missing[axis] = (0, self.shape[axis] + 2 * margins[axis] - array.shape[axis])
        short = any(after for _, after in missing)
        full = np.pad(array, missing, mode="edge" if any(margins) else "constant") if short else array
        # Wait for the copy, which needs the array on the host.
        return jax.block_until_ready(jax.device_put(full, device, may_alias=False))

    def _side_by_side(self, arrays):
        """The array of a jitted program, from the arrays of this process's blocks."""
        ndim = arrays[0].ndim
        shape = tuple(length * parts for length, parts in zip(arrays[0].shape, cuts(ndim, self.layout), strict=True))
        return jax.make_array_from_single_device_arrays(shape, NamedSharding(self.mesh, spec(ndim)), list(arrays))

    def put(self, tree):
        return self.make(lambda block: jax.tree.map(lambda a: a[self._window(block)] if np.ndim(a) else a, tree))

    def pieces(self, tree, margin: int | None = 0) -> list:

        def piece(array, block, device):
            if array.ndim:
                array = next(shard.data for shard in array.addressable_shards if shard.device == device)
            if array.ndim < 2 or margin is None:
                return np.asarray(array)
            rows, columns = (length + 2 * margin for length in block.shape)
            return np.asarray(array)[..., :rows, :columns]

        places = zip(self.blocks, self._devices, strict=True)
        return [jax.tree.map(lambda array, at=at: piece(array, *at), tree) for at in places]

    def join(self, pieces):

        def whole(*arrays):
            if arrays[0].ndim == 0:
                return arrays[0]
            field = np.empty((*arrays[0].shape[:-2], *self.block.shape), arrays[0].dtype)
            for part, array in zip(self.blocks, arrays, strict=True):
                field[self._window(part)] = array
            return field

        return jax.tree.map(whole, *pieces)

    def _window(self, block):
        """The slices of a block in a field of the process's part."""
        spans = zip((block.y, block.x), (self.block.y, self.block.x), strict=True)
        return (..., *(slice(of.start - part.start, of.stop - part.start) for of, part in spans))

    def gather_rows(self, local: np.ndarray, first: int, last: int, member: int = 0) -> np.ndarray | None:
        # All processes and devices get the rows, as JAX cannot send to a single process.
        if self.size == 1:
            return local[first:last]
        blocks = [self.block_of(rank) for rank in range(self.size)]
        mine = np.zeros((last - first, max(each.x.length for each in blocks)), local.dtype)
        lower, upper = self.block.rows(first, last, member)
        start = self.block.y.start
        if lower < upper:
            mine[lower - first : upper - first, : local.shape[1]] = local[lower - start : upper - start]
        found = everyone(mine)
        if self.rank:
            return None
        rows = np.empty((last - first, self.block.x.size), local.dtype)
        for each, theirs in zip(blocks, found, strict=True):
            lower, upper = each.rows(first, last, member)
            piece = theirs[lower - first : upper - first, : each.x.length]
            rows[lower - first : upper - first, each.x.start : each.x.stop] = piece
        return rows

    def reduce(self, values, operation: str):
        return values if self.size == 1 else OPERATIONS[operation](everyone(np.asarray(values)), axis=0)

    def broadcast(self, value):
        return value if self.size == 1 else self.allgather(value if self.rank == 0 else None)[0]

    def allgather(self, value) -> list:
        if self.size == 1:
            return [value]
        data = np.frombuffer(pickle.dumps(value), np.uint8)
        lengths = everyone(np.asarray(data.size, np.int64))
        room = np.zeros(
            1 << int(lengths.max() - 1).bit_length(), np.uint8
        )  # powers of two limit the number of compilations
        room[: data.size] = data
        found = everyone(room)
        return [pickle.loads(theirs[:length].tobytes()) for theirs, length in zip(found, lengths, strict=True)]


def everyone(array: np.ndarray) -> np.ndarray:
    """The stacked arrays of all processes, sent as bytes, as JAX would round double precision."""
    from jax.experimental.multihost_utils import process_allgather

    bytes_ = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    found = np.asarray(process_allgather(bytes_))
    return found.view(array.dtype).reshape(jax.process_count(), *array.shape)


def mesh_of(local: tuple[int, int], processes: tuple[int, int]) -> Mesh:
    """The first devices of each process, arranged like blocks: `processes` rectangles of `local` rows and columns."""
    devices, size = local[0] * local[1], processes[0] * processes[1]
    provide(devices)
    if jax.process_count() != size:
        raise SetupError(
            f"a run on {size} processes, but JAX knows of {jax.process_count()}: call jax.distributed.initialize in "
            "each first, or start them by `swmodel run`"
        )
    first = [[device for device in jax.devices() if device.process_index == rank][:devices] for rank in range(size)]
    by_process = np.array(first, dtype=object).reshape(*processes, *local)
    return Mesh(by_process.swapaxes(1, 2).reshape(processes[0] * local[0], processes[1] * local[1]), AXES)


def provide(devices: int) -> None:
    """Provide this number of devices in this process. SetupError: impossible.

    CPUs are split into devices, unless JAX has already started or JAX_NUM_CPU_DEVICES is set.
    """
    if "JAX_NUM_CPU_DEVICES" not in os.environ:
        with contextlib.suppress(RuntimeError):  # JAX has already started
            jax.config.update("jax_num_cpu_devices", devices)
    if (there := jax.local_device_count()) < devices:
        words = "; JAX had started, or JAX_NUM_CPU_DEVICES is set" if jax.default_backend() == "cpu" else ""
        raise SetupError(f"the run needs {devices} devices, but there are {there}{words}")


def processes(devices: int) -> int:
    """The number of processes in JAX; first provides the devices of each."""
    provide(devices)
    return jax.process_count()


def spec(ndim: int) -> PartitionSpec:
    """The PartitionSpec of an array with `ndim` axes: numbers on all devices, arrays in blocks."""
    if ndim < 2:
        return PartitionSpec(AXES) if ndim else PartitionSpec()
    return PartitionSpec(*[None] * (ndim - 2), *AXES)


def cuts(ndim: int, layout: tuple[int, int]) -> tuple[int, ...]:
    """The number of parts of each axis of the array of all blocks: `spec` in numbers."""
    return (*[1] * (ndim - 2), *layout) if ndim > 1 else (layout[0] * layout[1],) * ndim
