"""Displacement of the surface of an elastic half-space by slip on a rectangular fault.

Reference: Okada, Y. (1985), Surface deformation due to shear and tensile faults in a half-space, Bull. Seismol. Soc.
Am. 75, 1135-1154, equations 25 to 30, with its symbols xi, eta, q, R and I1 to I5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: mu / (lambda + mu) of a Poisson solid, lambda = mu.
MEDIUM = 0.5

#: Cosine of a dip below which a fault is vertical.
VERTICAL = 1e-6


class Fault(NamedTuple):
    """A rectangle below the surface; x is along its strike, y to the left, from the point above the deep edge's start.

    Attributes:
        depth: depth of the deep edge, m.
        dip: angle with the surface, down to the right of the strike, radians.
        length, width: lengths along the strike, and up the dip, m.
        strike_slip, dip_slip, opening: left-lateral motion, upward motion of the upper side, and opening, m.
    """

    depth: float
    dip: float
    length: float
    width: float
    strike_slip: float = 0.0
    dip_slip: float = 0.0
    opening: float = 0.0


def displacement(fault: Fault, x, y) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Displacement of the surface at (x, y), m: along x, along y and upwards, arrays of the shape of x and y."""
    x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
    sine, cosine = np.sin(fault.dip), np.cos(fault.dip)
    p, q = y * cosine + fault.depth * sine, y * sine - fault.depth * cosine
    corners = ((x, p, 1), (x, p - fault.width, -1), (x - fault.length, p, -1), (x - fault.length, p - fault.width, 1))
    found = np.zeros((3, *x.shape))
    for xi, eta, sign in corners:
        found += sign * at_corner(fault, xi, eta, q)
    return tuple(found / (2 * np.pi))


def at_corner(fault: Fault, xi, eta, q) -> np.ndarray:
    """The indefinite integrals of the three components at a corner, times 2 pi, [3, ...]."""
    sine, cosine = np.sin(fault.dip), np.cos(fault.dip)
    R = np.sqrt(xi**2 + eta**2 + q**2)
    y, d = eta * cosine + q * sine, eta * sine - q * cosine
    # Where R + eta or R + xi vanishes, so do the terms that it divides.
    per_eta, per_xi = reciprocal(R + eta, R), reciprocal(R + xi, R)
    angle = np.arctan2(xi * eta * np.sign(q), np.abs(q) * R) * (q != 0)
    I1, I2, I3, I4, I5 = integrals(fault, xi, eta, q)
    strike_slip = (
        xi * q / R * per_eta + angle + I1 * sine,
        y * q / R * per_eta + q * cosine * per_eta + I2 * sine,
        d * q / R * per_eta + q * sine * per_eta + I4 * sine,
    )
    dip_slip = (
        q / R - I3 * sine * cosine,
        y * q / R * per_xi + cosine * angle - I1 * sine * cosine,
        d * q / R * per_xi + sine * angle - I5 * sine * cosine,
    )
    aside = xi * q / R * per_eta - angle
    opening = (
        q * q / R * per_eta - I3 * sine**2,
        -d * q / R * per_xi - sine * aside - I1 * sine**2,
        y * q / R * per_xi + cosine * aside - I5 * sine**2,
    )
    return (
        fault.opening * np.stack(opening)
        - fault.strike_slip * np.stack(strike_slip)
        - fault.dip_slip * np.stack(dip_slip)
    )


def integrals(fault: Fault, xi, eta, q) -> tuple:
    """I1 to I5 of equations 28 and 29."""
    sine, cosine = np.sin(fault.dip), np.cos(fault.dip)
    R, X = np.sqrt(xi**2 + eta**2 + q**2), np.sqrt(xi**2 + q**2)
    y, d = eta * cosine + q * sine, eta * sine - q * cosine
    near = R + eta <= 1e-12 * R
    log = np.where(near, -np.log(np.where(near, R - eta, 1.0)), np.log(np.where(near, 1.0, R + eta)))
    if abs(cosine) < VERTICAL:
        I4, I5 = -MEDIUM * q / (R + d), -MEDIUM * xi * sine / (R + d)
        I1 = -MEDIUM / 2 * xi * q / (R + d) ** 2
        I3 = MEDIUM / 2 * (eta / (R + d) + y * q / (R + d) ** 2 - log)
    else:
        tangent = sine / cosine
        I4 = MEDIUM / cosine * (np.log(R + d) - sine * log)
        over, under = eta * (X + q * cosine) + X * (R + X) * sine, xi * (R + X) * cosine
        I5 = np.where(xi == 0, 0.0, MEDIUM * 2 / cosine * np.arctan(over / np.where(xi == 0, 1.0, under)))
        I1 = -MEDIUM / cosine * xi / (R + d) - tangent * I5
        I3 = MEDIUM * (y / (cosine * (R + d)) - log) + tangent * I4
    return I1, -MEDIUM * log - I3, I3, I4, I5


def reciprocal(number, size):
    """1 / number, zero where the number is rounding compared with `size`."""
    small = np.abs(number) <= 1e-12 * size
    return np.where(small, 0.0, 1 / np.where(small, 1.0, number))
