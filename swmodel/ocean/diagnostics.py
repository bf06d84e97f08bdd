"""Diagnostics of the whole domain: mass, energy, potential enstrophy, contents of tracers, extremes.

Diagnostics have the same bits on any layout: the contributions of cells are computed in float64 and added as integers,
so that the order of cells and processes does not matter (`FixedPoint`).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..parallel.environment import n_cores_per_process
from ..parallel.fixed_point import FixedPoint
from .derived import bernoulli_kinetic_energy, corner_thickness, relative_vorticity
from .operators import maximum, minimum, where
from .patch import Patch, east, north, south, west
from .state import State
from .table import INFLOW_PREFIX
from .terms.tracer import CONTENT_SUFFIX, content_of, tracers_in

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport
    from .scheme import Scheme

#: Cells per strip: few enough for the cache, and enough work for a thread.
STRIP_CELLS = 1 << 17


class Diagnostic(NamedTuple):
    units: str
    long_name: str


DIAGNOSTICS = {
    "mass": Diagnostic("kg", "mass of the layer"),
    "energy": Diagnostic("J", "kinetic and available potential energy"),
    "potential_enstrophy": Diagnostic("m s-2", "potential enstrophy"),
    "max_speed": Diagnostic("m s-1", "largest speed"),
    "min_h": Diagnostic("m", "smallest thickness of the layer"),
    "cfl": Diagnostic("1", "CFL number of the current and of gravity waves"),
}

DRYING_DIAGNOSTICS = {
    "flooded_area": Diagnostic("m2", "area of flooded land"),
    "limited_faces": Diagnostic("1", "faces with limited outflow"),
}


def diagnostics_of_run(scheme: Scheme, sides, max_substeps: int = 1) -> dict[str, Diagnostic]:
    """The diagnostics of a run, by name: DIAGNOSTICS, contents of tracers, inflow through open boundaries.

    Runs with drying also have DRYING_DIAGNOSTICS, and runs with substeps the time step.
    """
    diagnostics = DIAGNOSTICS | (DRYING_DIAGNOSTICS if scheme.drying else {})
    diagnostics |= {"time_step": Diagnostic("s", "length of the last time steps")} if max_substeps > 1 else {}
    diagnostics |= {name: Diagnostic("m3", f"content of {name}") for name in tracers_in(scheme.state_type._fields)}
    return diagnostics | {
        INFLOW_PREFIX + side: Diagnostic("m3 s-1", f"inflow through the {side} side") for side in sides
    }


def diagnose(blocks, config: Config, transport: Transport) -> dict[str, float]:
    """The diagnostics of the whole domain, except for time step, inflow and limited faces.

    All processes call it together and get the same result. All values are NaN if the state is not finite. Potential
    enstrophy is also NaN if a thickness is not positive; with drying it uses thicknesses of at least that of wet
    cells. With drying, land without water has no energy.

    Args:
        blocks: (state, grid, shape) of each block of this process, with Patches of NumPy arrays, including a halo.

    Reference: docs/numerics.md, "Diagnostics".
    """
    g, density = config.physics.gravity, config.physics.density
    wet_thickness = config.drying.wet_thickness_in(config.run.dtype)
    strips = [strip for fields in blocks for strip in cut_strips(*fields)]
    bounds = field_bounds(strips, transport)
    cell_bounds = contribution_bounds(bounds, g, wet_thickness)
    sums, max_speed = sums_and_max_speed(strips, cell_bounds, g, wet_thickness, transport)
    return {
        "mass": density * sums.pop("mass"),
        "energy": density * sums.pop("energy"),
        "potential_enstrophy": sums.pop("potential_enstrophy"),
        "max_speed": max_speed,
        "min_h": bounds["min_h"],
        "cfl": config.time.dt * (max_speed + math.sqrt(g * bounds["h"])) * bounds["per_length"],
    } | sums


def cut_strips(padded_state: State, grid, shape):
    """Yield the State, the Grid and the shape of each strip of rows of a block: views, with a halo of one row."""
    rows = max(1, STRIP_CELLS // shape[1])
    for first in range(0, shape[0], rows):
        last = min(first + rows, shape[0])
        yield *(select_rows(fields, first - 1, last + 1) for fields in (padded_state, grid)), (last - first, shape[1])


def to_double_precision(state: State, grid) -> State:
    """The state in float64, with zero velocity on closed faces."""
    state = type(state)._make(field.map(lambda a: a.astype(np.float64)) for field in state)
    return state._replace(u=grid.open_u * state.u, v=grid.open_v * state.v)


def map_on_all_cores(function, strips) -> list:
    """Results of function(state, grid, shape) for all strips, in order, without NumPy's warnings."""

    def without_warnings(strip):
        with np.errstate(all="ignore"):
            return function(*strip)

    with ThreadPoolExecutor(n_cores_per_process()) as threads:
        return list(threads.map(without_warnings, strips))


