"""Derived quantities: Variables with the function that computes each of them from the state.

A run can write, average and plot each of them. The parameters of a function name its inputs:

    h, u, v         Patches of the padded state, m and m s-1
    grid            Grid of Patches
    physics         the section [physics] of the configuration
    wet_thickness   thickness above which a cell counts as wet, m; None without drying

In formulas ^x and ^y are means in x and y, H is the resting depth and h_q the thickness at corners.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .operators import apply_weighted, curl, divergence, dx_c, dx_f, dy_c, dy_f, maximum, mx_c, mx_f, my_c, my_f, where
from .patch import Patch
from .variable import Variable, variables_by_name

#: Long standard names of CF.
SEA_LEVEL, POTENTIAL_VORTICITY = "sea_surface_height_above_geoid", "potential_vorticity_of_ocean_layer"
KINETIC_ENERGY = "specific_kinetic_energy_of_sea_water"
#: Attributes that Variables of one kind share.
THICKNESS: dict[str, Any] = {"min_value": 0.0, "is_min_exclusive": True, "dimension": (0, 1, 0, 0)}
ELEVATION: dict[str, Any] = {"dimension": (0, 1, 0, 0), "is_signed": True}
VELOCITY: dict[str, Any] = {"control": "field", "dimension": (1, 0, -1, 0), "is_signed": True, "small_change": 1e-3}
VORTICITY: dict[str, Any] = {"dimension": (0, 0, -1, 0), "is_signed": True}
PER_THICKNESS: dict[str, Any] = {"dimension": (0, -1, -1, 0)}
SPEED: dict[str, Any] = {"min_value": 0.0, "dimension": (1, 0, -1, 0)}
ENERGY: dict[str, Any] = {"min_value": 0.0, "dimension": (2, 0, -2, 0)}
SQUARED_STRAIN: dict[str, Any] = {"dimension": (0, 0, -2, 0), "is_signed": True}
FLAG: dict[str, Any] = {"min_value": 0.0, "dimension": (0, 0, 0, 0), "flag_meanings": "dry wet"}
TRANSPORT: dict[str, Any] = {"dimension": (1, 1, -1, 0), "is_signed": True}
POTENTIAL: dict[str, Any] = {"dimension": (2, 0, -1, 0), "is_signed": True, "is_potential": True}


def bernoulli_kinetic_energy(u: Patch, v: Patch, grid) -> Patch:
    """K = ((u²)^x + (v²)^y) / 2 at centres, m2 s-2, with means weighted by area; u and v must be 0 on closed faces."""
    half = 0.5 * grid.rarea.centre
    return apply_weighted(half, mx_c, grid.area.u, u * u) + apply_weighted(half, my_c, grid.area.v, v * v)


def relative_vorticity(u: Patch, v: Patch, grid) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1, where s is `grid.slip`: at boundaries 0 (free slip) or 2 (no slip)."""
    return grid.slip * curl(u, v, grid)


def corner_thickness(h: Patch, grid) -> Patch:
    """Mean of h over the wet cells around a corner, m (1 m if no cell is wet)."""
    return grid.corner_weight * my_f(mx_f(grid.wet * h)) + grid.dry_corner


def potential_vorticity(h: Patch, u: Patch, v: Patch, grid) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return (grid.f + relative_vorticity(u, v, grid)) / corner_thickness(h, grid)


def elevation(h, grid):
    """eta = h - H at centres, m: sea level, or with reduced gravity the displacement of the interface."""
    return h - grid.depth


def sea_level(h, grid, physics):
    """eta, m; with reduced gravity eta g'/g, the level that balances the interface, so that the deep layer rests."""
    eta = h - grid.depth
    return (physics.gravity / physics.full_gravity) * eta if physics.reduced_gravity else eta


def wet(h, grid, wet_thickness):
    """1 at centres where the water is thicker than `wet_thickness`, else 0."""
    return where(h > wet_thickness, grid.wet, 0.0)


def vorticity(u, v, grid):
    """zeta = s (d_x v - d_y u) at corners, s-1."""
    return relative_vorticity(grid.open_u * u, grid.open_v * v, grid)


def layer_vorticity(h, u, v, grid):
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return potential_vorticity(h, grid.open_u * u, grid.open_v * v, grid)


def square(a: Patch) -> Patch:
    """a², rounded by itself: the maximum keeps compilers from fusing product and sum on some layouts only."""
    return maximum(a * a, 0.0)


def squared_speed(u, v, grid):
    """(u²)^x + (v²)^y at centres, m2 s-2, with means weighted by area."""
    faces = (grid.area.u, grid.open_u * u), (grid.area.v, grid.open_v * v)
    weighted_u2, weighted_v2 = (maximum(area * velocity * velocity, 0.0) for area, velocity in faces)
    return grid.rarea.centre * (mx_c(weighted_u2) + my_c(weighted_v2))


def speed(u, v, grid):
    """sqrt((u²)^x + (v²)^y) at centres, m s-1."""
    return np.sqrt(squared_speed(u, v, grid))


