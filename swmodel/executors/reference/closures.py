"""Closures: functions of the Tendency T that return a function which adds the term to F; docs/numerics.md.

Fields are arrays [R, C] on the ring. Losses of energy are found at each face and corner, and shared among its cells.
"""

from __future__ import annotations

import numpy as np

from .friction import biharmonic, harmonic, open_laplacian
from .neighbours import c, wrap
from .tracer import carry, converge


def at(a, rows, columns):
    """The values so many rows north and columns east on the ring."""
    return np.roll(a, (-rows, -columns), (0, 1))


def around(q):
    """The mean of the four corners of each cell."""
    return (q + at(q, 0, -1) + at(q, -1, 0) + at(q, -1, -1)) / 4


class Gradients:
    """Lengths, areas and gradients of a current.

    Attributes:
        dx, edge, dy: lengths of a cell in x in the middle of its row and along the northern edge, and in y.
        area, corner_area: areas of cells, and around corners.
        slip: factor of the stress at corners.
        inside: 1 at interior corners, else 0.
        wet: 1 on water; count: wet cells around a corner, at least 1.
    """

    def __init__(self, T):
        ring, sizes = T.ring, T.sizes
        self.T, self.ring, self.dx, self.dy = T, ring, 1 / sizes.per_x, 1 / sizes.per_y
        self.edge = self.dx if sizes.cos_v is None else self.dx / sizes.cos_c[1:-1] * sizes.cos_v[1:-1]
        self.area, self.corner_area = self.dy / sizes.out_x, self.dy / sizes.round_x
        slip, wet, inside = np.ones((3, *ring.shape), ring.dtype)
        slip.reshape(-1)[ring.boundary], inside.reshape(-1)[ring.boundary], wet.reshape(-1)[ring.land] = T.slip, 0, 0
        self.slip, self.wet, self.inside = c(slip), c(wet), c(inside)
        self.count = np.maximum(self.wet + at(self.wet, 0, 1) + at(self.wet, 1, 0) + at(self.wet, 1, 1), 1)
        self.width = 2 * (self.dx * self.dy) ** 2 / (self.dx**2 + self.dy**2)

    def tension(self, u, v):
        """d_x u - d_y v at centres."""
        per = v / self.edge
        return (u - at(u, 0, -1)) / self.dx - self.dx * (per - at(per, -1, 0)) / self.dy

    def shear(self, u, v):
        """d_x v + d_y u at corners, with the boundary condition."""
        per = u / self.dx
        return self.slip * ((at(v, 0, 1) - v) / self.edge + self.edge * (at(per, 1, 0) - per) / self.dy)

    def vorticity(self, u, v):
        """The circulation around corners over their area, with the boundary condition."""
        along = u * self.dx
        return self.slip * (self.dy * (at(v, 0, 1) - v) + along - at(along, 1, 0)) / self.corner_area

    def strain(self, x):
        """|D| at centres."""
        u, v = c(x[1:3])
        return np.hypot(self.tension(u, v), np.sqrt(around(self.shear(u, v) ** 2)))

    def curl_gradient(self, x):
        """The square of the gradient of vorticity at centres, and its Laplacian at corners."""
        zeta = self.vorticity(*c(x[1:3]))
        on_v, on_u = (zeta - at(zeta, 0, -1)) / self.edge, (zeta - at(zeta, -1, 0)) / self.dy
        square = (on_v**2 + at(on_v, -1, 0) ** 2 + on_u**2 + at(on_u, 0, -1) ** 2) / 2
        flux = self.dx * on_u
        return square, self.inside * (self.dy * (at(on_v, 0, 1) - on_v) + at(flux, 1, 0) - flux) / self.corner_area

    def harmonic_loss(self, a, b):
        """The energy that a viscosity of one takes in each cell per area, of a b / 2."""
        (a_u, a_v), (b_u, b_v), dx, dy, edge = a, b, self.dx, self.dy, self.edge
        loss = dy / dx * (a_u - at(a_u, 0, -1)) * (b_u - at(b_u, 0, -1))
        loss = loss + dx / dy * (a_v - at(a_v, -1, 0)) * (b_v - at(b_v, -1, 0))
        corner = edge / dy * (at(a_u, 1, 0) - a_u) * (at(b_u, 1, 0) - b_u)
        corner = corner + dy / edge * (at(a_v, 0, 1) - a_v) * (at(b_v, 0, 1) - b_v)
        each = self.slip * corner / self.count
        loss = loss + self.wet * sum(at(each, j, i) for j in (0, -1) for i in (0, -1))
        return loss / self.area

    def biharmonic_loss(self, a, b):
        """The same of a biharmonic viscosity of one, from the Laplacians of a and b."""
        on_u, on_v = self.dx * self.dy * a[0] * b[0], self.edge * self.dy * a[1] * b[1]
        return (on_u + at(on_u, 0, -1) + on_v + at(on_v, -1, 0)) / (2 * self.area)

    def places(self, nu):
        """A viscosity at centres and at corners."""
        return nu, self.ring.to_corners(nu)

    def faces(self, nu4):
        """A viscosity on u and v faces."""
        return self.ring.to_u(nu4), self.ring.to_v(nu4)


def smagorinsky(T):
    """nu = (C Delta)² |D|."""
    g, C = Gradients(T), T.ring.field("smagorinsky")
    return harmonic(T, lambda x: g.places(C**2 * g.width * g.strain(x)))


