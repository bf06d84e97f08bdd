"""Displacement of the surface of an elastic half-space by slip on a rectangular fault.

Reference: Okada, Y. (1985), Surface deformation due to shear and tensile faults in a half-space, Bull. Seismol. Soc.
Am. 75, 1135-1154, equations 25 to 30, with its symbols xi, eta, q, R and I1 to I5.

Equations 28 of I1 to I5 divide small differences by cos(dip) and its square. They are rewritten here without these
divisions, and hold for every dip, as do equations 29 for a vertical fault. Functions of xi and q only are omitted, as
they cancel between the corners.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial.polynomial import polyval

#: mu / (lambda + mu) of a Poisson solid, lambda = mu.
MEDIUM_CONSTANT = 0.5

#: Arguments below this use a power series, which is more accurate: coefficients for (ln(1 + z) - z) / z² in z, and
#: for (arctan t - t) / t³ in t².
MAX_SERIES_ARGUMENT = 0.1
LOGARITHM_SERIES = [(-1) ** (n + 1) / (n + 2) for n in range(16)]
ARCTANGENT_SERIES = [(-1) ** (n + 1) / (2 * n + 3) for n in range(9)]

#: A value of one fault, or those of many.
Number: TypeAlias = float | np.ndarray


class Fault(NamedTuple):
    """A rectangle; x is along its strike, y to the left, with the origin above the start of its deep edge."""

    depth: Number  # depth of the deep edge, m
    dip: Number  # angle with the surface, down to the right of the strike, radians
    length: Number  # along the strike, m
    width: Number  # up the dip, m
    strike_slip: Number = 0.0  # left-lateral motion, m
    dip_slip: Number = 0.0  # upward motion of the upper side, m
    opening: Number = 0.0  # opening of the fault, m


def displacement(fault: Fault, x, y, is_vertical_only: bool = False) -> tuple[np.ndarray, ...]:
    """Displacement of the surface at (x, y), m: along x, along y and upwards, arrays of the shape of x and y.

    The values of a Fault may be arrays that broadcast with x and y. With `is_vertical_only` the upward displacement
    alone is computed, with the same bits, and returned as a tuple of one.
    """
    x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
    sine, cosine = np.sin(fault.dip), np.cos(fault.dip)
    p, q = y * cosine + fault.depth * sine, y * sine - fault.depth * cosine
    corners = ((x, p, 1), (x, p - fault.width, -1), (x - fault.length, p, -1), (x - fault.length, p - fault.width, 1))
    components = np.zeros((1 if is_vertical_only else 3, *x.shape))
    for xi, eta, sign in corners:
        components += sign * corner_integrals(fault, xi, eta, q, is_vertical_only)
    return tuple(components / (2 * np.pi))


def corner_integrals(fault: Fault, xi, eta, q, is_vertical_only: bool) -> np.ndarray:
    """The indefinite integrals of the components at a corner, times 2 pi, [1 or 3, ...]."""
    sine, cosine = np.sin(fault.dip), np.cos(fault.dip)
    R = np.sqrt(xi**2 + eta**2 + q**2)
    y, d = eta * cosine + q * sine, eta * sine - q * cosine
    # Where R + eta or R + xi vanishes, the terms divided by it vanish, too.
    per_eta, per_xi = (
        reciprocal_or_zero(sum_without_cancellation(R, each, rest))
        for each, rest in ((eta, xi**2 + q**2), (xi, eta**2 + q**2))
    )
    angle = np.arctan2(xi * eta * np.sign(q), np.abs(q) * R) * (q != 0)
    opening_term = xi * q / R * per_eta - angle
    I1, I2, I3, I4, I5 = i1_to_i5(fault, xi, eta, q, is_vertical_only)
    strike_slip = [q * sine / R - q * q / R * per_eta * cosine + I4 * sine]
    dip_slip = [d * q / R * per_xi + sine * angle - I5 * sine * cosine]
    opening = [y * q / R * per_xi + cosine * opening_term - I5 * sine**2]
    if not is_vertical_only:
        strike_slip = [
            xi * q / R * per_eta + angle + I1 * sine,
            q * cosine / R + q * q / R * per_eta * sine + I2 * sine,
            *strike_slip,
        ]
        dip_slip = [
            q / R - I3 * sine * cosine,
            y * q / R * per_xi + cosine * angle - I1 * sine * cosine,
            *dip_slip,
        ]
        opening = [
            q * q / R * per_eta - I3 * sine**2,
            -d * q / R * per_xi - sine * opening_term - I1 * sine**2,
            *opening,
        ]
    return (
        fault.opening * np.stack(opening)
        - fault.strike_slip * np.stack(strike_slip)
        - fault.dip_slip * np.stack(dip_slip)
    )


def i1_to_i5(fault: Fault, xi, eta, q, is_vertical_only: bool) -> tuple:
    """I1 to I5 of equations 28 and 29, except for functions of xi and q; the first three are 0 if `is_vertical_only`.

    A negative dip uses the positive one at -eta: ln(R + eta) and -ln(R - eta) differ by ln(xi² + q²).
    """
    sine, cosine = np.sin(fault.dip), np.cos(fault.dip)
    sign, sine = np.copysign(1.0, sine), abs(sine)
    eta = sign * eta
    R, X = np.sqrt(xi**2 + eta**2 + q**2), np.sqrt(xi**2 + q**2)
    d = eta * sine - q * cosine
    R_plus_eta = sum_without_cancellation(R, eta, X**2)
    per_eta, log = reciprocal_or_zero(R_plus_eta), np.log(np.where(R_plus_eta == 0, 1.0, R_plus_eta))
    # (R + d) / (R + eta) = 1 + z, and I4 is computed from the slope -z / cosine, which is finite for every dip.
    slope = (q + eta * cosine / (1 + sine)) * per_eta
    z = -cosine * slope
    log_remainder = logarithm_remainder(z)
    I4 = MEDIUM_CONSTANT * (cosine / (1 + sine) * log - slope * (1 + z * log_remainder))
    # k = tan(a / 2) of the angle a with eta = R sin(a); X m = 1 - k. The angle of I5 is taken from that at k = 1, and
    # their difference is -arctan(cosine t).
    k, m = eta / (R + X), (1 + X * per_eta) / (R + X)
    F = (1 + k) * (1 + sine) - cosine * q * m
    t = xi * m / F
    remainder = arctangent_remainder(cosine * t)
    I5 = -sign * 2 * MEDIUM_CONSTANT * t * (1 + (cosine * t) ** 2 * remainder)
    if is_vertical_only:
        return 0.0, 0.0, 0.0, I4, I5
    I3 = q * slope / (R + d) - eta * per_eta / (1 + sine) + log_remainder * slope**2
    I3 = sign * MEDIUM_CONSTANT * (eta / (R + d) + sine * I3 - log / (1 + sine))
    # H is (R + d) (1 - k²) / X.
    H = 1 + k * k + 2 * k * sine - (1 + k) * cosine * q * m
    I1 = cosine * ((X * m) ** 2 / (1 + sine) + 4 * k) + q * m * (1 + k) * (2 * sine - 1)
    I1 = MEDIUM_CONSTANT * (2 * sine * cosine * t**3 * remainder - t * I1 / H)
    return I1, -sign * MEDIUM_CONSTANT * log - I3, I3, I4, I5


def sum_without_cancellation(R, addend, rest):
    """R + addend without cancellation, where R² = addend² + rest."""
    return np.where(addend < 0, rest / (R + np.abs(addend)), R + addend)


def reciprocal_or_zero(number):
    """1 / number, or 0 where the number is 0."""
    return np.where(number == 0, 0.0, 1 / np.where(number == 0, 1.0, number))


def logarithm_remainder(z):
    """(ln(1 + z) - z) / z²."""
    is_small = np.abs(z) < MAX_SERIES_ARGUMENT
    large = np.where(is_small, 1.0, z)
    remainder = np.array((np.log1p(large) - large) / large**2)
    remainder[is_small] = polyval(z[is_small], LOGARITHM_SERIES)
    return remainder


def arctangent_remainder(t):
    """(arctan t - t) / t³."""
    is_small = np.abs(t) < MAX_SERIES_ARGUMENT
    large = np.where(is_small, 1.0, t)
    remainder = np.array((np.arctan(large) - large) / large**3)
    remainder[is_small] = polyval(t[is_small] ** 2, ARCTANGENT_SERIES)
    return remainder
