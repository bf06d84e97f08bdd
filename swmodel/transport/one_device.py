"""What a transport with one block in each process does with arrays: nothing that JAX and NumPy do not do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


class OneDevice:
    """Base of transports whose process has one block, on JAX's default device.

    A transport has `block`, the part of the grid that its process has, on `devices` devices, and `shape`, of the fields
    in a jitted program.
    """

    devices = 1

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

    def put(self, tree, margin=0):
        """The arrays of the process's block, with `margin` cells around it, as arguments of jitted programs.

        Args:
            margin: a number, or those of rows and of columns.
        """
        return jax.tree.map(jnp.array, tree)

    def get(self, tree, margin: int = 0):
        """What `put` was given: NumPy arrays of the process's block with `margin` cells around it."""
        return jax.tree.map(np.asarray, tree)

    def pieces(self, array) -> list[np.ndarray]:
        """The arrays that a jitted program gives, one for each block of this process."""
        return [np.asarray(array)]
