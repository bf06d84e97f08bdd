"""The tracks of the drifters of a run for maps, from drifters.nc next to the file of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from matplotlib.collections import LineCollection

from ..files.run_folder import DRIFTERS
from . import style
from .dataset import PlotError, field_names, open_data, record_times
from .field_map import FieldMap, read_map, wrap_to_domain

#: Largest number of drifters that are drawn, and largest number of positions of all of them together.
MAX_DRIFTERS, MAX_POSITIONS = 500, 200_000


def drifters_file(data: netCDF4.Dataset) -> Path:
    return Path(data.filepath()).with_name(DRIFTERS)


def read_tracks(data: netCDF4.Dataset, field_map: FieldMap) -> tuple[np.ndarray, np.ndarray, str]:
    """The tracks of at most MAX_DRIFTERS drifters, at most MAX_POSITIONS positions in all.

    Returns:
        Times [k], s; positions [k, drifter, (x, y)] on the axes of a map, NaN after the end of a track; and a text with
        the number of drifters. PlotError: the run has no drifters.
    """
    file = drifters_file(data)
    if not file.is_file():
        raise PlotError(f"there is no {file}; set output.drifters for the run")
    with open_data(file) as dataset:
        times, n_drifters = record_times(dataset), len(dataset.dimensions["trajectory"])
        indices = np.unique(np.linspace(0, n_drifters - 1, min(n_drifters, MAX_DRIFTERS)).round().astype(int))
        stride = max(1, -(-times.size * indices.size // MAX_POSITIONS))
        names = ("lon", "lat") if "lon" in dataset.variables else ("x", "y")
        x, y = (np.ma.filled(dataset[name][:], np.nan)[::stride, indices] for name in names)
    part_text = f"{indices.size} of " if indices.size < n_drifters else ""
    count_text = f"{part_text}{n_drifters} drifter{'s' * (n_drifters > 1)}"
    return times[::stride], np.stack(wrap_to_domain(field_map, x, y), axis=-1) / field_map.axis_unit[0], count_text


def make_track_layer(data: netCDF4.Dataset):
    """The `overlays.OverlayLayer` of tracks up to a record, with a dot at the position of each drifter at its time."""
    field_map, times_of_records = read_map(data, field_names(data)[0], 0), record_times(data)
    times, positions, count_text = read_tracks(data, field_map)
    west, east, south, north = np.array(field_map.domain) / field_map.axis_unit[0]
    map_size = np.array([east - west, north - south])

    def draw(map_axes):
        options: dict[str, Any] = {"colors": style.DARK_GREY, "linewidths": 0.6, "path_effects": style.WHITE_OUTLINE}
        lines = [axes.add_collection(LineCollection([], **options), autolim=False) for axes in map_axes]
        dots = [
            axes.plot([], [], ".", markersize=3, color=style.DARK_GREY, path_effects=style.WHITE_OUTLINE)[0]
            for axes in map_axes
        ]

        def update(record: int) -> None:
            past = positions[: max(1, np.searchsorted(times, times_of_records[record] * (1 + 1e-12), "right"))]
            segments = np.stack([past[:-1], past[1:]], axis=2).reshape(-1, 2, 2)
            is_short = np.all(np.abs(segments[:, 1] - segments[:, 0]) < map_size / 2, axis=1)
            for line, dot in zip(lines, dots, strict=True):
                line.set_segments(segments[is_short])  # other segments cross a periodic boundary
                dot.set_data(*past[-1].T)

        return update

    return f"tracks of {count_text}", draw
