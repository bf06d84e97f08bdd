"""Quantities of the state, tracers and forcing on blocks, and the inflow through open sides.

The state has no current at the faces of open sides: it follows from the sea level inside (`terms.open_sides`).
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import UsageError
from ..parallel.fixed_point import FixedPoint
from .derived import DERIVED
from .dynamics import flow_at
from .face_thickness import FACE_THICKNESS
from .flow import Flow
from .grid import Grid
from .instant import Instant
from .records import present
from .state import State
from .table import INFLOW
from .terms.tracer import concentration_of
from .timestep import Forward

#: Row or column of the faces of each side, and the sign of an inflow.
FACES = {"west": (0, 1), "east": (-2, -1), "south": (0, 1), "north": (-2, -1)}


def derive(names, blocks, physics, face_thickness: str, invert, film: float | None = None) -> list[dict]:
    """The quantities, tracers or prognostic fields `names` on each block, arrays of its shape.

    Args:
        blocks: (State of Patches with a halo, Grid of Patches, shape) of each block, NumPy or JAX.
        face_thickness: a name in FACE_THICKNESS.
        invert: function of a location and the sources on each block that solves Poisson's equation.
        film: thickness above which a cell counts as wet, m; None without drying.
    """
    found = [{} for _ in blocks]
    shared = {"physics": physics, "face_thickness": FACE_THICKNESS[face_thickness], "film": film}
    for name in names:
        row, values = DERIVED.get(name), []
        for state, grid, shape in blocks:
            made = row.evaluate(**state._asdict(), grid=grid, **shared) if row else concentration_of(name, state)
            values.append(made.on(shape))
        values = invert(row.location, values) if row and row.laplacian else values
        for fields, field in zip(found, values, strict=True):
            fields[name] = field
    return found


def derived(scheme) -> list[str]:
    """The names of the derived fields of a run with this Scheme."""
    names = [name for name in DERIVED if scheme.drying or name != "wet"]
    return [*names, *scheme.written]


def forces(names, params, scheme, step: int, shape) -> dict[str, np.ndarray]:
    """The fields `names` of FORCING after a number of steps, as in the equations, on a block."""
    dtype = params["density"].values.dtype
    now = present(params, Instant(np.full((1, 1), step, np.int32)), scheme.varying, dtype)
    return {name: np.broadcast_to(now[name].on(shape), shape) for name in names}


def known(names, scheme, more=()) -> list[str]:
    """The list of one name or several. UsageError: one is no field of this Scheme, and not in `more`."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    there = [*derived(scheme), *more]
    if unknown := [name for name in names if name not in there]:
        raise UsageError(f"no field {', '.join(unknown)}; there are {', '.join(there)}")
    return names


def flow_through(state: State, grid: Grid, params: dict, scheme, step, forward: Forward | None = None) -> Flow:
    """The Flow of a padded state after a number of steps; Patches of NumPy or JAX, params as for `tendency`.

    With the Forward of a forward-backward step the state is that in the middle of the step.
    """
    now = Instant(step, 0.5 if forward else 0.0)
    return flow_at(state, now, grid, present(params, now, scheme.varying, state.h.values.dtype), scheme, forward)


def seen(flow: Flow) -> tuple[State, Grid]:
    """State and Grid of a Flow, in which faces of open sides are open and have a current."""
    grid = flow.grid
    opened = grid._replace(open_u=grid.open_u + grid.side_u, open_v=grid.open_v + grid.side_v)
    return flow.state._replace(u=flow.u, v=flow.v), opened


def inflow(flows: list[Flow], sides, transport) -> dict[str, float]:
    """The sum of U, or V, over the faces of each open side, positive inward, m3 s-1; the same bits on any layout.

    These are the transports of the mass equation: with the weights of ab2 and ab3, and by the flows in the middle of
    steps of gfb, time step times inflow is the change of volume. All processes call it together, with the Flow of each
    of their blocks.
    """
    found = {side: [through(side, *each) for each in zip(flows, transport.blocks, strict=True)] for side in sides}
    most = [np.abs(faces).max(initial=0.0) for of_side in found.values() for faces in of_side]
    largest, broken = transport.reduce(np.array([np.nan_to_num(max(most)), not np.isfinite(most).all()]), "max")
    scale = FixedPoint(math.nan if broken else float(largest))
    pieces = [np.sum([scale.pieces(faces) for faces in of_side], axis=0, dtype=np.int64) for of_side in found.values()]
    sums = transport.reduce(np.array(pieces), "sum")
    return {INFLOW + side: scale.value(each) for side, each in zip(sides, sums, strict=True)}


def through(side: str, flow: Flow, block) -> np.ndarray:
    """The transports inward through the faces of a side in a block, m3 s-1, float64."""
    across, number, sign = side in ("west", "east"), *FACES[side]
    span = block.x if across else block.y
    face = number % span.size
    if face not in span:
        return np.zeros(0)
    cut = np.index_exp[:, face - span.start] if across else np.index_exp[face - span.start, :]
    faces, U = (flow.grid.side_u, flow.U) if across else (flow.grid.side_v, flow.V)
    faces, U = (np.broadcast_to(each.on(block.shape), block.shape)[cut].astype(np.float64) for each in (faces, U))
    return sign * np.where(faces > 0, U, 0.0)
