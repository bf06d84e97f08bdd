"""Gather fields from all processes on rank 0, in ranges of rows of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport

#: Approximate sizes, bytes, of an uncompressed chunk of a field and of the rows that are gathered at a time.
CHUNK_BYTES = 1 << 20
GATHER_BYTES = 4 << 20


def chunk_rows(shape: tuple[int, int], itemsize: int) -> int:
    """Number of rows in a chunk of a field: chunks are equal parts of about CHUNK_BYTES."""
    rows, columns = shape
    n_chunks = math.ceil(rows * columns * itemsize / CHUNK_BYTES)
    return math.ceil(rows / min(n_chunks, rows))


def row_ranges(shape: tuple[int, int], itemsize: int) -> list[tuple[int, int]]:
    """[(first row, one past the last row)] of each range of rows to gather: whole chunks, about GATHER_BYTES."""
    rows_per_gather = max(1, GATHER_BYTES // CHUNK_BYTES) * chunk_rows(shape, itemsize)
    return [(first, min(first + rows_per_gather, shape[0])) for first in range(0, shape[0], rows_per_gather)]


def gather_row_ranges(
    transport: Transport, local_field: np.ndarray, member: int = 0
) -> Iterator[tuple[int, np.ndarray | None]]:
    """Yield the first row of each range of rows of a field, in ascending order, and on rank 0 its values, else None.

    All processes must iterate to the end. `local_field`: this process's part [y, x] of the field of the member; empty
    if it has none.
    """
    shape = transport.block.y.axis_size, transport.block.x.axis_size
    for first, stop in row_ranges(shape, local_field.dtype.itemsize):
        yield first, transport.gather_rows(local_field, first, stop, member)


def gather_pieces(transport: Transport, field: np.ndarray) -> Iterator[tuple[tuple[slice, ...], np.ndarray | None]]:
    """Like `gather_row_ranges`: yield the index of each piece of a field [members, y, x] or [y, x], and its values.

    Small fields of several members form one piece: 500 members of 64 x 64 cells are written ten times as fast as one by
    one.
    """
    if field.ndim == 2:
        for first, rows in gather_row_ranges(transport, field):
            yield (slice(first, None if rows is None else first + len(rows)),), rows
        return
    block, itemsize = transport.block, field.dtype.itemsize
    shape = block.y.axis_size, block.x.axis_size
    members_per_gather = max(1, GATHER_BYTES // (shape[0] * shape[1] * itemsize))
    for start in range(0, block.members.axis_size, members_per_gather):
        members = range(start, min(start + members_per_gather, block.members.axis_size))
        for first, stop in row_ranges(shape, itemsize):
            pieces = (
                transport.gather_rows(local_member_field(field, block, member), first, stop, member)
                for member in members
            )
            rows_of_members = [piece for piece in pieces if piece is not None]
            index = slice(members.start, members.stop), slice(first, stop)
            yield index, np.stack(rows_of_members) if rows_of_members else None


def local_member_field(field: np.ndarray, block, member: int) -> np.ndarray:
    """This process's part [y, x] of a field of a member or of a single run; empty if it has no part of the member."""
    if field.ndim == 2:
        return field
    return field[member - block.members.start] if member in block.members else field[0, :0]
