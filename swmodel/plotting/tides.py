"""Maps of harmonic constants: amplitude in colours, with lines of equal phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from . import style
from .dataset import PlotError, find_field
from .panels import draw, write_caption
from .record import Map, read_map
from .scale import OF_RECORD, Scale, looks
from .titles import case_of

AMPLITUDE, PHASE, AXIS = "_amplitude", "_phase", "constituent"

#: Degrees between lines of equal phase.
EVERY = 30

#: A light rim that makes lines readable on dark colours.
EDGE = [withStroke(linewidth=1.5, foreground="white", alpha=0.6)]


def picture(data: netCDF4.Dataset, names=None, scale: Scale = OF_RECORD, over=()) -> Figure:
    """The figure of some fields of a file of harmonic constants, or of the amplitudes of its first field.

    A field has a panel for each constituent.
    """
    if over:
        raise PlotError("maps of harmonic constants have lines of equal phase, and no arrows or contours besides")
    fields = names or [name for name in data.variables if name.endswith(AMPLITUDE)][:1]
    pairs = [pair for name in fields for pair in maps_and_phases(data, name)]
    panels, with_lines = [panel for panel, _ in pairs], any(phase for _, phase in pairs)
    figure, _ = draw(panels, looks(data, panels, -1, None, scale), 1 + with_lines)
    maps = [axes for axes in figure.axes if axes.images]
    for axes, (_, phase) in zip(maps, pairs, strict=False):
        if phase:
            draw_phase(axes, phase)
    days = f"harmonic analysis of days {data.first_day:.4g} to {data.last_day:.4g}"
    words = [f"{case_of(data)}, {days}".removeprefix(", ")]
    words += [f"lines: phase lag behind Greenwich, every {EVERY}°; thick: 0°"] if with_lines and maps else []
    write_caption(figure, "\n".join(words))
    return figure


def maps_and_phases(data: netCDF4.Dataset, name: str) -> Iterator[tuple[Map, Map | None]]:
    """The map of a field, or those of its constituents; behind each amplitude the map of its phase, else None."""
    if find_field(data, name).dimensions[0] != AXIS:
        yield read_map(data, name), None
        return
    phase = name.removesuffix(AMPLITUDE) + PHASE if name.endswith(AMPLITUDE) else ""
    for number, each in enumerate(data[AXIS][:]):
        found = read_map(data, name, along=number)
        yield (
            replace(found, long_name=f"{each}: {found.long_name}"),
            (read_map(data, phase, along=number) if phase else None),
        )


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
