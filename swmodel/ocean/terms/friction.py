"""Friction along the layer: harmonic, du/dt = div(nu grad u), and biharmonic, - div(grad(nu4 div(grad u))).

Here nu and nu4 are coefficients; in the closures of this folder they are functions of the flow. L(u) is `laplacian`
with nu = 1, D(nu, u) harmonic friction, s `Grid.slip`, A the area of a cell or of the cell around a face,
nu4^x and nu4^y means of nu4 in x and y.
"""

from ..operators import diffusion_u, diffusion_v, dx_c, dx_f, dy_c, dy_f, mx_c, mx_f, my_c, my_f
from ..patch import Patch
from ..variable import coefficient
from .term import Term

NU = coefficient("viscosity", "m2 s-1", "harmonic viscosity", "number", (2, 0, -1, 0))
NU4 = coefficient("biharmonic_viscosity", "m4 s-1", "biharmonic viscosity", "number", (4, 0, -1, 0))


def laplacian(u, v, nu, grid) -> tuple[Patch, Patch]:
    """d_x (nu d_x u) + d_y (nu s d_y u) on open u faces, likewise for v, with nu at centres."""
    return diffusion_u(u, nu, grid), diffusion_v(v, nu, grid)


def harmonic(flow, nu) -> dict[str, Patch]:
    """du/dt = d_x (nu d_x u) + d_y (nu s d_y u), likewise for v: momentum passes through faces, and energy is lost."""
    return dict(zip("uv", laplacian(flow.u, flow.v, nu, flow.grid), strict=True))


def biharmonic(flow, nu4) -> dict[str, Patch]:
    """du/dt = - L(nu4^x L(u)), dv/dt = - L(nu4^y L(v)), with the same boundary conditions both times."""
    Lu, Lv = laplacian(flow.u, flow.v, 1.0, flow.grid)
    twice = laplacian(mx_f(nu4) * Lu, my_f(nu4) * Lv, 1.0, flow.grid)
    return {name: -rate for name, rate in zip("uv", twice, strict=True)}


def harmonic_loss(a, b, grid) -> Patch:
    """G(a, b) at centres such that - sum A (a_u D(nu, b_u) + a_v D(nu, b_v)) = sum A nu G for any nu at centres.

    a and b are pairs on u and v faces, zero on closed ones. With a = b = (u, v), nu G >= 0 is the loss of energy.
    """
    dx, dy, rdx, rdy = grid.dx, grid.dy, grid.rdx, grid.rdy
    (a_u, a_v), (b_u, b_v) = a, b
    along = dy.centre * rdx.centre * (dx_c(a_u) * dx_c(b_u)) + dx.centre * rdy.centre * (dy_c(a_v) * dy_c(b_v))
    across = dx.corner * rdy.corner * (dy_f(a_u) * dy_f(b_u)) + dy.corner * rdx.corner * (dx_f(a_v) * dx_f(b_v))
    return grid.rarea.centre * (along + grid.wet * mx_c(my_c(grid.corner_weight * (grid.slip * across))))


def biharmonic_loss(La, Lb, grid) -> Patch:
    """As `harmonic_loss` for biharmonic friction, from L(a) and L(b): the sum of A nu4 times this is the loss."""
    loss_u, loss_v = (area * p * q for area, p, q in zip((grid.area.u, grid.area.v), La, Lb, strict=True))
    return grid.rarea.centre * (mx_c(loss_u) + my_c(loss_v))


def squared_width(grid) -> Patch:
    """Delta² = 2 dx² dy² / (dx² + dy²) at centres, m2."""
    rdx, rdy = grid.rdx.centre, grid.rdy.centre
    return 2.0 / (rdx * rdx + rdy * rdy)


def one_cell_gradients(values, dx, dy):
    """|d_x u| + |d_y v| and |d_x v| + |d_y u|, s-1, of a current that drops to zero within one cell."""
    u, v = values["u"], values["v"]
    return u / dx + v / dy, v / dx + u / dy


VISCOSITY = Term(
    "viscosity",
    lambda flow, params, now: harmonic(flow, params["viscosity"]),
    (NU,),
    rate=lambda values, dx, dy: 4 * values["viscosity"] * (1 / dx**2 + 1 / dy**2),
    process="friction",
)
BIHARMONIC_VISCOSITY = Term(
    "biharmonic_viscosity",
    lambda flow, params, now: biharmonic(flow, params["biharmonic_viscosity"]),
    (NU4,),
    rate=lambda values, dx, dy: 16 * values["biharmonic_viscosity"] * (1 / dx**2 + 1 / dy**2) ** 2,
    process="friction",
)
