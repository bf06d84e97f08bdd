"""The displacement by a fault is that of the table of Okada (1985)."""

import numpy as np
import pytest

from swmodel.ocean.okada import Fault, displacement

#: Table 2: cases 2, 3 and 4 by (x, y), depth and dip; displacements by a slip or opening of one, length 3, width 2.
TABLE = {
    ((2.0, 3.0), 4.0, 70.0): {
        "strike_slip": (-8.689e-3, -4.298e-3, -2.747e-3),
        "dip_slip": (-4.682e-3, -3.527e-2, -3.564e-2),
        "opening": (-2.660e-4, 1.056e-2, 3.214e-3),
    },
    ((0.0, 0.0), 4.0, 90.0): {
        "strike_slip": (0.0, 5.253e-3, 0.0),
        "dip_slip": (0.0, 0.0, 0.0),
        "opening": (1.223e-2, 0.0, -1.606e-2),
    },
    ((0.0, 0.0), 4.0, -90.0): {
        "strike_slip": (0.0, -1.303e-3, 0.0),
        "dip_slip": (0.0, 0.0, 0.0),
        "opening": (3.507e-3, 0.0, -7.740e-3),
    },
}


@pytest.mark.parametrize(("at", "depth", "dip"), TABLE)
@pytest.mark.parametrize("motion", ["strike_slip", "dip_slip", "opening"])
def test_the_table_of_the_reference_to_four_digits(at, depth, dip, motion):
    found = displacement(Fault(depth, np.radians(dip), 3.0, 2.0, **{motion: 1.0}), *at)
    known = TABLE[at, depth, dip][motion]
    assert [float(f"{float(value):.3e}") for value in found] == pytest.approx(known, abs=1e-15)


def test_two_halves_of_a_fault_are_the_whole():
    """At all points, also above the edges and on the lines through them, where single terms are infinite."""
    x, y = np.meshgrid(np.linspace(-3, 6, 10), np.linspace(-4, 5, 10))
    given = {"dip": np.radians(90.0), "width": 2.0, "strike_slip": 1.0, "dip_slip": 0.5, "opening": 0.2}
    whole = displacement(Fault(2.0, length=3.0, **given), x, y)
    halves = [displacement(Fault(2.0, length=1.5, **given), x - start, y) for start in (0.0, 1.5)]
    inside = np.ones_like(x, bool)
    inside[(y == 0) & (x >= 0) & (x <= 3)] = False  # the fault breaks the surface there
    for component, *parts in zip(whole, *halves, strict=True):
        assert np.isfinite(component).all()
        np.testing.assert_allclose(sum(parts)[inside], component[inside], atol=1e-14)


def test_a_vertical_fault_is_the_limit_of_steep_ones():
    at = np.array([1.0, -2.0, 0.3]), np.array([2.0, 1.0, -1.5])
    steep, vertical = (displacement(Fault(4.0, np.radians(dip), 3.0, 2.0, 1.0, 1.0, 1.0), *at) for dip in (89.999, 90))
    np.testing.assert_allclose(steep, vertical, atol=1e-5)
