"""The rows, columns and members of an ensemble that each rank owns: integers only.

The blocks of a layout form a ring in y and a ring in x. Rank r has the block in row r // px and column r % px, counted
from the south-west. Blocks differ by at most one row or column. The first py px ranks have the first members of an
ensemble, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass


class LayoutError(ValueError):
    """The processes cannot be arranged on the grid; the message names possible numbers."""


@dataclass(frozen=True)
class Span:
    """The half-open range [start, stop) of one axis of `size` cells, or members."""

    start: int
    stop: int
    size: int

    @property
    def length(self) -> int:
        """Number of cells in the range."""
        return self.stop - self.start

    def __contains__(self, number: int) -> bool:
        return self.start <= number < self.stop


#: The axis of members of a single run.
ALONE = Span(0, 1, 1)


@dataclass(frozen=True)
class Block:
    """The part of the grid that one rank owns, and its neighbours on the rings."""

    rank: int
    layout: tuple[int, int]  # blocks of the grid in y and x
    y: Span  # rows of the block
    x: Span
    members: Span = ALONE  # members of an ensemble on the rank
    shares: int = 1  # parts into which the members are divided

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the block."""
        return self.y.length, self.x.length

    @property
    def smallest(self) -> tuple[int, int]:
        """The fewest (rows, columns) that a block of the layout has."""
        return self.y.size // self.layout[0], self.x.size // self.layout[1]

    @property
    def place(self) -> tuple[int, int]:
        """Row and column of the block in the layout."""
        return divmod(self.rank % (self.layout[0] * self.layout[1]), self.layout[1])

    def neighbour(self, axis: int, step: int) -> int:
        """Rank of the block `step` places to the north (axis 0) or east (axis 1) on the ring."""
        blocks, place = self.layout[0] * self.layout[1], list(self.place)
        place[axis] = (place[axis] + step) % self.layout[axis]
        return self.rank // blocks * blocks + place[0] * self.layout[1] + place[1]

    def ring(self, axis: int) -> tuple[int, ...]:
        """Ranks of the blocks on the ring along y (axis 0) or x (axis 1), from the south or the west on."""
        return tuple(self.neighbour(axis, number - self.place[axis]) for number in range(self.layout[axis]))

    def rows(self, first: int, last: int, member: int = 0) -> tuple[int, int]:
        """The block's part [start, stop) of rows [first, last) of a member; start = stop for none."""
        lower, upper = max(first, self.y.start), min(last, self.y.stop)
        return (lower, upper) if member in self.members and lower < upper else (first, first)

    def everyone(self) -> list[Block]:
        """The blocks of all ranks, in their order."""
        return blocks(self.layout, self.y.size, self.x.size, self.members.size, self.shares)


def split(size: int, parts: int) -> list[Span]:
    """`size` cells in `parts` ranges with lengths that differ by at most one, the longer ones first."""
    short, longer = divmod(size, parts)
    starts = [i * short + min(i, longer) for i in range(parts + 1)]
    return [Span(starts[i], starts[i + 1], size) for i in range(parts)]


def block(rank: int, layout: tuple[int, int], ny: int, nx: int, members: int = 1, shares: int = 1) -> Block:
    """The block of `rank`; for an ensemble, with its share of the `members`."""
    share, number = divmod(rank, layout[0] * layout[1])
    row, column = divmod(number, layout[1])
    spans = split(ny, layout[0])[row], split(nx, layout[1])[column], split(members, shares)[share]
    return Block(rank, layout, *spans, shares)


def blocks(layout: tuple[int, int], ny: int, nx: int, members: int = 1, shares: int = 1) -> list[Block]:
    """All blocks in the order of their ranks."""
    return [block(rank, layout, ny, nx, members, shares) for rank in range(shares * layout[0] * layout[1])]


def choose_layout(nproc: int, ny: int, nx: int, width: int = 1, owners: str = "processes") -> tuple[int, int]:
    """The layout (py, px) of `nproc` blocks of at least `width` rows and columns with the shortest halos.

    Among equals it is the one with the longest rows.
    """
    tallest, widest = ny // width, nx // width
    pairs = [(py, nproc // py) for py in range(1, min(tallest, nproc) + 1) if nproc % py == 0 and nproc // py <= widest]
    if not pairs:
        raise LayoutError(
            f"{nproc} {owners} are too many for a grid of {ny} x {nx} cells, or do not divide it into blocks of at "
            f"least {width} x {width}; the largest possible number is {tallest * widest}"
        )
    return min(pairs, key=lambda pair: ((pair[0] > 1) * pair[0] * nx + (pair[1] > 1) * pair[1] * ny, pair[1]))


def parse_layout(text: str, nproc: int, ny: int, nx: int, width: int = 1, owners: str = "processes") -> tuple[int, int]:
    """The layout of a text "PYxPX", or the best one for an empty text; `owners`: owners of blocks in messages."""
    if not text:
        return choose_layout(nproc, ny, nx, width, owners)
    py, px = (int(part) for part in text.split("x"))
    if py * px != nproc:
        raise LayoutError(f"layout {text} has {py * px} blocks, but there are {nproc} {owners}")
    if min(ny // py, nx // px) < width:
        raise LayoutError(
            f"layout {text} leaves blocks of {ny // py} x {nx // px} cells; they need at least {width} each way"
        )
    return py, px
