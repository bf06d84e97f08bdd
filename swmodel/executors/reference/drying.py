"""Wetting and drying: the parts of a Tendency that differ in a run with drying; see docs/numerics.md.

Fields are arrays [R, C] on the domain. AXES are the array axes along which u and v point.
"""

from __future__ import annotations

import numpy as np

from ...errors import UsageError
from .closures import CurrentGradients
from .friction import DAMPING_RATES, speeds
from .neighbours import FACE_MEANS, c, neighbour, wrap

AXES = (1, 0)
#: Largest fraction of its water that may leave a cell in a step.
MAX_OUTFLOW_FRACTION = 0.999
#: Smallest thickness used as a divisor, and thickness below which water stays in its cell, in units of h_dry.
MIN_DIVISOR, MIN_MOBILE_THICKNESS = 1e-3, 1e-9


class DryingTerms:
    """The parts of a Tendency with drying, as methods in the order in which a step calls them.

    Attributes on faces are pairs, for u faces and for v faces.

    Attributes:
        drying_thickness: h_dry, m.
        cell_lengths: the lengths and areas of cells, a `CurrentGradients`.
        bed_rise: rise of the bed from the cell behind a face to the cell ahead, m.
        is_open: 1 on faces that are open in `PeriodicDomain.is_open`, else 0.
        start_fields: h, u and v at the start of the step.
        water_levels: pairs of the water above the sill of a face, in the cell behind and in the cell ahead, m.
        stress: the stress of the wind, divided by the density, m2 s-2.
        breaking_fraction, face_breaking_fraction: how much water breaks or is thin, 0 to 1, at centres and on faces.
        face_opening: how far faces are open, 0 to 1.
        smooth_acceleration: acceleration by the flux of vorticity and the slope of kinetic energy, m s-2.
        momentum_gain: momentum that the flow carries in, relative to the velocity of the face, m2 s-2.
        coriolis: Coriolis acceleration, m s-2.
        damping: rates of drag, s-1.
    """

    def __init__(self, T):
        domain = T.domain
        self.T, self.cell_lengths, self.drying_thickness = T, CurrentGradients(T), domain.config.drying.thickness
        depth = np.broadcast_to(domain.depth, T.work.shape)
        self.bed_rise = [depth - neighbour(depth, 1, axis) for axis in AXES]
        self.is_open, self.f = domain.is_open(domain.dtype)[1:], T.f + np.zeros_like(T.work)
        names = [term.name for term in domain.scheme.damping_terms]
        if missing := [name for name in names if name not in DAMPING_RATES]:
            raise UsageError(f"run.executor: with drying the reference lacks {', '.join(missing)}; choose xla")
        self.drags = [(DAMPING_RATES[name], domain.at_faces(name)) for name in names]

    def set_flow(self, x, F):
        """Set x to the flow in mid-step or, where water breaks, at the start of the step; then compute U and V."""
        T = self.T
        self.start_fields = h, *now = c(T.gfb_step[0][:3])
        self.water_levels, bends, self.face_opening, self.stress = [], [], [], [0, 0]
        for axis, rise, is_open in zip(AXES, self.bed_rise, self.is_open, strict=True):
            near = np.clip(h - np.clip(rise, 0, None), 0, None)
            far = np.clip(neighbour(h, 1, axis) + np.clip(rise, None, 0), 0, None)
            self.face_opening.append(is_open * np.clip(np.maximum(near, far) / self.drying_thickness - 1, 0, 1))
            jump = self.face_opening[-1] * (far - near)
            bends.append(abs(jump - neighbour(jump, -1, axis)))
            self.water_levels.append((near, far))
        thin_layer = (20 * self.drying_thickness - h) / (15 * self.drying_thickness)
        breaking = (np.maximum(*bends) - 0.01 * h) / (0.05 * h + self.drying_thickness)
        self.breaking_fraction = np.clip(np.maximum(thin_layer, breaking), 0, 1)
        self.face_breaking_fraction = [
            np.maximum(self.breaking_fraction, neighbour(self.breaking_fraction, 1, axis)) for axis in AXES
        ]
        thickness = blend(c(x[0]), h, self.breaking_fraction)
        is_thin = (self.breaking_fraction > 0) & (thickness < self.drying_thickness)
        c(x[0])[...] = np.where(is_thin, self.drying_thickness, thickness)
        wrap(x)
        for k, flux in enumerate((T.U, T.V)):
            (near, far), fraction, u = self.water_levels[k], self.face_breaking_fraction[k], c(x[1 + k])
            u[...] = self.face_opening[k] * blend(u, now[k], fraction)
            upwind_thickness = np.where(u == 0, (near + far) / 2, np.where(u > 0, near, far))
            upwind_thickness = np.minimum(2 * upwind_thickness, upwind_thickness + abs(self.bed_rise[k]) / 2)
            c(flux)[...] = blend(FACE_MEANS[k](x[0], out=T.work), upwind_thickness, fraction) * u
        if T.sizes.cos_v is not None:
            T.V *= T.sizes.cos_v
        wrap(x, T.U, T.V)

    def lost_wind(self, k, h):
        """The part of the wind's acceleration that is lost where the water upwind is thinner than 20 h_dry, m s-2.

        k is 0 for u and 1 for v; h is the padded thickness.
        """
        tau, (near, far) = self.stress[k], self.water_levels[k]
        p = np.clip(np.where(tau > 0, near, far) / (20 * self.drying_thickness), 0, 1)
        return (1 - (3 * p**2 - 2 * p**3)) * tau / FACE_MEANS[k](h, out=self.T.work)

    def limit_outflow(self, x, F):
        """Reduce the outflow of cells where water breaks or is thin, so that some water remains."""
        T, outflow = self.T, 0
        for flux, out, axis in zip((T.U, T.V), (T.sizes.outflow_x, T.sizes.outflow_y), AXES, strict=True):
            outflow = outflow + out * (np.clip(c(flux), 0, None) - np.clip(neighbour(c(flux), -1, axis), None, 0))
        h, min_mobile_thickness = self.start_fields[0], MIN_MOBILE_THICKNESS * self.drying_thickness
        outflow = np.maximum(T.gfb_step[1] * outflow, min_mobile_thickness)
        fraction = np.where(h > min_mobile_thickness, np.minimum(1, MAX_OUTFLOW_FRACTION * h / outflow), 0)
        fraction = np.where(self.breaking_fraction > 0, fraction, 1)
        for flux, axis in zip((T.U, T.V), AXES, strict=True):
            c(flux)[...] *= np.where(c(flux) > 0, fraction, neighbour(fraction, 1, axis))
        wrap(T.U, T.V)

    def take_accelerations(self, x, F):
        """Move the accelerations out of F, and compute the properties of the flow that `accelerate` needs."""
        T, lengths, self.smooth_acceleration = self.T, self.cell_lengths, c(F[1:3]).copy()
        F[1:3] = 0
        transports = lengths.dy * c(T.U), lengths.dy * T.sizes.dx_over_dy * c(T.V)
        self.momentum_gain, self.coriolis = [], []
        for u, v, axis, area, sign in zip(
            c(x[1:3]), c(x[2:0:-1]), AXES, (lengths.dx * lengths.dy, lengths.dx_edge * lengths.dy), (1, -1), strict=True
        ):
            gain = 0
            for flow, along in zip(transports, AXES, strict=True):
                if along == axis:
                    side = flow + neighbour(flow, -1, axis)
                else:
                    side = neighbour(flow + neighbour(flow, 1, axis), -1, along)
                momentum_flux = side / 2 * upwind_velocity(u, side, along)
                gain = gain + momentum_flux - neighbour(momentum_flux, 1, along)
                gain = gain - u * (side - neighbour(side, 1, along)) / 2
            self.momentum_gain.append(gain / area)
            corner, other_axis = (v + neighbour(v, 1, axis)) / 2, AXES[axis]
            f = (self.f + neighbour(self.f, -1, other_axis)) / 2
            self.coriolis.append(sign * f * (corner + neighbour(corner, -1, other_axis)) / 2)
        self.damping = [
            sum(rate(coefficients[k], speed, h, T.physics.gravity) for rate, coefficients in self.drags)
            for k, (speed, _, h) in enumerate(speeds(T, x))
        ]

    def accelerate(self, x, pressure_h, F):
        """Add to the forces in F the accelerations by advection, Coriolis force, pressure of `pressure_h`, and drag.

        The padded thickness `pressure_h` is replaced, where water breaks, by that at the end of the step.
        """
        T, (h, *before), dt = self.T, self.start_fields, self.T.gfb_step[1]
        h_after, P = h + dt * c(F[0]), c(T.P)
        c(pressure_h)[...] = blend(c(pressure_h), h_after, self.breaking_fraction)
        P[...] = T.physics.gravity * (c(pressure_h) - T.domain.depth)
        for potential in T.potentials:
            P += potential([pressure_h, *x[1:]])
        for k, (axis, inverse_length) in enumerate(zip(AXES, (T.sizes.inverse_dx, T.sizes.inverse_dy), strict=True)):
            now, damping, thickness = before[k], self.damping[k], (h_after + neighbour(h_after, 1, axis)) / 2
            divisor = np.maximum(thickness, MIN_DIVISOR * self.drying_thickness)
            breaking = self.momentum_gain[k] / divisor + self.coriolis[k]
            rate = (
                blend(self.smooth_acceleration[k], breaking, self.face_breaking_fraction[k])
                + (P - neighbour(P, 1, axis)) * inverse_length
                + c(F[1 + k])
                - self.lost_wind(k, x[0])
            )
            rate = (rate - damping * now) / np.maximum(1, 0.5 + damping * dt)
            open_velocity = self.face_opening[k] * now
            arriving_velocity = np.clip(neighbour(open_velocity, -1, axis), 0, None)
            arriving_velocity = arriving_velocity + np.clip(neighbour(open_velocity, 1, axis), None, 0)
            c(F[1 + k])[...] = blend((arriving_velocity - now) / dt, rate, self.face_opening[k])
        F.reshape(-1)[T.domain.closed] = 0


def blend(a, b, weight):
    """a where the weight is 0, b where it is 1."""
    return a + weight * (b - a)


def upwind_velocity(u, flow, axis):
    """The velocity between each point and the one behind it: that upwind, extrapolated by half its limited slope."""
    before, after = u - neighbour(u, -1, axis), neighbour(u, 1, axis) - u
    half = (np.sign(before) + np.sign(after)) / 4 * np.minimum(abs(before), abs(after))
    return np.where(flow > 0, neighbour(u + half, -1, axis), u - half)
