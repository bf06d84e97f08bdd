"""Dry ground in pictures of runs with flooding: where it is in a record, and how high."""

from __future__ import annotations

from dataclasses import replace

import netCDF4
import numpy as np

from ..config.options.discretisation import DryingOptions
from ..ocean.table import ARRIVAL_SUFFIX, FORCING, MAXIMUM_SUFFIX, MEAN_SUFFIX, TIME_OF_MAXIMUM_SUFFIX
from .dataset import field_names, read_configuration, read_field, read_verified
from .field_map import LOCATIONS, FieldMap, add_halo, make_map, read_map

#: Height that stands for land that never floods, m.
PERMANENT_LAND_HEIGHT = 1e6
#: Suffixes of fields that refer to the whole run up to a record; they are drawn with the ground that was dry at its
#: start.
WHOLE_RUN_SUFFIXES = (MAXIMUM_SUFFIX, TIME_OF_MAXIMUM_SUFFIX, ARRIVAL_SUFFIX)
#: Fields of sea level; if they are drawn as lines, the ground is drawn below them.
SEA_LEVEL_FIELDS = {f"{name}{end}" for name in ("eta", "sea_level") for end in ("", MEAN_SUFFIX, MAXIMUM_SUFFIX)}
#: The name of the fraction of time during which a cell is wet.
WET_FRACTION_FIELD = f"wet{MEAN_SUFFIX}"


def read_wet_thickness(data: netCDF4.Dataset) -> float | None:
    """The thickness above which a cell of a run counts as wet, m; None if the run has no drying."""
    drying = read_configuration(data).get("drying", {})
    return DryingOptions(active=True, thickness=drying["thickness"]).wet_thickness if drying.get("active") else None


def ground_and_dry_mask(data: netCDF4.Dataset, name: str, location: str, record: int, member: int | None):
    """The FieldMap of the ground under a field in a record, and the dry points [y, x] where the field has no value.

    Either is None if it does not exist. `location` is that of the field, a key of `field_map.LOCATIONS`.
    """
    from ..ocean.masks import fractions_around
    from ..ocean.patch import Patch

    wet_thickness, names = read_wet_thickness(data), field_names(data)
    if wet_thickness is None or (name in names and data[name].ndim == 2 and name != "depth"):
        return None, None
    depth = np.ma.filled(read_verified(data, "depth"), -PERMANENT_LAND_HEIGHT)
    if name == "depth":
        return make_ground_map(data, depth, depth > 0), depth <= 0
    is_wet = read_wet_mask(data, depth, 0 if name.endswith(WHOLE_RUN_SUFFIXES) else record, member, wet_thickness)
    if is_wet is None:
        return None, None
    dry_mask = None
    if name == WET_FRACTION_FIELD:
        dry_mask = np.ma.filled(read_field(data, name, record, member) == 0, True)
    elif is_hidden_by_ground(name):
        fractions = fractions_around(Patch(add_halo(data, is_wet.astype(float), 2), (-1, -1)))
        dry_mask = fractions[location].block_values(depth.shape) == 0
    return make_ground_map(data, depth, is_wet), dry_mask


def is_hidden_by_ground(name: str) -> bool:
    """Whether dry ground hides a field.

    It hides neither forcing, such as wind, nor largest values, their times and arrivals, nor the fraction of time
    during which a cell is wet.
    """
    return not (name.endswith(WHOLE_RUN_SUFFIXES) or name in (*FORCING, WET_FRACTION_FIELD))


def read_depth_with_ground(data: netCDF4.Dataset) -> FieldMap:
    """The resting depth in a grid file; if some land can flood, with the ground where the depth is not positive."""
    depth = np.ma.filled(read_verified(data, "depth"), -PERMANENT_LAND_HEIGHT)
    if not np.any((depth < 0) & (depth > -PERMANENT_LAND_HEIGHT)):
        return read_map(data, "depth")
    return replace(read_map(data, "depth", dry_mask=depth <= 0), ground=make_ground_map(data, depth, depth > 0))


def make_ground_map(data: netCDF4.Dataset, depth: np.ndarray, wet_mask: np.ndarray) -> FieldMap:
    """The heights of the ground, m, masked where there is water; PERMANENT_LAND_HEIGHT on land that never floods."""
    heights, centres = np.ma.masked_where(depth <= -PERMANENT_LAND_HEIGHT, -depth), LOCATIONS["centre"]
    ground = make_map(data, "ground", "height of the ground", "m", heights, *centres)
    is_wet = make_map(data, "water", "", "1", wet_mask.astype(float), *centres).values.filled(0.0) > 0.5
    return replace(ground, values=np.ma.masked_where(is_wet, ground.values.filled(PERMANENT_LAND_HEIGHT)))


def read_wet_mask(data: netCDF4.Dataset, depth: np.ndarray, record: int, member: int | None, wet_thickness: float):
    """Whether cells are wet in a record, [y, x]; None if the file has neither `wet`, `h` nor `eta`."""
    for name in ("wet", "h", "eta"):
        if name in field_names(data):
            values = np.ma.filled(read_field(data, name, record, member).astype(float), -PERMANENT_LAND_HEIGHT)
            return values + (depth if name == "eta" else 0.0) > (0.5 if name == "wet" else wet_thickness)
    return None


def max_floodable_height(ground: FieldMap) -> float:
    """The greatest height of ground that may flood, m; 1 if no such ground is above the resting sea level."""
    heights = np.ma.getdata(ground.values)
    return float(heights[heights < 0.5 * PERMANENT_LAND_HEIGHT].max(initial=0.0)) or 1.0


def ground_legend(maps: list[FieldMap], any_record: bool = False) -> list[str]:
    """The caption, at most one line, for the colours of the ground that maps show or, with `any_record`, may show."""
    shown = [(field, field.ground) for field in maps if field.ground and not field.is_drawn_as_line]
    heights = np.concatenate([np.empty(0), *(visible_ground_heights(*each, any_record) for each in shown)])
    parts = ["green below 0 m"] * bool((heights < 0).any())
    if (heights >= 0).any():
        parts.insert(0, f"0 m (light) to {max_floodable_height(shown[0][1]):.3g} m (dark)")
    if any((np.ma.filled(ground.values, 0.0) >= 0.5 * PERMANENT_LAND_HEIGHT).any() for _, ground in shown):
        parts.append("grey: never floods")
    return [f"dry ground: {'; '.join(parts)}"] if parts else []


def visible_ground_heights(field: FieldMap, ground: FieldMap, any_record: bool) -> np.ndarray:
    """The heights, m, of floodable ground that a map shows; with `any_record`, of all floodable ground."""
    hidden = np.ma.getmaskarray(ground.values)
    hidden = hidden if is_hidden_by_ground(field.name) else hidden | ~np.ma.getmaskarray(field.values)
    heights = np.ma.getdata(ground.values)
    return heights[(heights < 0.5 * PERMANENT_LAND_HEIGHT) & (any_record | ~hidden)]
