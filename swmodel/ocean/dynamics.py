"""Tendencies of the vector-invariant shallow-water equations on a C-grid, one physical term per line.

Capital U, V are thickness fluxes, K the kinetic energy per mass, P the Bernoulli function, q the potential vorticity,
as in Sadourny (1975). docs/numerics.md has the discrete equations with their boundary conditions.
"""

from __future__ import annotations

from functools import partial

from .friction import biharmonic, drag_speed_u, drag_speed_v, laplacian_u, laplacian_v
from .grid import Params
from .operators import Patch, dx_c, dx_f, dy_c, dy_f, mx_c, mx_f, my_c, my_f
from .scheme import Scheme
from .state import State
from .vorticity_flux import VORTICITY_FLUXES


def kinetic_energy(u: Patch, v: Patch) -> Patch:
    """K = ((u²)^x + (v²)^y) / 2 at centres, m2 s-2."""
    return 0.5 * (mx_c(u * u) + my_c(v * v))


def relative_vorticity(u: Patch, v: Patch, grid) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1; s holds the boundary condition (0 free slip, 2 no slip)."""
    return grid.slip * (dx_f(v) * grid.rdx - dy_f(u) * grid.rdy)


def corner_thickness(h: Patch, grid) -> Patch:
    """Mean of h over the wet cells around a corner, m (1 m where there is none)."""
    return grid.share * my_f(mx_f(grid.wet * h)) + grid.dry


def potential_vorticity(h: Patch, u: Patch, v: Patch, grid) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return (grid.f + relative_vorticity(u, v, grid)) / corner_thickness(h, grid)


def tendency(padded: State, grid, params: Params, scheme: Scheme) -> State:
    """dh/dt, du/dt and dv/dt of a block from its state with `scheme.width` rows of neighbours on each side.

    Args:
        padded: State of Patches that cover the block and its halo.
        grid: Grid of Patches that cover at least as much (`Grid.patches`).
        params: Params of Patches.

    Returns:
        State of Patches that cover at least the block: m s-1, m s-2, m s-2.

    Reference: Sadourny (1975), Arakawa and Lamb (1981); docs/numerics.md.
    """
    h, u, v = padded.h, grid.open_u * padded.u, grid.open_v * padded.v
    hu, hv = mx_f(h), my_f(h)
    U, V = hu * u, hv * v
    P = params.gravity * (h - grid.depth) + kinetic_energy(u, v)
    q = potential_vorticity(h, u, v, grid)
    QV, QU = VORTICITY_FLUXES[scheme.vorticity_flux](q, U, V, grid)

    dh = -(dx_c(U) * grid.rdx + dy_c(V) * grid.rdy)
    du = QV - dx_f(P) * grid.rdx
    dv = -dy_f(P) * grid.rdy - QU
    if scheme.wind:
        du += mx_f(params.wind_x) / (params.density * hu)
        dv += my_f(params.wind_y) / (params.density * hv)
    if scheme.linear_drag:
        du -= mx_f(params.linear_drag) * u
        dv -= my_f(params.linear_drag) * v
    if scheme.quadratic_drag:
        du -= params.quadratic_drag * drag_speed_u(u, v) * u / hu
        dv -= params.quadratic_drag * drag_speed_v(u, v) * v / hv
    if scheme.viscosity:
        du += params.viscosity * laplacian_u(u, grid)
        dv += params.viscosity * laplacian_v(v, grid)
    if scheme.biharmonic_viscosity:
        du -= params.biharmonic_viscosity * biharmonic(partial(laplacian_u, grid=grid), u)
        dv -= params.biharmonic_viscosity * biharmonic(partial(laplacian_v, grid=grid), v)
    if scheme.sponge:
        dh -= grid.sponge_c * (h - grid.depth)
        du -= grid.sponge_u * u
        dv -= grid.sponge_v * v
    return State(h=grid.wet * dh, u=grid.open_u * du, v=grid.open_v * dv)