def kinetic_energy(u, v, grid):
    """((u²)^x + (v²)^y) / 2 at centres, m2 s-2."""
    return 0.5 * squared_speed(u, v, grid)


def tension(u: Patch, v: Patch, grid) -> Patch:
    """D = d_x u - d_y v at centres, s-1. Where lengths vary, d_x u is dy/dx times the difference of u/dy."""
    dx, dy, rdx, rdy = grid.dx, grid.dy, grid.rdx, grid.rdy
    stretch_x = apply_weighted(dy.centre * rdx.centre, dx_c, rdy.u, u)
    stretch_y = apply_weighted(dx.centre * rdy.centre, dy_c, rdx.v, v)
    return stretch_x - stretch_y


def shear(u: Patch, v: Patch, grid) -> Patch:
    """S = s (d_x v + d_y u) at corners, s-1, with the boundary condition s of zeta."""
    dx, dy, rdx, rdy = grid.dx, grid.dy, grid.rdx, grid.rdy
    shear_x = apply_weighted(dy.corner * rdx.corner, dx_f, rdy.v, v)
    shear_y = apply_weighted(dx.corner * rdy.corner, dy_f, rdx.u, u)
    return grid.slip * (shear_x + shear_y)


def okubo_weiss(u, v, grid):
    """W = D² + (S² - zeta²)^xy at centres, s-2: negative in eddies, positive in the strain between them.

    Reference: Okubo (1970); Weiss (1991), doi:10.1016/0167-2789(91)90088-Q.
    """
    u, v = grid.open_u * u, grid.open_v * v
    shear_minus_vorticity = square(shear(u, v, grid)) - square(relative_vorticity(u, v, grid))
    return square(tension(u, v, grid)) + mx_c(my_c(shear_minus_vorticity))


def transport_x(h, u, grid):
    """h u on u faces, m2 s-1."""
    return mx_f(h) * (grid.open_u * u)


def transport_y(h, v, grid):
    """h v on v faces, m2 s-1."""
    return my_f(h) * (grid.open_v * v)


def streamfunction_laplacian(u, v, grid):
    """d_x v - d_y u at corners, s-1, without the boundary condition on walls."""
    return curl(grid.open_u * u, grid.open_v * v, grid)


def potential_laplacian(u, v, grid):
    """d_x u + d_y v at centres, s-1."""
    return divergence(grid.dy.u * (grid.open_u * u), grid.dx.v * (grid.open_v * v), grid)


DERIVED = variables_by_name(
    Variable("h", "centre", "m", "cell_thickness", "thickness of the layer", **THICKNESS, formula=lambda h: h),
    Variable(
        "eta", "centre", "m", SEA_LEVEL, "sea level", **ELEVATION, control="field", small_change=1e-3, formula=elevation
    ),
    Variable("u", "u", "m s-1", "sea_water_x_velocity", "velocity in x", **VELOCITY, formula=lambda u: u),
    Variable("v", "v", "m s-1", "sea_water_y_velocity", "velocity in y", **VELOCITY, formula=lambda v: v),
    Variable("sea_level", "centre", "m", SEA_LEVEL, "sea level", **ELEVATION, formula=sea_level),
    Variable("wet", "centre", "1", "sea_binary_mask", "presence of water", **FLAG, formula=wet),
    Variable("zeta", "corner", "s-1", "ocean_relative_vorticity", "relative vorticity", **VORTICITY, formula=vorticity),
    Variable(
        "q", "corner", "m-1 s-1", POTENTIAL_VORTICITY, "potential vorticity", **PER_THICKNESS, formula=layer_vorticity
    ),
    Variable("speed", "centre", "m s-1", "sea_water_speed", "speed of the current", **SPEED, formula=speed),
    Variable(
        "kinetic_energy",
        "centre",
        "m2 s-2",
        KINETIC_ENERGY,
        "kinetic energy per mass",
        **ENERGY,
        formula=kinetic_energy,
    ),
    Variable("okubo_weiss", "centre", "s-2", "", "Okubo-Weiss parameter", **SQUARED_STRAIN, formula=okubo_weiss),
    Variable("transport_x", "u", "m2 s-1", "", "transport in x per width", **TRANSPORT, formula=transport_x),
    Variable("transport_y", "v", "m2 s-1", "", "transport in y per width", **TRANSPORT, formula=transport_y),
    Variable(
        "streamfunction",
        "corner",
        "m2 s-1",
        "",
        "stream function of the current",
        **POTENTIAL,
        formula=streamfunction_laplacian,
    ),
    Variable(
        "velocity_potential",
        "centre",
        "m2 s-1",
        "",
        "velocity potential of the current",
        **POTENTIAL,
        formula=potential_laplacian,
    ),
)

#: The quantities that are solutions of Poisson's equation; they need a plane without land and open boundaries.
POTENTIALS = tuple(name for name, row in DERIVED.items() if row.is_potential)
