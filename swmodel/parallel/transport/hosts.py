"""Messages between the processes of JAX's distributed runtime, outside jitted programs."""

from __future__ import annotations

import pickle

import jax
import numpy as np

OPERATIONS = {"sum": np.sum, "max": np.max, "min": np.min}


class Hosts:
    """The part of Sharded for use outside jitted programs, by all processes in the same order.

    Sharded adds `block`, this process's part of the grid, and `block_of`, the part of any process.

    Args:
        size: number of processes.
    """

    def __init__(self, size: int):
        self.rank, self.size = jax.process_index(), size

    def gather_rows(self, local: np.ndarray, first: int, last: int, member: int = 0) -> np.ndarray | None:
        """See `Transport.gather_rows`.

        All processes and devices get the rows, as JAX has no message to a single process: in sum `size` times the
        bytes that rank 0 needs.
        """
        if self.size == 1:
            return local[first:last]
        blocks = [self.block_of(rank) for rank in range(self.size)]
        width = max(each.x.length for each in blocks)
        mine = np.zeros((last - first, width), local.dtype)
        lower, upper = self.block.rows(first, last, member)
        if lower < upper:
            start = self.block.y.start
            mine[lower - first : upper - first, : local.shape[1]] = local[lower - start : upper - start]
        found = everyone(mine)
        if self.rank:
            return None
        rows = np.empty((last - first, self.block.x.size), local.dtype)
        for each, theirs in zip(blocks, found, strict=True):
            lower, upper = each.rows(first, last, member)
            piece = theirs[lower - first : upper - first, : each.x.length]
            rows[lower - first : upper - first, each.x.start : each.x.stop] = piece
        return rows

    def reduce(self, values, operation: str):
        return values if self.size == 1 else OPERATIONS[operation](everyone(np.asarray(values)), axis=0)

    def broadcast(self, value):
        return value if self.size == 1 else self.allgather(value if self.rank == 0 else None)[0]

    def allgather(self, value) -> list:
        """The list of the values of all processes, on all of them."""
        if self.size == 1:
            return [value]
        data = np.frombuffer(pickle.dumps(value), np.uint8)
        lengths = everyone(np.asarray(data.size, np.int64))
        room = np.zeros(1 << int(lengths.max() - 1).bit_length(), np.uint8)  # few lengths: each is compiled once
        room[: data.size] = data
        found = everyone(room)
        return [pickle.loads(theirs[:length].tobytes()) for theirs, length in zip(found, lengths, strict=True)]

    def any(self, flag: bool) -> bool:
        return bool(self.reduce(np.asarray(flag, dtype=np.int64), "max"))

    def barrier(self) -> None:
        self.any(False)


def everyone(array: np.ndarray) -> np.ndarray:
    """The arrays of all processes, stacked; sent as bytes, since JAX would round double precision."""
    from jax.experimental.multihost_utils import process_allgather

    bytes_ = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    found = np.asarray(process_allgather(bytes_))
    return found.view(array.dtype).reshape(-1, *array.shape)
