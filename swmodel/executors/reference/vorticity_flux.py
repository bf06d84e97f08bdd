"""The fluxes of potential vorticity q: du/dt = QV and dv/dt = -QU, on a sphere with its metric (docs/numerics.md).

Each function adds QV to F[1] and subtracts QU from F[2], where F contains the rates of h, u, v, ... of a Tendency T,
padded [fields, R+2, C+2]. q is at corners; the transports U and V are on east and north faces; a^x is the mean of two
neighbours in x.
"""

from __future__ import annotations

import numpy as np

from . import weno
from .neighbours import c, e, mean, n, nw, s, se, sw, w, wrap


def add_energy_conserving(T, F):
    """QV = (q V^x)^y, QU = (q U^y)^x: conserves energy (Sadourny 1975)."""
    q, Vq = c(T.q), T.padded
    np.multiply(mean(c(T.V), e(T.V), out=T.work), q, out=c(Vq))
    wrap(Vq)
    Fu, Fv = c(F[1]), c(F[2])
    Fu += T.sizes.as_force_on_u(mean(c(Vq), s(Vq), out=T.work))
    Uq = T.padded
    np.multiply(mean(c(T.U), n(T.U), out=T.work), q, out=c(Uq))
    wrap(Uq)
    Fv -= mean(c(Uq), w(Uq), out=T.work)


def add_enstrophy_conserving(T, F):
    """QV = q^y (V^x)^y, QU = q^x (U^y)^x: conserves potential enstrophy (Sadourny 1975)."""
    q, U, V = T.q, T.U, T.V
    flux, q_sum = T.work, c(T.padded)

    def product(neighbours, q_of_other_corner):
        np.add(neighbours[0], neighbours[1], out=flux)
        np.add(flux, neighbours[2], out=flux)
        np.add(flux, neighbours[3], out=flux)
        np.multiply(flux, np.add(c(q), q_of_other_corner, out=q_sum), out=flux)
        return np.multiply(flux, 0.125, out=flux)  # 1/4 for the mean of the transports, 1/2 for that of q

    Fu, Fv = c(F[1]), c(F[2])
    Fu += T.sizes.as_force_on_u(product((c(V), e(V), s(V), se(V)), s(q)))
    Fv -= product((c(U), n(U), w(U), nw(U)), w(q))


def add_arakawa_lamb(T, F):
    """QV, QU of Arakawa and Lamb (1981, eqs 3.33 and 3.34), which conserve energy and potential enstrophy.

    The function divides T.q by 24 in place.
    """
    U, V, product = T.U, T.V, T.padded
    Fu, Fv = c(F[1]), c(F[2])
    T.q /= 24
    q, q_e, q_w, q_s, q_se, q_sw = (view(T.q) for view in (c, e, w, s, se, sw))
    for coefficient, of_V, of_U in (
        (2 * q_e + q + 2 * q_s + q_se, e, w),  # alpha
        (q + 2 * q_w + q_sw + 2 * q_s, c, c),  # beta
        (2 * q + q_w + 2 * q_sw + q_s, s, n),  # gamma
        (q_e + 2 * q + q_s + 2 * q_se, se, nw),  # delta
    ):
        np.multiply(coefficient, c(U), out=c(product))
        wrap(product)
        Fv -= of_U(product)
        coefficient *= of_V(V)
        Fu += T.sizes.as_force_on_u(coefficient)
    epsilon = phi = T.padded
    c(epsilon)[...] = (q + q_w - q_sw - q_s) * T.sizes.dy_over_dx
    wrap(epsilon)
    Fu += c(epsilon) * w(U) - e(epsilon) * e(U)
    c(phi)[...] = (q_w + q_sw - q - q_s) * T.sizes.dx_over_dy
    wrap(phi)
    Fv += c(phi) * s(V) - n(phi) * n(V)


#: {value of the option `scheme.vorticity_flux`: function that adds the flux to F}.
FLUXES = {
    "energy": add_energy_conserving,
    "enstrophy": add_enstrophy_conserving,
    "arakawa_lamb": add_arakawa_lamb,
    "weno5": weno.add_weno,
    "weno7": weno.add_weno,
}
