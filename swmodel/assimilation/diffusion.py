"""Smooth fields by implicit diffusion, which is the square root of a correlation operator.

With A = -div(m grad), where m is 1 between two wet cells and 0 elsewhere (a Neumann condition at coasts and walls),

    F = (1 + L² A)^(-p/2),        C = N F F N

is a correlation operator of order p. The factors N make its diagonal 1 (`variance`). docs/assimilation.md gives its
correlation function c(r) and the length l, with l² = -1/c''(0) = (2p - 4) L². F is computed as a Chebyshev series in A
with a fixed number of terms. By Gershgorin's theorem the spectrum of A lies in [0, 4/dx² + 4/dy²], on a sphere with the
smallest dx, so

    F = sum_k c_k T_k(2 A / (4/dx² + 4/dy²) - 1).

Like A, F is linear and self-adjoint. The series is scaled so that it preserves constants, and therefore also sums over
cells. The error of the series is at most twice the sum of the magnitudes of the omitted coefficients. Each term costs
one halo exchange of width 1 and no sum over processes. The bounds of the spectrum depend neither on the mask nor on the
length, so fields at centres and on faces, and with different lengths, are smoothed together as one array.

Reference: Weaver, Tshimanga and Piacentini (2016), Correlation operators based on an implicitly formulated diffusion
equation solved with the Chebyshev iteration, Q. J. R. Meteorol. Soc. 142, 455-471.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial.chebyshev import chebval

from ..ocean.coordinates import metrics
from ..ocean.grid import Metric
from ..ocean.operators import dx_c, dx_f, dy_c, dy_f
from ..ocean.patch import Patch, east, north
from ..parallel.transport.halo import exchange_halos

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport

#: {location: name of its mask in the Grid}.
MASK_NAMES = {"centre": "wet", "u": "open_u", "v": "open_v"}


class Conductances(NamedTuple):
    """The diffusive flux between neighbouring points per unit difference of their values, divided by `spectrum_bound`.

    Conductances have no dimension, and are zero at coasts.
    """

    x: Any  # between (j, i) and (j, i+1), for i from -1 on: [fields, ny, nx + 1]
    y: Any  # between (j, i) and (j+1, i), for j from -1 on: [fields, ny + 1, nx]


def conductances_of(mask: Patch, location: str, config: Config, block, dtype) -> Conductances:
    """The conductances of one field on a block; its mask is 1 at wet points and has a halo of one cell."""
    ny, nx = block.shape
    row_metrics = metrics(config.grid, np.arange(block.y.start - 1, block.y.stop + 1))
    inverse_lengths = {
        name: Metric(*(Patch(values, (-1, -1)) for values in row_metrics[name])) for name in ("rdx", "rdy")
    }
    rdx = {
        "centre": inverse_lengths["rdx"].u,
        "u": east(inverse_lengths["rdx"].centre),
        "v": inverse_lengths["rdx"].corner,
    }[location]
    rdy = {
        "centre": inverse_lengths["rdy"].v,
        "u": inverse_lengths["rdy"].corner,
        "v": north(inverse_lengths["rdy"].centre),
    }[location]
    x = (mask * east(mask) * rdx * rdx).cut((0, -1), (ny, nx)).values / spectrum_bound(config)
    y = (mask * north(mask) * rdy * rdy).cut((-1, 0), (ny, nx)).values / spectrum_bound(config)
    return Conductances(
        np.broadcast_to(x, (1, ny, nx + 1)).astype(dtype),
        np.broadcast_to(y, (1, ny + 1, nx)).astype(dtype),
    )


def spectrum_bound(config: Config) -> float:
    """An upper bound of the spectrum of A: the largest 4/dx² + 4/dy², m-2."""
    row_metrics = metrics(config.grid, np.arange(config.grid.ny))
    inverse_lengths = zip(row_metrics["rdx"], row_metrics["rdy"], strict=True)  # at each location
    return max(float((4 * (rdx * rdx + rdy * rdy)).max()) for rdx, rdy in inverse_lengths)


def chebyshev_coefficients(length: float, config: Config, order: int, tolerance: float) -> np.ndarray:
    """Chebyshev coefficients of F for the length l in m and the order p > 2.

    The sum of the magnitudes of the omitted coefficients is at most `tolerance`.
    """
    scaled_length_squared = length**2 / (2 * order - 4) * spectrum_bound(config)
    # Each coefficient is about exp(-2 / sqrt(1 + scaled_length_squared)) times the one before it. The n_points
    # coefficients that are computed are therefore enough, because all later ones are below round-off.
    n_points = 64 * int(np.ceil(np.sqrt(1 + scaled_length_squared)))
    angles = np.pi * (np.arange(n_points) + 0.5) / n_points
    filter_values = (1 + scaled_length_squared * (np.cos(angles) + 1) / 2) ** (-order / 2)
    transform = np.fft.rfft(np.concatenate([filter_values, filter_values[::-1]]))[:n_points]
    coefficients = (np.exp(-0.5j * np.pi * np.arange(n_points) / n_points) * transform).real / n_points
    coefficients[0] /= 2
    tail_sums = np.cumsum(np.abs(coefficients[::-1]))[::-1]  # [k]: the sum of the magnitudes from term k on
    coefficients = coefficients[: max(2, int(np.sum(tail_sums > tolerance)))]
    return coefficients / chebval(-1.0, coefficients)


def stack_coefficients(all_coefficients) -> np.ndarray:
    """The coefficients of several series as [terms, fields, 1, 1]; shorter ones are padded with zeros."""
    n_terms = max(map(len, all_coefficients))
    return np.stack([np.pad(c, (0, n_terms - len(c))) for c in all_coefficients], axis=1)[:, :, None, None]


def smooth(fields, coefficients, conductances: Conductances, transport: Transport):
    """F of `fields` x [fields, ny, nx], without N, by Clenshaw's recurrence b_k = c_k x + 2 S b_{k+1} - b_{k+2}.

    Points where the mask is 0 neither change nor affect other points. The coefficients c_k are [terms, fields, 1, 1].
    """
    shape = fields.shape[-2:]
    conductance_x, conductance_y = Patch(conductances.x, (0, -1)), Patch(conductances.y, (-1, 0))

    def twice_s_times(b):
        """2 S b with S = 2 A / (4/dx² + 4/dy²) - 1."""
        padded = Patch(exchange_halos((b,), 1, transport)[0], (-1, -1))
        divergence = dx_c(conductance_x * dx_f(padded)) + dy_c(conductance_y * dy_f(padded))
        return -4 * divergence.block_values(shape) - 2 * b

    def clenshaw_step(carry, coefficient):
        b, b_next = carry
        return (coefficient * fields + twice_s_times(b) - b_next, b), None

    zero = jnp.zeros_like(fields)
    (b, b_next), _ = jax.lax.scan(clenshaw_step, (zero, zero), coefficients[:0:-1])
    return coefficients[0] * fields + 0.5 * twice_s_times(b) - b_next
