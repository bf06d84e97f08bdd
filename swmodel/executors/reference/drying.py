"""Wetting and drying once more: the parts of a Tendency in which a run with it differs; docs/numerics.md.

Fields are arrays [R, C] on the ring. Velocities point along AXES: u along the columns, v along the rows.
"""

from __future__ import annotations

import numpy as np

from .closures import Gradients
from .friction import speeds
from .neighbours import c, wrap
from .weno import at

AXES = (1, 0)
#: Largest share of its water that leaves a cell in a step.
KEPT = 0.999
#: Least thickness that divides, and water that stays in its cell, in units of h_dry.
LEAST, TRACE = 1e-3, 1e-9


class Drying:
    """The parts, in the order in which a step takes them; each is a function of x and F as those of a Tendency.

    Attributes:
        thin: h_dry, m.
        rise: how much higher the bed of the cell ahead of a face is, m, for u and for v, as all pairs are.
        is_open: 1 between two cells of the mask's water, else 0.
        before: h, u and v at the begin of the step.
        share, shares: how far water breaks, 0 to 1, at centres; on faces.
        passing: how far faces are open, 0 to 1.
        gentle: accelerations by the flux of vorticity and the slope of kinetic energy, m s-2.
        gain: momentum that enters, m2 s-2.
        turn: Coriolis acceleration, m s-2.
        damping: rates of drag, s-1.
    """

    def __init__(self, T):
        ring, gravity = T.ring, T.physics.gravity
        self.T, self.sizes, self.thin = T, Gradients(T), ring.config.drying.thickness
        depth = np.broadcast_to(ring.depth, T.work.shape)
        self.rise = [depth - at(depth, 1, axis) for axis in AXES]
        mask = np.ones((3, *ring.shape), ring.dtype)
        mask.reshape(-1)[ring.closed] = 0
        self.is_open, self.f = c(mask[1:]), T.f + np.zeros_like(T.work)
        rates = {
            "linear_drag": lambda r, speed, h: r,
            "quadratic_drag": lambda C, speed, h: C * speed / h,
            "manning": lambda n, speed, h: gravity * n**2 * speed / (h * np.cbrt(h)),
        }
        self.drags = [(rates[name], ring.at_faces(name)) for name in ring.scheme.terms if name in rates]

    def enter(self, x, F):
        """Make x the flow: of the middle of the step, where water breaks of its begin; and its U and V."""
        T = self.T
        self.before = h, *now = c(T.of_step[0][:3])
        water, bends, self.passing = [], [], []
        for axis, rise, is_open in zip(AXES, self.rise, self.is_open, strict=True):
            near = np.clip(h - np.clip(rise, 0, None), 0, None)
            far = np.clip(at(h, 1, axis) + np.clip(rise, None, 0), 0, None)
            self.passing.append(is_open * np.clip(np.maximum(near, far) / self.thin - 1, 0, 1))
            jump = self.passing[-1] * (far - near)
            bends.append(abs(jump - at(jump, -1, axis)))
            water.append((near, far))
        film = (20 * self.thin - h) / (15 * self.thin)
        breaking = (np.maximum(*bends) - 0.01 * h) / (0.05 * h + self.thin)
        self.share = np.clip(np.maximum(film, breaking), 0, 1)
        self.shares = [np.maximum(self.share, at(self.share, 1, axis)) for axis in AXES]
        level = between(c(x[0]), h, self.share)
        c(x[0])[...] = np.where((self.share > 0) & (level < self.thin), self.thin, level)
        wrap(x)
        for k, flux in enumerate((T.U, T.V)):
            (near, far), share, u = water[k], self.shares[k], c(x[1 + k])
            u[...] = self.passing[k] * between(u, now[k], share)
            up = np.where(u == 0, (near + far) / 2, np.where(u > 0, near, far))
            up = np.minimum(2 * up, up + abs(self.rise[k]) / 2)
            c(flux)[...] = between(T.face_thickness[k](x[0], out=T.work), up, share) * u
        if T.sizes.cos_v is not None:
            T.V *= T.sizes.cos_v
        wrap(x, T.U, T.V)

    def limit(self, x, F):
        """Multiply what leaves a cell where water breaks, so that some remains."""
        T, leaving = self.T, 0
        for flux, out, axis in zip((T.U, T.V), (T.sizes.out_x, T.sizes.out_y), AXES, strict=True):
            leaving = leaving + out * (np.clip(c(flux), 0, None) - np.clip(at(c(flux), -1, axis), None, 0))
        h, leaving, trace = self.before[0], T.of_step[1] * leaving, TRACE * self.thin
        part = np.where(h > trace, np.minimum(1, KEPT * h / np.maximum(leaving, trace)), 0)
        part = np.where(self.share > 0, part, 1)
        for flux, axis in zip((T.U, T.V), AXES, strict=True):
            c(flux)[...] *= np.where(c(flux) > 0, part, at(part, 1, axis))
        wrap(T.U, T.V)

    def keep(self, x, F):
        """Take the accelerations out of F, and find what `press` needs of the flow."""
        T, sizes, self.gentle = self.T, self.sizes, c(F[1:3]).copy()
        F[1:3] = 0
        flows = sizes.dy * c(T.U), sizes.dy * T.sizes.flat * c(T.V)
        self.gain, self.turn = [], []
        for u, v, axis, area, sign in zip(
            c(x[1:3]), c(x[2:0:-1]), AXES, (sizes.dx * sizes.dy, sizes.edge * sizes.dy), (1, -1), strict=True
        ):
            gain = 0
            for flow, along in zip(flows, AXES, strict=True):
                side = flow + at(flow, -1, axis) if along == axis else at(flow + at(flow, 1, axis), -1, along)
                carried = side / 2 * donated(u, side, along)
                gain = gain + carried - at(carried, 1, along) - u * (side - at(side, 1, along)) / 2
            self.gain.append(gain / area)
            corner, behind = (v + at(v, 1, axis)) / 2, AXES[axis]
            f = (self.f + at(self.f, -1, behind)) / 2
            self.turn.append(sign * f * (corner + at(corner, -1, behind)) / 2)
        self.damping = [
            sum(rate(coefficients[k], speed, h) for rate, coefficients in self.drags)
            for k, (speed, _, h) in enumerate(speeds(T, x))
        ]

    def press(self, x, level, F):
        """The accelerations by advection, Coriolis force, the pressure of a padded thickness, and drag, into F."""
        T, (h, *before), dt = self.T, self.before, self.T.of_step[1]
        new, P = h + dt * c(F[0]), c(T.P)
        c(level)[...] = between(c(level), new, self.share)
        P[...] = T.physics.gravity * (c(level) - T.ring.depth)
        for head in T.heads:
            P += head([level, *x[1:]])
        for k, (axis, per) in enumerate(zip(AXES, (T.sizes.per_x, T.sizes.per_y), strict=True)):
            now, damping, thickness = before[k], self.damping[k], (new + at(new, 1, axis)) / 2
            breaking = self.gain[k] / np.maximum(thickness, LEAST * self.thin) + self.turn[k]
            rate = between(self.gentle[k], breaking, self.shares[k]) + (P - at(P, 1, axis)) * per + c(F[1 + k])
            rate = (rate - damping * now) / np.maximum(1, 0.5 + damping * dt)
            moving = self.passing[k] * now
            arriving = np.clip(at(moving, -1, axis), 0, None) + np.clip(at(moving, 1, axis), None, 0)
            c(F[1 + k])[...] = between((arriving - now) / dt, rate, self.passing[k])
        F.reshape(-1)[T.ring.closed] = 0


def between(a, b, share):
    """a where the share is 0, b where it is 1."""
    return a + share * (b - a)


def donated(u, flow, axis):
    """The velocity at the side behind each, of the cell that the flow leaves, with half its limited slope."""
    before, after = u - at(u, -1, axis), at(u, 1, axis) - u
    half = (np.sign(before) + np.sign(after)) / 4 * np.minimum(abs(before), abs(after))
    return np.where(flow > 0, at(u + half, -1, axis), u - half)
