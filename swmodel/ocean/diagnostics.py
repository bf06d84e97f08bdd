"""Numbers for the whole domain: mass, energy, potential enstrophy, extremes.

They have the same bits on any layout. Contributions of cells are computed in float64; sums over cells and processes are
sums of integers, which do not depend on the order (`FixedPoint`).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..parallel.environment import share_of_cores
from ..parallel.fixed_point import FixedPoint
from .derived import bernoulli_kinetic_energy, corner_thickness, relative_vorticity
from .operators import where
from .patch import Patch, east, north, south, west
from .state import State
from .table import INFLOW
from .terms.tracer import CONTENT, content_of, tracers_in

#: Cells in a strip, which fits into the cache and is large enough for a thread.
STRIP_CELLS = 1 << 17


class Quantity(NamedTuple):
    """Units and description of a number for the whole domain."""

    units: str
    long_name: str


QUANTITIES = {
    "mass": Quantity("kg", "mass of the layer"),
    "energy": Quantity("J", "kinetic and available potential energy"),
    "potential_enstrophy": Quantity("m s-2", "potential enstrophy"),
    "max_speed": Quantity("m s-1", "largest speed"),
    "min_h": Quantity("m", "least thickness of the layer"),
    "cfl": Quantity("1", "CFL number of the current and of gravity waves"),
}

#: Further quantities where land floods and falls dry.
OF_DRYING = {
    "flooded_area": Quantity("m2", "area of flooded land"),
    "limited_faces": Quantity("1", "faces with limited outflow"),
}


def quantities(scheme, sides, halvings: int = 0) -> dict[str, Quantity]:
    """The diagnostics of a run with this Scheme: QUANTITIES, contents of the domain, inflow through open sides.

    `halvings`: `time.halvings` of the run.
    """
    found = QUANTITIES | (OF_DRYING if scheme.drying else {})
    found |= {"time_step": Quantity("s", "length of the last time steps")} if halvings else {}
    found |= {name: Quantity("m3", f"content of {name}") for name in tracers_in(scheme.state._fields)}
    return found | {INFLOW + side: Quantity("m3 s-1", f"inflow through the {side} side") for side in sides}


def diagnose(blocks, config, transport) -> dict[str, float]:
    """The `quantities` of the whole domain but those of faces, the same on all processes, which call it together.

    NaN if the state is not finite; potential enstrophy also if some thickness is not positive.
    With drying its thickness is at least that of films, and land without water has no energy.

    Args:
        blocks: (state, grid, shape) of each block of this process, with Patches of NumPy arrays, including a halo.

    Reference: docs/numerics.md, "Diagnostics".
    """
    g, density, film = config.physics.gravity, config.physics.density, config.drying.film_in(config.run.dtype)
    strips = [strip for fields in blocks for strip in cut_strips(*fields)]
    most = bounds_of(strips, transport)
    sums, fastest = sums_and_speed(strips, largest(most, g, film), g, film, transport)
    return {
        "mass": density * sums.pop("mass"),
        "energy": density * sums.pop("energy"),
        "potential_enstrophy": sums.pop("potential_enstrophy"),
        "max_speed": fastest,
        "min_h": most["min_h"],
        "cfl": config.time.dt * (fastest + math.sqrt(g * most["h"])) * most["per_length"],
    } | sums


def cut_strips(padded: State, grid, shape):
    """The block in strips of rows: State, Grid (views) and shape of each."""
    rows = max(1, STRIP_CELLS // shape[1])
    for first in range(0, shape[0], rows):
        last = min(first + rows, shape[0])
        yield *(rows_of(fields, first - 1, last + 1) for fields in (padded, grid)), (last - first, shape[1])


def in_double_precision(state: State, grid) -> State:
    """The state in float64, its velocities zero on closed faces."""
    state = type(state)._make(field.map(lambda a: a.astype(np.float64)) for field in state)
    return state._replace(u=grid.open_u * state.u, v=grid.open_v * state.v)


def on_all_cores(function, strips) -> list:
    """The results of function(state, grid, shape) for all strips, in their order, without NumPy's warnings."""

    def quietly(strip):
        with np.errstate(all="ignore"):
            return function(*strip)

    with ThreadPoolExecutor(share_of_cores()) as threads:
        return list(threads.map(quietly, strips))


def rows_of(field, first: int, last: int):
    """Rows first to last of a Patch, or of each in a tuple, renumbered so that row first + 1 is row 0."""
    if isinstance(field, tuple):
        return field._make(rows_of(each, first, last) for each in field)
    if field.values.shape[-2] == 1:
        return Patch(field.values, (-1, field.start[1]))
    offset = field.start[0]
    return Patch(field.values[..., first - offset : last - offset, :], (-1, field.start[1]))


def bounds_of(strips, transport) -> dict[str, float]:
    """Largest sizes over all strips of all processes, SI units; all NaN if one is not finite.

    Those of h, u, v, contents, depth, f, area, dx, dy and 1/area at any location, and `per_length`. "min_h" is the
    smallest thickness on water.
    """
    found = on_all_cores(bounds_of_strip, strips)
    local = np.max([list(bounds.values()) for bounds in found], axis=0)
    finite = np.isfinite(local[:-1]).all() and not np.isnan(local[-1])
    # MPI does not define the maximum of a number and NaN, hence the flag.
    *most, least, broken = transport.reduce(np.append(np.where(finite, local, 0), not finite), "max")
    return dict(zip(found[0], [math.nan] * len(local) if broken else [*map(float, most), -float(least)], strict=True))


