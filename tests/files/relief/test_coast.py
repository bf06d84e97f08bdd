"""Lakes and bays become land; seas across the ring are one; depths are smoothed in the water alone."""

import numpy as np

from swmodel.files.relief.coast import close, smooth


def mask(*rows):
    return np.array([[letter == "~" for letter in row] for row in rows])


LAKES = mask("~~.......~", "~~..~~...~", "......~~..", "..~.......")


def test_all_but_the_largest_sea_is_closed_and_one_across_the_ring_is_one():
    wet, closed = close(LAKES, ring=True)
    assert [(one.what, one.cells, one.row, one.column) for one in closed] == [
        ("cut-off sea", 2, 1, 4),
        ("cut-off sea", 2, 2, 6),
        ("cut-off sea", 1, 3, 2),
    ]
    assert wet.sum() == 6
    basin, closed = close(LAKES, ring=False)
    assert basin.sum() == 4
    assert closed[0][:2] == ("cut-off sea", 2)
    assert closed[0].column == 9


def test_seas_that_are_to_stay_stay():
    wet, closed = close(mask("~~~~....", "~~~~.~~.", "~~~~.~~."), ring=False, keep=[(1, 5)])
    assert (wet.sum(), closed) == (16, [])


def test_bays_of_one_cell_are_closed_up_to_where_they_are_wide():
    """But water goes on beyond the edge."""
    wet, closed = close(
        mask("~~~~~~~~~~", "~~.~..~~~~", "~~.~.~~~~~", "~~.~.~~~~~", "~.......~~", ".........~"), ring=False
    )
    assert [(one.what, one.cells, one.column) for one in closed] == [("bay", 3, 3)]
    assert (wet[:, 3] == [True, False, False, False, False, False]).all()
    assert wet[5, 9]


def test_smoothing_keeps_a_flat_floor_and_the_land_and_makes_steps_smaller():
    rng = np.random.default_rng(2)
    wet = rng.random((20, 30)) < 0.8
    flat = np.where(wet, 700.0, 1.0)
    np.testing.assert_allclose(smooth(flat, wet, True, 5), flat, rtol=1e-14)
    rough = 1000 * rng.random((20, 30))
    once, often = (smooth(rough, wet, False, times) for times in (1, 8))
    assert np.ptp(often[wet]) < np.ptp(once[wet]) < np.ptp(rough[wet])
    np.testing.assert_array_equal(often[~wet], rough[~wet])
    assert (smooth(rough, wet, False, 0) == rough).all()
