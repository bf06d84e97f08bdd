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
from .panels import ASIDE, LETTERS, draw, table, write_caption
from .record import Map, read_map
from .scale import OF_RECORD, Scale, looks
from .titles import case_of


def picture(data: netCDF4.Dataset, names=None, scale: Scale = OF_RECORD, over: Over = NOTHING) -> Figure:
    """The figure of some fields of a file of sensitivities, or of all derivatives that are maps."""
    names = names or [name for name, v in data.variables.items() if name.startswith("d_") and v.ndim == 2]
    if not names:
        raise PlotError(f"{data.filepath()} holds no map, only numbers; `swmodel info` and status.json have them")
    panels = [named(read_map(data, name)) for name in names]
    columns, width, _ = table(panels)
    words = textwrap.wrap(caption(data), int(LETTERS * columns * (width + ASIDE)))
    figure, _ = draw(panels, looks(data, panels, -1, None, scale), len(words) + len(over))
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
    return replace(panel, long_name=f"∂({of}) / ∂({by})", units=f"{panel.units} per cell") if of else panel


def mark(axes, panel: Map, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a station as a ring, a section as a line."""
    scale, _ = panel.unit
    edge = [withStroke(linewidth=2.6, foreground="white")]
    line = {"color": style.INK, "linewidth": 1.2, "path_effects": edge, "scalex": False, "scaley": False}
    ends = {"marker": "o", "markersize": 5, "fillstyle": "none"} if len(x) == 1 else {"solid_capstyle": "butt"}
    axes.plot(x / scale, y / scale, clip_on=len(x) > 1, zorder=5, **line, **ends)


def caption(data) -> str:
    """The case, the quantity and its value."""
    name, units = data.quantity_long_name, style.units_of(data.quantity_units)
    number, _, power = f"{float(data.quantity_value):.4g}".partition("e")
    number = number.replace("-", "\N{MINUS SIGN}") + (f" × 10{style.superscript(str(int(power)))}" if power else "")
    return f"{case_of(data)}, {name}: {number} {units}".removeprefix(", ")
