"""Water of a grid is connected where that of its relief is; lakes and bays become land; depths are smoothed in water.

`~` is water, `.` is land.
"""

import numpy as np
import pytest

from swmodel.files.relief.coast import close_seas_and_bays, label_connected, smooth_depth
from swmodel.files.relief.straits import connect_seas


def mask_from_rows(*rows):
    return np.array([[letter == "~" for letter in row] for row in rows])


LAKES = mask_from_rows("~~.......~", "~~..~~...~", "......~~..", "..~.......")


def test_all_but_the_largest_sea_is_closed():
    """A sea across the end of a periodic axis counts as one."""
    wet, closed = close_seas_and_bays(LAKES, is_periodic=True)
    seas = [("cut-off sea", 2, 1, 4), ("cut-off sea", 2, 2, 6), ("cut-off sea", 1, 3, 2)]
    assert [(one.kind, one.n_cells, one.row, one.column) for one in closed] == seas
    assert wet.sum() == 6
    basin, closed = close_seas_and_bays(LAKES, is_periodic=False)
    assert basin.sum() == 4
    assert (*closed[0][:2], closed[0].column) == ("cut-off sea", 2, 9)
    two_seas = mask_from_rows("~~~~....", "~~~~.~~.", "~~~~.~~.")
    kept, closed = close_seas_and_bays(two_seas, is_periodic=False, cells_to_keep=[(1, 5)])
    assert (kept.sum(), closed) == (16, [])


def test_narrow_ends_of_bays_are_closed():
    """But water continues beyond the edge."""
    bays = mask_from_rows("~~~~~~~~~~", "~~.~..~~~~", "~~.~.~~~~~", "~~.~.~~~~~", "~.......~~", ".........~")
    wet, closed = close_seas_and_bays(bays, is_periodic=False)
    assert [(one.kind, one.n_cells, one.column) for one in closed] == [("bay", 3, 3)]
    assert wet[:, 3].tolist() == [True, False, False, False, False, False]
    assert wet[5, 9]


def test_smoothing_keeps_a_flat_floor_and_the_land():
    rng = np.random.default_rng(2)
    wet = rng.random((20, 30)) < 0.8
    flat = np.where(wet, 700.0, 1.0)
    np.testing.assert_allclose(smooth_depth(flat, wet, True, 5), flat, rtol=1e-14)
    rough = 1000 * rng.random((20, 30))
    once, often = (smooth_depth(rough, wet, False, times) for times in (1, 8))
    assert np.ptp(often[wet]) < np.ptp(once[wet]) < np.ptp(rough[wet])
    np.testing.assert_array_equal(often[~wet], rough[~wet])
    assert (smooth_depth(rough, wet, False, 0) == rough).all()


#: Two seas with an isthmus across the middle cells; four samples along each side of a cell.
ISTHMUS = """
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~.

~~~~ ~~~~ ~~..
~~~~ ~~.. ....
~~~~ .... ~~~~
~... ...~ ~~~~

.... ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
"""
#: Two seas with a strait through a land cell; the same with a dam across it; an island in one sea.
STRAIT = "~~~~ .... ~~~~\n" * 2 + "~~~~ ~~~~ ~~~~\n" + "~~~~ .... ~~~~\n" * 5
DAM = STRAIT.replace("~~~~ ~~~~ ~~~~", "~~~~ ~~.~ ~~~~")
ISLAND = "~~~~ ~~~. .~~~\n" * 4 + "~~~~ ~~~~ ~~~~\n" * 8


@pytest.mark.fault("straits and isthmuses of a relief differ from those of its grid")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("text", "before", "after", "cells"), [(ISTHMUS, 1, 2, None), (STRAIT, 2, 1, 1), (DAM, 2, 2, 0), (ISLAND, 1, 1, 0)]
)
def test_seas_are_connected_as_in_the_relief(text, before, after, cells, turned):
    rows = [row.split() for row in text.split("\n") if row]
    places = np.array([[[letter == "~" for letter in cell] for cell in row] for row in rows])
    places = places.reshape(len(rows) // 4, 4, len(rows[0]), 4)
    places = places.transpose(2, 3, 0, 1) if turned else places
    share = places.mean(axis=(1, 3))
    wet, isthmus = connect_seas(share >= 0.5, share, places, False)
    assert (label_connected(share >= 0.5, False).max(), label_connected(wet, False).max()) == (before, after)
    changed = (wet != (share >= 0.5)).sum()
    assert changed == cells if cells is not None else changed == isthmus.sum() > 0
