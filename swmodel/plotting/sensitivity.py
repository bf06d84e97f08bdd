"""Maps of the derivatives of a quantity, with the station or section that it belongs to."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.patheffects import withStroke

from . import style
from .dataset import Map, open_data, read_map
from .panels import draw, save, write_caption

#: Letters of the caption in an inch.
LETTERS = 14


def plot_sensitivity(file: Path, output: Path) -> Path | None:
    """Draw all derivatives in a file of sensitivities that are maps; None if there are none.

    Raises:
        PlotError: the file is none, or the picture cannot be written.
    """
    with open_data(file) as data, mpl.rc_context(style.RC | {"savefig.bbox": "tight"}):
        names = [name for name, variable in data.variables.items() if name.startswith("d_") and variable.ndim == 2]
        if not names:
            return None
        panels = [named(read_map(data, name)) for name in names]
        figure, _ = draw(panels, [style.look([panel]) for panel in panels])
        x, y = (np.atleast_1d(getattr(data, f"quantity_{axis}", [])) for axis in "xy")
        for axes in figure.axes:
            if axes.images and len(x):
                mark(axes, panels[0], x, y)
        lines = textwrap.wrap(caption(data), int(LETTERS * figure.get_figwidth()))
        write_caption(figure, "\n".join(lines)).set_verticalalignment("bottom")
        return save(figure, output)


def named(panel: Map) -> Map:
    """The map with a label that fits beside it: what the derivative is with respect to."""
    return replace(panel, long_name=f"∂/∂ {panel.long_name.rpartition(' with respect to ')[2]}")


def mark(axes, panel: Map, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a station as a ring, a section as a line."""
    west, east, south, north = panel.domain
    scale, _ = style.length_unit(max(east - west, north - south))
    edge = [withStroke(linewidth=2.6, foreground="white")]
    line = {"color": style.INK, "linewidth": 1.2, "path_effects": edge, "scalex": False, "scaley": False}
    ends = {"marker": "o", "markersize": 5, "fillstyle": "none"} if len(x) == 1 else {"solid_capstyle": "butt"}
    axes.plot(x / scale, y / scale, clip_on=len(x) > 1, zorder=5, **line, **ends)


def caption(data) -> str:
    """The quantity and its value."""
    name, units = data.quantity_long_name, style.label("", data.quantity_units).strip(" ()")
    number, _, power = f"{float(data.quantity_value):.4g}".partition("e")
    number = number.replace("-", "\N{MINUS SIGN}") + (f" × 10{style.superscript(str(int(power)))}" if power else "")
    return f"{name[:1].upper()}{name[1:]}: {number} {units}"
