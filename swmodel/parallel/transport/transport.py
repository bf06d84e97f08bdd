"""The interface of the transports, and common methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..decomposition import Block


class Transport:
    """Communication between the blocks of a run, or the processes of an ensemble.

    A layout cuts the grid into blocks. A process has one on each of its devices; together they form a rectangle, its
    part of the grid.
    """

    name: str
    rank: int  # number of this process
    size: int  # number of processes
    block: Block  # the process's part of the grid and of the members of an ensemble
    blocks: list[Block]  # on the devices of the process
    layout: tuple[int, int]  # blocks of all processes in y and x
    devices: int  # devices of this process
    shape: tuple[int, int]  # (rows, columns) of a field in a jitted program, the same in all blocks
    min_block_shape: tuple[int, int]  # least (rows, columns) of a block

    def jit(self, program: Callable, **options) -> Callable:
        """jax.jit of a program of the arrays of one block; numbers are the same in all blocks.

        The program may use `shift`, `swap`, `sum` and `transpose`, which are linear for JAX's transformations.
        `extent`, `offset`, `block_index` and `is_first_block` give the position of the block.
        """

    def shift(self, slab, axis: int, step: int):
        """The slab from the block `step` places before ours on the ring of `axis`, in exchange for ours."""

    def swap(self, first, last, axis: int):
        """The `last` slab of the block before ours on the ring of `axis`, and the `first` of the one after.

        Both have three axes or more, and one shape.
        """
        return self.shift(last, axis, +1), self.shift(first, axis, -1)

    def sum(self, array):
        """The array summed over all blocks, the same on all of them."""

    def total(self, array):
        """The `sum` for a loss that all blocks have: its transpose gives each block the cotangent of that one loss."""
        return self.sum(array)

    def shared(self, array):
        """The array, which all blocks have alike; the transpose sums the cotangents of all blocks."""
        return array

    def require_block(self, array) -> None:
        """Raise UsageError unless a traced array is that of one block."""

    def transpose(self, array, axis: int):
        """The parts for our block from all blocks on its ring of `axis`, an all-to-all.

        With arrays [..., parts, rows, columns] of one shape, block r of the ring sends a[r, k] to each k and receives
        a[k, r], as in a transposed matrix. So the map is its own transpose.
        """

    def extent(self):
        """Number of rows and columns of the block within the grid; None: all."""

    def offset(self):
        """Row and column of the block's first cell in the grid."""

    def block_index(self):
        """Row and column of the block in the layout."""

    def is_first_block(self):
        """Whether this is the first of all blocks."""

    def make_arrays(self, build: Callable, margin=0):
        """The trees of NumPy arrays build(block) of each of `blocks` on its device, as arguments of programs.

        The arrays have `margin` cells around the block: a number, or a pair for rows and columns. With a margin, an
        axis of length one has one value for all cells.
        """

    def get_blocks(self, tree, margin: int | None = 0) -> list:
        """The arrays of `make_arrays` or of a jitted program as NumPy arrays, for each of `blocks`.

        With the margin None they may be arrays other than fields.
        """

    def put(self, tree):
        """Fields of the process's part and numbers as arguments of jitted programs."""

    def get(self, tree):
        """The arrays of `put` or of a jitted program as NumPy arrays of the process's part."""
        return self.join_blocks(self.get_blocks(tree))

    def join_blocks(self, blocks: list):
        """Fields of the process's part, from those of each of `blocks`; numbers are the same in all."""

    def local_nbytes(self, tree) -> int:
        """Bytes of this process's part of a tree."""

    def gather_rows(self, local: np.ndarray, first: int, last: int, member: int = 0) -> np.ndarray | None:
        """Rows first to last of a field of a member on rank 0, None elsewhere.

        All processes call this and the following methods in the same order, from the main thread. `local` is the
        process's part [y, x], or any array of the same type if it has none.
        """

    def reduce(self, values, operation: str):
        """The "sum", "max" or "min" over all processes of NumPy `values` of one shape; the same on all."""

    def broadcast(self, value: Any) -> Any:
        """The value of rank 0, on all processes."""

    def allgather(self, value: Any) -> list:
        """The values of all processes, in their order; the same on all."""

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any process."""
        return bool(self.reduce(np.asarray(flag, dtype=np.int64), "max"))

    def barrier(self) -> None:
        """Wait for all processes."""
        self.any(False)
