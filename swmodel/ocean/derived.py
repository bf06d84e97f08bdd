"""Quantities that follow from the state: each is a row of the table, with its function.

A run can write, average and draw each of them. The parameters of a function name its inputs:

    h, u, v          Patches of the padded state, m and m s-1
    grid             Grid of Patches
    physics          the section [physics] of the configuration
    face_thickness   function of h to the thickness on u and on v faces
    film             thickness above which a cell counts as wet, m; None without drying
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .operators import curl, divergence, dx_c, dx_f, dy_c, dy_f, folded, mx_c, mx_f, my_c, my_f, where
from .patch import Patch
from .variable import Variable, table

SEA_LEVEL, PV = "sea_surface_height_above_geoid", "potential_vorticity_of_ocean_layer"
KINETIC = "specific_kinetic_energy_of_sea_water"
#: Common attributes of rows of one kind.
POSITIVE: dict[str, Any] = {"least": 0.0, "above": True, "dimension": (0, 1, 0, 0)}
ELEVATION: dict[str, Any] = {"dimension": (0, 1, 0, 0), "signed": True}
VELOCITY: dict[str, Any] = {"control": "field", "dimension": (1, 0, -1, 0), "signed": True, "small": 1e-3}
VORTICITY: dict[str, Any] = {"dimension": (0, 0, -1, 0), "signed": True}
PER_THICKNESS: dict[str, Any] = {"dimension": (0, -1, -1, 0)}
SPEED: dict[str, Any] = {"least": 0.0, "dimension": (1, 0, -1, 0)}
ENERGY: dict[str, Any] = {"least": 0.0, "dimension": (2, 0, -2, 0)}
STRAIN: dict[str, Any] = {"dimension": (0, 0, -2, 0), "signed": True}
FLAG: dict[str, Any] = {"least": 0.0, "dimension": (0, 0, 0, 0), "flags": "dry wet"}
TRANSPORT: dict[str, Any] = {"dimension": (1, 1, -1, 0), "signed": True}
POTENTIAL: dict[str, Any] = {"dimension": (2, 0, -1, 0), "signed": True, "laplacian": True}


def bernoulli_kinetic_energy(u: Patch, v: Patch, grid) -> Patch:
    """K = ((u²)^x + (v²)^y) / 2 at centres, m2 s-2, means by area; u and v are zero on closed faces."""
    half = 0.5 * grid.rarea.centre
    return folded(half, mx_c, grid.area.u, u * u) + folded(half, my_c, grid.area.v, v * v)


def relative_vorticity(u: Patch, v: Patch, grid) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1; s holds the boundary condition (0 free slip, 2 no slip)."""
    return grid.slip * curl(u, v, grid)


def corner_thickness(h: Patch, grid) -> Patch:
    """Mean of h over the wet cells around a corner, m (1 m if no cell is wet)."""
    return grid.share * my_f(mx_f(grid.wet * h)) + grid.dry


def potential_vorticity(h: Patch, u: Patch, v: Patch, grid) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return (grid.f + relative_vorticity(u, v, grid)) / corner_thickness(h, grid)


def elevation(h, grid):
    """eta = h - H at centres, m: sea level, or with reduced gravity the displacement of the interface."""
    return h - grid.depth


def sea_level(h, grid, physics):
    """eta, m; with reduced gravity eta g'/g: in the resting deep layer, sea level balances the interface."""
    eta = h - grid.depth
    return (physics.gravity / physics.full_gravity) * eta if physics.reduced_gravity else eta


def wet(h, grid, film):
    """1 at centres where the water is thicker than `film`, else 0."""
    return where(h > film, grid.wet, 0.0)


def vorticity(u, v, grid):
    """zeta = s (d_x v - d_y u) at corners, s-1."""
    return relative_vorticity(grid.open_u * u, grid.open_v * v, grid)


def layer_vorticity(h, u, v, grid):
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return potential_vorticity(h, grid.open_u * u, grid.open_v * v, grid)


def square(a: Patch) -> Patch:
    """a², rounded: otherwise compilers fuse one of two products with their sum, which depends on the layout."""
    return np.maximum(a * a, 0.0)


def squared_speed(u, v, grid):
    """(u²)^x + (v²)^y at centres, m2 s-2, means by area."""
    faces = (grid.area.u, grid.open_u * u), (grid.area.v, grid.open_v * v)
    through_x, through_y = (np.maximum(area * velocity * velocity, 0.0) for area, velocity in faces)
    return grid.rarea.centre * (mx_c(through_x) + my_c(through_y))


def speed(u, v, grid):
    """sqrt((u²)^x + (v²)^y) at centres, m s-1."""
    return np.sqrt(squared_speed(u, v, grid))