def select_rows(field, first: int, last: int):
    """Rows [first, last) of a Patch, or of each Patch in a tuple, renumbered so that row first + 1 becomes row 0."""
    if isinstance(field, tuple):
        return type(field)(*(select_rows(each, first, last) for each in field))
    if field.values.shape[-2] == 1:
        return Patch(field.values, (-1, field.start[1]))
    offset = field.start[0]
    return Patch(field.values[..., first - offset : last - offset, :], (-1, field.start[1]))


def field_bounds(strips, transport: Transport) -> dict[str, float]:
    """Bounds of the fields over all strips of all processes, by name, SI units; all NaN if one is not finite.

    They are the largest absolute values of the prognostic fields (contents in place of concentrations), depth, f, area,
    dx, dy and 1/area at any location, `max_inverse_length`, and as "min_h" the smallest thickness on water.
    """
    bounds_of_strips = map_on_all_cores(field_bounds_of_strip, strips)
    local = np.max([list(bounds.values()) for bounds in bounds_of_strips], axis=0)
    finite = np.isfinite(local[:-1]).all() and not np.isnan(local[-1])
    # MPI does not define the maximum of a number and NaN, hence the flag.
    *maxima, negated_min_h, not_finite = transport.reduce(np.append(np.where(finite, local, 0), not finite), "max")
    bounds = [math.nan] * len(local) if not_finite else [*map(float, maxima), -float(negated_min_h)]
    return dict(zip(bounds_of_strips[0], bounds, strict=True))


def field_bounds_of_strip(state: State, grid, shape) -> dict[str, float]:
    """`field_bounds` of a strip; "min_h" has the opposite sign, so that all are maxima."""
    wet = np.broadcast_to(grid.wet.block_values(shape), shape) != 0
    fields = {name: field.block_values(shape) for name, field in state._asdict().items()}
    h = fields["h"] if wet.all() else fields["h"][wet]
    fields |= {"h": h, "depth": grid.depth.block_values(shape), "f": grid.f.cut((-1, -1), shape).values}
    bounds = {name: max(values.max(initial=0), -values.min(initial=0)) for name, values in fields.items()}
    for name, grid_name in {"area": "area", "dx": "dx", "dy": "dy", "per_area": "rarea"}.items():
        bounds[name] = max(location.cut((-1, -1), shape).values.max() for location in getattr(grid, grid_name))
    for name in (name for name in tracers_in(state._fields) if name in bounds):
        bounds[name + CONTENT_SUFFIX] = float(bounds["h"]) * float(bounds.pop(name))
    bounds["per_length"] = max_inverse_length(grid, shape, wet)
    return bounds | {"min_h": -h.min(initial=np.inf)}


def max_inverse_length(grid, shape, wet) -> float:
    """The largest sqrt(1/dx² + 1/dy²) in the rows of a block that contain water, m-1; 0 without water."""
    inverse_lengths = np.hypot(grid.rdx.centre.block_values(shape), grid.rdy.centre.block_values(shape))
    return float((inverse_lengths * np.any(wet, axis=1, keepdims=True)).max())


