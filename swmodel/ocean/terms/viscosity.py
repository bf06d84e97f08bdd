"""Harmonic friction along the layer: du/dt = div(nu grad u)."""

from ..operators import diffusion_u, diffusion_v
from ..variable import coefficient
from .term import Term

NU = coefficient("viscosity", "m2 s-1", "harmonic viscosity", "number", (2, 0, -1, 0))


def tendency(flow, params, now):
    """du/dt = d_x (nu d_x u) + d_y (nu s d_y u), and so for v: momentum passes through faces, and energy is lost."""
    nu = params["viscosity"]
    return {"u": diffusion_u(flow.u, nu, flow.grid), "v": diffusion_v(flow.v, nu, flow.grid)}


def rate(values, dx, dy):
    """4 nu (1/dx² + 1/dy²)."""
    return 4 * values["viscosity"] * (1 / dx**2 + 1 / dy**2)


VISCOSITY = Term("viscosity", tendency, (NU,), rate=rate, process="friction")
