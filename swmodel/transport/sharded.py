"""Blocks on the devices of JAX: one program for all by jax.shard_map, halos by lax.ppermute.

An array of a jitted program is the blocks' arrays side by side as they lie in the mesh: [..., py ny, px nx] of blocks
[..., ny, nx]. One with a single axis has the blocks' arrays one after the other; numbers are the same for all. Blocks
have one shape: where the grid does not divide, short blocks have land beyond their last row or column.
"""

from __future__ import annotations

from functools import wraps

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from ..decomposition import Block, Span, block, split
from .hosts import Hosts
from .mesh import AXES, mesh_of, rectangle, shape_of_all, shape_of_one, spec


class Sharded(Hosts):
    """Transport of a run on `devices` devices of each process.

    Args:
        layout: blocks in y and x, as many as there are devices in all processes.
        ny, nx: cells of the grid.
        devices: of this process.

    Attributes:
        mesh: the devices as [py, px]; those of a process are a rectangle.
        block: the part of the grid that this process has.

    Raises:
        SetupError: there are fewer devices.
    """

    name = "sharded"

    def __init__(self, layout: tuple[int, int], ny: int, nx: int, devices: int):
        self.layout, self.cells, self.devices = layout, (ny, nx), devices
        self.mesh, self.local = mesh_of(devices, layout), rectangle(devices, layout)
        self.processes = layout[0] // self.local[0], layout[1] // self.local[1]
        super().__init__(self.processes[0] * self.processes[1])
        self.block = self.block_of(self.rank)
        here = [(place, device) for place, device in np.ndenumerate(self.mesh.devices)]
        self._devices = [(place, device) for place, device in here if device.process_index == self.rank]

    def block_of(self, rank: int) -> Block:
        """The part of the grid that a process has."""
        parts = zip(self.cells, self.layout, divmod(rank, self.processes[1]), self.local, strict=True)
        spans = (split(size, count)[place * local : (place + 1) * local] for size, count, place, local in parts)
        return Block(rank, self.processes, *(Span(some[0].start, some[-1].stop, some[0].size) for some in spans))

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of a field in a jitted program: those of the largest block."""
        return tuple(-(-size // parts) for size, parts in zip(self.cells, self.layout, strict=True))

    @property
    def smallest(self) -> tuple[int, int]:
        """The fewest (rows, columns) that a block has."""
        return tuple(size // parts for size, parts in zip(self.cells, self.layout, strict=True))

    def extent(self):
        """In a jitted program: the rows and columns of the block that belong to the grid; None where all do."""
        if self.smallest == self.shape:
            return None
        lengths = ([span.length for span in split(*pair)] for pair in zip(self.cells, self.layout, strict=True))
        return [jnp.asarray(of)[jax.lax.axis_index(axis)] for of, axis in zip(lengths, AXES, strict=True)]

    def offset(self):
        """In a jitted program: row and column of the block's first cell in the grid."""
        starts = ([span.start for span in split(*pair)] for pair in zip(self.cells, self.layout, strict=True))
        return [jnp.asarray(of)[jax.lax.axis_index(axis)] for of, axis in zip(starts, AXES, strict=True)]

    def first(self):
        """In a jitted program: whether this is the first of all blocks."""
        return (jax.lax.axis_index(AXES[0]) == 0) & (jax.lax.axis_index(AXES[1]) == 0)

    def shift(self, slab, axis: int, step: int):
        """The slab of the block `step` places back on the ring of `axis`, while ours goes `step` places on."""
        parts = self.layout[axis]
        ring = [(place, (place + step) % parts) for place in range(parts)]
        return slab if parts == 1 else jax.lax.ppermute(slab, AXES[axis], ring)

    def sum(self, array):
        """The array summed over all blocks, inside jitted programs; the same on all of them."""
        return jax.lax.psum(array, AXES)

    def jit(self, program, **options):
        """jax.jit of a program that sees the arrays of one block; numbers are the same in all blocks."""

        @wraps(program)
        def on_all_blocks(*args, **kwargs):
            leaves, tree = jax.tree.flatten((args, kwargs))
            places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]

            def on_block(*arrays):
                given = dict(zip(places, arrays, strict=True))
                args, kwargs = tree.unflatten([given.get(place, leaf) for place, leaf in enumerate(leaves)])
                return program(*args, **kwargs)

            arrays = [leaves[place] for place in places]
            given, found = tuple(spec(array.ndim) for array in arrays), self._specs(on_block, arrays)
            return jax.shard_map(on_block, mesh=self.mesh, in_specs=given, out_specs=found, check_vma=False)(*arrays)

        return jax.jit(on_all_blocks, **options)

    def _specs(self, on_block, arrays):
        """How the arrays lie that a program of one block gives."""
        for axis, parts in zip(AXES, self.layout, strict=True):
            on_block = jax.vmap(on_block, in_axes=None, axis_name=axis, axis_size=parts)
        of_one = [jax.ShapeDtypeStruct(shape_of_one(array.shape, self.layout), array.dtype) for array in arrays]
        return jax.tree.map(lambda found: spec(found.ndim - 2), jax.eval_shape(on_block, *of_one))

    def put(self, tree, margin=0):
        """The arrays of the process's block, with `margin` cells around it, as arguments of jitted programs.

        An axis of length one holds one value for all cells. Beyond the last cells of short blocks a field has
        zeros; with a margin, what is at the end of that.

        Args:
            margin: a number, or those of rows and of columns.
        """
        margins = margin if isinstance(margin, tuple) else (margin, margin)
        return jax.tree.map(lambda array: self._put(np.asarray(array), margins), tree)

    def _put(self, array, margins):
        if array.ndim == 0:
            return jnp.asarray(array)
        arrays = [jax.device_put(self._cut(array, place, margins), device) for place, device in self._devices]
        sharding = NamedSharding(self.mesh, spec(array.ndim))
        return jax.make_array_from_single_device_arrays(shape_of_all(arrays[0].shape, self.layout), sharding, arrays)

    def _cut(self, array, place, margins):
        """What the block at `place` has of an array of the process's block, filled up to the shape of all blocks."""
        if array.ndim == 1:
            return array
        window, missing = [], [(0, 0)] * (array.ndim - 2)
        axes = zip(array.shape[-2:], self._window(place, margins), self.shape, margins, strict=True)
        for length, where, most, margin in axes:
            window.append(slice(None) if length == 1 else where)
            missing.append((0, 0 if length == 1 else most + 2 * margin - (where.stop - where.start)))
        return np.pad(array[(..., *window)], missing, mode="edge" if any(margins) else "constant")

    def get(self, tree, margin: int = 0):
        """What `put` was given: NumPy arrays of the process's block with `margin` cells around it."""
        return jax.tree.map(lambda array: self._get(array, margin), tree)

    def _get(self, array, margin):
        if array.ndim == 0:
            return np.asarray(array)
        whole = np.empty((*array.shape[:-2], *(n + 2 * margin for n in self.block.shape)), array.dtype)
        for (place, _), piece in zip(self._devices, self.pieces(array), strict=True):
            window = self._window(place, (margin, margin))
            rows, columns = (where.stop - where.start for where in window)
            whole[(..., *window)] = piece[..., :rows, :columns]
        return whole

    def pieces(self, array) -> list[np.ndarray]:
        """The arrays that a jitted program gives, one for each block of this process."""
        found = {shard.device: shard.data for shard in array.addressable_shards}
        return [np.asarray(found[device]) for _, device in self._devices]

    def _window(self, place, margins):
        """Where in an array of the process's block with margins that of the block at `place` with margins lies."""
        theirs = block(place[0] * self.layout[1] + place[1], self.layout, *self.cells)
        spans = zip((theirs.y, theirs.x), (self.block.y, self.block.x), margins, strict=True)
        return [slice(of.start - whole.start, of.stop - whole.start + 2 * margin) for of, whole, margin in spans]
