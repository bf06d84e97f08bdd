"""Quantities of the state, tracers and forcing on blocks, and the inflow through open boundaries.

The state has no current at the faces of open boundaries: it follows from the sea level inside
(`terms.open_boundaries`).
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import UsageError
from ..parallel.fixed_point import FixedPoint
from .derived import DERIVED
from .dynamics import make_flow
from .face_thickness import FACE_THICKNESS
from .flow import Flow
from .grid import Grid
from .instant import Instant
from .records import interpolate_records
from .state import State
from .table import INFLOW_PREFIX
from .terms.tracer import concentration_of
from .timestep import ForwardBackwardInputs

#: Row or column of the faces of each side, and the sign of an inflow.
SIDE_FACES = {"west": (0, 1), "east": (-2, -1), "south": (0, 1), "north": (-2, -1)}


def evaluate_fields(
    names, blocks, physics, face_thickness: str, solve_poisson, wet_thickness: float | None = None
) -> list[dict]:
    """The quantities, tracers or prognostic fields `names` on each block, arrays of its shape.

    Args:
        blocks: (State of Patches with a halo, Grid of Patches, shape) of each block, NumPy or JAX.
        face_thickness: a name in FACE_THICKNESS.
        solve_poisson: function of a location and the sources on each block that solves Poisson's equation.
        wet_thickness: thickness above which a cell counts as wet, m; None without drying.
    """
    fields_of_blocks = [{} for _ in blocks]
    inputs = {"physics": physics, "face_thickness": FACE_THICKNESS[face_thickness], "wet_thickness": wet_thickness}
    for name in names:
        row, values = DERIVED.get(name), []
        for state, grid, shape in blocks:
            field_patch = row.evaluate(**state._asdict(), grid=grid, **inputs) if row else concentration_of(name, state)
            values.append(field_patch.block_values(shape))
        values = solve_poisson(row.location, values) if row and row.is_potential else values
        for fields, field in zip(fields_of_blocks, values, strict=True):
            fields[name] = field
    return fields_of_blocks


def derived_names(scheme) -> list[str]:
    """The names of the derived fields of a run with this Scheme."""
    names = [name for name in DERIVED if scheme.drying or name != "wet"]
    return [*names, *scheme.output_fields]


def forcing_fields(names, params, scheme, step: int, shape) -> dict[str, np.ndarray]:
    """The fields `names` of FORCING after a number of steps, as in the equations, on a block."""
    dtype = params["density"].values.dtype
    now = interpolate_records(params, Instant(np.full((1, 1), step, np.int32)), scheme.varying, dtype)
    return {name: np.broadcast_to(now[name].block_values(shape), shape) for name in names}


def require_fields(names, scheme, extra_names=()) -> list[str]:
    """The list of one name or several. UsageError: one is no field of this Scheme, and not in `extra_names`."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    available = [*derived_names(scheme), *extra_names]
    if unknown := [name for name in names if name not in available]:
        raise UsageError(f"no field {', '.join(unknown)}; there are {', '.join(available)}")
    return names


def flow_at_step(
    state: State, grid: Grid, params: dict, scheme, step, forward: ForwardBackwardInputs | None = None
) -> Flow:
    """The Flow of a padded state after a number of steps; Patches of NumPy or JAX, params as for `tendency`.

    With the ForwardBackwardInputs of a forward-backward step the state is that in the middle of the step.
    """
    now = Instant(step, 0.5 if forward else 0.0)
    return make_flow(
        state, now, grid, interpolate_records(params, now, scheme.varying, state.h.values.dtype), scheme, forward
    )


def with_boundary_velocity(flow: Flow) -> tuple[State, Grid]:
    """State and Grid of a Flow, in which faces of open boundaries are open and have a current."""
    grid = flow.grid
    opened = grid._replace(open_u=grid.open_u + grid.open_boundary_u, open_v=grid.open_v + grid.open_boundary_v)
    return flow.state._replace(u=flow.u, v=flow.v), opened


def inflow(flows: list[Flow], sides, transport) -> dict[str, float]:
    """The sum of U, or V, over the faces of each open boundary, positive inward, m3 s-1; the same bits on any layout.

    These are the transports of the mass equation: with the weights of ab2 and ab3, and by the flows in the middle of
    steps of gfb, time step times inflow is the change of volume. All processes call it together, with the Flow of each
    of their blocks.
    """
    transports_by_side = {
        side: [inward_transports(side, *each) for each in zip(flows, transport.blocks, strict=True)] for side in sides
    }
    max_transports = [np.abs(faces).max(initial=0.0) for of_side in transports_by_side.values() for faces in of_side]
    largest, not_finite = transport.reduce(
        np.array([np.nan_to_num(max(max_transports)), not np.isfinite(max_transports).all()]), "max"
    )
    scale = FixedPoint(math.nan if not_finite else float(largest))
    pieces = [
        np.sum([scale.high_and_low_sums(faces) for faces in of_side], axis=0, dtype=np.int64)
        for of_side in transports_by_side.values()
    ]
    sums = transport.reduce(np.array(pieces), "sum")
    return {INFLOW_PREFIX + side: scale.value(each) for side, each in zip(sides, sums, strict=True)}


def inward_transports(side: str, flow: Flow, block) -> np.ndarray:
    """The transports inward through the faces of a side in a block, m3 s-1, float64."""
    along_x, face_number, sign = side in ("west", "east"), *SIDE_FACES[side]
    span = block.x if along_x else block.y
    face = face_number % span.axis_size
    if face not in span:
        return np.zeros(0)
    line = np.index_exp[:, face - span.start] if along_x else np.index_exp[face - span.start, :]
    faces, U = (flow.grid.open_boundary_u, flow.U) if along_x else (flow.grid.open_boundary_v, flow.V)
    faces, U = (
        np.broadcast_to(each.block_values(block.shape), block.shape)[line].astype(np.float64) for each in (faces, U)
    )
    return sign * np.where(faces > 0, U, 0.0)
