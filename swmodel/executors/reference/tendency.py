"""The tendencies of docs/numerics.md, one function for each physical term.

Every field is a padded array on the PeriodicDomain. Only the terms of the configuration are computed. Intermediate
results use arrays that are allocated once, because on 3600 x 1800 cells an operation on new memory takes up to twice as
long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...errors import UsageError
from . import closures, forces, friction, weno
from .barriers import Barriers
from .drying import DryingTerms
from .neighbours import FACE_MEANS, c, difference, e, n, ne, s, w, wrap
from .sizes import CellSizes
from .tracer import tracer
from .tracer_advection import advection
from .vorticity_flux import FLUXES

#: Optional terms: functions of the Tendency that return a function (x, F), which adds the term to F, or a function of
#: x, which returns a potential to add to the Bernoulli function.
TERMS = forces.TERMS | friction.TERMS | closures.TERMS


class Tendency:
    """A function that writes dx/dt into F and fills the padding of x.

    Its arguments are x = [h, u, v, ...] and F, both padded [fields, R+2, C+2] (`PeriodicDomain`), the start of the step
    and the time since then, s. It also sets the velocities in x on the faces of open boundaries to zero and, with
    drying, changes h, u and v in x (`DryingTerms.set_flow`). UsageError: the reference lacks a term of the run.

    Attributes:
        step_start, time: start of the step, and time of this tendency, s.
        freshwater: the part of dh/dt that comes from rain, evaporation and rivers, m s-1.
        gfb_step: x at the start of a step of `gfb`, and the length of the step, s.
        drying: the terms of a run with drying, else None.
        potentials: functions of x that return the potentials of forces, m2 s-2, [R, C].
        tracer_steps: functions that write the rates of tracers that are stored as concentrations.
        U, V, P, q: transports, m2 s-1, Bernoulli function, m2 s-2, and potential vorticity, m-1 s-1, padded.
        slip: factor of vorticity and stress at each boundary corner: 2 on coasts with no slip; 0 on those with free
            slip, at open boundaries and at barriers.
        padded, work: arrays for intermediate results, [R+2, C+2] and [R, C].
    """

    def __init__(self, domain):
        config = domain.config
        self.domain, self.sizes, self.physics = domain, CellSizes(domain), config.physics
        self.f = domain.coriolis()
        self.slip = domain.is_coast * (2.0 if self.physics.slip == "no" else 0.0)
        self.U, self.V, self.P, self.q, self.padded = np.zeros((5, *domain.shape), domain.dtype)
        self.work = np.zeros_like(c(self.U))
        self.step_start = self.time = 0.0
        self.freshwater = 0.0
        self.potentials: list[Callable] = []
        self.tracer_steps: list[Callable] = []
        added: list[Callable] = []
        self.drying = DryingTerms(self) if domain.scheme.drying else None
        tracers = {each.name: each for each in config.physics.tracers}
        functions = TERMS | {name: partial(tracer, options=each) for name, each in tracers.items()}
        for term in domain.scheme.active_terms:
            if term.rate_over_step and term.name in tracers:
                self.tracer_steps.append(advection(self, tracers[term.name]))
            elif not (term.boundary_flux or term.barrier_flux or (self.drying and term.damping)):
                if term.name not in functions:
                    raise UsageError(f"run.executor: the reference does not have the term {term.name}; choose xla")
                (self.potentials if term.bernoulli_potential else added).append(functions[term.name](self))
        drying, face_transports = self.drying, [self.open_boundaries] if domain.open_boundaries.faces else []
        self.barriers = Barriers(self) if domain.scheme.barrier_terms else None
        face_transports += [self.barriers.add_transport] if self.barriers else []
        self.terms = [
            *([self.barriers.take_velocities] if self.barriers else []),
            *([drying.set_flow] if drying else [self.transports]),
            *face_transports,
            *([drying.limit_outflow] if drying else []),
            self.continuity,
            self.pressure,
            self.potential_vorticity,
            lambda x, F: FLUXES[config.scheme.vorticity_flux](self, F),
            *([drying.take_accelerations] if drying else []),
            *added,
        ]

    def __call__(self, x, F, step_start=0.0, stage_time=0.0):
        self.step_start, self.time, self.freshwater = step_start, step_start + stage_time, 0.0
        F[3:] = 0
        wrap(x)
        for term in self.terms:
            term(x, F)
        F.reshape(-1)[self.domain.closed] = 0
        if self.barriers:
            self.barriers.accelerate(x[0], F)
            self.barriers.return_velocities(x)
        velocities = {"x": x[1], "y": x[2]}
        for axis, faces in self.domain.open_boundaries.faces.items():
            velocities[axis].reshape(-1)[faces[0].astype(int)] = 0
        for rate in F[3:]:
            rate.reshape(-1)[self.domain.land] = 0

    def transports(self, x, F):
        """U = h^x u, V = h^y v cos; cos is 1 on a plane."""
        h, u, v = x[:3]
        U, V, sizes = self.U, self.V, self.sizes
        for flux, velocity, thickness in zip((U, V), (u, v), FACE_MEANS, strict=True):
            np.multiply(thickness(h, out=c(flux)), c(velocity), out=c(flux))
        if sizes.cos_v is not None:
            V *= sizes.cos_v
        wrap(U, V)

    def open_boundaries(self, x, F):
        """Write transports and velocities on the faces of open boundaries: see `BoundaryFaces.boundary_flows`."""
        for axis, face, transport, thickness in self.domain.open_boundaries.boundary_flows(
            x, self.step_start, self.time
        ):
            velocity, flux = (x[1], self.U) if axis == "x" else (x[2], self.V)
            velocity.reshape(-1)[face] = transport / thickness
            if axis == "y" and self.sizes.cos_v is not None:
                transport = transport * self.sizes.cos_v.reshape(-1)[face // flux.shape[1]]
            flux.reshape(-1)[face] = transport
            wrap(velocity, flux)

    def continuity(self, x, F):
        """dh/dt = - d_x U - d_y V."""
        U, V, sizes = self.U, self.V, self.sizes
        Fh = difference(w(U), c(U), sizes.outflow_x, out=c(F[0]))
        Fh += difference(s(V), c(V), sizes.outflow_y, out=self.work)

    def pressure(self, x, F):
        """P = g (h - H) + K + potentials, with drying P = K; du/dt = - d_x P, dv/dt = - d_y P."""
        h, u, v = x[:3]
        P, sizes = c(self.P), self.sizes
        if self.domain.config.scheme.vorticity_flux in weno.STENCIL_POINTS:
            P[...] = weno.kinetic_energy(u, v)
        else:
            self.kinetic_energy(u, v, P)
        if not self.drying:
            P += difference(c(h), self.domain.depth, self.physics.gravity, out=self.work)
            for potential in self.potentials:
                P += potential(x)
        wrap(self.P)
        difference(P, e(self.P), sizes.inverse_dx, out=c(F[1]))
        difference(P, n(self.P), sizes.inverse_dy, out=c(F[2]))

    def kinetic_energy(self, u, v, P):
        """Write the kinetic energy K = ((u²)^x + (v²)^y) / 2, with squares weighted by area, into P."""
        sizes = self.sizes
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

    def replace_pressure(self, x, h, F):
        """Replace, in F, the pressure gradient of the thickness in x by that of another padded thickness h."""
        if self.drying:
            self.drying.accelerate(x, h, F)
            return self.barriers.accelerate(h, F) if self.barriers else None
        change, sizes = c(self.P), self.sizes
        change[...] = self.physics.gravity * (c(h) - c(x[0]))
        for potential in self.potentials:
            change -= potential(x)
            change += potential([h, *x[1:]])
        wrap(self.P)
        slopes = (
            difference(change, e(self.P), sizes.inverse_dx, out=self.work),
            difference(change, n(self.P), sizes.inverse_dy, out=c(self.padded)),
        )
        for F_k, slope in zip(c(F[1:3]), slopes, strict=True):
            F_k += slope
        F.reshape(-1)[self.domain.closed] = 0
        if self.barriers:
            self.barriers.accelerate(h, F)

    def step_tracers(self, x, middle, F, dt):
        """Write into F the rates, over a step of dt seconds from x, of tracers that are stored as concentrations.

        F[0] must contain dh/dt over the step; `middle` is x in the middle of the step, padded as x and F are.
        """
        for write in self.tracer_steps:
            write(x, middle, F, dt)

    def potential_vorticity(self, x, F):
        """q = (f + zeta) / h_q, zeta = slip (d_x v - d_y u cos); h_q is the mean thickness of the wet cells around."""
        h, u, v = x[:3]
        q, h_q, boundary, sizes = self.q, self.padded, self.domain.boundary_corners, self.sizes
        zeta = difference(e(v), c(v), sizes.circulation_x, out=c(q))
        u = u if sizes.cos_c is None else np.multiply(u, sizes.cos_c, out=self.padded)
        zeta -= difference(n(u), c(u), sizes.circulation_y, out=self.work)
        q.reshape(-1)[boundary] *= self.slip
        if np.any(self.f):
            zeta += self.f
        np.add(c(h), e(h), out=c(h_q))
        np.add(c(h_q), n(h), out=c(h_q))
        np.add(c(h_q), ne(h), out=c(h_q))
        np.multiply(c(h_q), 0.25, out=c(h_q))
        wet_thickness = self.domain.corner_weights * h.reshape(-1)[self.domain.corner_cells]
        h_q.reshape(-1)[boundary] = wet_thickness.sum(axis=0) + self.domain.corner_dry
        np.divide(zeta, c(h_q), out=c(q))
        wrap(q)
