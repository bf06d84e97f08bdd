"""The interface of transports, with methods that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..decomposition import Block

if TYPE_CHECKING:
    from jax.stages import Wrapped


class Transport:
    """Communication between the blocks of a run, or the processes of an ensemble.

    A layout divides the grid into blocks. A process has one block on each of its devices; together the blocks of a
    process form a rectangle, its part of the grid.
    """

    name: str
    rank: int  # number of this process
    size: int  # number of processes
    block: Block  # the process's part of the grid and of the members of an ensemble
    devices: int  # devices of this process
    exchange: str = ""  # library for messages in jitted programs, mpi4jax or ffi; "" without MPI

    @property
    def blocks(self) -> list[Block]:
        """The blocks on the devices of the process."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of a field in a jitted program, the same in all blocks."""
        raise NotImplementedError

    @property
    def layout(self) -> tuple[int, int]:
        """The numbers of blocks of the grid in y and x."""
        return self.blocks[0].layout

    @property
    def min_block_shape(self) -> tuple[int, int]:
        """The smallest numbers of (rows, columns) of the blocks."""
        return self.blocks[0].min_block_shape

    def jit(self, program: Callable, **options) -> Wrapped:
        """jax.jit of a program that is written for the arrays of one block; numbers are the same in all blocks.

        The program may use `shift`, `swap`, `sum`, `total`, `shared` and `transpose`, which JAX's transformations treat
        as linear. `extent`, `offset`, `block_index` and `is_first_block` give the position of the block.
        """
        raise NotImplementedError

    def shift(self, slab, axis: int, step: int):
        """The slab from the block that is `step` blocks before this one along `axis`, periodically."""
        raise NotImplementedError

    def swap(self, first, last, axis: int):
        """`last` of the block before this one along `axis`, and `first` of the block after this one.

        Slabs are [..., fields, rows, columns].
        """
        return self.shift(last, axis, +1), self.shift(first, axis, -1)

    def sum(self, array):
        """The array summed over all blocks, the same on all of them."""
        raise NotImplementedError

    def total(self, array):
        """The `sum` in a loss that all blocks share: its transpose gives each block the cotangent of that one loss."""
        return self.sum(array)

    def shared(self, array):
        """The array, which is the same in all blocks; the transpose sums the cotangents of all blocks."""
        return array

    def require_block(self, array) -> None:
        """Raise UsageError unless a traced array belongs to one block."""

    def transpose(self, array, axis: int):
        """The parts for this block from all blocks in line with it along `axis`: an all-to-all.

        With arrays [..., parts, rows, columns] of one shape, block r in the line sends part k of its array, a[r, k], to
        each block k and receives a[k, r], as in a transposed matrix. So the map is its own transpose.
        """
        raise NotImplementedError

    def extent(self):
        """Numbers of rows and columns of the block that belong to the grid; None: all."""
        raise NotImplementedError

    def offset(self):
        """Row and column of the block's first cell in the grid."""
        raise NotImplementedError

    def block_index(self):
        """Row and column of the block in the layout."""
        raise NotImplementedError

    def is_first_block(self):
        """Whether this is the first of all blocks."""
        raise NotImplementedError

    def make_arrays(self, build: Callable, halo=0):
        """Put the trees of NumPy arrays build(block) of `blocks` on their devices, as arguments of programs.

        The arrays have `halo` cells around the block: a number, or a pair for rows and columns. With a halo, an
        axis of length one has one value for all cells.
        """
        raise NotImplementedError

    def get_blocks(self, tree, halo: int | None = 0) -> list:
        """For each of `blocks`, the arrays from a jitted program as NumPy arrays, without cells beyond the grid.

        The arrays have `halo` cells around the block; None: they need not be fields, and are returned whole.
        """
        raise NotImplementedError

    def put(self, tree):
        """Put fields of the process's part of the grid, and numbers, on its devices, as arguments of programs."""
        raise NotImplementedError

    def get(self, tree):
        """The arrays from `put` or a jitted program as NumPy arrays of the process's part."""
        return self.join_blocks(self.get_blocks(tree))

    def join_blocks(self, blocks: list):
        """Fields of the process's part, assembled from those of `blocks`; numbers are the same in all."""
        raise NotImplementedError

    def local_nbytes(self, tree) -> int:
        """The size of this process's part of a tree of arrays, bytes."""
        raise NotImplementedError

    def gather_rows(self, local: np.ndarray, first: int, stop: int, member: int = 0) -> np.ndarray | None:
        """Rows [first, stop) of a field of a member on rank 0, None on others.

        All processes call this and the following methods in the same order, from the main thread. `local` is the
        process's part [y, x] of the field, or any array of the same data type if the process does not have the member.
        """
        raise NotImplementedError

    def reduce(self, values, operation: str):
        """The "sum", "max" or "min" of NumPy `values` of one shape over all processes; the same on all."""
        raise NotImplementedError

    def broadcast(self, value: Any) -> Any:
        """The value of rank 0, on all processes."""
        raise NotImplementedError

    def allgather(self, value: Any) -> list:
        """The values of all processes in the order of their ranks; the same on all."""
        raise NotImplementedError

    def any(self, flag: bool) -> bool:
        """Whether `flag` is true on any process; the same on all."""
        return bool(self.reduce(np.asarray(flag, dtype=np.int64), "max"))

    def barrier(self) -> None:
        """Wait until all processes have called this."""
        self.any(False)
