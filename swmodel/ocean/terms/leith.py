"""Leith's viscosity, nu = (C/pi)³ Delta³ |grad zeta|: it dissipates the enstrophy of the smallest eddies.

Here zeta is the relative vorticity and Delta² `friction.squared_width`. The viscosity is zero in solid rotation and in
uniform shear. The form, with pi, is that of MITgcm; MOM6 does not cube C.

Reference: Leith (1996), doi:10.1016/0167-2789(96)00107-8; Fox-Kemper and Menemenlis (2008), doi:10.1029/177GM19.
"""

from math import pi

from ..derived import relative_vorticity
from ..operators import dx_c, dy_c, mx_c, my_c, root
from ..variable import coefficient
from .friction import harmonic, one_cell_gradients, squared_width
from .term import Term

COEFFICIENT = coefficient("leith", "1", "Leith's coefficient, usually 1 to 2", "number", (0, 0, 0, 0))


def squared_gradient(zeta, grid):
    """|grad zeta|² at centres, m-2 s-2, from zeta at corners: means of the squares on faces."""
    along_x, along_y = dx_c(zeta) * grid.rdx.v, dy_c(zeta) * grid.rdy.u
    return my_c(along_x * along_x) + mx_c(along_y * along_y)


def tendency(flow, params, now):
    C, grid = params["leith"], flow.grid
    width = squared_width(grid)
    gradient = squared_gradient(relative_vorticity(flow.u, flow.v, grid), grid)
    return harmonic(flow, pi**-3 * (C * C * C) * width * (width * gradient).map(root))


def rate(values, dx, dy):
    """4 nu (1/dx² + 1/dy²) with |grad zeta| = |zeta| sqrt(1/dx² + 1/dy²)."""
    return 8 * 2**0.5 * (values["leith"] / pi) ** 3 * one_cell_gradients(values, dx, dy)[1]


LEITH = Term("leith", tendency, (COEFFICIENT,), rate=rate, process="friction")
