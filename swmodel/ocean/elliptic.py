"""Poisson's and Helmholtz's equations on a rectangle without land, by Fourier transforms; the balanced part of a flow.

The Laplacian is that of the C-grid, a difference of differences over dx² and dy², which multiplies a wave of wavenumber
k by - (2/dx sin(k dx/2))². So the discrete equation holds to round-off. A field with points half a cell from a wall has
no normal gradient there; a field with points on the wall is zero there.

Potential vorticity determines the balanced part of a flow on an f plane of uniform depth. In linear theory its
disturbance, q' = (zeta - f eta_q / H) / H with eta_q the mean of eta around a corner, does not change in time. Gravity
waves have no q' and propagate away; what remains is in geostrophic balance,

    (laplacian - f²/(g H) M) psi = H q',    u = - d psi/dy,  v = d psi/dx,  eta = f/g (mean of psi around the cell),

where M takes the mean from corners to centres and back. This flow is a steady solution of the model's equations,
linearised about rest, to round-off. psi is zero on walls.

Reference: Hoskins, McIntyre and Robertson (1985), Q. J. R. Meteorol. Soc. 111, 877-946.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..parallel.fourier import Fourier
from ..parallel.transport.halo import exchange_halos
from ..parallel.transport.programs import cached_jit
from .operators import curl, dx_c, dy_c, mx_c, mx_f, my_c, my_f
from .patch import Patch
from .state import State

if TYPE_CHECKING:
    from ..config.options.grid import GridOptions
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport


class HelmholtzEquation(NamedTuple):
    """(laplacian - b M) x = y for x; M takes the mean over the four points half a cell away, twice.

    If b = 0 and no wall requires x = 0, there is a solution only if the mean of y is zero. So the mean of y is removed,
    and the mean of x is zero.
    """

    location: str  # of the fields on the C-grid
    grid: GridOptions  # section [grid] of the configuration
    b: float = 0.0  # not negative, m-2

    def solve_block(self, y, transport: Transport):
        """x from y [..., y, x] on a block, inside a jitted program; linear in y."""
        fourier = Fourier.for_location(transport, self.location, (self.grid.periodic_y, self.grid.periodic_x))
        sizes = self.grid.dy, self.grid.dx
        half_phases = [0.5 * k * size for k, size in zip(fourier.wavenumbers(*sizes), sizes, strict=True)]
        along_y, along_x = (-((2 / size * np.sin(half)) ** 2) for half, size in zip(half_phases, sizes, strict=True))
        dtype = y.dtype
        factor = jnp.asarray(along_y[:, None], dtype) + fourier.block_part(along_x[None].astype(dtype))
        if self.b:
            mean_y, mean_x = (np.cos(half) ** 2 for half in half_phases)
            mean = jnp.asarray(self.b * mean_y[:, None], dtype) * fourier.block_part(mean_x[None].astype(dtype))
            # The barrier keeps compilers from fusing product and difference, so that any layout gives the same bits.
            factor = factor - jax.lax.optimization_barrier(mean)
        is_zero = factor == 0
        inverse = jnp.where(is_zero, 0, 1 / jnp.where(is_zero, 1, factor))
        coefficients = fourier.forward(y)
        return fourier.backward(coefficients * inverse.astype(coefficients.dtype))


def make_solver(equation: HelmholtzEquation, transport: Transport):
    return lambda y: equation.solve_block(y, transport)


def solve(equation: HelmholtzEquation, y: list[np.ndarray], transport: Transport) -> list[np.ndarray]:
    """x on each of the transport's blocks, computed in double precision, in the dtype of y, [..., y, x]."""
    y_by_block = dict(zip(transport.blocks, y, strict=True))
    with jax.enable_x64(True):
        program = cached_jit(make_solver, equation, transport)
        arrays = transport.make_arrays(lambda block: y_by_block[block].astype(np.float64))
        solutions = transport.get_blocks(program(arrays))
    return [x.astype(each.dtype) for x, each in zip(solutions, y, strict=True)]


