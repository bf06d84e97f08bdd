"""How a grid is divided into the files of a store, and which process writes each file: calculations of indices.

A file holds a rectangle of cells of one variable in one record. All files have the same shape, except at the northern
and eastern edge. When a store is created, each file lies within one process's part of the grid if possible. Otherwise,
or if a run continues with other parts, some files cover several parts; one process, the owner, joins such a file from
the pieces of all writers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: A rectangle of cells: first row, end of rows, first column, end of columns.
Rectangle = tuple[int, int, int, int]

#: If files do not fit the parts: the largest number of files along the longest part on an axis, and the smallest number
#: of cells of a file on an axis, unless the part is shorter.
FILES_PER_PART, MIN_FILE_CELLS = 8, 64


class SharedFile(NamedTuple):
    """A file that covers several parts: its index (row and column of files), cells and writers, the owner first."""

    file_index: tuple[int, int]
    cells: Rectangle
    writers: list[int]


def choose_file_shape(parts: Sequence[Rectangle], ny: int, nx: int) -> tuple[int, int]:
    """Rows and columns of the files of a new store, chosen from the parts of all processes."""
    return choose_file_length((part[:2] for part in parts), ny), choose_file_length((part[2:] for part in parts), nx)


def choose_file_length(spans, axis_size: int) -> int:
    """Cells of a file on one axis: the greatest common divisor of the parts' first cells, unless it is too small."""
    spans = sorted(set(spans))
    common_divisor = math.gcd(*(start for start, _ in spans)) or axis_size
    longest = max(stop - start for start, stop in spans)
    usual_length = max(math.ceil(longest / FILES_PER_PART), min(longest, MIN_FILE_CELLS))
    return max(common_divisor, usual_length)


def has_no_shared_files(parts: Sequence[Rectangle], file_shape: tuple[int, int]) -> bool:
    return all(part[0] % file_shape[0] == part[2] % file_shape[1] == 0 for part in parts)


def file_indices(cells: Rectangle | None, file_shape: tuple[int, int]) -> list[tuple[int, int]]:
    """The indices of the files of one variable that hold `cells`, which must begin at the edge of a file."""
    if cells is None:
        return []
    rows = range(cells[0] // file_shape[0], math.ceil(cells[1] / file_shape[0]))
    columns = range(cells[2] // file_shape[1], math.ceil(cells[3] / file_shape[1]))
    return [(row, column) for row in rows for column in columns]


def cells_of_whole_files(part: Rectangle, ny: int, nx: int, file_shape: tuple[int, int]) -> Rectangle | None:
    """The cells of those files that lie completely within a part; None: there are none."""
    south, north = range_of_whole_files(part[:2], ny, file_shape[0])
    west, east = range_of_whole_files(part[2:], nx, file_shape[1])
    return (south, north, west, east) if south < north and west < east else None


def range_of_whole_files(span: Sequence[int], axis_size: int, file_length: int) -> tuple[int, int]:
    """First cell, and one past the last, of the files within a `span` of an axis with `axis_size` cells."""
    start, stop = span
    end = stop if stop == axis_size else stop // file_length * file_length
    return math.ceil(start / file_length) * file_length, end


def shared_files(
    part_number: int, parts: Sequence[Rectangle], ny: int, nx: int, file_shape: tuple[int, int]
) -> Iterator[SharedFile]:
    """The files that cover cells of this part and of others."""
    south, north, west, east = parts[part_number]
    for row in range(south // file_shape[0], math.ceil(north / file_shape[0])):
        for column in range(west // file_shape[1], math.ceil(east / file_shape[1])):
            first_row, first_column = row * file_shape[0], column * file_shape[1]
            cells = first_row, min(first_row + file_shape[0], ny), first_column, min(first_column + file_shape[1], nx)
            writers = [number for number, part in enumerate(parts) if intersection(part, cells)]
            if len(writers) > 1:
                yield SharedFile((row, column), cells, writers)


def intersection(one: Rectangle, other: Rectangle) -> Rectangle | None:
    """The cells that both rectangles contain; None: there are none."""
    south, west = max(one[0], other[0]), max(one[2], other[2])
    north, east = min(one[1], other[1]), min(one[3], other[3])
    return (south, north, west, east) if south < north and west < east else None


def index_in_part(cells: Rectangle, part: Rectangle) -> tuple[slice, slice]:
    """The index of those `cells` that lie in a part, in an array of the cells of the part."""
    south, west = max(cells[0], part[0]), max(cells[2], part[2])
    north, east = min(cells[1], part[1]), min(cells[3], part[3])
    return slice(south - part[0], north - part[0]), slice(west - part[2], east - part[2])
