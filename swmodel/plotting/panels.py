"""Panels of a figure: maps with colour bars, or lines if the domain is a narrow channel."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..ocean.rotated import from_earth
from . import style
from .degrees import mark_degrees
from .record import STAGGER, Map, length_unit

#: Grids with fewer rows or columns than this, or with a larger ratio of length to width, are drawn as a line.
FEWEST_ROWS, LONGEST = 5, 20

#: The ratio of height to width of a panel lies between these; other domains are stretched.
FLATTEST, TALLEST = 0.25, 2.0

#: Inches from the top of a figure to the middle of its caption, and between lines of text.
TOP, LINE = 0.15, 0.16

#: Letters in an inch of a panel's title.
LETTERS = 14

#: Degrees between lines of geographic longitude and latitude.
MERIDIANS = 30

#: Panels with at least this ratio of height to width are put three in a row.
SLENDER = 1.3


@dataclass(frozen=True)
class Frame:
    """Sizes of a figure in inches: a table of panels, each with a title above it and a colour bar at its right.

    Attributes:
        caption: lines of text above all panels.
        title: lines of text above each panel.
    """

    rows: int
    columns: int
    width: float
    height: float
    caption: int = 1
    title: int = 1
    left: ClassVar = 0.68
    bottom: ClassVar = 0.46
    between: ClassVar = 0.16
    bar: ClassVar = 0.11
    right: ClassVar = 0.74

    @property
    def size(self) -> tuple[float, float]:
        across = self.left + self.columns * (self.width + self.right)
        up = self.rows * (self.height + self.above + self.between) - self.between
        return across, self.bottom + up + 2 * TOP + (self.caption - 1) * LINE

    @property
    def above(self) -> float:
        """Height of a title."""
        return self.title * LINE

    def axes_and_bar(self, row: int, column: int) -> tuple[list[float], list[float]]:
        """Rectangles [left, bottom, width, height] of a panel and its colour bar, as fractions of the figure."""
        across, up = self.size
        x = self.left + column * (self.width + self.right)
        y = self.bottom + (self.rows - 1 - row) * (self.height + self.above + self.between)
        panel = [x / across, y / up, self.width / across, self.height / up]
        bar = [(x + self.width + 0.07) / across, y / up, self.bar / across, self.height / up]
        return panel, bar

    def wrapped(self, text: str) -> str:
        """A title in lines as long as a panel and its colour bar are wide."""
        return wrapped(text, self.width + self.right - self.between)


def wrapped(text: str, width: float) -> str:
    """A title in lines of so many inches; units are not separated from the last word."""
    name, bracket, units = text.rpartition(" (")
    whole = name + (bracket + units).replace(" ", "\N{NO-BREAK SPACE}") if name else text
    lines = textwrap.wrap(whole, int(LETTERS * width), break_long_words=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def draw(panels: list[Map], looks: list[style.Look], caption: int = 1) -> tuple[Figure, list[Callable]]:
    """A figure with one panel for each map, and for each panel a function that shows another map (and look) in it.

    Args:
        caption: lines of text above all panels.
    """
    slim = max(panels[0].aspect, 1 / panels[0].aspect)
    if min(panels[0].values.shape) < FEWEST_ROWS or slim > LONGEST:
        return draw_lines(panels, looks, caption)
    frame = frame_for(panels, looks, caption)
    figure = Figure(figsize=frame.size)
    updates = []
    for number, (panel, panel_look) in enumerate(zip(panels, looks, strict=True)):
        row, column = divmod(number, frame.columns)
        axes_at, bar_at = frame.axes_and_bar(row, column)
        axes = figure.add_axes(axes_at)
        image = draw_image(axes, panel, panel_look)
        name_axes(axes, panel, left=column == 0, bottom=number + frame.columns >= len(panels))
        name_panel(axes, frame.wrapped(panel_look.label))
        bar = figure.colorbar(image, cax=figure.add_axes(bar_at), extend=panel_look.extend, extendfrac=0.03)
        bar.outline.set_linewidth(0.4)
        bar.locator = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
        updates.append(partial(change, axes, image, frame, panel_look))
    return figure, updates


def change(axes, image, frame: Frame, first: style.Look, panel: Map, look: style.Look | None = None) -> None:
    """Show another map in a panel, with the look of the first map or with its own."""
    look = look or first
    image.set_data(cells(panel, look))
    image.set_clim(*look.limits)
    image.set_cmap(look.colormap)
    name_panel(axes, frame.wrapped(look.label))


def name_panel(axes, label: str) -> None:
    """Write the name and units of what a panel shows above it, where it is not mistaken for the name of an axis."""
    axes.set_title(label, loc="left", fontsize=8.5, pad=3.5)


def frame_for(panels: list[Map], looks: list[style.Look], caption: int) -> Frame:
    """Panels below each other for wide domains, beside each other for tall ones."""
    aspect = min(max(panels[0].aspect, FLATTEST), TALLEST)
    columns = 1 if len(panels) == 1 or aspect < 0.7 else 3 if len(panels) == 3 and aspect >= SLENDER else 2
    width = min(5.6, 5.6 / aspect) if columns == 1 else min(3.2, 4.8 / aspect)
    if len(panels) == 1 and aspect >= 0.7:
        width = min(4.4, 5.2 / aspect)
    frame = Frame(math.ceil(len(panels) / columns), columns, width, width * aspect, caption)
    return replace(frame, title=max(frame.wrapped(look.label).count("\n") + 1 for look in looks))


def draw_image(axes, panel: Map, panel_look: style.Look):
    """The cells of one map in their colours; the panel has the shape of the domain unless that is extreme."""
    west, east, south, north = panel.domain
    scale, _ = panel.unit
    (dx, dy), (half_x, half_y) = panel.spacing, STAGGER[panel.location]
    low, high = panel_look.limits
    image = axes.imshow(
        cells(panel, panel_look),
        origin="lower",
        extent=np.array(
            [west - half_x * dx / 2, east + half_x * dx / 2, south - half_y * dy / 2, north + half_y * dy / 2]
        )
        / scale,
        aspect="auto",
        cmap=panel_look.colormap,
        vmin=low,
        vmax=high,
    )
    if panel.degrees:
        draw_coasts(axes, panel)
    if panel.pole is not None:
        draw_meridians(axes, panel)
    axes.set(xlim=(west / scale, east / scale), ylim=(south / scale, north / scale))
    return image


def draw_coasts(axes, panel: Map) -> None:
    """Lines around cells without a value, along their sides."""
    dry = np.pad(np.ma.getmaskarray(panel.values), 1, mode="edge")
    (dx, dy), lines = panel.spacing, []
    for rows, columns in ((1, 0), (0, 1)):
        here, beyond = dry[: dry.shape[0] - rows, : dry.shape[1] - columns], dry[rows:, columns:]
        for j, i in np.argwhere(here != beyond):
            x, y = panel.x[0] + (i - 0.5) * dx, panel.y[0] + (j - 0.5) * dy
            lines.append([(x - dx * rows, y - dy * columns), (x, y)])
    axes.add_collection(LineCollection(lines, colors=style.INK, linewidths=0.5), autolim=False)


def draw_meridians(axes, panel: Map) -> None:
    """Thin lines of geographic longitude and latitude on a map about another pole than the Earth's."""
    west = panel.domain[0]
    fine, lines = np.linspace(-180.0, 180.0, 721), []
    meridians = [(np.full_like(fine, lon), fine / 2) for lon in np.arange(-180, 180, MERIDIANS)]
    parallels = [(fine, np.full_like(fine, lat)) for lat in np.arange(-90 + MERIDIANS, 90, MERIDIANS)]
    for lon, lat in meridians + parallels:
        x, y = from_earth(panel.pole, lon, lat)
        x = west + (x - west) % 360.0
        cuts = np.flatnonzero(np.abs(np.diff(x)) > 180.0) + 1
        lines += [np.stack(part, axis=1) for part in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]
    axes.add_collection(LineCollection(lines, colors=style.QUIET, linewidths=0.3, linestyles=":"), autolim=False)


