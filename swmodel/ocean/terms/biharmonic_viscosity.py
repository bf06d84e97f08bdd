"""Biharmonic friction along the layer: du/dt = - div(grad(nu4 div(grad u)))."""

from ..operators import diffusion_u, diffusion_v, mx_f, my_f
from ..variable import coefficient
from .term import Term

NU4 = coefficient("biharmonic_viscosity", "m4 s-1", "biharmonic viscosity", "number", (4, 0, -1, 0))


def tendency(flow, params, now):
    """du/dt = - L(nu4^x L(u)), dv/dt = - L(nu4^y L(v)), with the same boundary conditions both times."""
    nu4, grid = params["biharmonic_viscosity"], flow.grid
    return {
        "u": -diffusion_u(mx_f(nu4) * diffusion_u(flow.u, 1.0, grid), 1.0, grid),
        "v": -diffusion_v(my_f(nu4) * diffusion_v(flow.v, 1.0, grid), 1.0, grid),
    }


def rate(values, dx, dy):
    """16 nu4 (1/dx² + 1/dy²)²."""
    return 16 * values["biharmonic_viscosity"] * (1 / dx**2 + 1 / dy**2) ** 2


BIHARMONIC_VISCOSITY = Term("biharmonic_viscosity", tendency, (NU4,), rate=rate, process="friction")
