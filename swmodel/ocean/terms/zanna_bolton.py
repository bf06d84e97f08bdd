"""Zanna and Bolton's closure: a stress that takes energy from small eddies and gives energy to large ones.

    T_xx, T_yy = kappa (-+ zeta S + (zeta² + S² + D²)/2),   T_xy = kappa zeta D,   kappa = - gamma A

with the shear S = d_x v + d_y u, the tension D = d_x u - d_y v and the area A of a cell. du/dt = div(h T) / h, so the
momentum h u is conserved. Before it is smoothed, T does no work on a flow without divergence. T_xy is zero along
coasts. The form is the conservative one of MOM6. T is smoothed twice with the weights 1, 2, 1 in x and y, because
otherwise the shortest waves grow and drain the large eddies. (Perezhogin and others smooth four times, with a stencil
of six cells.) These waves still grow, so the model requires a viscosity, or WENO fluxes, to damp them.

Reference: Zanna and Bolton (2020), doi:10.1029/2020GL088376; Perezhogin and others (2024), doi:10.1029/2023MS004104.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import weno
from ..derived import corner_thickness, relative_vorticity, shear, tension
from ..operators import at_corners, dx_c, dx_f, dy_c, dy_f, mx_c, mx_f, my_c, my_f
from ..variable import coefficient
from .friction import one_cell_gradients
from .term import Term

if TYPE_CHECKING:
    from ..scheme import Scheme

GAMMA = coefficient("zanna_bolton", "1", "scale of Zanna and Bolton's stress, 0.5 to 2.5", "number", (0, 0, 0, 0))
SMOOTHING_PASSES = 2


def stress(flow, params):
    """T_xx and T_yy at centres, T_xy at corners, m2 s-2, before smoothing."""
    grid, gamma = flow.grid, params["zanna_bolton"]
    zeta, S, D = (each(flow.u, flow.v, grid) for each in (relative_vorticity, shear, tension))
    zeta_c, S_c = mx_c(my_c(zeta)), mx_c(my_c(S))
    isotropic = 0.5 * (grid.area.centre * (zeta_c * zeta_c + S_c * S_c + D * D))
    zeta_shear = mx_c(my_c(grid.area.corner * (zeta * S)))
    interior_factor = 2 - grid.slip  # times `slip`, a factor of zeta, this is 1 in the interior and 0 along coasts
    shear_stress = -(at_corners(gamma, grid) * (grid.area.corner * (interior_factor * zeta * mx_f(my_f(D)))))
    return -(gamma * (isotropic - zeta_shear)), -(gamma * (isotropic + zeta_shear)), shear_stress


def tendency(flow, params, now):
    """du/dt = (delta_x(dy² h T_xx) / dy + delta_y(dx² h T_xy) / dx) / (A h) with differences delta, dv/dt likewise."""
    (xx, yy, xy), grid, h = stress(flow, params), flow.grid, flow.h
    dx, dy, rdx, rdy = grid.dx, grid.dy, grid.rdx, grid.rdy
    for _ in range(SMOOTHING_PASSES):
        xx, yy = (mx_c(mx_f(my_c(my_f(grid.wet * each)))) for each in (xx, yy))
        xy = grid.slip * (2 - grid.slip) * mx_f(mx_c(my_f(my_c(xy))))
    xx, yy, xy = h * xx, h * yy, corner_thickness(h, grid) * xy
    force_u = rdy.u * dx_f(dy.centre * dy.centre * xx) + rdx.u * dy_c(dx.corner * dx.corner * xy)
    force_v = rdx.v * dy_f(dx.centre * dx.centre * yy) + rdy.v * dx_c(dy.corner * dy.corner * xy)
    return {"u": grid.rarea.u * force_u / flow.h_u, "v": grid.rarea.v * force_v / flow.h_v}


def rate(values, dx, dy):
    """2 gamma A |zeta| (1/dx² + 1/dy²)."""
    return 2 * values["zanna_bolton"] * (dx / dy + dy / dx) * one_cell_gradients(values, dx, dy)[1]


def unsupported_reason(scheme: Scheme):
    """Why the term cannot run with a Scheme: nothing damps the shortest waves. "" if it can."""
    damps = any(term.process == "friction" and term is not ZANNA_BOLTON for term in scheme.active_terms)
    if damps or scheme.vorticity_flux in weno.FLUXES:
        return ""
    remedy = "also set a viscosity, for example physics.biharmonic_smagorinsky=0.06"
    return f"physics.zanna_bolton: makes the shortest waves grow; {remedy}"


ZANNA_BOLTON = Term(
    "zanna_bolton", tendency, (GAMMA,), rate=rate, process="friction", unsupported_reason=unsupported_reason
)
