"""The variance of smoothed white noise, which normalises correlations.

The smoothing F is a Chebyshev series in the matrix A (`diffusion`), and the variance is the diagonal of F². In a box,
which is a domain without land whose axes may be periodic, the variance is exact: A is the sum of matrices in x and y,
whose eigenvectors are waves. On a sphere the matrix in y differs for each wave in x. With land, the same white noise is
smoothed with and without the land, and the ratio of the two mean squares multiplies the variance in the box. A few
correlation lengths from the coast the ratio is one and the variance exact. At the coast the ratio is random, and the
rms error of the standard deviation is at most about 1 / sqrt(2 samples). With 256 samples this is 4 %; most errors are
below 2 %, and the largest is about 10 %.

Reference: Weaver and Courtier (2001), Q. J. R. Meteorol. Soc. 127, 1815-1846, for normalisation by randomisation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial.chebyshev import chebval

from ..ocean.coordinates import is_spherical, metrics
from ..ocean.noise import white_noise
from ..ocean.patch import Patch
from ..parallel.fixed_point import exact_product
from .diffusion import Conductances, conductances_of, smooth, spectrum_bound, stack_coefficients

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport

#: Rows of the spectrum that are computed at a time, to limit memory.
STRIP_ROWS = 256


class LayerKind(NamedTuple):
    """What the smoothing of a layer depends on; layers of one kind have the same mask, coefficients and variance."""

    location: str  # of the layer's points: "centre", "u" or "v"
    length: float  # the correlation length, m
    includes_boundary: bool  # whether the points include those with boundary data


def box_axis(config: Config, location: str, axis: int) -> tuple[int, bool]:
    """The number of open points of a field along an axis of a box (0: y, 1: x), and whether the axis is periodic."""
    is_periodic = (config.grid.periodic_y, config.grid.periodic_x)[axis]
    length = (config.grid.ny, config.grid.nx)[axis]
    return length - (location == "vu"[axis] and not is_periodic), is_periodic


def box_mask(config: Config, location: str, block) -> Patch:
    """1 at the points of a field that are open in a box, else 0, on a block with a halo one cell wide."""
    axis_masks = []
    for axis, span in enumerate((block.y, block.x)):
        count, is_periodic = box_axis(config, location, axis)
        index = np.arange(span.start - 1, span.stop + 1)
        axis_masks.append((is_periodic | ((index >= 0) & (index < count))).astype(float))
    return Patch(axis_masks[0][:, None] * axis_masks[1][None, :], (-1, -1))


def modes(count: int, is_periodic: bool, cells) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [count] of the negative second difference along an axis, and squared eigenvectors [count, cells]."""
    number = np.arange(count)
    if is_periodic:
        return 2 - 2 * np.cos(2 * np.pi * number / count), np.full((count, len(cells)), 1 / count)
    scale = np.where(number == 0, 1.0, 2.0) / count
    squares = scale[:, None] * np.cos(np.pi * number[:, None] * (np.asarray(cells)[None, :] + 0.5) / count) ** 2
    return 2 - 2 * np.cos(np.pi * number / count), squares


def box_variance(config: Config, location: str, block, coefficients: np.ndarray) -> np.ndarray:
    """diag(F²) on a block of a box, [ny, nx]; without meaning on closed faces.

    `coefficients`: the Chebyshev coefficients of F.
    """
    if is_spherical(config.grid):
        return band_variance(config, location, block, coefficients)
    (values_y, squares_y), (values_x, squares_x) = (
        modes(*box_axis(config, location, axis), np.arange(span.start, span.stop))
        for axis, span in enumerate((block.y, block.x))
    )
    weight_x, weight_y = (size**-2.0 / spectrum_bound(config) for size in (config.grid.dx, config.grid.dy))
    variance = np.zeros(block.shape)
    for first in range(0, len(values_y), STRIP_ROWS):
        rows = slice(first, first + STRIP_ROWS)
        spectrum = chebval(2 * (weight_y * values_y[rows, None] + weight_x * values_x) - 1, coefficients) ** 2
        max_spectrum = spectrum.max()
        along_x = exact_product(spectrum, squares_x, bounds=(max_spectrum, 2 / len(values_x)))
        variance += exact_product(squares_y[rows].T, along_x, bounds=(2 / len(values_y), 2 * max_spectrum))
    return variance


