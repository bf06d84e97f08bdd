"""The rows, columns and ensemble members that each rank owns.

A layout (py, px) divides the grid into py rows of px blocks. Blocks are periodic neighbours along both axes and differ
by at most one row and one column. Rank r has the block in row r // px and column r % px, counted from the south-west.
In an ensemble the first py px ranks have these blocks for the first members, the next py px ranks for the next
members, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass


class LayoutError(ValueError):
    """The grid cannot be divided among the processes or devices as requested; the message says why."""


@dataclass(frozen=True)
class IndexRange:
    """The half-open range [start, stop) of an axis of `axis_size` cells, or of the members of an ensemble."""

    start: int
    stop: int
    axis_size: int

    @property
    def length(self) -> int:
        return self.stop - self.start

    def __contains__(self, number: int) -> bool:
        return self.start <= number < self.stop


#: The members of a run without an ensemble.
SINGLE_MEMBER = IndexRange(0, 1, 1)


@dataclass(frozen=True)
class Block:
    """The part of the grid that one rank owns, and its neighbours in the layout."""

    rank: int
    layout: tuple[int, int]  # blocks of the grid in y and x
    y: IndexRange  # rows of the block
    x: IndexRange
    members: IndexRange = SINGLE_MEMBER  # members of an ensemble on the rank
    n_member_groups: int = 1  # groups into which the members are divided

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the block."""
        return self.y.length, self.x.length

    @property
    def min_block_shape(self) -> tuple[int, int]:
        """The smallest numbers of (rows, columns) of the blocks of the layout."""
        return self.y.axis_size // self.layout[0], self.x.axis_size // self.layout[1]

    @property
    def block_index(self) -> tuple[int, int]:
        """Row and column of the block in the layout."""
        return divmod(self.rank % (self.layout[0] * self.layout[1]), self.layout[1])

    def neighbour(self, axis: int, step: int) -> int:
        """Rank of the block that is `step` blocks to the north (axis 0) or east (axis 1), periodically."""
        n_blocks, index = self.layout[0] * self.layout[1], list(self.block_index)
        index[axis] = (index[axis] + step) % self.layout[axis]
        return self.rank // n_blocks * n_blocks + index[0] * self.layout[1] + index[1]

    def ranks_along(self, axis: int) -> tuple[int, ...]:
        """Ranks of the blocks in line with this one along y (axis 0) or x (axis 1), starting in the south or west."""
        return tuple(self.neighbour(axis, number - self.block_index[axis]) for number in range(self.layout[axis]))

    def overlapping_rows(self, start: int, stop: int, member: int = 0) -> tuple[int, int]:
        """The rows [lower, upper) among [start, stop) that this block has of a member; lower = upper if it has none."""
        lower, upper = max(start, self.y.start), min(stop, self.y.stop)
        return (lower, upper) if member in self.members and lower < upper else (start, start)

    def blocks_of_all_ranks(self) -> list[Block]:
        return blocks_of_layout(
            self.layout, self.y.axis_size, self.x.axis_size, self.members.axis_size, self.n_member_groups
        )


def split_evenly(size: int, n_parts: int) -> list[IndexRange]:
    """Divide `size` cells into `n_parts` ranges whose lengths differ by at most one, the longer ones first."""
    min_length, n_longer = divmod(size, n_parts)
    starts = [i * min_length + min(i, n_longer) for i in range(n_parts + 1)]
    return [IndexRange(starts[i], starts[i + 1], size) for i in range(n_parts)]


def block_of_rank(
    rank: int, layout: tuple[int, int], ny: int, nx: int, n_members: int = 1, n_member_groups: int = 1
) -> Block:
    """The block of `rank` with, for an ensemble, the members on this rank."""
    group, number = divmod(rank, layout[0] * layout[1])
    row, column = divmod(number, layout[1])
    spans = (
        split_evenly(ny, layout[0])[row],
        split_evenly(nx, layout[1])[column],
        split_evenly(n_members, n_member_groups)[group],
    )
    return Block(rank, layout, *spans, n_member_groups)


def blocks_of_layout(
    layout: tuple[int, int], ny: int, nx: int, n_members: int = 1, n_member_groups: int = 1
) -> list[Block]:
    return [
        block_of_rank(rank, layout, ny, nx, n_members, n_member_groups)
        for rank in range(n_member_groups * layout[0] * layout[1])
    ]


def choose_layout(n_blocks: int, ny: int, nx: int, min_length: int = 1, owners: str = "processes") -> tuple[int, int]:
    """The layout (py, px) of `n_blocks` blocks of at least `min_length` rows and columns that has the shortest halos.

    Among several such layouts it is the one with the longest rows. LayoutError: there is no layout of so many blocks;
    `owners` is the word for their owners in the message, "processes" or "devices".
    """
    max_py, max_px = ny // min_length, nx // min_length
    factors = [py for py in range(1, min(max_py, n_blocks) + 1) if n_blocks % py == 0]
    pairs = [(py, n_blocks // py) for py in factors if n_blocks // py <= max_px]
    if not pairs:
        raise LayoutError(
            f"{n_blocks} {owners} are too many for a grid of {ny} x {nx} cells, or do not divide it into blocks of at "
            f"least {min_length} x {min_length}; the largest possible number is {max_py * max_px}"
        )
    return min(pairs, key=lambda pair: ((pair[0] > 1) * pair[0] * nx + (pair[1] > 1) * pair[1] * ny, pair[1]))


def parse_layout(
    text: str, n_blocks: int, ny: int, nx: int, min_length: int = 1, owners: str = "processes"
) -> tuple[int, int]:
    """The layout of a text "PYxPX", or that of `choose_layout` if it is empty; see there for `owners`.

    LayoutError: `choose_layout` finds none, or the layout in the text has another number of blocks than `n_blocks`, or
    blocks with fewer rows or columns than `min_length`.
    """
    if not text:
        return choose_layout(n_blocks, ny, nx, min_length, owners)
    py, px = (int(part) for part in text.split("x"))
    if py * px != n_blocks:
        raise LayoutError(f"layout {text} has {py * px} blocks, but there are {n_blocks} {owners}")
    if min(ny // py, nx // px) < min_length:
        raise LayoutError(
            f"layout {text} has blocks of {ny // py} x {nx // px} cells; they need at least {min_length} each way"
        )
    return py, px
