"""Panels of a figure: maps with colour bars, or lines where the domain is a narrow channel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import style
from .dataset import STAGGER, Map, PlotError

#: Grids with fewer rows or columns than this, or longer than wide by more, are drawn as a line along their length.
FEWEST_ROWS, LONGEST = 5, 20

#: Height over width of a panel lies between these; a domain beyond them is stretched.
FLATTEST, TALLEST = 0.25, 2.0

#: Labels of panels lower than this (inches) have their units on a second line.
LOW = 2.2


@dataclass(frozen=True)
class Frame:
    """Sizes of a figure in inches: a table of panels, each with a colour bar at its right."""

    rows: int
    columns: int
    width: float
    height: float
    right: float
    left: ClassVar = 0.68
    bottom: ClassVar = 0.46
    top: ClassVar = 0.28
    between: ClassVar = 0.16
    bar: ClassVar = 0.11
    label: ClassVar = 0.64

    @property
    def size(self) -> tuple[float, float]:
        across = self.left + self.columns * (self.width + self.right)
        return across, self.bottom + self.top + self.rows * self.height + (self.rows - 1) * self.between

    def place(self, row: int, column: int) -> tuple[list[float], list[float]]:
        """Rectangles [left, bottom, width, height] of a panel and its colour bar, as parts of the figure."""
        across, up = self.size
        x = self.left + column * (self.width + self.right)
        y = self.bottom + (self.rows - 1 - row) * (self.height + self.between)
        panel = [x / across, y / up, self.width / across, self.height / up]
        bar = [(x + self.width + 0.07) / across, y / up, self.bar / across, self.height / up]
        return panel, bar


def draw(panels: list[Map], looks: list[style.Look]) -> tuple[Figure, list[Callable[[Map], None]]]:
    """A figure with one panel for each map, and for each a function that shows another map in its place."""
    west, east, south, north = panels[0].domain
    length = max(east - west, north - south)
    if min(panels[0].values.shape) < FEWEST_ROWS or length > LONGEST * min(east - west, north - south):
        return draw_lines(panels, looks)
    frame = frame_for(panels)
    figure = Figure(figsize=frame.size)
    updates = []
    for number, (panel, panel_look) in enumerate(zip(panels, looks, strict=True)):
        row, column = divmod(number, frame.columns)
        place, bar_place = frame.place(row, column)
        axes = figure.add_axes(place)
        image = draw_image(axes, panel, panel_look)
        name_axes(axes, panel, left=column == 0, bottom=number + frame.columns >= len(panels))
        bar = figure.colorbar(image, cax=figure.add_axes(bar_place), extend=panel_look.extend, extendfrac=0.03)
        bar.set_label(panel_look.label.replace(" (", "\n(") if frame.height < LOW else panel_look.label)
        bar.ax.yaxis.set_label_coords(frame.label / frame.bar, 0.5)
        bar.outline.set_linewidth(0.4)
        bar.locator = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
        updates.append(lambda new, image=image, shown=panel_look: image.set_data(cells(new, shown)))
    return figure, updates


def frame_for(panels: list[Map]) -> Frame:
    """Panels below each other for wide domains, beside each other for tall ones."""
    west, east, south, north = panels[0].domain
    aspect = min(max((north - south) / (east - west), FLATTEST), TALLEST)
    columns = 1 if len(panels) == 1 or aspect < 0.7 else 2
    width = min(5.6, 5.6 / aspect) if columns == 1 else min(3.2, 4.8 / aspect)
    if len(panels) == 1 and aspect >= 0.7:
        width = min(4.4, 5.2 / aspect)
    height = width * aspect
    return Frame(math.ceil(len(panels) / columns), columns, width, height, right=1.14 if height < LOW else 0.99)


def draw_image(axes, panel: Map, panel_look: style.Look):
    """The cells of one map in their colours; the panel has the shape of the domain unless that is extreme."""
    west, east, south, north = panel.domain
    scale, _ = style.length_unit(max(east - west, north - south))
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
    axes.set(xlim=(west / scale, east / scale), ylim=(south / scale, north / scale))
    return image


def cells(panel: Map, panel_look: style.Look) -> np.ma.MaskedArray:
    """The values that fill the domain: faces and corners need one more column in the west, a row in the south."""
    values = panel_look.scaled(panel)
    half_x, half_y = STAGGER[panel.location]
    values = np.ma.concatenate([values[:, :half_x], values], axis=1)
    return np.ma.concatenate([values[:half_y], values], axis=0)


def name_axes(axes, panel: Map, left: bool, bottom: bool) -> None:
    """Labels with units on the outer axes, few ticks."""
    west, east, south, north = panel.domain
    _, unit = style.length_unit(max(east - west, north - south))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(labelleft=left, labelbottom=bottom)
    if left:
        axes.set_ylabel(f"y ({unit})")
    if bottom:
        axes.set_xlabel(f"x ({unit})")


def draw_lines(panels: list[Map], looks: list[style.Look]) -> tuple[Figure, list[Callable[[Map], None]]]:
    """The middle row (or column) of each map as a line, for grids of a few rows."""
    frame = Frame(len(panels), 1, 6.0, 1.8, right=0.15)
    figure = Figure(figsize=frame.size)
    updates = []
    for number, (panel, panel_look) in enumerate(zip(panels, looks, strict=True)):
        letter, positions = ("x", panel.x) if panel.values.shape[1] >= panel.values.shape[0] else ("y", panel.y)
        scale, unit = style.length_unit(float(np.ptp(positions)))
        place, _ = frame.place(number, 0)
        axes = figure.add_axes(place)
        (line,) = axes.plot(positions / scale, middle(panel_look.scaled(panel)), color="#1f4e79", linewidth=1.2)
        low, high = panel_look.limits
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        axes.set_ylabel(panel_look.label)
        axes.yaxis.set_label_coords(-0.52 / frame.width, 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.margins(x=0)
        axes.tick_params(labelbottom=number == len(panels) - 1)
        axes.spines[["top", "right"]].set_visible(False)
        updates.append(lambda new, line=line, shown=panel_look: line.set_ydata(middle(shown.scaled(new))))
    axes.set_xlabel(f"{letter} ({unit})")
    return figure, updates


def middle(values: np.ma.MaskedArray) -> np.ma.MaskedArray:
    """The middle row, or the middle column where there are fewer columns than rows."""
    ny, nx = values.shape
    return values[ny // 2] if nx >= ny else values[:, nx // 2]


def write_caption(figure: Figure, text: str):
    """The model time, in small grey letters at the top left."""
    left = figure.axes[0].get_position().x0
    top = 1 - 0.19 / figure.get_figheight()
    return figure.text(left, top, text, color=style.QUIET, fontsize=8, va="baseline")


def save(figure: Figure, output) -> Path:
    """Write a figure.

    Raises:
        PlotError: the folder does not exist, or the format is none that matplotlib writes.
    """
    output = Path(output)
    try:
        figure.savefig(output)
    except (OSError, ValueError) as error:
        raise PlotError(f"cannot write {output}: {error}") from None
    return output
