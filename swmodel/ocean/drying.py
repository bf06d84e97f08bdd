"""Wetting and drying: thin water closes faces, cells keep water, bores keep their momentum.

A face has a sill z = - min(H, H_E), the higher bed of its two cells. The water above it on either side is

    l = max(0, eta - z),   r = max(0, eta_E - z),   and the face is open by w = clip(max(l, r)/h_dry - 1, 0, 1).

Through open faces flows w u. Closed faces take the velocity of the water that arrives, or none. In a gentle sea all
else is as without drying. Where the level bends or water is thin, a cell has a share s > 0, and a face the larger share
a of its two cells, of

    thickness   up + min(|H - H_E|/2, up), up = l or r from upwind, in place of the mean (h + h_E)/2
    momentum    what enters the cell of a velocity with its momentum, in place of (q V) and d_x K
    time        the begin of the step and its new thickness, in place of the mixed states of the stepper

No cell loses more than KEPT of its water in a step: transports out of it are multiplied by min(1, KEPT h / outflow),
so h >= 0 without clipping. Drag is implicit where it is fast, (R - k u)/(1 + max(0, k dt - 1/2)), R all other
accelerations. A lake stays at rest around dry islands. The step is that of `timestep.ForwardBackward`.

References: Stelling and Duinmeijer (2003) for faces and momentum. docs/decisions.md has the trials.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .flow import Flow
from .operators import mx_c, mx_f, my_c, my_f, slope_x, slope_y, where, zero_outside_fronts
from .patch import Patch, south, west
from .state import State
from .weno import eastward, northward

#: Largest share of its water that leaves a cell in a step.
KEPT = 0.999
#: Change of the slope of the level over a cell, relative to the thickness, where s begins, and where it is 1.
BENDS = (0.01, 0.06)
#: Thickness in units of h_dry below which s is 1, and above which it is 0 on a smooth level.
FILM = (5.0, 20.0)
#: Least thickness that divides, and water that stays in its cell, in units of h_dry.
LEAST, TRACE = 1e-3, 1e-9


class Faces(NamedTuple):
    """The faces of an axis at the begin of a step."""

    along: Callable[[Patch, int], Patch]  # (patch, n): the values n cells further
    near: Patch  # l, m
    far: Patch  # r, m
    drop: Patch  # |H - H_E|, m
    open: Patch  # w
    closed: Patch  # 1 - w
    jump: Patch  # w (r - l), the difference of the levels above the sill, m

    def upwind(self, velocity: Patch) -> Patch:
        """The thickness that a velocity brings, m: that above the sill, and up to as much below it on a slope."""
        up = where(velocity > 0, self.near, where(velocity < 0, self.far, 0.5 * (self.near + self.far)))
        return up + np.minimum(0.5 * self.drop, up)

    def arriving(self, velocity: Patch) -> Patch:
        """The velocity of the water that flows towards a face from the faces behind and ahead of it, m s-1."""
        moving = self.open * velocity
        return np.maximum(self.along(moving, -1), 0.0) + np.minimum(self.along(moving, 1), 0.0)


def faces(h: Patch, depth: Patch, opened: Patch, thin: Any, along: Callable) -> Faces:
    """The Faces of an axis from thickness and depth at centres; `opened` is 0 at coasts of the mask, `thin` h_dry."""
    eta, further = h - depth, along(depth, 1)
    sill = -np.minimum(depth, further)
    near, far = np.maximum(eta - sill, 0.0), np.maximum(along(eta, 1) - sill, 0.0)
    closed = zero_outside_fronts(between(2 - np.maximum(near, far) * (1 / thin)))
    wet = opened * (1 - closed)
    return Faces(along, near, far, abs(further - depth), wet, closed, wet * (far - near))


class WettingFlow(Flow):
    """The Flow of a scheme with drying.

    Its h is at least h_dry, for terms that divide by it; h_u and h_v are means of it.

    Attributes:
        begin: {name: field} of h, u and v at the begin of the step, padded.
        dt: length of the step, s; None: of no step.
        thin: h_dry, m.
        x, y: the Faces.
        share, share_u, share_v: s at centres, a on faces.
    """

    begin: dict[str, Any]
    dt: Any
    thin: Any
    x: Faces
    y: Faces
    share_u: Patch
    share_v: Patch

    def __init__(self, state: State, grid: Any, params: dict, forward: Any) -> None:
        self.state, self.grid, self.has_open_sides, self.contents = state, grid, False, []
        self.begin, self.dt = (forward.begin, forward.whole) if forward else (state._asdict(), None)
        self.thin, h = params["drying_thickness"], self.begin["h"]
        self.trace = TRACE * self.thin
        self.x = faces(h, grid.depth, grid.open_u, self.thin, eastward)
        self.y = faces(h, grid.depth, grid.open_v, self.thin, northward)
        self.open_u, self.open_v = grid.open_u, grid.open_v
        self.share = share_of(h, self.x.jump, self.y.jump, self.thin)
        self.share_u, self.share_v = (np.maximum(self.share, along(self.share, 1)) for along in (eastward, northward))
        level = mixed(state.h, h, self.share)
        self.h = level + zero_outside_fronts(where(self.share > 0, np.maximum(self.thin - level, 0.0), 0.0))
        self.u = self.x.open * mixed(state.u, self.begin["u"], self.share_u)
        self.v = self.y.open * mixed(state.v, self.begin["v"], self.share_v)
        self.h_u, self.h_v = mx_f(self.h), my_f(self.h)
        self.U = grid.dy.u * (mixed(self.h_u, self.x.upwind(self.u), self.share_u) * self.u)
        self.V = grid.dx.v * (mixed(self.h_v, self.y.upwind(self.v), self.share_v) * self.v)

    def limit_outflow(self) -> None:
        """Leave water in each cell: multiply the transports out of it by min(1, KEPT h / outflow) where s > 0."""
        if self.dt is None:
            return
        leaving = np.maximum(self.U, 0.0) - np.minimum(west(self.U), 0.0)
        leaving = leaving + (np.maximum(self.V, 0.0) - np.minimum(south(self.V), 0.0))
        h, trace = self.begin["h"], self.trace
        most, outflow = KEPT * h, leaving * (self.grid.rarea.centre * self.dt)
        beyond = np.maximum(outflow - most, 0.0) / np.maximum(np.maximum(outflow, most), trace)
        held = zero_outside_fronts(where(self.share > 0, where(h > trace, beyond, 1.0), 0.0))
        self.U = self.U - where(self.U > 0, held, eastward(held, 1)) * self.U
        self.V = self.V - where(self.V > 0, held, northward(held, 1)) * self.V

    def limited(self, dt: float, shape: tuple[int, int]) -> int:
        """The number of faces of a block at which `limit_outflow` would reduce this state's transports in a step."""
        less = self.with_thickness(self.h)
        less.dt = dt
        less.limit_outflow()
        return sum(int((now != then).on(shape).sum()) for now, then in ((self.U, less.U), (self.V, less.V)))

    def driving(self, rate: Patch, forward: Any) -> Flow:
        """As `Flow.driving`; where s is 1 the new thickness drives."""
        if forward is None:
            return self
        return self.with_thickness(mixed(forward.h + rate * forward.dt, self.new(rate), self.share))

    def new(self, rate: Patch) -> Patch:
        """Thickness at the end of the step, m, from dh/dt, m s-1."""
        return self.begin["h"] if self.dt is None else self.begin["h"] + rate * self.dt

    def accelerations(self, gentle: dict, level: Flow, rate: Patch, heads: list, gravity: Any) -> dict[str, Patch]:
        """du/dt and dv/dt, m s-2, by advection, Coriolis force and pressure.

        Args:
            gentle: those by (q V) and d_x K.
            level: the Flow whose thickness drives.
            rate: dh/dt, m s-1.
            heads: what terms add to the pressure, m2 s-2.
        """
        breaking = momentum(self, self.new(rate))
        P = sum(heads, start=gravity * (level.h - self.grid.depth))
        return {
            "u": mixed(gentle["u"], breaking["u"], self.share_u) - slope_x(P, self.grid),
            "v": mixed(gentle["v"], breaking["v"], self.share_v) - slope_y(P, self.grid),
        }

    def damped(self, rates: dict[str, Patch], damping: dict[str, Patch]) -> dict[str, Patch]:
        """The accelerations with drag on open faces; closed ones take the velocity that arrives in a step.

        Args:
            rates: accelerations R, m s-2.
            damping: rates k of drag, s-1.
        """
        found = {}
        for name, axis in (("u", self.x), ("v", self.y)):
            R, now = rates[name], self.begin[name]
            k = damping.get(name, 0.0)
            if self.dt is None:
                found[name] = axis.open * (R - k * now)
                continue
            R = (R - k * now) / (1 + np.maximum(k * self.dt - 0.5, 0.0)) if name in damping else R
            arrival = (axis.arriving(now) - now) * (1 / self.dt)
            found[name] = where(axis.closed < 1, mixed(R, arrival, axis.closed), arrival)  # exact on both ends
        return found


