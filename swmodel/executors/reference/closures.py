"""Closures: each function of the Tendency T returns a function that adds the term to F; see docs/numerics.md.

Fields are arrays [R, C] on the domain. Energy lost at a face or corner is divided among the adjacent cells.
"""

from __future__ import annotations

import numpy as np

from .friction import biharmonic, harmonic, open_laplacian
from .neighbours import FACE_MEANS, c, wrap
from .tracer import add_convergence, advective_fluxes


def moved(a, rows, columns):
    """The values `rows` rows further north and `columns` columns further east on the domain."""
    return np.roll(a, (-rows, -columns), (0, 1))


def corner_mean(q):
    """The mean of the four corners of each cell."""
    return (q + moved(q, 0, -1) + moved(q, -1, 0) + moved(q, -1, -1)) / 4


class CurrentGradients:
    """Gradients of a current, and the lengths and areas of cells.

    Attributes:
        dx, dx_edge, dy: lengths of a cell in x, in the middle of its row and along its northern edge, and in y, m.
        area, corner_area: areas of cells, and of the cells around corners, m2.
        slip: factor of the stress at corners.
        interior: 1 at corners that are not boundary corners, else 0.
        filter_width_squared: Delta², m2.
        wet: 1 on water; n_wet: wet cells around a corner, at least 1.
    """

    def __init__(self, T):
        domain, sizes = T.domain, T.sizes
        self.T, self.domain, self.dx, self.dy = T, domain, 1 / sizes.inverse_dx, 1 / sizes.inverse_dy
        self.dx_edge = self.dx if sizes.cos_v is None else self.dx / sizes.cos_c[1:-1] * sizes.cos_v[1:-1]
        self.area, self.corner_area = self.dy / sizes.outflow_x, self.dy / sizes.circulation_x
        slip, interior = np.ones((2, *domain.shape), domain.dtype)
        slip.reshape(-1)[domain.boundary_corners] = T.slip
        interior.reshape(-1)[domain.boundary_corners] = 0
        self.slip, self.interior, self.wet = c(slip), c(interior), domain.is_open(domain.dtype)[0]
        self.n_wet = np.maximum(self.wet + moved(self.wet, 0, 1) + moved(self.wet, 1, 0) + moved(self.wet, 1, 1), 1)
        self.filter_width_squared = 2 * (self.dx * self.dy) ** 2 / (self.dx**2 + self.dy**2)

    def tension(self, u, v):
        """d_x u - d_y v at centres."""
        ratio = v / self.dx_edge
        return (u - moved(u, 0, -1)) / self.dx - self.dx * (ratio - moved(ratio, -1, 0)) / self.dy

    def shear(self, u, v):
        """d_x v + d_y u at corners, with the boundary condition."""
        ratio = u / self.dx
        slope = self.dx_edge * (moved(ratio, 1, 0) - ratio) / self.dy
        return self.slip * ((moved(v, 0, 1) - v) / self.dx_edge + slope)

    def vorticity(self, u, v):
        """The circulation around corners divided by their area, with the boundary condition."""
        circulation_x = u * self.dx
        circulation = self.dy * (moved(v, 0, 1) - v) + circulation_x - moved(circulation_x, 1, 0)
        return self.slip * circulation / self.corner_area

    def strain(self, x):
        """|D| = sqrt(tension² + shear²) at centres, s-1."""
        u, v = c(x[1:3])
        return np.hypot(self.tension(u, v), np.sqrt(corner_mean(self.shear(u, v) ** 2)))

    def curl_gradient(self, x):
        """The square of the gradient of vorticity at centres, and the Laplacian of vorticity at corners."""
        zeta = self.vorticity(*c(x[1:3]))
        on_v, on_u = (zeta - moved(zeta, 0, -1)) / self.dx_edge, (zeta - moved(zeta, -1, 0)) / self.dy
        square = (on_v**2 + moved(on_v, -1, 0) ** 2 + on_u**2 + moved(on_u, 0, -1) ** 2) / 2
        flux = self.dx * on_u
        outflow = self.dy * (moved(on_v, 0, 1) - on_v) + moved(flux, 1, 0) - flux
        return square, self.interior * outflow / self.corner_area

    def harmonic_loss(self, a, b):
        """G of docs/numerics.md: the rate per area at which a viscosity of one reduces a b / 2 in each cell.

        a and b are pairs of fields on u and v faces.
        """
        (a_u, a_v), (b_u, b_v), dx, dy, edge = a, b, self.dx, self.dy, self.dx_edge
        loss = dy / dx * (a_u - moved(a_u, 0, -1)) * (b_u - moved(b_u, 0, -1))
        loss = loss + dx / dy * (a_v - moved(a_v, -1, 0)) * (b_v - moved(b_v, -1, 0))
        corner = edge / dy * (moved(a_u, 1, 0) - a_u) * (moved(b_u, 1, 0) - b_u)
        corner = corner + dy / edge * (moved(a_v, 0, 1) - a_v) * (moved(b_v, 0, 1) - b_v)
        per_wet_cell = self.slip * corner / self.n_wet
        loss = loss + self.wet * sum(moved(per_wet_cell, j, i) for j in (0, -1) for i in (0, -1))
        return loss / self.area

    def biharmonic_loss(self, a, b):
        """D4: as `harmonic_loss` for a biharmonic viscosity of one; a and b are the Laplacians of the two fields."""
        on_u, on_v = self.dx * self.dy * a[0] * b[0], self.dx_edge * self.dy * a[1] * b[1]
        return (on_u + moved(on_u, 0, -1) + on_v + moved(on_v, -1, 0)) / (2 * self.area)

    def at_centres_and_corners(self, nu):
        return nu, self.domain.to_corners(nu)

    def at_faces(self, nu4):
        return self.domain.to_u(nu4), self.domain.to_v(nu4)


