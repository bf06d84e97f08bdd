"""Maps of harmonic constants: amplitude in colours, with lines of equal phase."""

from __future__ import annotations

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from . import style
from .dataset import PlotError
from .panels import draw, write_caption
from .record import Map, read_map
from .scale import OF_RECORD, Scale, looks
from .titles import case_of

AMPLITUDE, PHASE = "_amplitude", "_phase"

#: Degrees between lines of equal phase.
EVERY = 30

#: A light rim that makes lines readable on dark colours.
EDGE = [withStroke(linewidth=1.5, foreground="white", alpha=0.6)]


def amplitudes_of(data: netCDF4.Dataset) -> list[str]:
    """The names of the amplitudes of the first field that has any."""
    names = [name for name in data.variables if name.endswith(AMPLITUDE)]
    return [name for name in names if name.split("_")[0] == names[0].split("_")[0]]


def picture(data: netCDF4.Dataset, names=None, scale: Scale = OF_RECORD, over=()) -> Figure:
    """The figure of some fields of a file of harmonic constants, or of the amplitudes of its first field."""
    if over:
        raise PlotError("maps of harmonic constants have lines of equal phase, and no arrows or contours besides")
    panels = [read_map(data, name) for name in names or amplitudes_of(data)]
    lines = [name for name in (panel.name for panel in panels) if name.endswith(AMPLITUDE)]
    figure, _ = draw(panels, looks(data, panels, -1, None, scale), 1 + bool(lines))
    maps = [axes for axes in figure.axes if axes.images]
    for axes, panel in zip(maps, panels, strict=False):
        if panel.name in lines:
            draw_phase(axes, read_map(data, panel.name.removesuffix(AMPLITUDE) + PHASE))
    days = f"harmonic analysis of days {data.first_day:.4g} to {data.last_day:.4g}"
    words = [f"{case_of(data)}, {days}".removeprefix(", ")]
    words += [f"lines: phase lag behind Greenwich, every {EVERY}°; thick: 0°"] if lines and maps else []
    write_caption(figure, "\n".join(words))
    return figure


def draw_phase(axes, phase: Map) -> None:
    """Lines of equal phase: where the sine of the difference passes zero and its cosine is positive."""
    scale, _ = phase.unit
    for degrees in range(0, 360, EVERY):
        rest = np.radians(phase.values - degrees)
        near = np.ma.masked_where(np.cos(rest) <= 0, np.sin(rest))
        if near.count() and near.min() < 0 < near.max():
            drawn = axes.contour(
                phase.x / scale, phase.y / scale, near, [0.0], colors=style.INK, linewidths=0.5 if degrees else 1.1
            )
            drawn.set_path_effects(EDGE)
