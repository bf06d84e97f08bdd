"""Leith+E: biharmonic Leith friction, whose energy a negative harmonic viscosity returns to larger eddies.

    nu4 = C (Delta/pi)⁶ sqrt(max(0, (lap zeta)² - m |grad zeta|²)),   nu = - m nu4,   m = min(D4 / G, 4 / Delta²)

Here zeta is the relative vorticity; L, D and Delta are those of `friction`. In a cell the biharmonic friction takes the
energy nu4 D4, and the negative viscosity returns nu4 m G. Where m is below its bound, no energy is lost. C = Upsilon⁶,
where Upsilon is the ratio of the grid scale to that of dissipation.

MOM6 has m = (|grad zeta| / zeta)², which is D4 / G where the flow has no divergence, and returns energy approximately.
Here m follows from the discrete energies. MOM6 also smooths m, nu4 and the currents that nu acts on, unlike this term.

The formulas are those of the source of MOM6 (MOM_hor_visc, USE_LEITHY), where the scheme is attributed to Grooms.

Reference: Grooms (2023).
"""

from math import pi

from ..derived import relative_vorticity
from ..operators import dx_c, dx_f, dy_c, dy_f, maximum, mx_c, my_c, root, where
from ..variable import coefficient
from .friction import biharmonic, biharmonic_loss, harmonic, harmonic_loss, laplacian, one_cell_gradients, squared_width
from .leith import squared_gradient
from .term import Term

COEFFICIENT = coefficient("leith_e", "1", "coefficient of Leith+E, Upsilon⁶, usually 8", "number", (0, 0, 0, 0))


def viscosities(flow, params):
    """nu4, m4 s-1, and m, m-2, at centres."""
    grid, currents = flow.grid, (flow.u, flow.v)
    L, width, zeta = laplacian(*currents, 1.0, grid), squared_width(grid), relative_vorticity(*currents, grid)
    energy_taken, energy_returned = biharmonic_loss(L, L, grid), harmonic_loss(currents, currents, grid)
    divisor = maximum(energy_returned, 0.25 * width * energy_taken)
    m = energy_taken / where(divisor > 0, divisor, 1.0)
    circulation = dx_f(grid.dy.v * grid.rdx.v * dx_c(zeta)) + dy_f(grid.dx.u * grid.rdy.u * dy_c(zeta))
    curvature = grid.slip * (2 - grid.slip) * (grid.rarea.corner * circulation)  # at interior corners, where slip is 1
    net_enstrophy_loss = mx_c(my_c(curvature * curvature)) - m * squared_gradient(zeta, grid)
    return pi**-6 * params["leith_e"] * (width * width * width) * maximum(net_enstrophy_loss, 0.0).map(root), m


def tendency(flow, params, now):
    """du/dt = - L(nu4^x L(u)) - D(m nu4, u)."""
    nu4, m = viscosities(flow, params)
    rates = biharmonic(flow, nu4), harmonic(flow, m * nu4)
    return {name: rates[0][name] - rates[1][name] for name in "uv"}


def rate(values, dx, dy):
    """16 nu4 (1/dx² + 1/dy²)² with |lap zeta| = 4 (1/dx² + 1/dy²) |zeta|."""
    return 512 * pi**-6 * values["leith_e"] * one_cell_gradients(values, dx, dy)[1]


LEITH_E = Term("leith_e", tendency, (COEFFICIENT,), rate=rate, process="friction", is_smooth=False)
