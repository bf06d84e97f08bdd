"""The tendencies of docs/numerics.md, one physical term per method.

Every field is a padded array on the Ring. The terms a configuration does not use are not in the list of terms.
Intermediate results go into arrays made once: at 3600 x 1800 an operation on fresh memory costs up to twice as much.
"""

from __future__ import annotations

import numpy as np

from .ring import c, e, n, ne, nw, s, se, sw, w, wrap


def mean(a, b, out):
    """(a + b) / 2."""
    np.add(a, b, out=out)
    out *= 0.5
    return out


def difference(a, b, scale, out):
    """(a - b) scale."""
    np.subtract(a, b, out=out)
    out *= scale
    return out


class Tendency:
    """Called with x = [h, u, v] and F, both padded [3, R+2, C+2], it wraps x round the ring and writes dx/dt into F."""

    def __init__(self, ring):
        config = ring.config
        self.ring, self.grid, self.physics = ring, config.grid, config.physics
        self.f = ring.coriolis()
        self.stress = 2.0 if self.physics.slip == "no" else 0.0  # s on boundary corners
        self.U, self.V, self.P, self.q, self.padded = np.zeros((5, *ring.shape), ring.dtype)
        self.work = np.zeros_like(c(self.U))
        fluxes = {"energy": self.energy, "enstrophy": self.enstrophy, "arakawa_lamb": self.arakawa_lamb}
        self.terms = [
            self.continuity,
            self.pressure,
            self.potential_vorticity,
            fluxes[config.scheme.vorticity_flux],
            *self._optional_terms(ring, config),
        ]

    def _optional_terms(self, ring, config):
        physics = config.physics
        self.wind_x = ring.at_faces("wind_x")[0] / physics.density
        if np.any(self.wind_x):
            yield self.wind_stress_x
        self.wind_y = ring.at_faces("wind_y")[1] / physics.density
        if np.any(self.wind_y):
            yield self.wind_stress_y
        self.drag = ring.at_faces("linear_drag")
        if np.any(self.drag[0]) or np.any(self.drag[1]):
            yield self.linear_drag
        if physics.quadratic_drag:
            yield self.quadratic_drag
        if physics.viscosity or physics.biharmonic_viscosity:
            self.laplacians = np.zeros((2, 2, *ring.shape), ring.dtype)
            self.closed_faces = ring.closed[ring.closed >= self.q.size] - self.q.size
        if physics.viscosity:
            yield self.harmonic_friction
        if physics.biharmonic_viscosity:
            yield self.biharmonic_friction
        if config.sponge.rate and config.sponge.width and config.sponge.sides:
            self.sponge_rates = [ring.sponge(location) for location in ("centre", "u", "v")]
            yield self.sponge

    def __call__(self, x, F):
        wrap(x)
        for term in self.terms:
            term(x, F)
        F.reshape(-1)[self.ring.closed] = 0

    def continuity(self, x, F):
        """U = h^x u, V = h^y v, dh/dt = - d_x U - d_y V."""
        h, u, v = x
        U, V = self.U, self.V
        mean(e(h), c(h), out=c(U))
        mean(n(h), c(h), out=c(V))
        np.multiply(c(U), c(u), out=c(U))
        np.multiply(c(V), c(v), out=c(V))
        wrap(U, V)
        Fh = difference(w(U), c(U), 1 / self.grid.dx, out=c(F[0]))
        Fh += difference(s(V), c(V), 1 / self.grid.dy, out=self.work)

    def pressure(self, x, F):
        """P = g (h - H) + ((u²)^x + (v²)^y) / 2, du/dt = - d_x P, dv/dt = - d_y P."""
        h, u, v = x
        P = c(self.P)
        squares = np.multiply(u, u, out=self.padded)
        np.add(c(squares), w(squares), out=P)
        squares = np.multiply(v, v, out=self.padded)
        P += c(squares)
        P += s(squares)
        P *= 0.25
        P += difference(c(h), self.ring.depth, self.physics.gravity, out=self.work)
        wrap(self.P)
        difference(P, e(self.P), 1 / self.grid.dx, out=c(F[1]))
        difference(P, n(self.P), 1 / self.grid.dy, out=c(F[2]))

    def potential_vorticity(self, x, F):
        """q = (f + zeta) / h_q, zeta = s (d_x v - d_y u), h_q the mean thickness of the wet cells of the corner."""
        h, u, v = x
        q, h_q, boundary = self.q, self.padded, self.ring.boundary
        zeta = difference(e(v), c(v), 1 / self.grid.dx, out=c(q))
        zeta -= difference(n(u), c(u), 1 / self.grid.dy, out=self.work)
        q.reshape(-1)[boundary] *= self.stress
        if np.any(self.f):
            zeta += self.f
        np.add(c(h), e(h), out=c(h_q))
        np.add(c(h_q), n(h), out=c(h_q))
        np.add(c(h_q), ne(h), out=c(h_q))
        np.multiply(c(h_q), 0.25, out=c(h_q))
        wet_thickness = self.ring.corner_weights * h.reshape(-1)[self.ring.corner_cells]
        h_q.reshape(-1)[boundary] = wet_thickness.sum(axis=0) + self.ring.corner_dry
        np.divide(zeta, c(h_q), out=c(q))
        wrap(q)

    def energy(self, x, F):
        """QV = (q V^x)^y, QU = (q U^y)^x: conserves energy (Sadourny 1975)."""
        q, Vq = c(self.q), self.padded
        np.multiply(mean(c(self.V), e(self.V), out=self.work), q, out=c(Vq))
        wrap(Vq)
        Fu, Fv = c(F[1]), c(F[2])
        Fu += mean(c(Vq), s(Vq), out=self.work)
        Uq = self.padded
        np.multiply(mean(c(self.U), n(self.U), out=self.work), q, out=c(Uq))
        wrap(Uq)
        Fv -= mean(c(Uq), w(Uq), out=self.work)

    def enstrophy(self, x, F):
        """QV = q^y (V^x)^y, QU = q^x (U^y)^x: conserves potential enstrophy (Sadourny 1975)."""
        q, U, V = self.q, self.U, self.V
        for Q, neighbours, q_back, sign in (
            (c(F[1]), (c(V), e(V), s(V), se(V)), s(q), 0.125),
            (c(F[2]), (c(U), n(U), w(U), nw(U)), w(q), -0.125),
        ):
            flux, q_sum = self.work, c(self.padded)
            np.add(neighbours[0], neighbours[1], out=flux)
            flux += neighbours[2]
            flux += neighbours[3]
            flux *= np.add(c(q), q_back, out=q_sum)
            flux *= sign
            Q += flux

    def arakawa_lamb(self, x, F):
        """Conserves energy and potential enstrophy (Arakawa and Lamb 1981, eqs 3.33 and 3.34)."""
        U, V, product = self.U, self.V, self.padded
        Fu, Fv = c(F[1]), c(F[2])
        self.q /= 24
        q, q_e, q_w, q_s, q_se, q_sw = (place(self.q) for place in (c, e, w, s, se, sw))
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
            Fu += coefficient
        epsilon = phi = self.padded
        c(epsilon)[...] = (q + q_w - q_sw - q_s) * (self.grid.dy / self.grid.dx)
        wrap(epsilon)
        Fu += c(epsilon) * w(U) - e(epsilon) * e(U)
        c(phi)[...] = (q_w + q_sw - q - q_s) * (self.grid.dx / self.grid.dy)
        wrap(phi)
        Fv += c(phi) * s(V) - n(phi) * n(V)

    def wind_stress_x(self, x, F):
        """du/dt = wind_x / (rho h^x)."""
        h, Fu = x[0], c(F[1])
        Fu += np.divide(self.wind_x, mean(c(h), e(h), out=self.work), out=self.work)

    def wind_stress_y(self, x, F):
        """dv/dt = wind_y / (rho h^y)."""
        h, Fv = x[0], c(F[2])
        Fv += np.divide(self.wind_y, mean(c(h), n(h), out=self.work), out=self.work)

    def linear_drag(self, x, F):
        """du/dt = - r u."""
        for F_k, velocity, drag in zip(c(F[1:]), c(x[1:]), self.drag, strict=True):
            F_k -= np.multiply(velocity, drag, out=self.work)

    def quadratic_drag(self, x, F):
        """du/dt = - C |u| u / h^x, the other component of |u| averaged over the four faces around."""
        h, u, v = x
        for F_k, own, others, h_beyond in (
            (c(F[1]), c(u), (c(v), e(v), s(v), se(v)), e(h)),
            (c(F[2]), c(v), (c(u), n(u), w(u), nw(u)), n(h)),
        ):
            drag, square = self.work, c(self.padded)
            np.add(others[0], others[1], out=drag)
            drag += others[2]
            drag += others[3]
            drag *= 0.25
            drag *= drag
            drag += np.multiply(own, own, out=square)
            np.sqrt(drag, out=drag)
            drag *= own
            drag *= self.physics.quadratic_drag
            drag /= mean(c(h), h_beyond, out=square)
            F_k -= drag

    def laplacian(self, velocity, scale, out):
        """scale (d_x (d_x u) + d_y (s d_y u)) and scale (d_x (s d_x v) + d_y (d_y v)) of a padded [u, v]."""
        along_x, along_y = scale / self.grid.dx**2, scale / self.grid.dy**2
        (u, v), strain = velocity, self.padded
        for a, L, (ahead, behind, along), (left, right, across) in (
            (u, c(out[0]), (e, w, along_x), (n, s, along_y)),
            (v, c(out[1]), (n, s, along_y), (e, w, along_x)),
        ):
            np.subtract(left(a), c(a), out=c(strain))
            strain.reshape(-1)[self.ring.boundary] *= self.stress
            wrap(strain)
            difference(c(strain), right(strain), across, out=L)
            normal = np.add(ahead(a), behind(a), out=self.work)
            normal -= np.multiply(c(a), 2, out=c(strain))
            normal *= along
            L += normal
        return out

    def harmonic_friction(self, x, F):
        """du/dt = nu L(u)."""
        interior = c(F[1:])
        interior += c(self.laplacian(x[1:], self.physics.viscosity, out=self.laplacians[0]))

    def biharmonic_friction(self, x, F):
        """du/dt = - nu4 L(L(u))."""
        L, LL = self.laplacians
        self.laplacian(x[1:], 1.0, out=L)
        L.reshape(-1)[self.closed_faces] = 0
        wrap(L)
        interior = c(F[1:])
        interior += c(self.laplacian(L, -self.physics.biharmonic_viscosity, out=LL))

    def sponge(self, x, F):
        """dh/dt = - sponge (h - H), du/dt = - sponge u, each with the rate at its own points."""
        h_rate, u_rate, v_rate = self.sponge_rates
        Fh, Fu, Fv = c(F)
        Fh -= difference(c(x[0]), self.ring.depth, h_rate, out=self.work)
        Fu -= np.multiply(c(x[1]), u_rate, out=self.work)
        Fv -= np.multiply(c(x[2]), v_rate, out=self.work)
