"""Derived quantities, tracers and forcing on blocks, and the inflow through open boundaries.

The State has no current on the faces of open boundaries; `terms.open_boundaries` computes it from the sea level inside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError
from ..parallel.fixed_point import FixedPoint
from .derived import DERIVED
from .dynamics import make_flow
from .flow import Flow
from .grid import Grid
from .instant import Instant
from .operators import where
from .records import interpolate_records
from .state import State
from .table import INFLOW_PREFIX
from .terms.tracer import concentration_of
from .timestep import ForwardBackwardInputs

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport
    from .scheme import Scheme

#: Smallest thickness used as a divisor of transports, m.
MIN_THICKNESS = 1e-9
#: Row or column of the faces on each side (negative: from the end), and the sign of a transport into the domain.
SIDE_FACES = {"west": (0, 1), "east": (-2, -1), "south": (0, 1), "north": (-2, -1)}


def evaluate_fields(names, blocks, physics, solve_poisson, wet_thickness: float | None = None) -> list[dict]:
    """The derived quantities, tracers or prognostic fields `names` on each block, in arrays of its shape.

    Args:
        blocks: (State of Patches with a halo, Grid of Patches, shape) of each block, NumPy or JAX.
        solve_poisson: function of a location and the sources on each block that solves Poisson's equation.
        wet_thickness: thickness above which a cell counts as wet, m; None without drying.
    """
    fields_of_blocks: list[dict[str, Any]] = [{} for _ in blocks]
    inputs = {"physics": physics, "wet_thickness": wet_thickness}
    for name in names:
        row, values = DERIVED.get(name), []
        for state, grid, shape in blocks:
            field_patch = row.evaluate(**state._asdict(), grid=grid, **inputs) if row else concentration_of(name, state)
            values.append(field_patch.block_values(shape))
        values = solve_poisson(row.location, values) if row and row.is_potential else values
        for fields, field in zip(fields_of_blocks, values, strict=True):
            fields[name] = field
    return fields_of_blocks


def derived_names(scheme: Scheme) -> list[str]:
    """The names of the fields that can be derived from the state of a run with this Scheme."""
    names = [name for name in DERIVED if scheme.drying or name != "wet"]
    return [*names, *scheme.output_fields]


def forcing_fields(names, params, scheme: Scheme, step: int, shape) -> dict[str, np.ndarray]:
    """The forcing fields `names` on a block after `step` steps, as the equations use them."""
    dtype = params["density"].values.dtype
    now = interpolate_records(params, Instant(np.full((1, 1), step, np.int32)), scheme.varying, dtype)
    return {name: np.broadcast_to(now[name].block_values(shape), shape) for name in names}


def require_fields(names, scheme: Scheme, extra_names=()) -> list[str]:
    """The names as a list. UsageError: a name is neither that of a field of this Scheme nor in `extra_names`."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    available = [*derived_names(scheme), *extra_names]
    if unknown := [name for name in names if name not in available]:
        raise UsageError(f"no field {', '.join(unknown)}; available are {', '.join(available)}")
    return names


def flow_at_step(
    state: State, grid: Grid, params: dict, scheme: Scheme, step, gfb_inputs: ForwardBackwardInputs | None = None
) -> Flow:
    """The Flow of a padded state after a number of steps; Patches of NumPy or JAX, params as for `dynamics.tendency`.

    With ForwardBackwardInputs, the state is that in the middle of a forward-backward step.
    """
    now = Instant(step, 0.5 if gfb_inputs else 0.0)
    return make_flow(
        state, now, grid, interpolate_records(params, now, scheme.varying, state.h.values.dtype), scheme, gfb_inputs
    )


def with_boundary_velocity(flow: Flow) -> tuple[State, Grid]:
    """The State and Grid of a Flow, in which faces at open boundaries and over barriers are open and have a velocity.

    The velocity over a barrier is the transport per length divided by the mean thickness of both cells.
    """
    grid, u, v, open_u, open_v = flow.grid, flow.u, flow.v, flow.open_u, flow.open_v
    if flow.has_barriers:
        h_u, h_v = (where(h > MIN_THICKNESS, h, MIN_THICKNESS) for h in (flow.h_u, flow.h_v))
        u = where(flow.crossed_u > open_u, flow.U / (grid.dy.u * h_u), u)
        v = where(flow.crossed_v > open_v, flow.V / (grid.dx.v * h_v), v)
        open_u, open_v = flow.crossed_u, flow.crossed_v
    opened = grid._replace(open_u=open_u + grid.open_boundary_u, open_v=open_v + grid.open_boundary_v)
    return flow.state._replace(u=u, v=v), opened


def inflow(flows: list[Flow], sides, transport: Transport) -> dict[str, float]:
    """The transport into the domain through each open boundary, m3 s-1; it has the same bits on any layout.

    It is that of the mass equation: time step times inflow is the change of volume, if inflows are weighted as ab2 and
    ab3 weight tendencies, or computed from the Flow in the middle of a step of gfb. All processes call it together,
    with the Flow of each of their blocks.
    """
    transports_by_side = {
        side: [inward_transports(side, *each) for each in zip(flows, transport.blocks, strict=True)] for side in sides
    }
    max_transports = [
        np.abs(faces).max(initial=0.0) for transports in transports_by_side.values() for faces in transports
    ]
    largest, not_finite = transport.reduce(
        np.array([np.nan_to_num(max(max_transports)), not np.isfinite(max_transports).all()]), "max"
    )
    scale = FixedPoint(math.nan if not_finite else float(largest))
    pieces = [
        np.sum([scale.high_and_low_sums(faces) for faces in transports], axis=0, dtype=np.int64)
        for transports in transports_by_side.values()
    ]
    sums = transport.reduce(np.array(pieces), "sum")
    return {INFLOW_PREFIX + side: scale.value(each) for side, each in zip(sides, sums, strict=True)}


def inward_transports(side: str, flow: Flow, block) -> np.ndarray:
    """The inward transports through the faces of a block on one side of the domain, m3 s-1, float64."""
    along_x, face_number, sign = side in ("west", "east"), *SIDE_FACES[side]
    span = block.x if along_x else block.y
    face = face_number % span.axis_size
    if face not in span:
        return np.zeros(0)
    line = np.index_exp[:, face - span.start] if along_x else np.index_exp[face - span.start, :]
    patches = (flow.grid.open_boundary_u, flow.U) if along_x else (flow.grid.open_boundary_v, flow.V)
    faces, U = (
        np.broadcast_to(each.block_values(block.shape), block.shape)[line].astype(np.float64) for each in patches
    )
    return sign * np.where(faces > 0, U, 0.0)
