"""Wetting and drying: faces close in thin water, cells never lose more than they hold, bores conserve momentum.

A face has a sill z = - min(H, H_E), the higher bed of its two cells, where E marks the cell to the east or north. With
h_dry = `drying.thickness`, the water above the sill in these cells is

    l = max(0, eta - z),   r = max(0, eta_E - z),   and the face is open by w = clip(max(l, r)/h_dry - 1, 0, 1).

The velocity through a face is w u; a closed face takes on the velocity of the water that arrives at it, or zero. In a
smooth sea all else is as without drying. Where the slope of the level changes abruptly or water is thin, a cell counts
as breaking with a fraction s > 0, and a face with the larger fraction a of its two cells. This fraction of the face has

    thickness   up + min(|H - H_E|/2, up), where up is the upwind one of l and r, in place of the mean (h + h_E)/2
    momentum    the inflow of momentum into the cell of a velocity, in place of (q V) and d_x K
    time        the state at the start of the step, and for the pressure the thickness at its end, in place of the
                states that the stepper combines

No cell loses more than MAX_OUTFLOW_FRACTION of its water in a step: transports out of it are multiplied by min(1,
MAX_OUTFLOW_FRACTION h / outflow), so h >= 0 without clipping. Drag is implicit where it is fast, (R - k u)/(1 + max(0,
k dt - 1/2)), where R is the sum of the other accelerations. A lake stays at rest around dry islands. The step is that
of `timestep.ForwardBackward`.

Wind moves water through a face as far as there is water above the sill on the side that it blows from. If that is less
than 20 h_dry, the wind's acceleration is multiplied by 1 - m² (3 - 2 m), where m = 1 - water/(20 h_dry). So a stress
tau accelerates thin layers by at most 2.25 tau/(20 rho h_dry), and pushes no water against a step of the bed above it.

References: Stelling and Duinmeijer (2003) for faces and momentum. docs/decisions.md describes alternatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .flow import Flow
from .operators import maximum, minimum, mx_c, mx_f, my_c, my_f, slope_x, slope_y, where, zero_in_smooth_sea
from .patch import Patch, neighbour_x, neighbour_y, south, west
from .state import State

if TYPE_CHECKING:
    from .grid import Grid
    from .timestep import ForwardBackwardInputs

#: Largest fraction of its water that leaves a cell in a step.
MAX_OUTFLOW_FRACTION = 0.999
#: Change of the level step across a cell, relative to the thickness: s > 0 above the first, s = 1 from the second (plus
#: h_dry) on.
BREAKING_LIMITS = (0.01, 0.06)
#: Thickness in units of h_dry below which s is 1, and above which it is 0 if the level is smooth.
THIN_LAYER_LIMITS = (5.0, 20.0)
#: Smallest thickness used as a divisor, and thickness below which water stays in its cell, in units of h_dry.
MIN_DIVISOR, MIN_MOBILE_THICKNESS = 1e-3, 1e-9


class WettingFaces(NamedTuple):
    """The faces of an axis at the start of a step."""

    neighbour: Callable[[Patch, int], Patch]  # (patch, n): the values n cells further
    water_near: Patch  # l, m
    water_far: Patch  # r, m
    bed_step: Patch  # |H - H_E|, m
    open_fraction: Patch  # w
    closed_fraction: Patch  # 1 - w
    level_step: Patch  # w (r - l), the difference of the levels above the sill, m

    def upwind_thickness(self, velocity: Patch) -> Patch:
        """The upwind thickness, m: the water above the sill and, on a slope, up to as much below it."""
        water = where(
            velocity > 0, self.water_near, where(velocity < 0, self.water_far, 0.5 * (self.water_near + self.water_far))
        )
        return water + minimum(0.5 * self.bed_step, water)

    def sheltered_fraction(self, wind: Patch, drying_thickness: Any) -> Patch:
        """m² (3 - 2 m), from the water on the side from which the wind blows; 0 in water of 20 h_dry or more."""
        water = where(wind > 0, self.water_near, self.water_far)
        m = maximum(1 - water * (1 / (THIN_LAYER_LIMITS[1] * drying_thickness)), 0.0)
        return m * m * (3 - 2 * m)

    def arriving_velocity(self, velocity: Patch) -> Patch:
        """The velocity of the water that flows towards a face from its two neighbours along the axis, m s-1."""
        through_open = self.open_fraction * velocity
        return maximum(self.neighbour(through_open, -1), 0.0) + minimum(self.neighbour(through_open, 1), 0.0)


def wetting_faces(h: Patch, depth: Patch, face_mask: Patch, drying_thickness: Any, neighbour: Callable) -> WettingFaces:
    """The WettingFaces of an axis from h and depth at centres; `face_mask` is 0 along coasts of the land-sea mask."""
    eta, depth_beyond = h - depth, neighbour(depth, 1)
    sill = -minimum(depth, depth_beyond)
    water_near, water_far = maximum(eta - sill, 0.0), maximum(neighbour(eta, 1) - sill, 0.0)
    closed_fraction = zero_in_smooth_sea(clip_to_unit(2 - maximum(water_near, water_far) * (1 / drying_thickness)))
    open_fraction = face_mask * (1 - closed_fraction)
    return WettingFaces(
        neighbour,
        water_near,
        water_far,
        abs(depth_beyond - depth),
        open_fraction,
        closed_fraction,
        open_fraction * (water_far - water_near),
    )


class WettingFlow(Flow):
    """The Flow of a scheme with drying.

    Where s > 0, h is at least h_dry, because terms divide by it; h_u and h_v are means of this h.

    Attributes:
        step_start: {name: field} of h, u, v and fields of terms at the start of the step, padded.
        dt: length of the step, s; None if there is no step.
        drying_thickness: h_dry, m.
        faces_x, faces_y: the WettingFaces.
        breaking_fraction, breaking_fraction_u, breaking_fraction_v: s at centres, a on faces.
    """

    step_start: dict[str, Any]
    dt: Any
    drying_thickness: Any
    faces_x: WettingFaces
    faces_y: WettingFaces
    breaking_fraction_u: Patch
    breaking_fraction_v: Patch

    def __init__(self, state: State, grid: Grid, params: dict, gfb_inputs: ForwardBackwardInputs | None) -> None:
        self.state, self.grid, self.has_open_boundaries, self.content_names = state, grid, False, []
        self.step_start = gfb_inputs.step_start if gfb_inputs else state._asdict()
        self.dt = gfb_inputs.step_length if gfb_inputs else None
        self.drying_thickness, h = params["drying_thickness"], self.step_start["h"]
        self.min_mobile_thickness = MIN_MOBILE_THICKNESS * self.drying_thickness
        self.faces_x = wetting_faces(h, grid.depth, grid.open_u, self.drying_thickness, neighbour_x)
        self.faces_y = wetting_faces(h, grid.depth, grid.open_v, self.drying_thickness, neighbour_y)
        self.open_u, self.open_v = self.crossed_u, self.crossed_v = grid.open_u, grid.open_v
        self.breaking_fraction = breaking_fraction(
            h, self.faces_x.level_step, self.faces_y.level_step, self.drying_thickness
        )
        self.breaking_fraction_u, self.breaking_fraction_v = (
            maximum(self.breaking_fraction, neighbour(self.breaking_fraction, 1))
            for neighbour in (neighbour_x, neighbour_y)
        )
        level = blend(state.h, h, self.breaking_fraction)
        self.h = level + zero_in_smooth_sea(
            where(self.breaking_fraction > 0, maximum(self.drying_thickness - level, 0.0), 0.0)
        )
        self.u = self.faces_x.open_fraction * blend(state.u, self.step_start["u"], self.breaking_fraction_u)
        self.v = self.faces_y.open_fraction * blend(state.v, self.step_start["v"], self.breaking_fraction_v)
        self.h_u, self.h_v = mx_f(self.h), my_f(self.h)
        self.U = grid.dy.u * (blend(self.h_u, self.faces_x.upwind_thickness(self.u), self.breaking_fraction_u) * self.u)
        self.V = grid.dx.v * (blend(self.h_v, self.faces_y.upwind_thickness(self.v), self.breaking_fraction_v) * self.v)

    def sheltering(self, wind: dict[str, Patch]) -> dict[str, Patch]:
        """Minus the part of the accelerations by the wind that thin water and steps of the bed take away, m s-2."""
        return {
            name: -faces.sheltered_fraction(wind[name], self.drying_thickness) * wind[name]
            for name, faces in (("u", self.faces_x), ("v", self.faces_y))
            if name in wind
        }

    def limit_outflow(self) -> None:
        """Where s > 0, multiply the transports out of each cell by min(1, MAX_OUTFLOW_FRACTION h / outflow).

        No water leaves a cell with s > 0 in which h is at most `min_mobile_thickness`.
        """
        if self.dt is None:
            return
        leaving = maximum(self.U, 0.0) - minimum(west(self.U), 0.0)
        leaving = leaving + (maximum(self.V, 0.0) - minimum(south(self.V), 0.0))
        h, min_thickness = self.step_start["h"], self.min_mobile_thickness
        max_outflow, outflow = MAX_OUTFLOW_FRACTION * h, leaving * (self.grid.rarea.centre * self.dt)
        excess = maximum(outflow - max_outflow, 0.0) / maximum(maximum(outflow, max_outflow), min_thickness)
        outflow_reduction = zero_in_smooth_sea(
            where(self.breaking_fraction > 0, where(h > min_thickness, excess, 1.0), 0.0)
        )
        self.U = self.U - where(self.U > 0, outflow_reduction, neighbour_x(outflow_reduction, 1)) * self.U
        self.V = self.V - where(self.V > 0, outflow_reduction, neighbour_y(outflow_reduction, 1)) * self.V

    def n_limited_faces(self, dt: float, shape: tuple[int, int]) -> int:
        """The number of faces of a block at which `limit_outflow` would reduce this state's transports in a step."""
        limited_flow = self.with_thickness(self.h)
        limited_flow.dt = dt
        limited_flow.limit_outflow()
        return sum(
            int((transport != limited).block_values(shape).sum())
            for transport, limited in ((self.U, limited_flow.U), (self.V, limited_flow.V))
        )

    def flow_for_pressure(self, rate: Patch, gfb_inputs: ForwardBackwardInputs | None) -> Flow:
        """As `Flow.flow_for_pressure`; where s is 1, the thickness is that at the end of the step."""
        if gfb_inputs is None:
            return self
        smooth_h = gfb_inputs.pressure_h + rate * gfb_inputs.pressure_dt
        return self.with_thickness(blend(smooth_h, self.thickness_at_end(rate), self.breaking_fraction))

    def thickness_at_end(self, rate: Patch) -> Patch:
        """Thickness at the end of the step, m, from dh/dt, m s-1."""
        return self.step_start["h"] if self.dt is None else self.step_start["h"] + rate * self.dt

    def accelerations(
        self, smooth_rates: dict, flow_for_pressure: Flow, rate: Patch, heads: list, gravity: Any
    ) -> dict[str, Patch]:
        """du/dt and dv/dt, m s-2, from advection, Coriolis force and pressure.

        Args:
            smooth_rates: those from (q V) and d_x K.
            flow_for_pressure: the Flow whose thickness gives the pressure.
            rate: dh/dt, m s-1.
            heads: what terms add to the pressure, m2 s-2.
        """
        breaking_rates = breaking_accelerations(self, self.thickness_at_end(rate))
        P = sum(heads, start=gravity * (flow_for_pressure.h - self.grid.depth))
        return {
            "u": blend(smooth_rates["u"], breaking_rates["u"], self.breaking_fraction_u) - slope_x(P, self.grid),
            "v": blend(smooth_rates["v"], breaking_rates["v"], self.breaking_fraction_v) - slope_y(P, self.grid),
        }

    def apply_drag(self, rates: dict[str, Patch], damping: dict[str, Patch]) -> dict[str, Patch]:
        """The accelerations with drag on open faces; closed faces take on the arriving velocity within a step.

        Args:
            rates: accelerations R by all but drag, m s-2, {"u": ..., "v": ...}.
            damping: rates k of drag, s-1, by the same names; empty without drag.
        """
        accelerations = {}
        for name, axis in (("u", self.faces_x), ("v", self.faces_y)):
            R, velocity = rates[name], self.step_start[name]
            k = damping.get(name, 0.0)
            if self.dt is None:
                accelerations[name] = axis.open_fraction * (R - k * velocity)
                continue
            R = (R - k * velocity) / (1 + maximum(k * self.dt - 0.5, 0.0)) if name in damping else R
            arrival = (axis.arriving_velocity(velocity) - velocity) * (1 / self.dt)
            # `blend` alone is exact only where the weight is 0; this is also exact where it is 1.
            accelerations[name] = where(axis.closed_fraction < 1, blend(R, arrival, axis.closed_fraction), arrival)
        return accelerations


