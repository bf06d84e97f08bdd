"""The base of transports with one block in each process: arrays are handled by JAX and NumPy as they are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


class OneDevice:
    """Base of Transports whose process has one block, its `block`, on JAX's default device."""

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
        """In a jitted program: how many rows and columns of the block belong to the grid; None: all do."""

    def offset(self):
        return self.block.y.start, self.block.x.start

    def place(self):
        return self.block.place

    def first(self):
        return self.rank == 0

    def jit(self, program, **options):
        return jax.jit(program, **options)

    def held_bytes(self, tree) -> int:
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))

    def make(self, build, margin=0):
        return jax.tree.map(jnp.array, build(self.block))

    def put(self, tree):
        return self.make(lambda block: tree)

    def pieces(self, tree, margin: int | None = 0) -> list:
        return [jax.tree.map(np.asarray, tree)]

    def join(self, pieces):
        return pieces[0]

    def get(self, tree):
        return self.join(self.pieces(tree))