def bounds_of_strip(state: State, grid, shape) -> dict[str, float]:
    """`bounds_of` a strip; "min_h" has the opposite sign, so that all are maxima."""
    wet = np.broadcast_to(grid.wet.on(shape), shape) != 0
    fields = {name: field.on(shape) for name, field in state._asdict().items()}
    h = fields["h"] if wet.all() else fields["h"][wet]
    fields |= {"h": h, "depth": grid.depth.on(shape), "f": grid.f.cut((-1, -1), shape).values}
    most = {name: max(values.max(initial=0), -values.min(initial=0)) for name, values in fields.items()}
    for name, of in {"area": "area", "dx": "dx", "dy": "dy", "per_area": "rarea"}.items():
        most[name] = max(place.cut((-1, -1), shape).values.max() for place in getattr(grid, of))
    for name in (name for name in tracers_in(state._fields) if name in most):
        most[name + CONTENT] = float(most["h"]) * float(most.pop(name))
    most["per_length"] = per_length(grid, shape, wet)
    return most | {"min_h": -h.min(initial=np.inf)}


def per_length(grid, shape, wet) -> float:
    """The largest sqrt(1/dx² + 1/dy²) in rows of a block with water, m-1; 0 without water."""
    every = np.hypot(grid.rdx.centre.on(shape), grid.rdy.centre.on(shape))
    return float((every * np.any(wet, axis=1, keepdims=True)).max())


def largest(most: dict[str, float], g: float, film: float | None) -> dict[str, float]:
    """Upper bounds of a cell's `contributions`, by name, from `bounds_of`."""
    h, u, v, area = (most[name] for name in ("h", "u", "v", "area"))
    absolute = most["f"] + 4 * (v * most["dy"] + u * most["dx"]) * most["per_area"]
    least = film or (most["min_h"] if most["min_h"] > 0 else math.nan)
    thickness = h + most["depth"]
    # Products overflow to infinity; powers would raise OverflowError.
    bounds = {
        "mass": area * h,
        "energy": 0.5 * area * (h * (u * u + v * v) + g * thickness * thickness),
        "potential_enstrophy": 0.5 * area * absolute * absolute / least,
    }
    bounds |= {} if film is None else {"flooded_area": area}
    return bounds | {name.removesuffix(CONTENT): area * most[name] for name in most if name.endswith(CONTENT)}


def sums_and_speed(strips, largest: dict[str, float], g: float, film, transport) -> tuple[dict[str, float], float]:
    """Sums of the `contributions` of all cells, by name, and the largest speed, m s-1; `largest` bounds them."""
    scales = {name: FixedPoint(bound) for name, bound in largest.items()}

    def of_strip(state, grid, shape):
        state = in_double_precision(state, grid)
        found = contributions(state, grid, g, film)
        pieces = [scale.pieces(np.broadcast_to(found[name].on(shape), shape)) for name, scale in scales.items()]
        return pieces, (grid.wet * bernoulli_kinetic_energy(state.u, state.v, grid)).on(shape).max()

    pieces, kinetic = zip(*on_all_cores(of_strip, strips), strict=True)
    pieces = transport.reduce(np.sum(pieces, axis=0, dtype=np.int64), "sum")
    finite = scales["mass"].valid
    most = float(transport.reduce(np.nan_to_num(np.max(kinetic)), "max")) if finite else math.nan
    return {n: scale.value(row) for (n, scale), row in zip(scales.items(), pieces, strict=True)}, math.sqrt(2 * most)


def contributions(state: State, grid, g, film: float | None = None) -> dict[str, Patch]:
    """The contributions of each cell to the sums over the domain, by name.

    They are its volume, m3, its content of each dissolved substance, and a quarter of its corners' area
    (f + zeta)²/(2 h_q), m s-2. The energy over density, m5 s-2, is that of the cell and its east and north faces. Sums
    with one factor replace means, which saves a pass over the fields for each.

    With drying (`film`, m) the potential energy of water on land is that above the same land without water.
    """
    h, u, v = state[:3]
    eta, water = h - grid.depth, grid.area.centre * grid.wet
    squared, thick, flooded = eta * eta, h, {}
    if film is not None:
        land = np.minimum(grid.depth, 0.0)
        squared, thick = squared - land * land, np.maximum(h, film)
        flooded = {"flooded_area": where((h > film) & (land < 0), water, 0.0)}
    kinetic = (0.25 * grid.area.u) * ((h + east(h)) * (u * u)) + (0.25 * grid.area.v) * ((h + north(h)) * (v * v))
    absolute = grid.f + relative_vorticity(u, v, grid)
    density = grid.area.corner * (absolute * absolute / corner_thickness(thick, grid))
    density = density + west(density)
    density = density + south(density)
    return {
        "mass": water * h,
        "energy": kinetic + (0.5 * g * water) * squared,
        "potential_enstrophy": (0.125 * grid.wet) * density,
        **{name: water * content_of(name, state) for name in tracers_in(state._fields)},
        **flooded,
    }
