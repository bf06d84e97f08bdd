"""Whatever the layout of the store and that of the run, each file has one writer, and all cells are written once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swmodel.files.store import pieces
from swmodel.parallel.decomposition import blocks

pytestmark = pytest.mark.slow


def parts_of(layout, ny, nx):
    return [(b.y.start, b.y.stop, b.x.start, b.x.stop) for b in blocks(layout, ny, nx)]


layouts = st.tuples(st.integers(1, 5), st.integers(1, 5))


@given(layouts, layouts, st.integers(5, 90), st.integers(5, 90))
def test_each_file_has_one_writer_and_each_cell_is_written_once(before, now, ny, nx):
    shape, parts = pieces.file_shape(parts_of(before, ny, nx), ny, nx), parts_of(now, ny, nx)
    written, cells = [], np.zeros((ny, nx), int)
    for rank, part in enumerate(parts):
        whole = pieces.whole(part, ny, nx, shape)
        written += pieces.places(whole, shape)
        if whole:
            cells[whole[0] : whole[1], whole[2] : whole[3]] += 1
        for piece in pieces.shared(rank, parts, ny, nx, shape):
            south, north, west, east = pieces.common(piece.cells, part)
            cells[south:north, west:east] += 1
            written += [piece.place] if piece.writers[0] == rank else []
    assert (cells == 1).all()
    assert sorted(written) == sorted(pieces.places((0, ny, 0, nx), shape))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40), st.integers(1, 40))
def test_files_of_a_new_store_are_the_blocks_if_these_are_equal(py, px, rows, columns):
    parts = parts_of((py, px), py * rows, px * columns)
    assert pieces.file_shape(parts, py * rows, px * columns) == (rows, columns)
    assert pieces.fit(parts, (rows, columns))


def test_files_are_few_if_blocks_are_not_equal():
    """Blocks of 600 and 599 rows have no common divisor: files of an eighth, of which one in eight is shared."""
    ny, nx = 599 * 7 + 3, 40
    parts = parts_of((7, 1), ny, nx)
    shape = pieces.file_shape(parts, ny, nx)
    assert shape == (75, 40)
    assert max(len(list(pieces.shared(rank, parts, ny, nx, shape))) for rank in range(7)) <= 2
