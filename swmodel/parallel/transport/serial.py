"""One block, the whole domain: every message goes to itself. It needs no MPI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..decomposition import Block
from .one_device import OneDevice


@dataclass(frozen=True)
class Serial(OneDevice):
    """The Transport of a run on one process, or of an ensemble."""

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

    def gather_rows(self, local: np.ndarray, first: int, last: int, member: int = 0) -> np.ndarray:
        return local[first:last]

    def reduce(self, values, operation: str):
        return values

    def broadcast(self, value):
        return value

    def allgather(self, value) -> list:
        return [value]

    def any(self, flag: bool) -> bool:
        return flag

    def barrier(self) -> None:
        """Wait for all ranks."""