def cells(panel: Map, panel_look: style.Look) -> np.ma.MaskedArray:
    """The values that fill the domain: faces and corners need one more column in the west and row in the south."""
    values = panel_look.scaled(panel)
    half_x, half_y = STAGGER[panel.location]
    values = np.ma.concatenate([values[:, :half_x], values], axis=1)
    return np.ma.concatenate([values[:half_y], values], axis=0)


def name_axes(axes, panel: Map, left: bool, bottom: bool) -> None:
    """Labels with units on the outer axes, few ticks."""
    west, east, south, north = panel.domain
    earth = panel.degrees and panel.pole is None
    if panel.degrees:
        mark_degrees(axes.xaxis, east - west, 6, "EW" if earth else None)
        mark_degrees(axes.yaxis, north - south, 5, "NS" if earth else None)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    across, up = panel.names if earth else (f"{name} ({panel.unit[1]})" for name in panel.names)
    axes.tick_params(labelleft=left, labelbottom=bottom)
    if left:
        axes.set_ylabel(up)
    if bottom:
        axes.set_xlabel(across)


def draw_lines(panels: list[Map], looks: list[style.Look], caption: int) -> tuple[Figure, list[Callable]]:
    """The middle row (or column) of each map as a line, for grids of a few rows."""
    frame = Frame(len(panels), 1, 6.0, 1.8, caption, title=0)
    if any(len(look.label) > LETTERS * frame.height for look in looks):
        frame = replace(frame, title=max(frame.wrapped(look.label).count("\n") + 1 for look in looks))
    figure = Figure(figsize=frame.size)
    updates = []
    for number, (panel, panel_look) in enumerate(zip(panels, looks, strict=True)):
        along = panel.values.shape[1] < panel.values.shape[0]
        name, positions = panel.names[along], (panel.x, panel.y)[along]
        scale, unit = (1.0, "degrees") if panel.degrees else length_unit(float(np.ptp(positions)))
        axes_at, _ = frame.axes_and_bar(number, 0)
        axes = figure.add_axes(axes_at)
        (line,) = axes.plot(positions / scale, middle(panel_look.scaled(panel)), color="#1f4e79", linewidth=1.2)
        name_line(axes, frame, panel_look)
        axes.yaxis.set_label_coords(-0.52 / frame.width, 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.margins(x=0)
        axes.tick_params(labelbottom=number == len(panels) - 1)
        axes.spines[["top", "right"]].set_visible(False)
        updates.append(partial(change_line, axes, line, frame, panel_look))
    axes.set_xlabel(f"{name} ({unit})")
    return figure, updates


def change_line(axes, line, frame: Frame, first: style.Look, panel: Map, look: style.Look | None = None) -> None:
    """Show another map as a line, with the look of the first map or with its own."""
    line.set_ydata(middle((look or first).scaled(panel)))
    name_line(axes, frame, look or first)


def name_line(axes, frame: Frame, look: style.Look) -> None:
    """Set the limits of the vertical axis, and its label; above the panel if there is a title."""
    low, high = look.limits
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    if frame.title:
        name_panel(axes, frame.wrapped(look.label))
    else:
        axes.set_ylabel(look.label)


def middle(values: np.ma.MaskedArray) -> np.ma.MaskedArray:
    """The middle row, or the middle column if there are fewer columns than rows."""
    ny, nx = values.shape
    return values[ny // 2] if nx >= ny else values[:, nx // 2]


def write_caption(figure: Figure, text: str):
    """Write what the figure shows, in small grey letters at the top left."""
    left, height = figure.axes[0].get_position().x0, figure.get_figheight()
    look = {"color": style.QUIET, "fontsize": style.CAPTION, "linespacing": LINE * 72 / style.CAPTION}
    return figure.text(left, 1 - (TOP - LINE / 2) / height, text, va="top", **look)
