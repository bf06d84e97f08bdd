"""The tendencies of docs/numerics.md, one physical term per method.

Every field is a padded array on the Ring. The terms a configuration does not use are not in the list of terms.
Intermediate results go into arrays made once: at 3600 x 1800 an operation on fresh memory costs up to twice as much.
"""

from __future__ import annotations

import numpy as np

from ...config.build import scheme_of
from ...errors import UsageError
from ...ocean.constituents import constituents
from ...ocean.coordinates import points
from ...ocean.terms.tide import EQUILIBRIUM
from .ring import c, e, n, ne, nw, s, se, sw, w, wrap
from .sizes import Sizes


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
    """Called with x = [h, u, v, ...] and F, both padded [fields, R+2, C+2], when the step began, and the time since, s.

    It wraps x round the ring and writes dx/dt into F.
    """

    def __init__(self, ring):
        config = ring.config
        self.ring, self.sizes, self.physics = ring, Sizes(ring), config.physics
        self.f = ring.coriolis()
        self.stress = ring.coast * (2.0 if self.physics.slip == "no" else 0.0)  # s on boundary corners
        self.U, self.V, self.P, self.q, self.padded = np.zeros((5, *ring.shape), ring.dtype)
        self.work = np.zeros_like(c(self.U))
        self.heads = []
        fluxes = {"energy": self.energy, "enstrophy": self.enstrophy, "arakawa_lamb": self.arakawa_lamb}
        self.terms = [
            self.transports,
            *([self.open_sides] if ring.open_sides.faces else []),
            self.continuity,
            self.pressure,
            self.potential_vorticity,
            fluxes[config.scheme.vorticity_flux],
            *self._optional_terms(ring, config),
        ]

    def _optional_terms(self, ring, config):
        """The terms that the configuration switches on, each prepared; one that acts by its head is among the heads.

        Raises:
            UsageError: the reference does not have one of them.
        """
        prepare = {
            "wind": self._with_wind,
            "body_force": self._with_body_force,
            "linear_drag": self._with_linear_drag,
            "quadratic_drag": self._with_quadratic_drag,
            "manning": self._with_manning,
            "viscosity": self._with_viscosity,
            "biharmonic_viscosity": self._with_biharmonic_viscosity,
            "sponge": self._with_sponge,
            "tracer": self._with_tracer,
            "tide": self._with_tide,
            "self_attraction": self._with_self_attraction,
            "wind_drag": self._with_wind_drag,
            "air_pressure": self._with_air_pressure,
        }
        for term in (term for term in scheme_of(config).acting if not term.through):
            if term.name not in prepare:
                raise UsageError(f"run.executor: the reference does not have the term {term.name}; take xla")
            prepared = prepare[term.name](ring)
            if term.head:
                self.heads.append(prepared)
            else:
                yield prepared

    def _with_wind(self, ring):
        self.wind = ring.in_time("wind_x", ring.to_u), ring.in_time("wind_y", ring.to_v)
        return self.wind_stress

    def _with_body_force(self, ring):
        self.force = ring.config.body_force
        return self.body_force

    def _with_linear_drag(self, ring):
        self.drag = ring.at_faces("linear_drag")
        return self.linear_drag

    def _with_quadratic_drag(self, ring):
        self.quadratic = ring.at_faces("quadratic_drag")
        return self.quadratic_drag

    def _with_manning(self, ring):
        self.roughness = [self.physics.gravity * n**2 for n in ring.at_faces("manning")]
        return self.manning

    def _with_friction(self, ring):
        self.laplacians = np.zeros((2, 2, *ring.shape), ring.dtype)
        self.closed_faces = ring.closed[ring.closed >= self.q.size] - self.q.size
        self.closed_faces = self.closed_faces[self.closed_faces < 2 * self.q.size]

    def _with_viscosity(self, ring):
        self._with_friction(ring)
        self.nu = np.broadcast_to(ring.field("viscosity"), c(self.U).shape), ring.at_corners("viscosity")
        return self.harmonic_friction

    def _with_biharmonic_viscosity(self, ring):
        self._with_friction(ring)
        self.nu4 = ring.at_faces("biharmonic_viscosity")
        return self.biharmonic_friction

    def _with_sponge(self, ring):
        self.sponge_rates = [ring.sponge(location) for location in ("centre", "u", "v")]
        return self.sponge

    def _with_tracer(self, ring):
        self.concentration, self.carried_x, self.carried_y = np.zeros((3, *ring.shape), ring.dtype)
        self.row = ring.state._fields.index("tracer_content")
        return self.tracer

    def _with_tide(self, ring):
        at, options = points(ring.config.grid, "centre", ring.rows, ring.columns), ring.config.tide
        self.lon, self.lat = np.radians(at.lon), np.radians(at.lat)
        self.tides = constituents(options.constituents, ring.config.time.start, options.nodal)
        return self.tide

    def _with_self_attraction(self, ring):
        self.attraction = self.physics.gravity * ring.field("self_attraction")
        return self.self_attraction

    def _with_wind_drag(self, ring):
        self.u10, self.v10 = ring.in_time("u10"), ring.in_time("v10")
        return self.wind_drag

    def _with_air_pressure(self, ring):
        self.pressure_of_air = ring.in_time("air_pressure", lambda values: values / self.physics.density)
        return self.air_pressure

    def __call__(self, x, F, begin=0.0, into=0.0):
        self.begin, self.time = begin, begin + into
        F[3:] = 0
        wrap(x)
        for term in self.terms:
            term(x, F)
        F.reshape(-1)[self.ring.closed] = 0
        for velocity, faces in zip(x[1:3], self.ring.open_sides.closed(), strict=True):
            velocity.reshape(-1)[faces] = 0
        for dissolved in F[3:]:
            dissolved.reshape(-1)[self.ring.land] = 0

    def transports(self, x, F):
        """U = h^x u, V = h^y v cos; cos is 1 on a plane."""
        h, u, v = x[:3]
        U, V, sizes = self.U, self.V, self.sizes
        mean(e(h), c(h), out=c(U))
        mean(n(h), c(h), out=c(V))
        np.multiply(c(U), c(u), out=c(U))
        np.multiply(c(V), c(v), out=c(V))
        if sizes.cos_v is not None:
            V *= sizes.cos_v
        wrap(U, V)

    def open_sides(self, x, F):
        """U = U_ext + n sqrt(g H) (eta_ext - eta_b) and u = U / (H + eta_b) on the faces of open sides."""
        for axis, face, transport, thickness in self.ring.open_sides.flows(x, self.begin, self.time):
            velocity, flux = (x[1], self.U) if axis == "x" else (x[2], self.V)
            velocity.reshape(-1)[face] = transport / thickness
            if axis == "y" and self.sizes.cos_v is not None:
                transport = transport * self.sizes.cos_v.reshape(-1)[face // flux.shape[1]]
            flux.reshape(-1)[face] = transport
            wrap(velocity, flux)

    def continuity(self, x, F):
        """dh/dt = - d_x U - d_y V."""
        U, V, sizes = self.U, self.V, self.sizes
        Fh = difference(w(U), c(U), sizes.out_x, out=c(F[0]))
        Fh += difference(s(V), c(V), sizes.out_y, out=self.work)

    def pressure(self, x, F):
        """P = g (h - H) + K + heads, du/dt = - d_x P, dv/dt = - d_y P; K = ((u²)^x + (v²)^y) / 2, by area."""
        h, u, v = x[:3]
        P, sizes = c(self.P), self.sizes
        squares = np.multiply(u, u, out=self.padded)
        np.add(c(squares), w(squares), out=P)
        if sizes.kinetic_x is not None:
            P *= sizes.kinetic_x
        squares = np.multiply(v, v, out=self.padded)
        if sizes.cos_v is None:
            P += c(squares)
            P += s(squares)
        else:
            squares *= sizes.cos_v
            P += np.add(c(squares), s(squares), out=self.work) * sizes.kinetic_y
        P *= 0.25
        P += difference(c(h), self.ring.depth, self.physics.gravity, out=self.work)
        for head in self.heads:
            P += head(x)
        wrap(self.P)
        difference(P, e(self.P), sizes.per_x, out=c(F[1]))
        difference(P, n(self.P), sizes.per_y, out=c(F[2]))

    def air_pressure(self, x):
        """p / rho."""
        return self.pressure_of_air(self.begin, self.time)

    def tide(self, x):
        """- g factor sum over constituents of H f cos(2 pi t / period + V + u + m lon) G_m(lat)."""
        lat, level = self.lat, self.work
        shapes = 0.5 - 1.5 * np.sin(lat) ** 2, np.sin(2 * lat), np.cos(lat) ** 2
        level[...] = 0
        for each in self.tides:
            turns = 2 * np.pi * (each.frequency * self.time) + each.phase
            height = each.factor * EQUILIBRIUM[each.name].height
            level += height * shapes[each.species] * np.cos(turns + each.species * self.lon)
        level *= -self.physics.gravity * self.ring.config.tide.factor
        return level

    def self_attraction(self, x):
        """- g beta (h - H)."""
        return difference(self.ring.depth, c(x[0]), self.attraction, out=self.work)

    def potential_vorticity(self, x, F):
        """q = (f + zeta) / h_q, zeta = s (d_x v - d_y u cos), h_q the mean thickness of the wet cells of the corner."""
        h, u, v = x[:3]
        q, h_q, boundary, sizes = self.q, self.padded, self.ring.boundary, self.sizes
        zeta = difference(e(v), c(v), sizes.round_x, out=c(q))
        u = u if sizes.cos_c is None else np.multiply(u, sizes.cos_c, out=self.padded)
        zeta -= difference(n(u), c(u), sizes.round_y, out=self.work)
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
        Fu += self.turned(mean(c(Vq), s(Vq), out=self.work))
        Uq = self.padded
        np.multiply(mean(c(self.U), n(self.U), out=self.work), q, out=c(Uq))
        wrap(Uq)
        Fv -= mean(c(Uq), w(Uq), out=self.work)

    def turned(self, flux):
        """A flux of V, in place, as it acts on u: on a sphere over the cosine by which V is weighted."""
        if self.sizes.turned is not None:
            flux *= self.sizes.turned
        return flux

    def enstrophy(self, x, F):
        """QV = q^y (V^x)^y, QU = q^x (U^y)^x: conserves potential enstrophy (Sadourny 1975)."""
        q, U, V = self.q, self.U, self.V
        for Q, neighbours, q_back, sign, turned in (
            (c(F[1]), (c(V), e(V), s(V), se(V)), s(q), 0.125, self.turned),
            (c(F[2]), (c(U), n(U), w(U), nw(U)), w(q), -0.125, np.asarray),
        ):
            flux, q_sum = self.work, c(self.padded)
            np.add(neighbours[0], neighbours[1], out=flux)
            flux += neighbours[2]
            flux += neighbours[3]
            flux *= np.add(c(q), q_back, out=q_sum)
            flux *= sign
            Q += turned(flux)

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
            Fu += self.turned(coefficient)
        epsilon = phi = self.padded
        c(epsilon)[...] = (q + q_w - q_sw - q_s) * self.sizes.steep
        wrap(epsilon)
        Fu += c(epsilon) * w(U) - e(epsilon) * e(U)
        c(phi)[...] = (q_w + q_sw - q - q_s) * self.sizes.flat
        wrap(phi)
        Fv += c(phi) * s(V) - n(phi) * n(V)

    def wind_stress(self, x, F):
        """du/dt = wind_x / (rho h^x), dv/dt = wind_y / (rho h^y)."""
        h, taus = x[0], [wind(self.begin, self.time) for wind in self.wind]
        for F_k, tau, h_beyond in zip(c(F[1:3]), taus, (e(h), n(h)), strict=True):
            F_k += np.divide(tau / self.physics.density, mean(c(h), h_beyond, out=self.work), out=self.work)

    def wind_drag(self, x, F):
        """du/dt = tau_x / (rho h^x), tau = rho_a C |U| U at centres, of the wind U at 10 m."""
        h, ring, options = x[0], self.ring, self.ring.config.wind_drag
        u10, v10 = (wind(self.begin, self.time) for wind in (self.u10, self.v10))
        speed = np.hypot(u10, v10)
        if options.law == "garratt":
            drag = np.minimum(3.5, 0.75 + 0.067 * speed)
        else:
            drag = np.maximum(1.15, 0.49 + 0.065 * speed)
        k = 1e-3 * options.air_density / self.physics.density * drag * speed
        for F_k, tau, h_beyond in zip(c(F[1:3]), (ring.to_u(k * u10), ring.to_v(k * v10)), (e(h), n(h)), strict=True):
            F_k += np.divide(tau, mean(c(h), h_beyond, out=self.work), out=self.work)

    def body_force(self, x, F):
        """du/dt = a + b cos(2 pi t / period + phase)."""
        f, turns = self.force, 2 * np.pi * (self.time / self.force.period)
        c(F[1])[...] += f.x + f.x_amplitude * np.cos(turns + f.x_phase)
        c(F[2])[...] += f.y + f.y_amplitude * np.cos(turns + f.y_phase)

    def linear_drag(self, x, F):
        """du/dt = - r u."""
        for F_k, velocity, drag in zip(c(F[1:3]), c(x[1:3]), self.drag, strict=True):
            F_k -= np.multiply(velocity, drag, out=self.work)

    def speeds(self, x):
        """|u| on u faces, then on v faces, the other component averaged over the four faces around; with F, u and h."""
        h, u, v = x[:3]
        for own, others, h_beyond in (
            (c(u), (c(v), e(v), s(v), se(v)), e(h)),
            (c(v), (c(u), n(u), w(u), nw(u)), n(h)),
        ):
            speed, square = self.work, c(self.padded)
            np.add(others[0], others[1], out=speed)
            speed += others[2]
            speed += others[3]
            speed *= 0.25
            speed *= speed
            speed += np.multiply(own, own, out=square)
            np.sqrt(speed, out=speed)
            yield speed, own, mean(c(h), h_beyond, out=square)

    def quadratic_drag(self, x, F):
        """du/dt = - C |u| u / h^x."""
        for F_k, C, (drag, own, h) in zip(c(F[1:3]), self.quadratic, self.speeds(x), strict=True):
            drag *= own
            drag *= C
            drag /= h
            F_k -= drag

    def manning(self, x, F):
        """du/dt = - g n² |u| u / (h^x)^(4/3)."""
        for F_k, g_n2, (drag, own, h) in zip(c(F[1:3]), self.roughness, self.speeds(x), strict=True):
            drag *= own
            drag *= g_n2
            drag /= h * np.cbrt(h)
            F_k -= drag

    def laplacian(self, velocity, nu, out):
        """d_x (nu d_x u) + d_y (nu s d_y u) and d_x (nu s d_x v) + d_y (nu d_y v) of a padded [u, v].

        nu is given at centres [R, C] and at corners, [R, C] or a number.
        """
        (u, v), strain, (nu_c, nu_q), sizes = velocity, self.padded, nu, self.sizes
        (u_x, u_y), (v_x, v_y) = sizes.friction_u, sizes.friction_v
        for a, L, (ahead, behind, along, cos_c), (left, right, across, cos_q) in (
            (u, c(out[0]), (e, w, u_x, None), (n, s, u_y, sizes.cos_v)),
            (v, c(out[1]), (n, s, v_y, sizes.cos_c), (e, w, v_x, None)),
        ):
            np.subtract(left(a), c(a), out=c(strain))
            strain.reshape(-1)[self.ring.boundary] *= self.stress
            np.multiply(c(strain), nu_q, out=c(strain))
            if cos_q is not None:
                strain *= cos_q
            wrap(strain)
            difference(c(strain), right(strain), across, out=L)
            np.subtract(c(a), behind(a), out=c(strain))
            np.multiply(c(strain), nu_c, out=c(strain))
            if cos_c is not None:
                strain *= cos_c
            wrap(strain)
            L += difference(ahead(strain), c(strain), along, out=self.work)
        return out

    def harmonic_friction(self, x, F):
        """du/dt = L(u)."""
        interior = c(F[1:3])
        interior += c(self.laplacian(x[1:3], self.nu, out=self.laplacians[0]))

    def biharmonic_friction(self, x, F):
        """du/dt = - L(nu4^x L(u)), L with viscosity one."""
        L, LL = self.laplacians
        self.laplacian(x[1:3], (1.0, 1.0), out=L)
        L.reshape(-1)[self.closed_faces] = 0
        for L_k, nu4 in zip(c(L), self.nu4, strict=True):
            L_k *= nu4
        wrap(L)
        interior = c(F[1:3])
        interior -= c(self.laplacian(L, (1.0, 1.0), out=LL))

    def sponge(self, x, F):
        """dh/dt = - sponge (h - H), du/dt = - sponge u, each with the rate at its own points; dC/dt = C/h dh/dt.

        With open sides h - H - eta_ext and u - U_ext/h.
        """
        h_rate, u_rate, v_rate = self.sponge_rates
        Fh, Fu, Fv = c(F[:3])
        u, v = c(x[1:3])
        outflow = difference(c(x[0]), self.ring.depth, h_rate, out=self.work)
        if (outside := self.ring.open_sides).faces:
            level = outside.level(self.begin, self.time)
            flows = [outside.transport(axis, level, self.begin, self.time).reshape(self.ring.shape) for axis in "xy"]
            outflow -= h_rate * c(level.reshape(self.ring.shape))
            u = u - c(flows[0]) / (0.5 * (c(x[0]) + e(x[0])))
            v = v - c(flows[1]) / (0.5 * (c(x[0]) + n(x[0])))
        Fh -= outflow
        for content, F_k in zip(c(x[3:]), c(F[3:]), strict=True):
            F_k -= outflow * content / c(x[0])
        Fu -= np.multiply(u, u_rate, out=self.work)
        Fv -= np.multiply(v, v_rate, out=self.work)

    def tracer(self, x, F):
        """dC/dt = - d_x (U C/h) - d_y (V C/h), C/h that of the cell that the water leaves."""
        concentration = np.divide(x[self.row], x[0], out=self.concentration, where=x[0] != 0)
        for _, outside, inside, *_ in self.ring.open_sides.faces.values():
            concentration.reshape(-1)[outside.astype(int)] = concentration.reshape(-1)[inside.astype(int)]
        for carried, transport, beyond in ((self.carried_x, self.U, e), (self.carried_y, self.V, n)):
            upwind = np.where(c(transport) > 0, c(concentration), beyond(concentration))
            np.multiply(c(transport), upwind, out=c(carried))
        wrap(self.carried_x, self.carried_y)
        FC = difference(w(self.carried_x), c(self.carried_x), self.sizes.out_x, out=self.work)
        F_tracer = c(F[self.row])
        F_tracer += FC
        F_tracer += difference(s(self.carried_y), c(self.carried_y), self.sizes.out_y, out=self.work)
