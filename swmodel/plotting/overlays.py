"""What can be drawn over maps: lines of equal value of a field, arrows of the current."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import style
from .dataset import PlotError
from .derived import current, shown
from .panels import CAPTION, LINE, STEPS

#: Number of arrows along the longer side of a map; length of the arrow of a strong current, in distances between
#: arrows.
ARROWS, LENGTH = 28, 1.1
#: Most lines of equal value.
LINES = 15

#: A line for the caption; and a function of maps that draws over them and returns one that shows a record.
Layer = tuple[str, Callable[[Sequence], Callable[[int], None]]]


@dataclass(frozen=True)
class Over:
    """What is wanted over each map.

    Attributes:
        arrows: the current, from u and v.
        contours: name of the field whose lines of equal value are drawn.
    """

    arrows: bool = False
    contours: str | None = None

    @property
    def fields(self) -> list[str]:
        """The fields that are drawn."""
        return ([self.contours] if self.contours else []) + ["speed"] * self.arrows

    def layers(self, data: netCDF4.Dataset, member: int | None, records: Sequence[int]) -> list[Layer]:
        """What is drawn; `records` set the values of lines and the length of arrows."""
        looks = [style.look(shown(data, name, each, member) for each in records) for name in self.fields]
        kinds = [lines_of] * bool(self.contours) + [arrows_of] * self.arrows
        each = zip(kinds, self.fields, looks, strict=True)
        return [kind(data, name, member, look) for kind, name, look in each]


NOTHING = Over()


def draw_layers(layers: Sequence[Layer], figure: Figure, record: int) -> Callable[[int], None]:
    """Draw over the maps of a figure whose caption ends with the layers' lines; returns what shows a record."""
    maps = [axes for axes in figure.axes if axes.images]
    if layers and not maps:
        raise PlotError("arrows and contours are drawn over maps, and this channel is drawn as a line")
    updates = [draw(maps) for _, draw in layers]

    def update(record: int) -> None:
        for each in updates:
            each(record)

    update(record)
    return update


def arrows_of(data: netCDF4.Dataset, name: str, member: int | None, speed: style.Look) -> Layer:
    """Arrows of the current at the centres of every n-th row and column; their key is in the last line of the caption.

    The upper end of the look of the speed has the longest arrows.
    """

    def draw(maps: Sequence) -> Callable[[int], None]:
        field = shown(data, name, 0, member)
        cells, (x, y) = max(field.values.shape), field.places
        every = max(1, round(cells / ARROWS))
        some = slice(every // 2, None, every)
        figure, strong = maps[0].figure, speed.limits[1] * 10.0**speed.exponent
        sides = maps[0].get_window_extent().size / figure.dpi
        per_inch = strong * cells / (LENGTH * every * max(sides))
        look = {"angles": "uv" if field.degrees else "xy", "scale_units": "inches", "scale": per_inch}
        look |= {"units": "inches", "width": 0.012, "headwidth": 4, "headlength": 4.5, "headaxislength": 4}
        look |= {"color": style.INK, "path_effects": style.EDGE}
        still = np.zeros_like(field.values[some, some])
        quivers = [axes.quiver(x[some], y[some], still, still, **look) for axes in maps]
        size = nice(strong)
        width, height = figure.get_size_inches()
        place = CAPTION["x"] + size / per_inch / width
        lowest = (figure.texts[0].get_window_extent().y0 / figure.dpi + LINE / 2) / height
        key = {"labelpos": "E", "coordinates": "figure", "labelcolor": CAPTION["color"]}
        key |= {"fontproperties": {"size": CAPTION["fontsize"]}}
        words = f"current of {size:g} {style.units_of(field.units)}"
        maps[0].quiverkey(quivers[0], place, lowest, size, words, **key)

        def update(record: int) -> None:
            u, v = current(data, record, member)
            for quiver in quivers:
                quiver.set_UVC(u.values[some, some], v.values[some, some])

        return update

    return " ", draw


def lines_of(data: netCDF4.Dataset, name: str, member: int | None, look: style.Look) -> Layer:
    """Lines of equal value, at round values between the limits of the field's look, dashed below zero."""
    levels = MaxNLocator(LINES, steps=STEPS).tick_values(*look.limits)
    words = f"lines: {look.label}, every {levels[1] - levels[0]:g}" + ("; dashed below zero" if levels[0] < 0 else "")

    def draw(maps: Sequence) -> Callable[[int], None]:
        drawn: list = []

        def update(record: int) -> None:
            field = shown(data, name, record, member)
            while drawn:
                drawn.pop().remove()
            values = look.scaled(field)
            inside = levels[(levels > np.ma.min(values)) & (levels < np.ma.max(values))] if values.count() else []
            for axes in maps if len(inside) else ():
                pens = np.where(inside == 0, 1.1, 0.6)
                drawn.append(axes.contour(*field.places, values, inside, colors=style.INK, linewidths=pens))
                drawn[-1].set_path_effects(style.EDGE)

        return update

    return words, draw


def nice(size: float) -> float:
    """The largest number of 1, 2 or 5 times a power of ten that is at most `size`."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= size * (1 + 1e-9)))
