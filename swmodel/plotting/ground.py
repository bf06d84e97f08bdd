"""Dry ground in pictures of runs whose land floods: where it is in a record, how high, and the edge of the water."""

from __future__ import annotations

from dataclasses import replace

import netCDF4
import numpy as np

from ..config.options.discretisation import Drying
from ..ocean.table import ARRIVAL, FORCING, MAXIMUM, MEAN, TIME_OF_MAXIMUM
from .dataset import configuration, field_names, stored, values_of
from .record import Map, map_of, read_map, surround

#: Height of land that never floods, m.
BEYOND = 1e6
#: The endings of fields of the whole run, which lie over the water at its start.
OF_RUN = (MAXIMUM, TIME_OF_MAXIMUM, ARRIVAL)
#: Sea levels, below which lines show the ground.
LEVELS = {f"{name}{end}" for name in ("eta", "sea_level") for end in ("", MEAN, MAXIMUM)}
#: The share of time under water.
WET_MEAN = f"wet{MEAN}"
#: SGRID's name of the centres, and their dimensions.
CENTRE = ("face", ("y_c", "x_c"))


def film_of(data: netCDF4.Dataset) -> float | None:
    """The thickness above which a cell of a run counts as wet, m; None: it has no drying."""
    given = configuration(data).get("drying", {})
    return Drying(active=True, thickness=given["thickness"]).film if given.get("active") else None


def ground_of(data: netCDF4.Dataset, name: str, location: str, record: int, member: int | None):
    """The Map of the ground under a field of a record and its dry points [y, x], where it has no value; None: none.

    Args:
        location: that of the field, a key of `masks.water_around`.
    """
    from ..ocean.masks import water_around
    from ..ocean.patch import Patch

    film, names = film_of(data), field_names(data)
    if film is None or (name in names and data[name].ndim == 2 and name != "depth"):
        return None, None
    depth = np.ma.filled(values_of(data, "depth"), -BEYOND)
    if name == "depth":
        return heights(data, depth, depth > 0), depth <= 0
    water = water_at(data, depth, 0 if name.endswith(OF_RUN) else record, member, film)
    if water is None:
        return None, None
    if name == WET_MEAN:
        dry = np.ma.filled(stored(data, name, record, member) == 0, True)
    elif covers(name):
        dry = water_around(Patch(surround(data, water.astype(float), 2), (-1, -1)))[location].on(depth.shape) == 0
    else:
        dry = None
    return heights(data, depth, water), dry


def covers(name: str) -> bool:
    """Whether ground lies over a field: not over those of more than a record, wind and air pressure."""
    return not (name.endswith(OF_RUN) or name in (*FORCING, WET_MEAN))


def of_depth(data: netCDF4.Dataset) -> Map:
    """The resting depth in a file of a grid, with the ground where it is not positive, if it is negative anywhere."""
    depth = np.ma.filled(values_of(data, "depth"), -BEYOND)
    if not np.any((depth < 0) & (depth > -BEYOND)):
        return read_map(data, "depth")
    return replace(read_map(data, "depth", dry=depth <= 0), ground=heights(data, depth, depth > 0))


def heights(data: netCDF4.Dataset, depth: np.ndarray, water: np.ndarray) -> Map:
    """The heights of the ground, m, masked where there is water; BEYOND on land that never floods."""
    never = depth <= -BEYOND
    ground = map_of(data, "ground", "height of the ground", "m", np.ma.masked_where(never, -depth), *CENTRE)
    wet = map_of(data, "water", "", "1", water.astype(float), *CENTRE).values.filled(0.0) > 0.5
    return replace(ground, values=np.ma.masked_where(wet, ground.values.filled(BEYOND)))


def water_at(data: netCDF4.Dataset, depth: np.ndarray, record: int, member: int | None, film: float):
    """Whether cells are wet in a record, [y, x]; None: the file does not tell."""
    for name in ("wet", "h", "eta"):
        if name in field_names(data):
            values = np.ma.filled(stored(data, name, record, member).astype(float), -BEYOND)
            return values + (depth if name == "eta" else 0.0) > (0.5 if name == "wet" else film)
    return None


def top_of(ground: Map) -> float:
    """The greatest height of ground that may flood, m; 1 if there is none above the resting sea."""
    heights = np.ma.getdata(ground.values)
    return float(heights[heights < 0.5 * BEYOND].max(initial=0.0)) or 1.0


def legend(maps: list[Map], ever: bool = False) -> list[str]:
    """A line about the colours of the ground that maps show, or that those of other records may `ever` show."""
    shown = [heights_in(each, ever) for each in maps if each.ground and not each.slim]
    heights = np.concatenate([np.empty(0), *shown])
    words = ["green below 0 m"] * bool((heights < 0).any())
    if (heights >= 0).any():
        top = next(top_of(each.ground) for each in maps if each.ground)
        words.insert(0, f"0 m (light) to {top:.3g} m (dark)")
    return [f"dry ground: {'; '.join(words)}"] if words else []


def heights_in(field: Map, ever: bool) -> np.ndarray:
    """The heights of ground that floods, where a map shows it: not under water, nor under a field that lies over it."""
    hidden = np.ma.getmaskarray(field.ground.values)
    hidden = hidden if covers(field.name) else hidden | ~np.ma.getmaskarray(field.values)
    heights = np.ma.getdata(field.ground.values)
    return heights[(heights < 0.5 * BEYOND) & (ever | ~hidden)]