def kinetic_energy(u, v, grid):
    """((u²)^x + (v²)^y) / 2 at centres, m2 s-2."""
    return 0.5 * squared_speed(u, v, grid)


def tension(u: Patch, v: Patch, grid) -> Patch:
    """D = d_x u - d_y v at centres, s-1. Where lengths vary, d_x u is dy/dx times the difference of u/dy."""
    dx, dy, rdx, rdy = grid.dx, grid.dy, grid.rdx, grid.rdy
    stretch_x = folded(dy.centre * rdx.centre, dx_c, rdy.u, u)
    stretch_y = folded(dx.centre * rdy.centre, dy_c, rdx.v, v)
    return stretch_x - stretch_y


def shear(u: Patch, v: Patch, grid) -> Patch:
    """S = s (d_x v + d_y u) at corners, s-1, with the boundary condition s of zeta."""
    dx, dy, rdx, rdy = grid.dx, grid.dy, grid.rdx, grid.rdy
    shear_x = folded(dy.corner * rdx.corner, dx_f, rdy.v, v)
    shear_y = folded(dx.corner * rdy.corner, dy_f, rdx.u, u)
    return grid.slip * (shear_x + shear_y)


def okubo_weiss(u, v, grid):
    """W = D² + (S² - zeta²)^xy at centres, s-2: negative in eddies, positive in the strain between them.

    Reference: Okubo (1970); Weiss (1991), doi:10.1016/0167-2789(91)90088-Q.
    """
    u, v = grid.open_u * u, grid.open_v * v
    turning = square(shear(u, v, grid)) - square(relative_vorticity(u, v, grid))
    return square(tension(u, v, grid)) + mx_c(my_c(turning))


def transport_x(h, u, grid, face_thickness):
    """h u on u faces, m2 s-1."""
    return face_thickness(h)[0] * (grid.open_u * u)


def transport_y(h, v, grid, face_thickness):
    """h v on v faces, m2 s-1."""
    return face_thickness(h)[1] * (grid.open_v * v)


def rotation(u, v, grid):
    """d_x v - d_y u at corners, s-1, without the boundary condition on walls."""
    return curl(grid.open_u * u, grid.open_v * v, grid)


def outflow(u, v, grid):
    """d_x u + d_y v at centres, s-1."""
    return divergence(grid.dy.u * (grid.open_u * u), grid.dx.v * (grid.open_v * v), grid)


DERIVED = table(
    Variable("h", "centre", "m", "cell_thickness", "thickness of the layer", **POSITIVE, derived=lambda h: h),
    Variable("eta", "centre", "m", SEA_LEVEL, "sea level", **ELEVATION, control="field", small=1e-3, derived=elevation),
    Variable("u", "u", "m s-1", "sea_water_x_velocity", "velocity in x", **VELOCITY, derived=lambda u: u),
    Variable("v", "v", "m s-1", "sea_water_y_velocity", "velocity in y", **VELOCITY, derived=lambda v: v),
    Variable("sea_level", "centre", "m", SEA_LEVEL, "sea level", **ELEVATION, derived=sea_level),
    Variable("wet", "centre", "1", "sea_binary_mask", "presence of water", **FLAG, derived=wet),
    Variable("zeta", "corner", "s-1", "ocean_relative_vorticity", "relative vorticity", **VORTICITY, derived=vorticity),
    Variable("q", "corner", "m-1 s-1", PV, "potential vorticity", **PER_THICKNESS, derived=layer_vorticity),
    Variable("speed", "centre", "m s-1", "sea_water_speed", "speed of the current", **SPEED, derived=speed),
    Variable(
        "kinetic_energy", "centre", "m2 s-2", KINETIC, "kinetic energy per mass", **ENERGY, derived=kinetic_energy
    ),
    Variable("okubo_weiss", "centre", "s-2", "", "Okubo-Weiss parameter", **STRAIN, derived=okubo_weiss),
    Variable("transport_x", "u", "m2 s-1", "", "transport in x per width", **TRANSPORT, derived=transport_x),
    Variable("transport_y", "v", "m2 s-1", "", "transport in y per width", **TRANSPORT, derived=transport_y),
    Variable("streamfunction", "corner", "m2 s-1", "", "stream function of the current", **POTENTIAL, derived=rotation),
    Variable(
        "velocity_potential", "centre", "m2 s-1", "", "velocity potential of the current", **POTENTIAL, derived=outflow
    ),
)

#: The quantities that solve Poisson's equation, in seas without land.
POTENTIALS = tuple(name for name, row in DERIVED.items() if row.laplacian)