def clip_to_unit(a: Patch) -> Patch:
    return minimum(maximum(a, 0.0), 1.0)


def blend(a: Patch, b: Patch, weight: Patch) -> Patch:
    """(1 - weight) a + weight b; a to the bit where weight is 0."""
    return a + weight * (b - a)


def breaking_fraction(h: Patch, level_step_x: Patch, level_step_y: Patch, drying_thickness: Any) -> Patch:
    """s at centres: 1 in thin layers, and where the level step changes across a cell by much of the thickness."""
    bend = maximum(abs(level_step_x - west(level_step_x)), abs(level_step_y - south(level_step_y)))
    bend_start, bend_end = BREAKING_LIMITS
    thin_full, thin_end = THIN_LAYER_LIMITS
    breaking = clip_to_unit((bend - bend_start * h) / ((bend_end - bend_start) * h + drying_thickness))
    return zero_in_smooth_sea(
        maximum(
            breaking,
            clip_to_unit((thin_end * drying_thickness - h) * (1 / ((thin_end - thin_full) * drying_thickness))),
        )
    )


def breaking_accelerations(flow: WettingFlow, h_new: Patch) -> dict[str, Patch]:
    """du/dt and dv/dt, m s-2: inflow of momentum per new volume of water in the velocity's cell, and Coriolis force."""
    grid, u, v, min_thickness = flow.grid, flow.u, flow.v, MIN_DIVISOR * flow.drying_thickness
    gain_u = momentum_inflow(u, mx_c(flow.U), neighbour_x) + momentum_inflow(u, south(mx_f(flow.V)), neighbour_y)
    gain_v = momentum_inflow(v, west(my_f(flow.U)), neighbour_x) + momentum_inflow(v, my_c(flow.V), neighbour_y)
    return {
        "u": gain_u * (grid.rarea.u / maximum(mx_f(h_new), min_thickness)) + my_c(grid.f) * my_c(mx_f(v)),
        "v": gain_v * (grid.rarea.v / maximum(my_f(h_new), min_thickness)) - mx_c(grid.f) * my_f(mx_c(u)),
    }


def momentum_inflow(a: Patch, U: Patch, neighbour: Callable) -> Patch:
    """The sum of U (upwind a - a) into the cells of a velocity a, m4 s-2, from U at their west or south edges, m3 s-1.

    The upwind a is that of the cell which the water leaves, extrapolated to the edge by half a slope: the smaller of
    the differences from both neighbours, or zero at extremes.
    """
    step = neighbour(a, 1) - a
    step_behind = neighbour(step, -1)
    half_slope = 0.5 * (maximum(minimum(step_behind, step), 0.0) + minimum(maximum(step_behind, step), 0.0))
    upwind_value = where(U > 0, neighbour(a + half_slope, -1), a - half_slope)
    return U * (upwind_value - a) - neighbour(U * (upwind_value - neighbour(a, -1)), 1)
