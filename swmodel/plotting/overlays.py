"""What can be drawn over maps: lines of equal value of a field, arrows of the current, tracks of drifters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import style
from .dataset import PlotError
from .derived import current, read, shown
from .panels import CAPTION, LINE, STEPS
from .record import Map, eastward
from .tracks import tracks_over

#: Number of arrows along the longer side of a map, and least number along the shorter one. Length of the arrow of a
#: strong current, in distances between arrows.
ARROWS, FEWEST, LENGTH = 24, 6, 1.3
#: The part of a strong current, or wind, below which there is no arrow; and how much larger than usual that may be.
LEAST, UNUSUAL = 0.12, 4.0
#: Most lines of equal value.
LINES = 10
#: What arrows stand for: the words of their key, their colour, and the components if it is not the current.
CURRENT, WIND = ("current", style.INK, ()), ("wind", style.WIND, ("u10", "v10"))

#: A line for the caption; and a function of maps that draws over them and returns one that shows a record.
Layer = tuple[str, Callable[[Sequence], Callable[[int], None]]]


@dataclass(frozen=True)
class Over:
    """What is wanted over each map.

    Attributes:
        arrows: the current, from u and v.
        wind: the wind at 10 m, from u10 and v10.
        contours: name of the field whose lines of equal value are drawn.
        drifters: the tracks in drifters.nc up to the record.
    """

    arrows: bool = False
    contours: str | None = None
    wind: bool = False
    drifters: bool = False

    @property
    def fields(self) -> list[str]:
        """The fields that are drawn."""
        return [self.contours] * bool(self.contours) + ["speed"] * self.arrows + [*WIND[2]] * self.wind

    def layers(self, data: netCDF4.Dataset, member: int | None, records: Sequence[int]) -> list[Layer]:
        """What is drawn; `records` set the values of lines and the length of arrows."""
        found = []
        if self.contours:
            look = style.look(shown(data, self.contours, each, member) for each in records)
            found.append(lines_of(data, self.contours, member, look))
        found += [tracks_over(data)] if self.drifters else []
        kinds = [CURRENT] * self.arrows + [WIND] * self.wind
        places = reversed(range(len(kinds)))  # of their keys, from the last one on
        return found + [arrows_of(data, kind, member, records, at) for kind, at in zip(kinds, places, strict=True)]


NOTHING = Over()


def draw_layers(layers: Sequence[Layer], figure: Figure, record: int) -> Callable[[int], None]:
    """Draw over the maps of a figure whose caption ends with the layers' lines; returns what shows a record."""
    maps = [axes for axes in figure.axes if axes.images]
    if layers and not maps:
        raise PlotError("arrows, contours and tracks are drawn over maps, and this channel is drawn as a line")
    updates = [draw(maps) for _, draw in layers]

    def update(record: int) -> None:
        for each in updates:
            each(record)

    update(record)
    return update


def vectors(data: netCDF4.Dataset, kind: tuple, record: int, member: int | None) -> tuple[Map, Map, Map]:
    """The components along x and y of CURRENT or WIND, and its size, at centres."""
    names = kind[2]
    x, y = (read(data, name, record, member) for name in names) if names else current(data, record, member)
    x, y = eastward(data, x, y) if names else (x, y)
    return x, y, replace(x, name="speed", values=np.ma.hypot(x.values, y.values))


def arrows_of(data: netCDF4.Dataset, kind: tuple, member: int | None, records: Sequence[int], line: int) -> Layer:
    """Arrows at the centres of every n-th row and column, none where there is less than LEAST of a strong one.

    Args:
        kind: CURRENT or WIND.
        records: those with the strongest one, which has the longest arrows.
        line: lines of the caption below that with their key.
    """
    strong = max(strongest(vectors(data, kind, each, member)[2].values) for each in records)

    def draw(maps: Sequence) -> Callable[[int], None]:
        field = vectors(data, kind, 0, member)[2]
        cells, (x, y) = max(field.values.shape), field.places
        every = max(1, round(min(cells / ARROWS, min(field.values.shape) / FEWEST)))
        some = slice(every // 2, None, every)
        figure = maps[0].figure
        sides = maps[0].get_window_extent().size / figure.dpi
        per_inch = strong * cells / (LENGTH * every * max(sides))
        look = {"angles": "uv" if field.degrees else "xy", "scale_units": "inches", "scale": per_inch}
        look |= {"units": "inches", "width": 0.012, "headwidth": 4, "headlength": 4.5, "headaxislength": 4}
        look |= {"color": kind[1], "path_effects": style.EDGE}
        still = np.zeros_like(field.values[some, some])
        quivers = [axes.quiver(x[some], y[some], still, still, **look) for axes in maps]
        size = nice(strong)
        width, height = figure.get_size_inches()
        place = CAPTION["x"] + size / per_inch / width
        lowest = (figure.texts[0].get_window_extent().y0 / figure.dpi + LINE * (line + 0.5)) / height
        key = {"labelpos": "E", "coordinates": "figure", "labelcolor": CAPTION["color"]}
        key |= {"fontproperties": {"size": CAPTION["fontsize"]}}
        words = f"{kind[0]} of {size:g} {style.units_of(field.units)}"
        maps[0].quiverkey(quivers[0], place, lowest, size, words, **key)

        def update(record: int) -> None:
            u, v, fast = (each.values[some, some] for each in vectors(data, kind, record, member))
            weak = np.ma.filled(fast, 0.0) < LEAST * strong
            for quiver in quivers:
                quiver.set_UVC(np.ma.masked_where(weak, u), np.ma.masked_where(weak, v))

        return update

    return " ", draw


def strongest(speed: np.ma.MaskedArray) -> float:
    """A speed for which arrows are long: the largest, or less if that is rare; 1 where all is still."""
    most = float(speed.max()) if speed.count() else 0.0
    return min(most, UNUSUAL * float(np.median(speed.compressed()[speed.compressed() > LEAST * most]))) if most else 1.0


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
