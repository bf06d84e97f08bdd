"""Blocks on JAX devices: jax.shard_map runs one program for all of them, in which lax.ppermute exchanges halos.

An array of a jitted program consists of the arrays of all blocks, in the order of the mesh: [..., py ny, px nx] for
blocks [..., ny, nx]. Arrays with one axis are concatenated; numbers are the same for all blocks. All blocks have one
shape: if the grid cannot be divided evenly, arrays of short blocks continue beyond the block's last row or column
(`extent`), with values that do not count.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable
from functools import wraps
from math import gcd

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...errors import SetupError, UsageError
from ..decomposition import Block, IndexRange, block_of_rank, split_evenly
from .serial import copy_to_device
from .transport import Transport

MESH_AXES = ("y", "x")
REDUCTIONS: dict[str, Callable] = {"sum": np.sum, "max": np.max, "min": np.min}


class ShardedTransport(Transport):
    """The Transport of a run on `devices` devices of each process, arranged in the `mesh` [py, px].

    The devices of a process form a rectangle of `local_layout` rows and columns; the rectangles of all processes form
    the `process_layout`.
    """

    name = "sharded"

    def __init__(self, layout: tuple[int, int], ny: int, nx: int, devices: int):
        self.devices = devices
        columns = gcd(devices, layout[1])
        self.local_layout = devices // columns, columns
        self.process_layout = layout[0] // self.local_layout[0], layout[1] // self.local_layout[1]
        self.mesh = make_mesh(self.local_layout, self.process_layout)
        self.rank, self.size = jax.process_index(), self.process_layout[0] * self.process_layout[1]
        #: Ranges of the rows and of the columns of the blocks, the longest first.
        self.index_ranges = split_evenly(ny, layout[0]), split_evenly(nx, layout[1])
        self.block = self.part_of_process(self.rank)
        block_numbers = [
            number for number, device in enumerate(self.mesh.devices.flat) if device.process_index == self.rank
        ]
        self._devices = [self.mesh.devices.flat[number] for number in block_numbers]
        self._blocks = [block_of_rank(number, layout, ny, nx) for number in block_numbers]

    @property
    def blocks(self) -> list[Block]:
        return self._blocks

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.index_ranges
        return rows[0].length, columns[0].length

    def part_of_process(self, rank: int) -> Block:
        axes = zip(self.index_ranges, divmod(rank, self.process_layout[1]), self.local_layout, strict=True)
        own_spans = (spans[index * local : (index + 1) * local] for spans, index, local in axes)
        y, x = (IndexRange(own[0].start, own[-1].stop, own[0].axis_size) for own in own_spans)
        return Block(rank, self.process_layout, y, x)

    def extent(self):
        return None if self.min_block_shape == self.shape else self._quantity_of_block(lambda span: span.length)

    def offset(self):
        return self._quantity_of_block(lambda span: span.start)

    def _quantity_of_block(self, quantity):
        """In a jitted program, `quantity` of the IndexRanges of the block's rows and columns."""
        axes = zip(self.index_ranges, self.block_index(), strict=True)
        return [jnp.asarray([quantity(span) for span in spans])[index] for spans, index in axes]

    def block_index(self):
        return tuple(jax.lax.axis_index(axis) for axis in MESH_AXES)

    def is_first_block(self):
        row, column = self.block_index()
        return (row == 0) & (column == 0)

    def shift(self, slab, axis: int, step: int):
        parts = self.layout[axis]
        permutation = [(source, (source + step) % parts) for source in range(parts)]
        return slab if parts == 1 else jax.lax.ppermute(slab, MESH_AXES[axis], permutation)

    def sum(self, array):
        return jax.lax.psum(array, MESH_AXES)

    def require_block(self, array):
        # Only "varying" types tell JAX which arrays differ between devices; without them derivatives of sums are wrong.
        if not jax.typeof(array).manual_axis_type.varying:
            raise UsageError(
                f"on {self.layout[0] * self.layout[1]} devices, carry and static must be arguments of the function in "
                "jax.shard_map(function, mesh=step.mesh, in_specs=step.specs(...), ...), without check_vma=False"
            )

    def transpose(self, array, axis: int):
        if self.layout[axis] == 1:
            return array
        parts_axis = array.ndim - 3
        return jax.lax.all_to_all(array, MESH_AXES[axis], split_axis=parts_axis, concat_axis=parts_axis, tiled=True)

    def jit(self, program, **options):

        @wraps(program)
        def on_all_blocks(*args, **kwargs):
            leaves, tree = jax.tree.flatten((args, kwargs))
            traced_indices = [index for index, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]

            def on_block(*arrays):
                traced = dict(zip(traced_indices, arrays, strict=True))
                args, kwargs = jax.tree.unflatten(tree, [traced.get(index, leaf) for index, leaf in enumerate(leaves)])
                return program(*args, **kwargs)

            arrays = [leaves[index] for index in traced_indices]
            in_specs = tuple(partition_spec(array.ndim) for array in arrays)
            out_specs = self._output_specs(on_block, arrays)
            on_mesh = jax.shard_map(on_block, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
            return on_mesh(*arrays)

        return jax.jit(on_all_blocks, **options)

    def _output_specs(self, on_block, arrays):
        """The PartitionSpecs of the results of a program of one block, which shard_map needs before tracing."""

        def block_shape(array):
            shape = (n // parts for n, parts in zip(array.shape, parts_of_axes(array.ndim, self.layout), strict=True))
            return jax.ShapeDtypeStruct(tuple(shape), array.dtype)

        axis_sizes = list(zip(MESH_AXES, self.layout, strict=True))
        _, results = jax.make_jaxpr(on_block, axis_env=axis_sizes, return_shape=True)(*map(block_shape, arrays))
        return jax.tree.map(lambda result: partition_spec(result.ndim), results)

    def local_nbytes(self, tree) -> int:
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) // self.size

    def make_arrays(self, build, halo=0):
        # The host holds the arrays of one block at a time.
        halos = halo if isinstance(halo, tuple) else (halo, halo)
        trees = [
            jax.tree.map(
                lambda array, device=device: self._put_on_device(np.asarray(array), device, halos), build(block)
            )
            for block, device in zip(self.blocks, self._devices, strict=True)
        ]
        return jax.tree.map(lambda *arrays: self._global_array(arrays), *trees)

    def _put_on_device(self, array, device, halos):
        """The array of a block on its device; a short block is padded with zeros, or with the end of its halo."""
        padding = [(0, 0)] * array.ndim
        for axis in (-2, -1) if array.ndim > 1 else ():
            if array.shape[axis] > 1 or not any(halos):
                padding[axis] = (0, self.shape[axis] + 2 * halos[axis] - array.shape[axis])
        needs_padding = any(after for _, after in padding)
        padded = np.pad(array, padding, mode="edge" if any(halos) else "constant") if needs_padding else array
        return copy_to_device(padded, device)

    def _global_array(self, arrays):
        ndim = arrays[0].ndim
        shape = tuple(
            length * parts for length, parts in zip(arrays[0].shape, parts_of_axes(ndim, self.layout), strict=True)
        )
        return jax.make_array_from_single_device_arrays(
            shape, NamedSharding(self.mesh, partition_spec(ndim)), list(arrays)
        )

    def put(self, tree):
        return self.make_arrays(
            lambda block: jax.tree.map(lambda a: a[self._slices_in_part(block)] if np.ndim(a) else a, tree)
        )

    def get_blocks(self, tree, halo: int | None = 0) -> list:

        def block_array(array, block, device):
            if array.ndim:
                array = next(shard.data for shard in array.addressable_shards if shard.device == device)
            if array.ndim < 2 or halo is None:
                return np.asarray(array)
            rows, columns = (length + 2 * halo for length in block.shape)
            return np.asarray(array)[..., :rows, :columns]

        blocks_and_devices = zip(self.blocks, self._devices, strict=True)
        return [jax.tree.map(lambda array, pair=pair: block_array(array, *pair), tree) for pair in blocks_and_devices]

    def join_blocks(self, blocks):

        def join_leaf(*arrays):
            if arrays[0].ndim == 0:
                return arrays[0]
            field = np.empty((*arrays[0].shape[:-2], *self.block.shape), arrays[0].dtype)
            for part, array in zip(self.blocks, arrays, strict=True):
                field[self._slices_in_part(part)] = array
            return field

        return jax.tree.map(join_leaf, *blocks)

    def _slices_in_part(self, block):
        """The slices of a block in a field of the process's part."""
        spans = zip((block.y, block.x), (self.block.y, self.block.x), strict=True)
        return (..., *(slice(span.start - part.start, span.stop - part.start) for span, part in spans))

    def gather_rows(self, local: np.ndarray, first: int, stop: int, member: int = 0) -> np.ndarray | None:
        # All processes receive the rows, because JAX cannot send to a single process.
        if self.size == 1:
            return local[first:stop]
        parts = [self.part_of_process(rank) for rank in range(self.size)]
        local_rows = np.zeros((stop - first, max(part.x.length for part in parts)), local.dtype)
        lower, upper = self.block.overlapping_rows(first, stop, member)
        start = self.block.y.start
        if lower < upper:
            local_rows[lower - first : upper - first, : local.shape[1]] = local[lower - start : upper - start]
        gathered = allgather_array(local_rows)
        if self.rank:
            return None
        rows = np.empty((stop - first, self.block.x.axis_size), local.dtype)
        for part, rows_of_part in zip(parts, gathered, strict=True):
            lower, upper = part.overlapping_rows(first, stop, member)
            piece = rows_of_part[lower - first : upper - first, : part.x.length]
            rows[lower - first : upper - first, part.x.start : part.x.stop] = piece
        return rows

    def reduce(self, values, operation: str):
        return values if self.size == 1 else REDUCTIONS[operation](allgather_array(np.asarray(values)), axis=0)

    def broadcast(self, value):
        return value if self.size == 1 else self.allgather(value if self.rank == 0 else None)[0]

    def allgather(self, value) -> list:
        if self.size == 1:
            return [value]
        data = np.frombuffer(pickle.dumps(value), np.uint8)
        lengths = allgather_array(np.asarray(data.size, np.int64))
        # Powers of two as lengths limit the number of compilations.
        padded = np.zeros(1 << int(lengths.max() - 1).bit_length(), np.uint8)
        padded[: data.size] = data
        gathered = allgather_array(padded)
        return [pickle.loads(pickled[:length].tobytes()) for pickled, length in zip(gathered, lengths, strict=True)]


def allgather_array(array: np.ndarray) -> np.ndarray:
    """The stacked arrays of all processes, sent as bytes because JAX would round double precision."""
    from jax.experimental.multihost_utils import process_allgather

    bytes_ = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    gathered = np.asarray(process_allgather(bytes_))
    return gathered.view(array.dtype).reshape(jax.process_count(), *array.shape)


def make_mesh(local_layout: tuple[int, int], process_layout: tuple[int, int]) -> Mesh:
    """The first devices of each process, arranged as their blocks: `process_layout` rectangles of `local_layout`.

    SetupError: a process has too few devices, or JAX knows of another number of processes.
    """
    devices, size = local_layout[0] * local_layout[1], process_layout[0] * process_layout[1]
    provide_devices(devices)
    if jax.process_count() != size:
        raise SetupError(
            f"the run needs {size} processes, but JAX knows of {jax.process_count()}: first call "
            "jax.distributed.initialize in each, or start them with `swmodel run`"
        )
    devices_by_process = [
        [device for device in jax.devices() if device.process_index == rank][:devices] for rank in range(size)
    ]
    by_process = np.array(devices_by_process, dtype=object).reshape(*process_layout, *local_layout)
    return Mesh(
        by_process.swapaxes(1, 2).reshape(process_layout[0] * local_layout[0], process_layout[1] * local_layout[1]),
        MESH_AXES,
    )


def provide_devices(devices: int) -> None:
    """Provide this number of devices in this process. SetupError: there are too few.

    CPUs are split into devices, unless JAX has already started or JAX_NUM_CPU_DEVICES is set.
    """
    if "JAX_NUM_CPU_DEVICES" not in os.environ:
        with contextlib.suppress(RuntimeError):  # JAX has already started
            jax.config.update("jax_num_cpu_devices", devices)
    if (n_devices := jax.local_device_count()) < devices:
        hint = "; JAX had already started, or JAX_NUM_CPU_DEVICES is set" if jax.default_backend() == "cpu" else ""
        raise SetupError(f"the run needs {devices} devices, but there are {n_devices}{hint}")


def n_processes(devices: int) -> int:
    """The number of JAX processes; first provides the devices of this process."""
    provide_devices(devices)
    return jax.process_count()


def partition_spec(ndim: int) -> PartitionSpec:
    """The PartitionSpec of an array with `ndim` axes: numbers are replicated, arrays are divided into blocks."""
    if ndim < 2:
        return PartitionSpec(MESH_AXES) if ndim else PartitionSpec()
    return PartitionSpec(*[None] * (ndim - 2), *MESH_AXES)


def parts_of_axes(ndim: int, layout: tuple[int, int]) -> tuple[int, ...]:
    """The number of parts into which `partition_spec` divides each axis of the array of all blocks."""
    return (*[1] * (ndim - 2), *layout) if ndim > 1 else (layout[0] * layout[1],) * ndim