def make_poisson_solver(grid, blocks, transport: Transport):
    """The `solve_poisson` of `evaluation.evaluate_fields`, on NumPy arrays. UsageError: see `require_rectangle`."""

    def solve_poisson(location: str, sources: list[np.ndarray]) -> list[np.ndarray]:
        require_rectangle("stream function and velocity potential are", blocks, transport)
        return solve(HelmholtzEquation(location, grid), sources, transport)

    return solve_poisson


def require_rectangle(what: str, blocks, transport: Transport) -> None:
    """Raise a UsageError, which begins with `what`, if the grid is on a sphere or any process has land.

    Cells in an open boundary count as land. `blocks` has (State, Grid, shape) of each block of this process.
    """
    if any(grid.area.centre.values.shape != (1, 1) for _, grid, _ in blocks):
        raise UsageError(f"{what} only available on planes, but this grid is on a sphere")
    if transport.any(any(np.any(grid.wet.block_values(shape) == 0) for _, grid, shape in blocks)):
        raise UsageError(f"{what} only available in seas without land and open boundaries, but this sea has some")


class UniformLayer(NamedTuple):
    """An f plane of uniform depth: Coriolis parameter, s-1, gravity, m s-2, and resting depth, m."""

    f: float
    gravity: float
    depth: float


def uniform_layer(blocks, physics, transport: Transport) -> UniformLayer:
    """The UniformLayer of a sea with this section [physics]; `blocks` and UsageError as for `balanced_flow`."""
    require_rectangle("balanced flows are", blocks, transport)
    depths = [grid.depth.block_values(shape) for _, grid, shape in blocks]
    min_and_negated_max = [min(float(np.min(d)) for d in depths), -max(float(np.max(d)) for d in depths)]
    min_depth, negated_max_depth = transport.reduce(np.array(min_and_negated_max), "min")
    if min_depth != -negated_max_depth or physics.beta != 0 or physics.f0 == 0:
        raise UsageError("balanced flows need an f plane of uniform depth: set physics.f0, and leave out physics.beta")
    return UniformLayer(physics.f0, physics.gravity, float(min_depth))


def scaled_pv_anomaly(state: State, grid, layer: UniformLayer) -> Patch:
    """H q' = zeta - f eta_q / H at corners, s-1; the State is of Patches with a halo."""
    zeta = curl(grid.open_u * state.u, grid.open_v * state.v, grid)
    return zeta - (layer.f / layer.depth) * my_f(mx_f(state.h - grid.depth))


def make_balanced_flow(equation: HelmholtzEquation, layer: UniformLayer, transport: Transport):
    """The function for a jitted program that computes eta, u and v on a block from H q' at corners, s-1."""
    grid, shape = equation.grid, transport.shape

    def balanced_flow(source):
        (psi,) = exchange_halos((equation.solve_block(source, transport),), 1, transport)
        psi = Patch(psi, (-1, -1))
        fields = (layer.f / layer.gravity) * mx_c(my_c(psi)), -(1 / grid.dy) * dy_c(psi), (1 / grid.dx) * dx_c(psi)
        return tuple(field.block_values(shape) for field in fields)

    return balanced_flow


def balanced_flow(blocks, config: Config, transport: Transport) -> list[dict[str, np.ndarray]]:
    """eta (m), u and v (m s-1) on each of the transport's blocks, from the potential vorticity of a state.

    All processes call it together. Potential vorticity on walls is ignored. UsageError: the domain is not a plane
    without land and open boundaries, depth or f is not uniform, or f is zero.

    Args:
        blocks: (State with a halo, Grid, shape), in Patches, of each block of this process.
    """
    layer = uniform_layer(blocks, config.physics, transport)
    equation = HelmholtzEquation("corner", config.grid, b=layer.f**2 / (layer.gravity * layer.depth))
    sources = (scaled_pv_anomaly(state, grid, layer).block_values(shape) for state, grid, shape in blocks)
    source_by_block = {block: each.astype(np.float64) for block, each in zip(transport.blocks, sources, strict=True)}
    with jax.enable_x64(True):
        program = cached_jit(make_balanced_flow, equation, layer, transport)
        fields_of_blocks = transport.get_blocks(program(transport.make_arrays(source_by_block.__getitem__)))
    return [dict(zip(("eta", "u", "v"), each, strict=True)) for each in fields_of_blocks]
