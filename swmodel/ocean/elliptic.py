"""Poisson's and Helmholtz's equations on a rectangle without land, by Fourier transforms.

The Laplacian is that of the C-grid, (difference of differences) / dx² in x and likewise in y, so the discrete equation
holds to round-off: a wave of wavenumber k is multiplied by - (2/dx sin(k dx/2))², not by - k². At walls, a field whose
points lie beside them has no normal gradient; a field whose points lie on them is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..parallel.fourier import Fourier
from ..parallel.transport.programs import jitted


class Equation(NamedTuple):
    """(laplacian - a - b M) x = y, to be solved for x; M takes the mean over the four points half a cell away, twice.

    If a = b = 0 and x is not zero on a wall, there is no solution unless the mean of y is zero: the mean is left out of
    y, and the mean of x is zero.

    Attributes:
        location: that of the fields on the C-grid: centre, u, v or corner.
        grid: section [grid] of the configuration.
        a, b: not negative, m-2.
    """

    location: str
    grid: Any
    a: float = 0.0
    b: float = 0.0

    def fourier(self, transport) -> Fourier:
        """The transforms of its fields.

        Raises:
            UsageError: there are more blocks than lines.
        """
        return Fourier.of(transport, self.location, (self.grid.periodic_y, self.grid.periodic_x))

    def solved(self, y, transport):
        """In a jitted program: x from y on a block, with any leading axes. Linear."""
        fourier, sizes = self.fourier(transport), (self.grid.dy, self.grid.dx)
        halves = [0.5 * k * size for k, size in zip(fourier.wavenumbers(*sizes), sizes, strict=True)]
        along_y, along_x = (-((2 / size * np.sin(half)) ** 2) for half, size in zip(halves, sizes, strict=True))
        dtype = y.dtype
        factor = jnp.asarray((along_y - self.a)[:, None], dtype) + fourier.part(along_x[None].astype(dtype))
        if self.b:
            mean_y, mean_x = (np.cos(half) ** 2 for half in halves)
            mean = jnp.asarray(self.b * mean_y[:, None], dtype) * fourier.part(mean_x[None].astype(dtype))
            # Written so that no compiler fuses the product with the difference: the same bits on any layout.
            factor = factor - jax.lax.optimization_barrier(mean)
        none = factor == 0
        inverse = jnp.where(none, 0, 1 / jnp.where(none, 1, factor))
        coefficients = fourier.forward(y)
        return fourier.backward(coefficients * inverse.astype(coefficients.dtype))


def make_solved(equation: Equation, transport):
    """The program that solves an equation."""
    return lambda y: equation.solved(y, transport)


def solve(equation: Equation, y: list[np.ndarray], transport) -> list[np.ndarray]:
    """x on each of the transport's blocks, computed in double precision, in arrays of y's type.

    Args:
        y: arrays [..., y, x] of each block.

    Raises:
        UsageError: there are more blocks than lines.
    """
    of_block = dict(zip(transport.blocks, y, strict=True))
    with jax.enable_x64(True):
        program = jitted(make_solved, equation, transport)
        found = transport.pieces(program(transport.make(lambda block: of_block[block].astype(np.float64))))
    return [x.astype(each.dtype) for x, each in zip(found, y, strict=True)]


def inverse(grid, blocks, transport):
    """The function `invert` of `derived.derive`, on NumPy arrays.

    Raises:
        UsageError: when it is called, if there is land, or more blocks than lines.
    """

    def invert(location: str, sources: list[np.ndarray]) -> list[np.ndarray]:
        require_rectangle("stream function and velocity potential are", blocks, transport)
        return solve(Equation(location, grid), sources, transport)

    return invert


def require_rectangle(what: str, blocks, transport) -> None:
    """Make sure that there is no land and that all cells have one size; called by all processes together.

    Args:
        what: the beginning of the message.
        blocks: (State, Grid of Patches, shape) of each block of this process.

    Raises:
        UsageError: there is land, or the grid is on a sphere.
    """
    if any(grid.area.centre.values.shape != (1, 1) for _, grid, _ in blocks):
        raise UsageError(f"{what} of grids whose cells are all of one size, and this one is on a sphere")
    if transport.any(any(np.any(grid.wet.on(shape) == 0) for _, grid, shape in blocks)):
        raise UsageError(f"{what} of seas without land, and this one has some")
