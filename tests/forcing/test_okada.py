"""The displacement by a fault is a sum of point sources; `swmodel verify okada_table` has the table of Okada (1985)."""

import numpy as np
import pytest

from swmodel.forcing.okada import Fault, displacement


def point_source_displacement(depth, dip, x, y):
    """Displacements by strike slip, dip slip and opening of a point source: equations 8 to 10, [motion, component]."""
    sine, cosine, R = np.sin(dip), np.cos(dip), np.sqrt(x**2 + y**2 + depth**2)
    p, q, total = y * cosine + depth * sine, y * sine - depth * cosine, R + depth
    first, second = (1 / (R * total**2) - each**2 * (3 * R + depth) / (R * total) ** 3 for each in (x, y))
    I1, I2 = 0.5 * y * first, 0.5 * x * second
    I3, I4 = 0.5 * x / R**3 - I2, -0.5 * x * y * (2 * R + depth) / (R**3 * total**2)
    I5 = 0.5 * (1 / (R * total) - x**2 * (2 * R + depth) / (R**3 * total**2))
    along = 3 * q / R**5 * np.array([x, y, depth + 0 * x])
    strike, across = np.array([I1, I2, I4]) * sine, np.array([I3, I1, I5]) * sine
    return np.array([-x * along - strike, -p * along + across * cosine, q * along - across * sine]) / (2 * np.pi)


DIPS = [0.0, 1e-4, 30.0, 89.99, 90.0, 90.001, -30.0, -89.9999, -90.0]


@pytest.mark.promise("Okada's fault agrees with his table")
@pytest.mark.fault("Okada's formulas lose their digits near the vertical")
@pytest.mark.parametrize("dip", DIPS)
def test_fault_of_any_dip_is_sum_of_point_sources(dip):
    """To 1e-9 of the largest motion at each point, also above edges and corners and on the axes."""
    x, y = (each.ravel() for each in np.meshgrid([-2.0, 0.0, 1e-6, 1.5, 3.0, 7.0], [-9.0, -1e-6, 0.0, 0.7, 3.0]))
    motions = ("strike_slip", "dip_slip", "opening")
    found = [displacement(Fault(4.0, np.radians(dip), 3.0, 2.0, **{motion: 1.0}), x, y) for motion in motions]
    nodes, weights = np.polynomial.legendre.leggauss(24)
    known, angle = np.zeros((3, 3, x.size)), np.radians(dip)
    for along, a in zip(1.5 + 1.5 * nodes, 1.5 * weights, strict=True):
        for up, b in zip(1.0 + nodes, weights, strict=True):
            known += (
                a * b * point_source_displacement(4.0 - up * np.sin(angle), angle, x - along, y - up * np.cos(angle))
            )
    largest = np.abs(known).max((0, 1))
    np.testing.assert_allclose(np.array(found) / largest, known / largest, atol=1e-9)
