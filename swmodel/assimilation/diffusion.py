"""Smoothing by implicit diffusion: the square root of a correlation operator, on many processes without dot products.

With A = -div(m grad), Neumann at coasts and walls (m is 1 between two cells of water, else 0), and order p,

    F = (1 + L² A)^(-p/2),        C = N F F N

is a correlation operator once N makes its diagonal 1 (`variance.py`). Far from coasts C is the Matérn function

    c(r) = (r/L)^(p-1) K_{p-1}(r/L) / (2^(p-2) Γ(p-1)),

which comes close to the Gaussian of the same curvature for p = 10. The length l of a correlation is that curvature
(Daley): l² = -1/c''(0) = (2p - 4) L², in m.

F is computed as one Chebyshev series in A, of fixed length: with the spectrum of A in [0, 4/dx² + 4/dy²] (Gershgorin),

    F = sum_k c_k T_k(2 A / (4/dx² + 4/dy²) - 1).

This is linear, a polynomial of A and so exactly as self-adjoint as A. Twice the sum of the coefficients left out bounds
the error in the operator norm, where F itself has norm 1; once, were it not scaled to be exactly 1 for constants: F
keeps them, and, being self-adjoint, sums over cells too. Each term costs one halo of width 1 and no sum over processes.
One series for the power p/2 has about a third of the terms that p/2 Chebyshev solves with 1 + L² A in turn need to be
as exact (p = 10: 33 terms for l = 5 dx, 64 for 10 dx, 127 for 20 dx).

The bounds of the spectrum do not depend on the masks, nor on the length: fields at centres and on faces and of
different lengths are smoothed together, in one slab.

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
    """What flows between neighbours for a unit difference, over the bound of the spectrum; zero at coasts."""

    x: Any  # between (j, i) and (j, i+1), for i from -1 on: [fields, ny, nx + 1]
    y: Any  # between (j, i) and (j+1, i), for j from -1 on: [fields, ny + 1, nx]


def links_of(mask: Patch, location: str, config, block, dtype) -> Links:
    """The links of one field [1, y, x] on a block.

    Args:
        mask: Patch of NumPy arrays, 1 where the field lives; covers the block and one cell around it.
        location: of the field.
    """
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
    """What the spectrum of A does not exceed, the largest 4/dx² + 4/dy², m-2."""
    lengths = metrics(config.grid, np.arange(config.grid.ny))
    return max(float((4 * (x * x + y * y)).max()) for x, y in zip(lengths["rdx"], lengths["rdy"], strict=True))


def series(length: float, config, order: int, tolerance: float) -> np.ndarray:
    """Coefficients c_k of the Chebyshev series of F, float64.

    Args:
        length: l, m.
        order: p > 2.
        tolerance: bound on the sum of the coefficients that are left out.
    """
    steepness = length**2 / (2 * order - 4) * bound(config)
    # A term is exp(-2 / sqrt(1 + steepness)) times the one before: this many leave nothing out.
    count = 64 * int(np.ceil(np.sqrt(1 + steepness)))
    angle = np.pi * (np.arange(count) + 0.5) / count
    values = (1 + steepness * (np.cos(angle) + 1) / 2) ** (-order / 2)
    spectrum = np.fft.rfft(np.concatenate([values, values[::-1]]))[:count]
    coefficients = (np.exp(-0.5j * np.pi * np.arange(count) / count) * spectrum).real / count
    coefficients[0] /= 2
    left_out = np.cumsum(np.abs(coefficients[::-1]))[::-1]  # [k]: from term k on
    coefficients = coefficients[: max(2, int(np.sum(left_out > tolerance)))]
    return coefficients / chebval(-1.0, coefficients)


def stack_series(all_series) -> np.ndarray:
    """Coefficients [terms, fields, 1, 1] of several series, the shorter ones continued by zeros."""
    terms = max(map(len, all_series))
    return np.stack([np.pad(c, (0, terms - len(c))) for c in all_series], axis=1)[:, :, None, None]


def smooth(fields, coefficients, links: Links, transport):
    """F of each field, before normalisation; where a mask is 0 nothing is changed, and nothing comes from there.

    Args:
        fields: array [fields, ny, nx] of this block.
        coefficients: array [terms, fields, 1, 1], of the same precision.
        links: of all fields.
        transport: how the block gets its halos.

    Returns:
        Array [fields, ny, nx]. The sum is Clenshaw's: b_k = c_k x + 2 S b_{k+1} - b_{k+2}.
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