def smagorinsky(T):
    """nu = (C Delta)² |D|."""
    grad, C = CurrentGradients(T), T.domain.field("smagorinsky")
    return harmonic(T, lambda x: grad.at_centres_and_corners(C**2 * grad.filter_width_squared * grad.strain(x)))


def biharmonic_smagorinsky(T):
    """nu4 = C Delta⁴ |D|."""
    grad, C = CurrentGradients(T), T.domain.field("biharmonic_smagorinsky")
    return biharmonic(T, lambda x: grad.at_faces(C * grad.filter_width_squared**2 * grad.strain(x)))


def leith(T):
    """nu = (C Delta / pi)³ |grad zeta|."""
    grad, C = CurrentGradients(T), T.domain.field("leith")
    factor = (C * np.sqrt(grad.filter_width_squared) / np.pi) ** 3
    return harmonic(T, lambda x: grad.at_centres_and_corners(factor * np.sqrt(grad.curl_gradient(x)[0])))


def leith_e(T):
    """nu4 = C (Delta/pi)⁶ sqrt(max(0, (lap zeta)² - m |grad zeta|²)), nu = - m nu4, m = min(D4/G, 4/Delta²)."""
    grad, C = CurrentGradients(T), T.domain.field("leith_e")

    def coefficients(x):
        L, currents = c(open_laplacian(T, x[1:3])), c(x[1:3])
        dissipation, backscatter = grad.biharmonic_loss(L, L), grad.harmonic_loss(currents, currents)
        with np.errstate(divide="ignore", invalid="ignore"):
            m = np.where(dissipation > 0, np.minimum(dissipation / backscatter, 4 / grad.filter_width_squared), 0)
        square, laplacian = grad.curl_gradient(x)
        root = np.sqrt(np.clip(corner_mean(laplacian**2) - m * square, 0, None))
        return C * grad.filter_width_squared**3 / np.pi**6 * root, m

    biharmonic_term = biharmonic(T, lambda x: grad.at_faces(coefficients(x)[0]))
    backscatter_term = harmonic(T, lambda x: grad.at_centres_and_corners(np.prod(coefficients(x), axis=0)), sign=-1)

    def add(x, F):
        biharmonic_term(x, F)
        backscatter_term(x, F)

    return add


