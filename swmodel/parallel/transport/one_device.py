"""What a transport with one block in each process does with arrays: nothing that JAX and NumPy do not do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


class OneDevice:
    """Base of transports whose process has one block, its `block`, on JAX's default device."""

    devices = 1

    @property
    def blocks(self) -> list:
        """The blocks of this process."""
        return [self.block]

    @property
    def layout(self) -> tuple[int, int]:
        """Blocks of all processes in y and x."""
        return self.block.layout

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of a field in a jitted program."""
        return self.block.shape

    @property
    def smallest(self) -> tuple[int, int]:
        """The fewest (rows, columns) that a block has."""
        return self.block.smallest

    def extent(self):
        """In a jitted program: the rows and columns of the block that belong to the grid; None where all do."""

    def offset(self):
        """In a jitted program: row and column of the block's first cell in the grid."""
        return self.block.y.start, self.block.x.start

    def first(self):
        """In a jitted program: whether this is the first of all blocks."""
        return self.rank == 0

    def jit(self, program, **options):
        """jax.jit of a program that sees the arrays of one block; numbers are the same in all blocks."""
        return jax.jit(program, **options)

    def held_bytes(self, tree) -> int:
        """Bytes of the arrays of a tree that this process has."""
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))

    def make(self, build, margin=0):
        """What build(block) gives, a tree of NumPy arrays, as arguments of jitted programs: made where it is needed.

        Args:
            build: function of each of `blocks`.
            margin: cells around the block that the arrays have: a number, or those of rows and of columns. With a
                margin an axis of length one holds one value for all cells.
        """
        return jax.tree.map(jnp.array, build(self.block))

    def put(self, tree):
        """Fields of the process's part and numbers as arguments of jitted programs."""
        return self.make(lambda block: tree)

    def pieces(self, tree, margin: int = 0) -> list:
        """What `make` was given, or a jitted program gives, for each of `blocks`: NumPy arrays."""
        return [jax.tree.map(np.asarray, tree)]

    def join(self, pieces):
        """Fields of the process's part from those of each of `blocks`; numbers are the same in all."""
        return pieces[0]

    def get(self, tree):
        """What `put` was given: NumPy arrays."""
        return self.join(self.pieces(tree))