def contribution_bounds(bounds_of_fields: dict[str, float], g: float, wet_thickness: float | None) -> dict[str, float]:
    """Upper bounds of a cell's `contributions`, by name, from `field_bounds`."""
    names = "h", "u", "v", "area", "f", "dx", "dy", "per_area", "min_h", "depth"
    h, u, v, area, f, dx, dy, per_area, min_h, depth = (bounds_of_fields[name] for name in names)
    max_absolute_vorticity = f + 4 * (v * dy + u * dx) * per_area
    min_thickness, thickness = wet_thickness or (min_h if min_h > 0 else math.nan), h + depth
    # Products overflow to infinity; powers would raise OverflowError.
    bounds = {
        "mass": area * h,
        "energy": 0.5 * area * (h * (u * u + v * v) + g * thickness * thickness),
        "potential_enstrophy": 0.5 * area * max_absolute_vorticity * max_absolute_vorticity / min_thickness,
    }
    bounds |= {} if wet_thickness is None else {"flooded_area": area}
    return bounds | {
        name.removesuffix(CONTENT_SUFFIX): area * bounds_of_fields[name]
        for name in bounds_of_fields
        if name.endswith(CONTENT_SUFFIX)
    }


def sums_and_max_speed(
    strips, bounds: dict[str, float], g: float, wet_thickness, transport: Transport
) -> tuple[dict[str, float], float]:
    """Sums of the `contributions` of all cells, by name, and the largest speed, m s-1; `bounds` are those of a cell."""
    scales = {name: FixedPoint(bound) for name, bound in bounds.items()}

    def pieces_of_strip(state, grid, shape):
        state = to_double_precision(state, grid)
        contributions_of_cells = contributions(state, grid, g, wet_thickness)
        pieces = [
            scale.high_and_low_sums(np.broadcast_to(contributions_of_cells[name].block_values(shape), shape))
            for name, scale in scales.items()
        ]
        return pieces, (grid.wet * bernoulli_kinetic_energy(state.u, state.v, grid)).block_values(shape).max()

    pieces, kinetic = zip(*map_on_all_cores(pieces_of_strip, strips), strict=True)
    pieces = transport.reduce(np.sum(pieces, axis=0, dtype=np.int64), "sum")
    finite = scales["mass"].is_valid
    max_kinetic = float(transport.reduce(np.nan_to_num(np.max(kinetic)), "max")) if finite else math.nan
    sums = {name: scale.value(row) for (name, scale), row in zip(scales.items(), pieces, strict=True)}
    return sums, math.sqrt(2 * max_kinetic)


def contributions(state: State, grid, g, wet_thickness: float | None = None) -> dict[str, Patch]:
    """The contributions of each cell to the sums over the domain, by name.

        mass                   volume, m3
        energy                 energy over density of the cell and its east and north faces, m5 s-2
        potential_enstrophy    a quarter of area (f + zeta)²/(2 h_q) of each of its four corners, m s-2
        flooded_area           with drying (`wet_thickness`, m): the area of the cell if it is flooded land, m2

    and the content of each tracer, m3, by its name. With drying the potential energy of water on land is relative to
    the same land without water.
    """
    # Means are computed as sums times one factor, which saves a pass over the fields for each of them.
    h, u, v = state[:3]
    eta, water = h - grid.depth, grid.area.centre * grid.wet
    squared_level, bounded_h, flooded = eta * eta, h, {}
    if wet_thickness is not None:
        land = minimum(grid.depth, 0.0)
        squared_level, bounded_h = squared_level - land * land, maximum(h, wet_thickness)
        flooded = {"flooded_area": where((h > wet_thickness) & (land < 0), water, 0.0)}
    kinetic = (0.25 * grid.area.u) * ((h + east(h)) * (u * u)) + (0.25 * grid.area.v) * ((h + north(h)) * (v * v))
    absolute_vorticity = grid.f + relative_vorticity(u, v, grid)
    enstrophy = grid.area.corner * (absolute_vorticity * absolute_vorticity / corner_thickness(bounded_h, grid))
    enstrophy = enstrophy + west(enstrophy)
    enstrophy = enstrophy + south(enstrophy)
    return {
        "mass": water * h,
        "energy": kinetic + (0.5 * g * water) * squared_level,
        "potential_enstrophy": (0.125 * grid.wet) * enstrophy,
        **{name: water * content_of(name, state) for name in tracers_in(state._fields)},
        **flooded,
    }
