"""Smoothing by implicit diffusion: the square root of a correlation operator, without dot products over processes.

With A = -div(m grad), Neumann at coasts and walls (m is 1 between two cells of water, else 0), and order p,

    F = (1 + L² A)^(-p/2),        C = N F F N

is a correlation operator once N makes its diagonal 1 (`variance.py`). docs/assimilation.md has its function c(r) and
the length l² = -1/c''(0) = (2p - 4) L². F is computed as one Chebyshev series in A, of fixed length: with the spectrum
of A in [0, 4/dx² + 4/dy²] (Gershgorin),

    F = sum_k c_k T_k(2 A / (4/dx² + 4/dy²) - 1).

F is linear and self-adjoint like A. The series is scaled so that it preserves constants, and so sums over cells. The
error is at most twice the sum of the omitted coefficients. Each term costs one halo exchange of width 1 and no sum over
processes. The bounds of the spectrum depend neither on masks nor on the length. So fields at centres and on faces, and
with different lengths, are smoothed together, in one slab.

Reference: Weaver, Tshimanga and Piacentini (2016), Correlation operators based on an implicitly formulated diffusion
equation solved with the Chebyshev iteration, Q. J. R. Meteorol. Soc. 142, 455-471.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial.chebyshev import chebval

from ..ocean.coordinates import metrics
from ..ocean.grid import Places
from ..ocean.operators import dx_c, dx_f, dy_c, dy_f
from ..ocean.patch import Patch, east, north
from ..parallel.transport.halo import surround

#: The mask of the Grid for each location.
MASKS = {"centre": "wet", "u": "open_u", "v": "open_v"}


class Links(NamedTuple):
    """The flux between neighbours for a unit difference, divided by the bound of the spectrum; zero at coasts."""

    x: Any  # between (j, i) and (j, i+1), for i from -1 on: [fields, ny, nx + 1]
    y: Any  # between (j, i) and (j+1, i), for j from -1 on: [fields, ny + 1, nx]


def links_of(mask: Patch, location: str, config, block, dtype) -> Links:
    """The links of one field [1, y, x] on a block; its mask, 1 at wet points, has one cell around the block."""
    ny, nx = block.shape
    lengths = metrics(config.grid, np.arange(block.y.start - 1, block.y.stop + 1))
    at = {name: Places(*(Patch(values, (-1, -1)) for values in lengths[name])) for name in ("rdx", "rdy")}
    rdx = {"centre": at["rdx"].u, "u": east(at["rdx"].centre), "v": at["rdx"].corner}[location]
    rdy = {"centre": at["rdy"].v, "u": at["rdy"].corner, "v": north(at["rdy"].centre)}[location]
    x = (mask * east(mask) * rdx * rdx).cut((0, -1), (ny, nx)).values / bound(config)
    y = (mask * north(mask) * rdy * rdy).cut((-1, 0), (ny, nx)).values / bound(config)
    return Links(
        np.broadcast_to(x, (1, ny, nx + 1)).astype(dtype),
        np.broadcast_to(y, (1, ny + 1, nx)).astype(dtype),
    )


def bound(config) -> float:
    """An upper bound of the spectrum of A: the largest 4/dx² + 4/dy², m-2."""
    lengths = metrics(config.grid, np.arange(config.grid.ny))
    return max(float((4 * (x * x + y * y)).max()) for x, y in zip(lengths["rdx"], lengths["rdy"], strict=True))


def series(length: float, config, order: int, tolerance: float) -> np.ndarray:
    """Coefficients c_k of the Chebyshev series of F for a length l, m, and an order p > 2, float64.

    Coefficients whose sum is at most `tolerance` are omitted.
    """
    steepness = length**2 / (2 * order - 4) * bound(config)
    # Each term is exp(-2 / sqrt(1 + steepness)) times the one before, so later terms are below round-off.
    count = 64 * int(np.ceil(np.sqrt(1 + steepness)))
    angle = np.pi * (np.arange(count) + 0.5) / count
    values = (1 + steepness * (np.cos(angle) + 1) / 2) ** (-order / 2)
    spectrum = np.fft.rfft(np.concatenate([values, values[::-1]]))[:count]
    coefficients = (np.exp(-0.5j * np.pi * np.arange(count) / count) * spectrum).real / count
    coefficients[0] /= 2
    left_out = np.cumsum(np.abs(coefficients[::-1]))[::-1]  # [k]: the sum from term k on
    coefficients = coefficients[: max(2, int(np.sum(left_out > tolerance)))]
    return coefficients / chebval(-1.0, coefficients)


def stack_series(all_series) -> np.ndarray:
    """Coefficients [terms, fields, 1, 1] of several series, the shorter ones extended by zeros."""
    terms = max(map(len, all_series))
    return np.stack([np.pad(c, (0, terms - len(c))) for c in all_series], axis=1)[:, :, None, None]


def smooth(fields, coefficients, links: Links, transport):
    """F of fields [fields, ny, nx], before normalisation, by Clenshaw's sum: b_k = c_k x + 2 S b_{k+1} - b_{k+2}.

    Points where a mask is 0 neither change nor affect others. The coefficients are [terms, fields, 1, 1].
    """
    shape = fields.shape[-2:]
    link_x, link_y = Patch(links.x, (0, -1)), Patch(links.y, (-1, 0))

    def twice(b):
        """2 S b with S = 2 A / (4/dx² + 4/dy²) - 1."""
        padded = Patch(surround((b,), 1, transport)[0], (-1, -1))
        divergence = dx_c(link_x * dx_f(padded)) + dy_c(link_y * dy_f(padded))
        return -4 * divergence.on(shape) - 2 * b

    def turn(carry, coefficient):
        b, later = carry
        return (coefficient * fields + twice(b) - later, b), None

    zero = jnp.zeros_like(fields)
    (b, later), _ = jax.lax.scan(turn, (zero, zero), coefficients[:0:-1])
    return coefficients[0] * fields + 0.5 * twice(b) - later
