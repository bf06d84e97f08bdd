"""What can be drawn over maps: arrows of the current, lines of equal value of a field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from . import panels, style
from .dataset import PlotError
from .derived import current
from .record import Map
from .shown import read, read_all

#: Number of arrows along the longer side of a map; length of the arrow of a strong current, in distances between
#: arrows.
ARROWS, LENGTH = 28, 1.1

#: A light rim that makes arrows and lines readable on dark colours.
EDGE = [withStroke(linewidth=1.5, foreground="white", alpha=0.6)]

#: Most lines of equal value.
LINES = 15


@dataclass(frozen=True)
class Over:
    """What is wanted over each map.

    Attributes:
        arrows: the current, from u and v.
        contours: name of the field whose lines of equal value are drawn.
    """

    arrows: bool = False
    contours: str | None = None

    def __len__(self) -> int:
        """Number of lines of text that tell what is drawn."""
        return self.arrows + bool(self.contours)

    @property
    def fields(self) -> list[str]:
        """The fields that are drawn."""
        return ["speed"] * self.arrows + ([self.contours] if self.contours else [])

    def draw(self, data: netCDF4.Dataset, figure: Figure, record: int, member, records, above: int = 1) -> Callable:
        """Draw over all maps of a figure, with a caption; returns a function that draws another record instead.

        Args:
            records: records that set the length of arrows and the values of lines.
            above: lines of the figure's caption, below which the text is written.
        """
        maps = [axes for axes in figure.axes if axes.images]
        if self and not maps:
            raise PlotError("arrows and contours are drawn over maps, and this channel is drawn as a line")
        places = (panels.TOP + number * panels.LINE for number in range(above, above + len(self)))
        made = []
        if self.arrows:
            speed = style.look(read_all(data, ["speed"], records, [member]))
            made.append(Arrows(maps, current(data, record, member), speed, next(places)))
        if self.contours:
            values = style.look(read_all(data, [self.contours], records, [member]))
            made.append(Contours(maps, read(data, self.contours, record, member), values, next(places)))

        def update(record: int) -> None:
            if self.arrows:
                made[0].update(*current(data, record, member))
            if self.contours:
                made[-1].update(read(data, self.contours, record, member))

        return update


NOTHING = Over()


class Arrows:
    """Arrows of the current at the centres of every n-th row and column, with a key to their length.

    Args:
        maps: axes of maps of the whole domain.
        speed: the look of the speed: its upper end has the longest arrows.
        inches: distance of the key from the top of the figure.
    """

    def __init__(self, maps: Sequence, of: tuple[Map, Map], speed: style.Look, inches: float):
        u, _ = of
        cells = max(u.values.shape)
        self.every = max(1, round(cells / ARROWS))
        unit, _ = u.unit
        x, y = (positions[self.every // 2 :: self.every] / unit for positions in (u.x, u.y))
        figure, box = maps[0].figure, maps[0].get_position()
        width, height = figure.get_size_inches()
        strong = speed.limits[1] * 10.0**speed.exponent
        per_inch = strong * cells / (LENGTH * self.every * max(box.width * width, box.height * height))
        look = {
            "angles": "uv" if u.degrees else "xy",
            "scale_units": "inches",
            "scale": per_inch,
            "units": "inches",
            "width": 0.012,
        }
        look |= {"color": style.INK, "path_effects": EDGE, "headwidth": 4, "headlength": 4.5, "headaxislength": 4}
        self.quivers = [axes.quiver(x, y, *self.thinned(*of), **look) for axes in maps]
        size = nice(strong)
        self.key = maps[0].quiverkey(
            self.quivers[0],
            box.x0 + size / per_inch / width,
            1 - inches / height,
            size,
            f"current of {size:g} {style.units_of(u.units)}",
            labelpos="E",
            coordinates="figure",
            labelcolor=style.QUIET,
            fontproperties={"size": style.CAPTION},
        )

    def thinned(self, u: Map, v: Map) -> tuple[np.ma.MaskedArray, np.ma.MaskedArray]:
        """The components that are shown."""
        some = slice(self.every // 2, None, self.every)
        return u.values[some, some], v.values[some, some]

    def update(self, u: Map, v: Map) -> None:
        """Show another current."""
        for quiver in self.quivers:
            quiver.set_UVC(*self.thinned(u, v))


class Contours:
    """Lines of equal value, dashed below zero, with text that names the field and the interval.

    Args:
        maps: axes of maps of the whole domain.
        look: the look of the field; the lines are at round values between its limits.
        inches: distance of the text from the top of the figure.
    """

    def __init__(self, maps: Sequence, field: Map, look: style.Look, inches: float):
        self.maps, self.look, self.drawn = maps, look, []
        self.levels = MaxNLocator(LINES, steps=[1, 2, 2.5, 5, 10]).tick_values(*look.limits)
        self.update(field)
        figure, left = maps[0].figure, maps[0].get_position().x0
        factor = f" × 10{style.superscript(str(look.exponent))}" if look.exponent else ""
        step = f"{self.levels[1] - self.levels[0]:g}{factor} {style.units_of(field.units)}".rstrip()
        words = f"lines: {field.long_name}, every {step}"
        dashed = f"{words}; dashed below zero"
        fits = len(dashed) <= panels.LETTERS * (1 - left) * figure.get_figwidth()
        self.words = figure.text(
            left,
            1 - inches / figure.get_figheight(),
            dashed if self.levels[0] < 0 and fits else words,
            color=style.QUIET,
            fontsize=style.CAPTION,
            va="center",
        )

    def update(self, field: Map) -> None:
        """Show another record of the field."""
        for lines in self.drawn:
            lines.remove()
        unit, _ = field.unit
        values = self.look.scaled(field)
        low, high = (values.min(), values.max()) if values.count() else (0.0, 0.0)
        inside = self.levels[(self.levels > low) & (self.levels < high)]
        look = {"levels": inside, "colors": style.INK, "linewidths": np.where(inside == 0, 1.1, 0.6)}
        place = field.x / unit, field.y / unit
        self.drawn = [axes.contour(*place, values, **look) for axes in self.maps] if inside.size else []
        for lines in self.drawn:
            lines.set_path_effects(EDGE)


def nice(size: float) -> float:
    """The largest number of 1, 2 or 5 times a power of ten that is at most `size`."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= size * (1 + 1e-9)))