def band_variance(config: Config, location: str, block, coefficients: np.ndarray) -> np.ndarray:
    """As `box_variance`, on a sphere, where for each wave in x a tridiagonal matrix has the eigenvectors in y."""
    from scipy.linalg import eigh_tridiagonal

    (count, _), rows = box_axis(config, location, 0), np.arange(block.y.start, block.y.stop)
    lengths = metrics(config.grid, np.arange(count))
    rdx = lengths["rdx"].v if location == "v" else lengths["rdx"].u
    weight_x, weight_y = (length[:, 0] ** 2 / spectrum_bound(config) for length in (rdx, lengths["rdy"].centre))
    values_x, squares_x = modes(*box_axis(config, location, 1), np.arange(block.x.start, block.x.stop))
    n_links = np.full(count, 2.0)  # neighbours of each row
    n_links[0] -= 1
    n_links[-1] -= 1
    variance = np.zeros(block.shape)
    waves, wave_index = np.unique(np.round(values_x, 12), return_inverse=True)
    for number, wave in enumerate(waves):
        values, vectors = eigh_tridiagonal(weight_x * wave + weight_y * n_links, -weight_y * np.ones(count - 1))
        along_y = (vectors**2 * chebval(2 * values - 1, coefficients) ** 2).sum(axis=1)
        variance += along_y[np.minimum(rows, count - 1), None] * squares_x[wave_index == number].sum(axis=0)
    return variance


def smoothed_noise_variances(
    config: Config,
    transport: Transport,
    masks: dict[LayerKind, Patch],
    all_coefficients: dict[LayerKind, np.ndarray],
    samples: int,
) -> dict[LayerKind, np.ndarray]:
    """diag(F²) of each kind of layer on this process's block, float64 [ny, nx], without meaning on land.

    All processes call this together.

    Args:
        masks: for each kind, a Patch of NumPy arrays, 1 at the wet points.
        all_coefficients: for each kind, the Chebyshev coefficients of F.
        samples: number of fields of white noise, if there is land.
    """
    block = transport.block
    box_variances = {
        kind: np.maximum(box_variance(config, kind.location, block, coefficients), 1e-300)
        for kind, coefficients in all_coefficients.items()
    }
    box_masks = {kind: box_mask(config, kind.location, block) for kind in masks}
    has_land = [
        np.any(masks[kind].block_values(block.shape) != box_masks[kind].block_values(block.shape)) for kind in masks
    ]
    if not transport.any(any(has_land)):
        return box_variances
    dtype, kinds = np.dtype(config.run.dtype), list(masks)
    conductances_of_layers = [
        conductances_of(patches[kind], kind.location, config, block, dtype)
        for patches in (masks, box_masks)
        for kind in kinds
    ]
    conductances = Conductances(*(jnp.concatenate(parts) for parts in zip(*conductances_of_layers, strict=True)))
    coefficients = jnp.asarray(stack_coefficients([all_coefficients[kind] for kind in kinds] * 2), dtype)

    @jax.jit
    def add_square(total, noise, coefficients, conductances):
        return total + smooth(jnp.concatenate([noise, noise]), coefficients, conductances, transport) ** 2

    total = jnp.zeros((2 * len(kinds), *block.shape), dtype)
    for sample in range(samples):
        noise = [white_noise(0, f"normalisation {kind.location}", sample, block) for kind in kinds]
        total = add_square(total, jnp.asarray(np.stack(noise), dtype), coefficients, conductances)
    with_land, without_land = np.split(np.asarray(total, dtype=np.float64), 2)
    return {kind: box_variances[kind] * with_land[n] / without_land[n] for n, kind in enumerate(kinds)}
