"""The filter of Kajiura (1963): how the water above smooths a displacement of the sea floor.

A sudden displacement of the floor with the wavenumber k raises the surface of water of the depth h by 1 / cosh(k h) as
much. Here h is the depth where the floor moves, as in Glimsdal and others (2013). The displacement is divided into
parts by depth, and on a sphere by latitude, with weights that sum to 1 and are linear between neighbours; each part is
filtered with one depth and one length of cells. So a Fourier mode over a flat bottom is filtered exactly. Over a slope
the filter is a weighted mean of those of the two nearest of N_DEPTHS depths. The volume, the sum of area times
displacement, stays the same to round-off: walls reflect, and periodic sides join.

References: Kajiura, K. (1963), Bull. Earthq. Res. Inst. 41, 535-571; Glimsdal, S., Pedersen, G. K., Harbitz, C. B. and
Lovholt, F. (2013), Nat. Hazards Earth Syst. Sci. 13, 1507-1526.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

#: Number of depths, from the smallest to the largest of the grid, at which the filter is computed.
N_DEPTHS = 12
#: Largest relative difference between the lengths of cells in x that are filtered together.
MAX_LENGTH_DIFFERENCE = 0.02
#: Bound on k h that keeps cosh from overflowing; beyond it the result is negligible.
MAX_COSH_ARGUMENT = 700.0


def kajiura_filter(displacement, depth, dx, dy: float, is_periodic: tuple[bool, bool] = (False, False)) -> np.ndarray:
    """The displacement of the surface, m [rows, columns], by a displacement of the floor.

    Args:
        displacement: m, [rows, columns].
        depth: m, [rows, columns]; negative depths, on land, count as 0, where the filter changes nothing.
        dx: length of the cells in x, m, [rows, 1] or a number; cells of a row have the area dx dy.
        dy: length of the cells in y, m.
        is_periodic: whether the domain is periodic in x and in y.
    """
    rows, columns = displacement.shape
    lengths = np.broadcast_to(np.asarray(dx, np.float64).reshape(-1, 1), (rows, 1))
    depth = np.maximum(np.broadcast_to(depth, displacement.shape), 0.0)
    volume = displacement * lengths
    filtered = np.zeros_like(volume)
    levels = levels_between(depth.min(), depth.max(), N_DEPTHS)
    log_range = np.log(lengths.max() / lengths.min())
    length_levels = levels_between(
        np.log(lengths.min()), np.log(lengths.max()), 1 + int(np.ceil(log_range / MAX_LENGTH_DIFFERENCE))
    )
    in_y, in_x = (wavenumbers(n, periodic) for n, periodic in ((rows, is_periodic[1]), (columns, is_periodic[0])))
    for log_length, length_weights in parts(np.log(lengths), length_levels):
        k = np.hypot(in_y[:, None] / dy, in_x[None, :] / np.exp(log_length))
        for level, depth_weights in parts(depth, levels):
            part = volume * length_weights * depth_weights
            if part.any():
                factor = 1 / np.cosh(np.minimum(k * level, MAX_COSH_ARGUMENT))
                filtered += transform(factor * transform(part, is_periodic), is_periodic, is_inverse=True)
    return filtered / lengths


def levels_between(least: float, largest: float, count: int) -> np.ndarray:
    """Equally spaced levels from the least to the largest value; a single level if they are equal."""
    return np.linspace(least, largest, max(2, count)) if largest > least else np.array([least])


def parts(values: np.ndarray, levels: np.ndarray):
    """Each level, and the weights of the values there: linear between neighbouring levels, with the sum 1."""
    for number, level in enumerate(levels.tolist()):
        yield level, np.interp(values, levels, np.eye(len(levels))[number]) if len(levels) > 1 else np.ones_like(values)


def wavenumbers(cells: int, is_periodic: bool) -> np.ndarray:
    """Wavenumbers of the transform times the length of a cell."""
    return 2 * np.pi * np.fft.fftfreq(cells) if is_periodic else np.pi * np.arange(cells) / cells


def transform(values: np.ndarray, is_periodic: tuple[bool, bool], is_inverse: bool = False) -> np.ndarray:
    """Fourier transform along periodic axes and cosine transform along others, or its inverse, which is real."""
    for axis, periodic in ((1, is_periodic[0]), (0, is_periodic[1])):
        if periodic:
            values = (scipy.fft.ifft if is_inverse else scipy.fft.fft)(values, axis=axis)
        elif is_inverse:
            values = cosine_transform(values, axis, scipy.fft.idct)
        else:
            values = cosine_transform(values, axis, scipy.fft.dct)
    return values.real if is_inverse else values


def cosine_transform(values: np.ndarray, axis: int, function) -> np.ndarray:
    """A cosine transform of real or complex values."""
    if np.iscomplexobj(values):
        return function(values.real, axis=axis) + 1j * function(values.imag, axis=axis)
    return function(values, axis=axis)