def biharmonic_smagorinsky(T):
    """nu4 = C Delta⁴ |D|."""
    g, C = Gradients(T), T.ring.field("biharmonic_smagorinsky")
    return biharmonic(T, lambda x: g.faces(C * g.width**2 * g.strain(x)))


def leith(T):
    """nu = (C Delta / pi)³ |grad zeta|."""
    g, C = Gradients(T), T.ring.field("leith")
    return harmonic(T, lambda x: g.places((C * np.sqrt(g.width) / np.pi) ** 3 * np.sqrt(g.curl_gradient(x)[0])))


def leith_e(T):
    """nu4 = C (Delta/pi)⁶ sqrt((lap zeta)² - m |grad zeta|²), nu = - m nu4, m = min(D4 / G, 4 / Delta²)."""
    g, C = Gradients(T), T.ring.field("leith_e")

    def coefficients(x):
        L, currents = c(open_laplacian(T, x[1:3])), c(x[1:3])
        taken, returned = g.biharmonic_loss(L, L), g.harmonic_loss(currents, currents)
        with np.errstate(divide="ignore", invalid="ignore"):
            m = np.where(taken > 0, np.minimum(taken / returned, 4 / g.width), 0)
        square, laplacian = g.curl_gradient(x)
        return C * g.width**3 / np.pi**6 * np.sqrt(np.clip(around(laplacian**2) - m * square, 0, None)), m

    taking = biharmonic(T, lambda x: g.faces(coefficients(x)[0]))
    giving = harmonic(T, lambda x: g.places(np.prod(coefficients(x), axis=0)), sign=-1)

    def add(x, F):
        taking(x, F)
        giving(x, F)

    return add


def zanna_bolton(T):
    """du/dt = div(h T) / h, T = - gamma A [[squares - zeta S, zeta D], [zeta D, squares + zeta S]]."""
    g, gamma = Gradients(T), T.ring.field("zanna_bolton") + np.zeros_like(T.work)

    def smoothed(a, mask):
        for _ in range(2):
            a = mask * a
            a = (at(a, -1, 0) + 2 * a + at(a, 1, 0)) / 4
            a = (at(a, 0, -1) + 2 * a + at(a, 0, 1)) / 4
        return a

    def add(x, F):
        u, v = c(x[1:3])
        zeta, S, D = g.vorticity(u, v), g.shear(u, v), g.tension(u, v)
        squares = g.area * (around(zeta) ** 2 + around(S) ** 2 + D**2) / 2
        product = around(g.corner_area * zeta * S)
        xx, yy = (c(x[0]) * smoothed(-gamma * (squares + sign * product), g.wet) for sign in (-1, 1))
        xy = zeta * (D + at(D, 0, 1) + at(D, 1, 0) + at(D, 1, 1)) / 4
        xy = g.inside * smoothed(-T.ring.to_corners(gamma) * g.corner_area * xy, g.inside)
        xy = xy * T.ring.to_corners(c(x[0]))
        work_x, work_y = xx * g.dy**2, yy * g.dx**2
        turn_x, turn_y = xy * g.edge**2, xy * g.dy**2
        with np.errstate(divide="ignore", invalid="ignore"):
            force_u = (at(work_x, 0, 1) - work_x) / g.dy + (turn_x - at(turn_x, -1, 0)) / g.dx
            force_v = (at(work_y, 1, 0) - work_y) / g.edge + (turn_y - at(turn_y, 0, -1)) / g.dy
            c(F[1])[...] += force_u / (g.dx * g.dy * T.face_thickness[0](x[0], out=T.work))
            c(F[2])[...] += force_v / (g.edge * g.dy * T.face_thickness[1](x[0], out=T.work))

    return add


def backscatter(T):
    """nu = - c Delta sqrt(2 e), and dE/dt = - div(U e) + losses of biharmonic friction - |nu| G, E = h e."""
    g, C, row = Gradients(T), T.ring.field("backscatter"), T.ring.state._fields.index("subgrid_energy")
    e, flux_x, flux_y = np.zeros((3, *T.ring.shape), T.ring.dtype)
    steady, of_strain = (
        T.ring.field(name) if name in T.ring.scheme.terms else 0
        for name in ("biharmonic_viscosity", "biharmonic_smagorinsky")
    )

    def size(x):
        return C * np.sqrt(2 * g.width * np.clip(c(e), 0, None))

    force = harmonic(T, lambda x: g.places(size(x)), sign=-1)

    def add(x, F):
        np.divide(x[row], x[0], out=e, where=x[0] != 0)
        force(x, F)
        currents, transports = c(x[1:3]), np.zeros_like(x[1:3])
        for k in (0, 1):
            c(transports[k])[...] = T.face_thickness[k](x[0], out=T.work) * currents[k]
        wrap(transports)
        nu4 = steady + of_strain * g.width**2 * g.strain(x)
        loss = g.biharmonic_loss(*(c(open_laplacian(T, each)) for each in (transports, x[1:3])))
        rate = c(F[row])
        rate += nu4 * loss - size(x) * g.harmonic_loss(c(transports), currents)
        carry(T, e, flux_x, flux_y)
        converge(T, flux_x, flux_y, rate)

    return add
