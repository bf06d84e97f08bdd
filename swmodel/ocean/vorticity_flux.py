"""The flux of potential vorticity, (q V) on u faces and (q U) on v faces, in five discretisations.

Each function takes q at corners and the Flow with the transports U, V through faces (m3 s-1). It returns QV on u faces
and QU on v faces (m2 s-2), for du/dt = + QV / dx and dv/dt = - QU / dy. In formulas ^x and ^y are means in x and y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import weno
from .derived import bernoulli_kinetic_energy
from .flow import Flow
from .operators import mx_c, mx_f, my_c, my_f
from .patch import Patch, east, north, south, west

if TYPE_CHECKING:
    from .scheme import Scheme


def energy(q: Patch, flow: Flow) -> tuple[Patch, Patch]:
    """(q V^x)^y and (q U^y)^x: conserves energy. Reference: Sadourny (1975)."""
    return my_c(q * mx_f(flow.V)), mx_c(q * my_f(flow.U))


def enstrophy(q: Patch, flow: Flow) -> tuple[Patch, Patch]:
    """q^y (V^x)^y and q^x (U^y)^x: conserves potential enstrophy. Reference: Sadourny (1975)."""
    return my_c(q) * my_c(mx_f(flow.V)), mx_c(q) * mx_c(my_f(flow.U))


def arakawa_lamb(q: Patch, flow: Flow) -> tuple[Patch, Patch]:
    """Conserves energy and potential enstrophy. Reference: Arakawa and Lamb (1981), eqs 3.33 and 3.34."""
    U, V = flow.U, flow.V
    q_e, q_w, q_s = east(q), west(q), south(q)
    q_se, q_sw = south(q_e), south(q_w)
    alpha = (2 * q_e + q + 2 * q_s + q_se) / 24
    beta = (q + 2 * q_w + q_sw + 2 * q_s) / 24
    gamma = (2 * q + q_w + 2 * q_sw + q_s) / 24
    delta = (q_e + 2 * q + q_s + 2 * q_se) / 24
    eps = (q + q_w - q_sw - q_s) / 24
    phi = (q_w - q + q_sw - q_s) / 24
    QV = alpha * east(V) + beta * V + gamma * south(V) + delta * south(east(V)) - east(eps) * east(U) + eps * west(U)
    QU = north(gamma * U) + north(west(delta * U)) + west(alpha * U) + beta * U + north(phi) * north(V) - phi * south(V)
    return QV, QU


VORTICITY_FLUXES = {"energy": energy, "enstrophy": enstrophy, "arakawa_lamb": arakawa_lamb, **weno.FLUXES}


def kinetic_energy(u: Patch, v: Patch, grid, scheme: Scheme) -> Patch:
    """K at centres, m2 s-2: upwind if the vorticity flux is upwind."""
    return (weno.kinetic_energy if scheme.vorticity_flux in weno.FLUXES else bernoulli_kinetic_energy)(u, v, grid)