def between(a: Patch) -> Patch:
    """a, at least 0 and at most 1."""
    return np.minimum(np.maximum(a, 0.0), 1.0)


def mixed(a: Patch, b: Patch, share: Patch) -> Patch:
    """(1 - share) a + share b; a to the bit where share is 0."""
    return a + share * (b - a)


def share_of(h: Patch, jump_x: Patch, jump_y: Patch, thin: Any) -> Patch:
    """s at centres: 1 in films, and where the slope of the level changes over a cell by much of the thickness."""
    bend = np.maximum(abs(jump_x - west(jump_x)), abs(jump_y - south(jump_y)))
    first, last = BENDS
    least, most = FILM
    breaking = between((bend - first * h) / ((last - first) * h + thin))
    return zero_outside_fronts(np.maximum(breaking, between((most * thin - h) * (1 / ((most - least) * thin)))))


def momentum(flow: WettingFlow, h_new: Patch) -> dict[str, Patch]:
    """du/dt and dv/dt, m s-2: what enters the cells of the velocities, over their new water, and the Coriolis force."""
    grid, u, v, least = flow.grid, flow.u, flow.v, LEAST * flow.thin
    gain_u = entering(u, mx_c(flow.U), eastward) + entering(u, south(mx_f(flow.V)), northward)
    gain_v = entering(v, west(my_f(flow.U)), eastward) + entering(v, my_c(flow.V), northward)
    return {
        "u": gain_u * (grid.rarea.u / np.maximum(mx_f(h_new), least)) + my_c(grid.f) * my_c(mx_f(v)),
        "v": gain_v * (grid.rarea.v / np.maximum(my_f(h_new), least)) - mx_c(grid.f) * my_f(mx_c(u)),
    }


def entering(a: Patch, U: Patch, along: Callable) -> Patch:
    """sum of transport (carried - a) into the cells of a velocity a, m4 s-2, from U at the sides behind them, m3 s-1.

    Carried is the a of the cell that the water leaves, and half its slope: the smaller one, zero at extremes.
    """
    step = along(a, 1) - a
    behind = along(step, -1)
    half = 0.5 * (np.maximum(np.minimum(behind, step), 0.0) + np.minimum(np.maximum(behind, step), 0.0))
    carried = where(U > 0, along(a + half, -1), a - half)
    return U * (carried - a) - along(U * (carried - along(a, -1)), 1)
