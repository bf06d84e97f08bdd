"""The base of transports with one block per process, and the transport of a single block, the whole domain."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from ..decomposition import Block
from .transport import Transport


def copy_to_device(tree, device=None):
    """A tree of arrays copied to a jax.Device, or to the devices of a Sharding; None: JAX's default device.

    Unlike jnp.array this compiles nothing. JAX might use the memory of a NumPy array itself, even with may_alias=False;
    therefore JAX receives a copy.
    """
    copies = jax.tree.map(lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)
    return jax.device_put(copies, device, may_alias=False)


class SingleDeviceTransport(Transport):
    """Base of Transports in which each process has one block, its `block`, on JAX's default device."""

    devices = 1

    @property
    def blocks(self) -> list[Block]:
        return [self.block]

    @property
    def shape(self) -> tuple[int, int]:
        return self.block.shape

    def extent(self):
        return None

    def offset(self):
        return self.block.y.start, self.block.x.start

    def block_index(self):
        return self.block.block_index

    def is_first_block(self):
        return self.rank == 0

    def jit(self, program, **options):
        return jax.jit(program, **options)

    def local_nbytes(self, tree) -> int:
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))

    def make_arrays(self, build, halo=0):
        return self.put(build(self.block))

    def put(self, tree):
        return copy_to_device(tree)

    def get_blocks(self, tree, halo: int | None = 0) -> list:
        return [jax.tree.map(np.asarray, tree)]

    def join_blocks(self, blocks):
        return blocks[0]


@dataclass(frozen=True)
class SerialTransport(SingleDeviceTransport):
    """The Transport of a run, or of the members of an ensemble, on one process."""

    block: Block
    rank: int = 0
    size: int = 1
    name: str = "serial"

    def shift(self, slab, axis: int, step: int):
        return slab

    def sum(self, array):
        return array

    def transpose(self, array, axis: int):
        return array

    def gather_rows(self, local: np.ndarray, first: int, stop: int, member: int = 0) -> np.ndarray:
        return local[first:stop]

    def reduce(self, values, operation: str):
        return values

    def broadcast(self, value):
        return value

    def allgather(self, value) -> list:
        return [value]
