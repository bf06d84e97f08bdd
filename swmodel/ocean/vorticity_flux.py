"""The flux of potential vorticity, (q V) on u faces and (q U) on v faces, in three discretisations.

Each function takes q at corners and the transports U, V through their faces (m3 s-1). It returns QV on u faces and QU
on v faces (m2 s-2), for du/dt = + QV / dx and dv/dt = - QU / dy.
"""

from __future__ import annotations

from .operators import mx_c, mx_f, my_c, my_f
from .patch import Patch, east, north, south, west


def energy(q: Patch, U: Patch, V: Patch) -> tuple[Patch, Patch]:
    """(q V^x)^y and (q U^y)^x: conserves energy. Reference: Sadourny (1975)."""
    return my_c(q * mx_f(V)), mx_c(q * my_f(U))


def enstrophy(q: Patch, U: Patch, V: Patch) -> tuple[Patch, Patch]:
    """q^y (V^x)^y and q^x (U^y)^x: conserves potential enstrophy. Reference: Sadourny (1975)."""
    return my_c(q) * my_c(mx_f(V)), mx_c(q) * mx_c(my_f(U))


def arakawa_lamb(q: Patch, U: Patch, V: Patch) -> tuple[Patch, Patch]:
    """Conserves energy and potential enstrophy. Reference: Arakawa and Lamb (1981), eqs 3.33 and 3.34."""
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


VORTICITY_FLUXES = {"energy": energy, "enstrophy": enstrophy, "arakawa_lamb": arakawa_lamb}
