"""The interface of the transports, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..decomposition import Block


class Transport:
    """How the blocks of a run, or the processes of an ensemble, reach each other.

    The grid is cut into the blocks of a layout. A process has one on each of its devices; together they are a
    rectangle, its part of the grid.
    """

    name: str
    rank: int  # number of this process
    size: int  # how many processes there are
    block: Block  # the process's part of the grid and of the members of an ensemble
    blocks: list[Block]  # on the devices of the process
    layout: tuple[int, int]  # blocks of all processes in y and x
    devices: int  # of this process
    shape: tuple[int, int]  # (rows, columns) of a field in a jitted program, the same in all blocks
    smallest: tuple[int, int]  # the fewest (rows, columns) that a block has

    def jit(self, program: Callable, **options) -> Callable:
        """jax.jit of a program that sees the arrays of one block; numbers are the same in all blocks.

        Within it: `shift`, `sum` and `transpose`, which are linear to all of JAX's transformations, and where the
        block lies, by `extent`, `offset`, `place` and `first`.
        """

    def shift(self, slab, axis: int, step: int):
        """The slab of the block `step` places before ours on the ring of `axis`, while ours goes ahead."""

    def sum(self, array):
        """The array summed over all blocks, the same on all of them."""

    def transpose(self, array, axis: int):
        """The parts for our block from all blocks on its ring of `axis`, an all-to-all.

        Of arrays [..., parts, rows, columns] of one shape, block r of the ring sends a[r, k] to each k, and receives
        a[k, r]: a transposed matrix. So the map is its own transpose.
        """

    def extent(self):
        """How many rows and columns of the block belong to the grid; None: all do."""

    def offset(self):
        """Row and column of the block's first cell in the grid."""

    def place(self):
        """Row and column of the block in the layout."""

    def first(self):
        """Whether this is the first of all blocks."""

    def make(self, build: Callable, margin=0):
        """The trees of NumPy arrays build(block) of each of `blocks`, each on its device: arguments of programs.

        The arrays have `margin` cells around the block: a number, or one of rows and one of columns. With a margin an
        axis of length one holds one value for all cells.
        """

    def pieces(self, tree, margin: int | None = 0) -> list:
        """The arrays of `make` or of a jitted program as NumPy arrays, for each of `blocks`.

        With the margin None they are returned as they are in a program, and need not be fields.
        """

    def put(self, tree):
        """Fields of the process's part and numbers as arguments of jitted programs."""

    def get(self, tree):
        """The arrays of `put` or of a jitted program as NumPy arrays of the process's part."""
        return self.join(self.pieces(tree))

    def join(self, pieces: list):
        """Fields of the process's part, from those of each of `blocks`; numbers are the same in all."""

    def held_bytes(self, tree) -> int:
        """Bytes of the arrays of a tree that this process has."""

    def gather_rows(self, local: np.ndarray, first: int, last: int, member: int = 0) -> np.ndarray | None:
        """Rows first to last of a whole field of a member on rank 0, None elsewhere.

        All processes call this and the following methods in the same order, from the main thread. `local` is the
        process's part [y, x]; if it has none, any array of the same type.
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
