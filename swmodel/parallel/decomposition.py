"""Which rank owns which rows and columns: integers only.

The blocks of a layout form a ring in y and a ring in x. Rank r has the block at row r // px and
column r % px, counted from the south-west. Blocks differ by at most one row or column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


class LayoutError(ValueError):
    """The processes cannot be arranged on the grid; the message names numbers that can."""


@dataclass(frozen=True)
class Span:
    """The half-open range [start, stop) of one axis of `size` cells."""

    start: int
    stop: int
    size: int

    @property
    def length(self) -> int:
        """Number of cells in the range."""
        return self.stop - self.start


@dataclass(frozen=True)
class Block:
    """The part of the grid that one rank owns, and its neighbours on the rings."""

    rank: int
    layout: tuple[int, int]
    y: Span
    x: Span

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the block."""
        return self.y.length, self.x.length

    @property
    def smallest(self) -> tuple[int, int]:
        """The fewest (rows, columns) that a block of the layout has."""
        return self.y.size // self.layout[0], self.x.size // self.layout[1]

    def neighbour(self, axis: int, step: int) -> int:
        """Rank of the block `step` places to the north (axis 0) or east (axis 1) on the ring."""
        place = list(divmod(self.rank, self.layout[1]))
        place[axis] = (place[axis] + step) % self.layout[axis]
        return place[0] * self.layout[1] + place[1]


def split(size: int, parts: int) -> list[Span]:
    """`size` cells in `parts` ranges whose lengths differ by at most one, the longer ones first."""
    short, longer = divmod(size, parts)
    starts = [i * short + min(i, longer) for i in range(parts + 1)]
    return [Span(starts[i], starts[i + 1], size) for i in range(parts)]


def block(rank: int, layout: tuple[int, int], ny: int, nx: int) -> Block:
    """The block of `rank`."""
    row, column = divmod(rank, layout[1])
    return Block(rank, layout, split(ny, layout[0])[row], split(nx, layout[1])[column])


def blocks(layout: tuple[int, int], ny: int, nx: int) -> list[Block]:
    """All blocks in the order of their ranks."""
    return [block(rank, layout, ny, nx) for rank in range(layout[0] * layout[1])]


def layouts(nproc: int, ny: int, nx: int, width: int) -> list[tuple[int, int]]:
    """The layouts (py, px) of `nproc` blocks that leave every block at least `width` rows and columns."""
    low = [n for n in range(1, math.isqrt(nproc) + 1) if nproc % n == 0]
    pairs = [(py, nproc // py) for py in sorted({*low, *(nproc // n for n in low)})]
    return [pair for pair in pairs if fits(pair, ny, nx, width)]


def fits(layout: tuple[int, int], ny: int, nx: int, width: int) -> bool:
    """Whether every block has at least `width` rows and columns."""
    return ny // layout[0] >= width and nx // layout[1] >= width


def largest_below(nproc: int, ny: int, nx: int, width: int) -> int:
    """The largest number of blocks below `nproc` that has a layout; 0 if none has.

    One of the factors of the number is at most its square root, so only such factors are tried, in y and in x.
    """
    most_y, most_x, limit = ny // width, nx // width, nproc - 1
    factors = range(1, math.isqrt(max(limit, 0)) + 1)
    return max(
        (
            short * min(most_long, limit // short)
            for most_short, most_long in ((most_y, most_x), (most_x, most_y))
            for short in factors[:most_short]
        ),
        default=0,
    )


def choose_layout(nproc: int, ny: int, nx: int, width: int = 1, owners: str = "processes") -> tuple[int, int]:
    """The layout with the shortest halos; among equals the one with the longest rows.

    Raises:
        LayoutError: the grid is too small for so many processes.
    """
    candidates = layouts(nproc, ny, nx, width)
    if not candidates:
        largest = largest_below(nproc, ny, nx, width)
        raise LayoutError(
            f"{nproc} {owners} are too many for a grid of {ny} x {nx} cells (blocks need {width} cells each way); "
            + (f"the largest number that fits below it is {largest}" if largest else "no number fits")
        )
    return min(candidates, key=lambda p: (halo_length(p, ny, nx), p[1]))


def halo_length(layout: tuple[int, int], ny: int, nx: int) -> int:
    """Cells on the borders between blocks of different ranks, over the whole domain."""
    py, px = layout
    return (py if py > 1 else 0) * nx + (px if px > 1 else 0) * ny


def parse_layout(text: str, nproc: int, ny: int, nx: int, width: int = 1, owners: str = "processes") -> tuple[int, int]:
    """The layout written as "PYxPX", or the best one for an empty text; `owners` is what has the blocks, for messages.

    Raises:
        LayoutError: the product is not `nproc`, or a block would be too small.
    """
    if not text:
        return choose_layout(nproc, ny, nx, width, owners)
    py, px = (int(part) for part in text.split("x"))
    if py * px != nproc:
        raise LayoutError(f"layout {text} has {py * px} blocks, but there are {nproc} {owners}")
    if not fits((py, px), ny, nx, width):
        raise LayoutError(
            f"layout {text} leaves blocks of {ny // py} x {nx // px} cells of a grid of {ny} x {nx}; "
            f"they need at least {width} each way"
        )
    return py, px
