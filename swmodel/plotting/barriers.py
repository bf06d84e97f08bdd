"""The barriers of a run, [[barrier]], as lines on maps."""

from __future__ import annotations

from typing import Any

import netCDF4
import numpy as np
from matplotlib.collections import LineCollection

from ..ocean.barrier_faces import faces_of_barriers
from ..ocean.coordinates import axes
from ..ocean.terms.barriers import BarrierOptions
from . import style
from .dataset import field_names, read_configuration
from .derived import make_options, read_grid_options
from .field_map import FieldMap, read_grid_north_pole, read_map, to_picture_positions, wrap_to_domain

#: The caption of the lines of barriers.
BARRIER_LABEL = "orange lines: barriers"


def read_barriers(data: netCDF4.Dataset) -> tuple[BarrierOptions, ...]:
    tables = read_configuration(data).get("barriers", {}).get("lines", ())
    return tuple(make_options(BarrierOptions, table) for table in tables)


def barrier_segments(data: netCDF4.Dataset, field_map: FieldMap) -> np.ndarray:
    """Both ends of each barrier face on the axes of a picture, in the unit of these axes: [face, end, (x, y)].

    On a rotated-pole grid, faces that cross the edge of the map are left out.
    """
    grid = read_grid_options(read_configuration(data))
    faces = faces_of_barriers(grid, read_barriers(data))
    is_u, rows, columns = (
        np.concatenate([getattr(each, key) for each in faces]) for key in ("is_u", "rows", "columns")
    )
    (west, dx), (south, dy) = ((axis.edges[0], axis.spacing) for axis in axes(grid))
    ends = np.array([[False], [True]])  # a u face is the east side of its cell, a v face the north side
    x, y = west + dx * (columns + (is_u | ends)), south + dy * (rows + (~is_u | ends))
    if read_grid_north_pole(data):
        x, y = wrap_to_domain(field_map, *to_picture_positions(data, x, y))
        is_whole = np.abs(x[1] - x[0]) < 180.0  # other faces cross the edge of the map
        x, y = x[:, is_whole], y[:, is_whole]
    return np.stack([x, y], axis=-1).transpose(1, 0, 2) / field_map.axis_unit[0]


def make_barrier_layers(data: netCDF4.Dataset) -> list:
    """A list with one `overlays.OverlayLayer`, the barriers of a run.

    The list is empty if the run has no barriers or if its fields are drawn as lines.
    """
    if not read_barriers(data):
        return []
    field_map = read_map(data, field_names(data)[0], 0)
    if field_map.is_drawn_as_line:
        return []

    def draw(map_axes):
        options: dict[str, Any] = {"colors": style.BARRIER_COLOUR, "linewidths": 1.4, "capstyle": "round"}
        for each in map_axes:
            each.add_collection(LineCollection([*barrier_segments(data, field_map)], **options), autolim=False)
        return lambda record: None

    return [(BARRIER_LABEL, draw)]
