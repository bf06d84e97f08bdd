"""Friction: harmonic and biharmonic along the layer, and the speed that quadratic bottom drag needs."""

from __future__ import annotations

import jax.numpy as jnp

from .operators import Patch, dx_c, dx_f, dy_c, dy_f, mx_c, mx_f, my_c, my_f


def laplacian_u(u: Patch, grid) -> Patch:
    """L(u) = d_x d_x u + d_y (s d_y u) on open u faces, m-1 s-1; s weights the tangential stress at the boundary."""
    stress_xx = dx_c(u) * grid.rdx
    stress_xy = grid.slip * (dy_f(u) * grid.rdy)
    return grid.open_u * (dx_f(stress_xx) * grid.rdx + dy_c(stress_xy) * grid.rdy)


def laplacian_v(v: Patch, grid) -> Patch:
    """L(v) = d_x (s d_x v) + d_y d_y v on open v faces, m-1 s-1."""
    stress_yx = grid.slip * (dx_f(v) * grid.rdx)
    stress_yy = dy_c(v) * grid.rdy
    return grid.open_v * (dx_c(stress_yx) * grid.rdx + dy_f(stress_yy) * grid.rdy)


def biharmonic(laplacian, velocity: Patch) -> Patch:
    """L(L(velocity)), with the same boundary conditions both times, m-3 s-1."""
    return laplacian(laplacian(velocity))


def drag_speed_u(u: Patch, v: Patch) -> Patch:
    """|u| = sqrt(u² + ((v^x)^y)²) on u faces, m s-1."""
    across = my_c(mx_f(v))
    return (u * u + across * across).map(root)


def drag_speed_v(u: Patch, v: Patch) -> Patch:
    """|u| = sqrt(v² + ((u^x)^y)²) on v faces, m s-1."""
    across = my_f(mx_c(u))
    return (v * v + across * across).map(root)


def root(square):
    """Square root whose derivative at zero is zero rather than infinite."""
    at_rest = square == 0
    return jnp.where(at_rest, 0, jnp.sqrt(jnp.where(at_rest, 1, square)))
