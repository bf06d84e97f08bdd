"""Dry ground in pictures of runs whose land floods: where it is in a record, how high, and the edge of the water."""

from __future__ import annotations

from dataclasses import replace

import netCDF4
import numpy as np

from ..config.options.discretisation import Drying
from ..ocean.table import ARRIVAL, FORCING, MAXIMUM, TIME_OF_MAXIMUM
from .dataset import configuration, field_names, stored, values_of
from .record import Map, map_of, surround

#: Height of land that never floods, m.
BEYOND = 1e6
#: The endings of fields of the whole run, which lie over the water at its start.
OF_RUN = (MAXIMUM, TIME_OF_MAXIMUM, ARRIVAL)
#: SGRID's name of the centres, and their dimensions.
CENTRE = ("face", ("y_c", "x_c"))


def film_of(data: netCDF4.Dataset) -> float | None:
    """The thickness above which a cell of a run counts as wet, m; None: it has no drying."""
    given = configuration(data).get("drying", {})
    return Drying(active=True, thickness=given["thickness"]).film if given.get("active") else None


def on_ground(data: netCDF4.Dataset, field: Map, at: tuple, record: int, member: int | None) -> Map:
    """The field with the ground of its record; it has no value where that is dry, unless it is wind or air pressure.

    Args:
        at: location of the field, a key of `masks.water_around`, and that in SGRID with its dimensions.
    """
    from ..ocean.masks import water_around
    from ..ocean.patch import Patch

    film, of_run, names = film_of(data), field.name.endswith(OF_RUN), field_names(data)
    if film is None or (field.name in names and data[field.name].ndim == 2 and field.name != "depth"):
        return field
    depth = np.ma.filled(values_of(data, "depth"), -BEYOND)
    if field.name == "depth":
        return of_depth(data, field)
    water = water_at(data, depth, 0 if of_run else record, member, film)
    if water is None:
        return field
    ground = heights(data, depth, water)
    if of_run or field.name in FORCING:
        return replace(field, ground=ground)
    location, place = at
    wet = water_around(Patch(surround(data, water.astype(float), 2), (-1, -1)))[location].on(depth.shape)
    dry = map_of(data, "dry", "", "1", (wet == 0).astype(float), *place).values.filled(0.0) > 0.5
    dry = np.ma.filled(field.values == 0, True) if field.name == "wet_mean" else dry
    return replace(field, values=np.ma.masked_where(dry, field.values), ground=ground)


def of_depth(data: netCDF4.Dataset, field: Map) -> Map:
    """The resting depth with the ground where it is not positive, if it is negative anywhere."""
    depth = np.ma.filled(values_of(data, "depth"), -BEYOND)
    if not np.any((depth < 0) & (depth > -BEYOND)):
        return field
    return replace(
        field, values=np.ma.masked_where(field.values <= 0, field.values), ground=heights(data, depth, depth > 0)
    )


def heights(data: netCDF4.Dataset, depth: np.ndarray, water: np.ndarray) -> Map:
    """The heights of the ground, m, masked where there is water; BEYOND on land that never floods."""
    return map_of(data, "ground", "height of the ground", "m", np.ma.masked_where(water, -depth), *CENTRE)


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


def legend(maps: list[Map]) -> list[str]:
    """A line about the colours of the ground, if maps have any."""
    grounds = [each.ground for each in maps if each.ground and not each.slim]
    return [f"dry ground: 0 m (light) to {top_of(grounds[0]):.3g} m (dark); green below 0 m"] if grounds else []