def zanna_bolton(T):
    """du/dt = div(h tau) / h, tau = - gamma A [[E - zeta S, zeta D], [zeta D, E + zeta S]].

    gamma is the coefficient, A the area of a cell, S the shear, D the tension and E = (zeta² + S² + D²) / 2. The parts
    of tau are smoothed.
    """
    grad, gamma = CurrentGradients(T), T.domain.field("zanna_bolton") + np.zeros_like(T.work)

    def smoothed(a, mask):
        for _ in range(2):
            a = mask * a
            a = (moved(a, -1, 0) + 2 * a + moved(a, 1, 0)) / 4
            a = (moved(a, 0, -1) + 2 * a + moved(a, 0, 1)) / 4
        return a

    def add(x, F):
        u, v = c(x[1:3])
        zeta, S, D = grad.vorticity(u, v), grad.shear(u, v), grad.tension(u, v)
        squares = grad.area * (corner_mean(zeta) ** 2 + corner_mean(S) ** 2 + D**2) / 2
        product = corner_mean(grad.corner_area * zeta * S)
        xx, yy = (c(x[0]) * smoothed(-gamma * (squares + sign * product), grad.wet) for sign in (-1, 1))
        xy = zeta * (D + moved(D, 0, 1) + moved(D, 1, 0) + moved(D, 1, 1)) / 4
        xy = grad.interior * smoothed(-T.domain.to_corners(gamma) * grad.corner_area * xy, grad.interior)
        xy = xy * T.domain.to_corners(c(x[0]))
        normal_x, normal_y = xx * grad.dy**2, yy * grad.dx**2
        shear_x, shear_y = xy * grad.dx_edge**2, xy * grad.dy**2
        with np.errstate(divide="ignore", invalid="ignore"):
            force_u = (moved(normal_x, 0, 1) - normal_x) / grad.dy + (shear_x - moved(shear_x, -1, 0)) / grad.dx
            force_v = (moved(normal_y, 1, 0) - normal_y) / grad.dx_edge + (shear_y - moved(shear_y, 0, -1)) / grad.dy
            c(F[1])[...] += force_u / (grad.dx * grad.dy * FACE_MEANS[0](x[0], out=T.work))
            c(F[2])[...] += force_v / (grad.dx_edge * grad.dy * FACE_MEANS[1](x[0], out=T.work))

    return add


def backscatter(T):
    """nu = - c Delta sqrt(2 max(e, 0)), and dE/dt = - div(U e) + nu4 D4 - |nu| G, where E = h e."""
    grad, C, index = CurrentGradients(T), T.domain.field("backscatter"), T.domain.state._fields.index("subgrid_energy")
    e, flux_x, flux_y = np.zeros((3, *T.domain.shape), T.domain.dtype)
    constant_nu4, smagorinsky_constant = (
        T.domain.field(name) if name in T.domain.scheme.term_names else 0
        for name in ("biharmonic_viscosity", "biharmonic_smagorinsky")
    )

    def magnitude(x):
        """|nu| at centres, m2 s-1."""
        return C * np.sqrt(2 * grad.filter_width_squared * np.clip(c(e), 0, None))

    force = harmonic(T, lambda x: grad.at_centres_and_corners(magnitude(x)), sign=-1)

    def add(x, F):
        np.divide(x[index], x[0], out=e, where=x[0] != 0)
        force(x, F)
        currents, transports = c(x[1:3]), np.zeros_like(x[1:3])
        for k in (0, 1):
            c(transports[k])[...] = FACE_MEANS[k](x[0], out=T.work) * currents[k]
        wrap(transports)
        nu4 = constant_nu4 + smagorinsky_constant * grad.filter_width_squared**2 * grad.strain(x)
        loss = grad.biharmonic_loss(*(c(open_laplacian(T, each)) for each in (transports, x[1:3])))
        rate = c(F[index])
        rate += nu4 * loss - magnitude(x) * grad.harmonic_loss(c(transports), currents)
        advective_fluxes(T, e, flux_x, flux_y)
        add_convergence(T, flux_x, flux_y, rate)

    return add


TERMS = {
    "smagorinsky": smagorinsky,
    "biharmonic_smagorinsky": biharmonic_smagorinsky,
    "leith": leith,
    "leith_e": leith_e,
    "zanna_bolton": zanna_bolton,
    "backscatter": backscatter,
}
