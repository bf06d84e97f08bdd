"""The tracks of a run's drifters, for maps: drifters.nc beside the records that are drawn."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
from matplotlib.collections import LineCollection

from ..files.run_folder import DRIFTERS
from . import style
from .dataset import PlotError, field_names, open_data, seconds
from .record import Map, along_axes, read_map

#: Most drifters that are drawn, and most positions of all of them.
MOST, MOST_POSITIONS = 500, 200_000


def file_beside(data: netCDF4.Dataset) -> Path:
    """The drifters.nc of the run of a file."""
    return Path(data.filepath()).with_name(DRIFTERS)


def tracks(data: netCDF4.Dataset, panel: Map) -> tuple[np.ndarray, np.ndarray, str]:
    """Times, s [k], positions on the axes of a picture [k, drifters, 2], evenly thinned out, and words about them.

    NaN follows the end of a track.
    """
    file = file_beside(data)
    if not file.is_file():
        raise PlotError(f"there is no {file}; set output.drifters for the run")
    with open_data(file) as found:
        times, count = seconds(found), len(found.dimensions["trajectory"])
        some = np.unique(np.linspace(0, count - 1, min(count, MOST)).round().astype(int))
        every = max(1, -(-times.size * some.size // MOST_POSITIONS))
        names = ("lon", "lat") if "lon" in found.variables else ("x", "y")
        x, y = (np.ma.filled(found[name][:], np.nan)[::every, some] for name in names)
    part = f"{some.size} of {count} drifters" if some.size < count else f"{count} drifter{'s' * (count > 1)}"
    return times[::every], np.stack(along_axes(panel, x, y), axis=-1) / panel.unit[0], part


def tracks_over(data: netCDF4.Dataset):
    """The `overlays.Layer` of tracks up to a record, with a dot where each drifter is then."""
    panel, now = read_map(data, field_names(data)[0], 0), seconds(data)
    times, places, words = tracks(data, panel)
    west, east, south, north = np.array(panel.domain) / panel.unit[0]
    size = np.array([east - west, north - south])

    def draw(maps):
        look = {"colors": style.INK, "linewidths": 0.6, "path_effects": style.EDGE}
        lines = [axes.add_collection(LineCollection([], **look), autolim=False) for axes in maps]
        dots = [axes.plot([], [], ".", markersize=3, color=style.INK, path_effects=style.EDGE)[0] for axes in maps]

        def update(record: int) -> None:
            past = places[: max(1, np.searchsorted(times, now[record] * (1 + 1e-12), "right"))]
            parts = np.stack([past[:-1], past[1:]], axis=2).reshape(-1, 2, 2)
            whole = np.all(np.abs(parts[:, 1] - parts[:, 0]) < size / 2, axis=1)  # not across the end of a ring
            for line, dot in zip(lines, dots, strict=True):
                line.set_segments(parts[whole])
                dot.set_data(*past[-1].T)

        return update

    return f"tracks of {words}", draw
