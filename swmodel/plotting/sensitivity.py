"""Maps of the derivatives of a quantity, with its station or section."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from . import style
from .dataset import PlotError
from .overlays import NOTHING, Over
from .panels import LETTERS, draw, frame_for, write_caption
from .record import Map, read_map
from .scale import OF_RECORD, Scale, looks
from .titles import case_of


def maps_of(data: netCDF4.Dataset) -> list[str]:
    """The names of the derivatives that are maps."""
    return [name for name, variable in data.variables.items() if name.startswith("d_") and variable.ndim == 2]


def picture(data: netCDF4.Dataset, names=None, scale: Scale = OF_RECORD, over: Over = NOTHING) -> Figure:
    """The figure of some fields of a file of sensitivities, or of all its maps."""
    names = names or maps_of(data)
    if not names:
        raise PlotError(f"{data.filepath()} holds no map, only numbers; `swmodel info` and status.json have them")
    panels = [named(read_map(data, name)) for name in names]
    shown = looks(data, panels, -1, None, scale)
    words = wrapped(caption(data), panels, shown)
    figure, _ = draw(panels, shown, len(words) + len(over))
    write_caption(figure, "\n".join(words))
    over.draw(data, figure, -1, None, [-1], len(words))
    x, y = (np.atleast_1d(getattr(data, f"quantity_{axis}", [])) for axis in "xy")
    for axes in figure.axes:
        if axes.images and len(x):
            mark(axes, panels[0], x, y)
    return figure


def named(panel: Map) -> Map:
    """The map of a derivative, labelled ∂(what)/∂(by what) with its units; other fields are unchanged."""
    of, _, by = panel.long_name.removeprefix("derivative of ").rpartition(" with respect to ")
    if not of:
        return panel
    return replace(panel, long_name=f"∂({of}) / ∂({by})", units=f"{panel.units} per cell")


def mark(axes, panel: Map, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a station as a ring, a section as a line."""
    scale, _ = panel.unit
    edge = [withStroke(linewidth=2.6, foreground="white")]
    line = {"color": style.INK, "linewidth": 1.2, "path_effects": edge, "scalex": False, "scaley": False}
    ends = {"marker": "o", "markersize": 5, "fillstyle": "none"} if len(x) == 1 else {"solid_capstyle": "butt"}
    axes.plot(x / scale, y / scale, clip_on=len(x) > 1, zorder=5, **line, **ends)


def wrapped(text: str, panels: list[Map], shown: list[style.Look]) -> list[str]:
    """A text in lines as long as the figure of these panels is wide."""
    return textwrap.wrap(text, int(LETTERS * frame_for(panels, shown, 1).size[0]))


def caption(data) -> str:
    """The case, the quantity and its value."""
    name, units = data.quantity_long_name, style.units_of(data.quantity_units)
    number, _, power = f"{float(data.quantity_value):.4g}".partition("e")
    number = number.replace("-", "\N{MINUS SIGN}") + (f" × 10{style.superscript(str(int(power)))}" if power else "")
    return f"{case_of(data)}, {name}: {number} {units}".removeprefix(", ")
