"""Friction along the layer: harmonic, du/dt = div(nu grad u), and biharmonic, - div(grad(nu4 div(grad u)))."""

from ..operators import diffusion_u, diffusion_v, mx_f, my_f
from ..variable import coefficient
from .term import Term

NU = coefficient("viscosity", "m2 s-1", "harmonic viscosity", "number", (2, 0, -1, 0))
NU4 = coefficient("biharmonic_viscosity", "m4 s-1", "biharmonic viscosity", "number", (4, 0, -1, 0))


def harmonic(flow, params, now):
    """du/dt = d_x (nu d_x u) + d_y (nu s d_y u), and so for v: momentum passes through faces, and energy is lost."""
    nu = params["viscosity"]
    return {"u": diffusion_u(flow.u, nu, flow.grid), "v": diffusion_v(flow.v, nu, flow.grid)}


def harmonic_rate(values, dx, dy):
    """4 nu (1/dx² + 1/dy²)."""
    return 4 * values["viscosity"] * (1 / dx**2 + 1 / dy**2)


def biharmonic(flow, params, now):
    """du/dt = - L(nu4^x L(u)), dv/dt = - L(nu4^y L(v)), with the same boundary conditions both times."""
    nu4, grid = params["biharmonic_viscosity"], flow.grid
    return {
        "u": -diffusion_u(mx_f(nu4) * diffusion_u(flow.u, 1.0, grid), 1.0, grid),
        "v": -diffusion_v(my_f(nu4) * diffusion_v(flow.v, 1.0, grid), 1.0, grid),
    }


def biharmonic_rate(values, dx, dy):
    """16 nu4 (1/dx² + 1/dy²)²."""
    return 16 * values["biharmonic_viscosity"] * (1 / dx**2 + 1 / dy**2) ** 2


VISCOSITY = Term("viscosity", harmonic, (NU,), rate=harmonic_rate, process="friction")
BIHARMONIC_VISCOSITY = Term("biharmonic_viscosity", biharmonic, (NU4,), rate=biharmonic_rate, process="friction")
