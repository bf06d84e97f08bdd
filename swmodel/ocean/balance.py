"""The balanced part of a flow, which potential vorticity determines, on an f plane of uniform depth without land.

In linear theory a disturbance of potential vorticity, q' = (zeta - f eta_q / H) / H with eta_q the mean of eta around a
corner, does not change. Gravity waves have no q' and leave; what remains is in geostrophic balance,

    (laplacian - f²/(g H) M) psi = H q',    u = - d psi/dy,  v = d psi/dx,  eta = f/g (mean of psi around the cell),

with M the mean over the corners of a cell and back. It solves the model's equations, linearised about rest, to
round-off. psi is zero on walls.

Reference: Hoskins, McIntyre and Robertson (1985), Q. J. R. Meteorol. Soc. 111, 877-946.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from ..errors import UsageError
from ..parallel.transport.halo import surround
from ..parallel.transport.programs import jitted
from .elliptic import Equation, require_rectangle
from .operators import curl, dx_c, dy_c, mx_c, mx_f, my_c, my_f
from .patch import Patch
from .state import State


class Layer(NamedTuple):
    """An f plane of uniform depth: Coriolis parameter, s-1, gravity, m s-2, and resting depth, m."""

    f: float
    gravity: float
    depth: float


def layer_of(blocks, physics, transport) -> Layer:
    """The Layer of a sea; called by all processes together.

    Args:
        blocks: (State, Grid of Patches, shape) of each block of this process.
        physics: section [physics] of the configuration.
    """
    require_rectangle("balanced flows are", blocks, transport)
    depths = [grid.depth.on(shape) for _, grid, shape in blocks]
    ends = [min(float(np.min(d)) for d in depths), -max(float(np.max(d)) for d in depths)]
    least, most = transport.reduce(np.array(ends), "min")
    if least != -most or physics.beta != 0 or physics.f0 == 0:
        raise UsageError("balanced flows are of an f plane of even depth: physics.f0, no physics.beta, one depth")
    return Layer(physics.f0, physics.gravity, float(least))


def disturbance(state: State, grid, layer: Layer) -> Patch:
    """H q' = zeta - f eta_q / H at corners, s-1; the State is of Patches with a halo."""
    zeta = curl(grid.open_u * state.u, grid.open_v * state.v, grid)
    return zeta - (layer.f / layer.depth) * my_f(mx_f(state.h - grid.depth))


def make_balanced(equation: Equation, layer: Layer, transport):
    """The program (H q' on a block) -> eta, u, v on it."""
    sea, shape = equation.grid, transport.shape

    def balanced(source):
        (psi,) = surround((equation.solved(source, transport),), 1, transport)
        psi = Patch(psi, (-1, -1))
        fields = (layer.f / layer.gravity) * mx_c(my_c(psi)), -(1 / sea.dy) * dy_c(psi), (1 / sea.dx) * dx_c(psi)
        return tuple(field.on(shape) for field in fields)

    return balanced


def balanced(blocks, config, transport) -> list[dict[str, np.ndarray]]:
    """eta (m), u and v (m s-1) on each of the transport's blocks, from the potential vorticity of a state.

    Called by all processes together. Potential vorticity on walls does not count.

    Args:
        blocks: (State with a halo, Grid, shape), in Patches, of each block of this process.
    """
    layer = layer_of(blocks, config.physics, transport)
    equation = Equation("corner", config.grid, b=layer.f**2 / (layer.gravity * layer.depth))
    sources = [disturbance(state, grid, layer).on(shape).astype(np.float64) for state, grid, shape in blocks]
    of_block = dict(zip(transport.blocks, sources, strict=True))
    with jax.enable_x64(True):
        program = jitted(make_balanced, equation, layer, transport)
        found = transport.pieces(program(transport.make(of_block.__getitem__)))
    return [dict(zip(("eta", "u", "v"), each, strict=True)) for each in found]
