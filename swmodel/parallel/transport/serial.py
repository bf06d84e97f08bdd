"""One block that is the whole domain: every message is to itself. Needs no MPI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..decomposition import Block
from .one_device import OneDevice


@dataclass(frozen=True)
class Serial(OneDevice):
    """Transport of a run on one process."""

    block: Block
    rank: int = 0
    size: int = 1
    name: str = "serial"

    def shift(self, slab, axis: int, step: int):
        """The slab of the block `step` places back on the ring of `axis`: here its own."""
        return slab

    def sum(self, array):
        """The array summed over all blocks."""
        return array

    def gather_rows(self, local: np.ndarray, first: int, last: int, member: int = 0) -> np.ndarray:
        """See `Transport.gather_rows`."""
        return local[first:last]

    def reduce(self, values, operation: str):
        """`values`, summed or compared over all ranks."""
        return values

    def broadcast(self, value):
        """The value that rank 0 has."""
        return value

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return flag

    def barrier(self) -> None:
        """Wait for all ranks."""
