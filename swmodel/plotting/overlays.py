"""What can be drawn over maps: arrows of the current, lines of equal value of a field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import panels, style
from .dataset import PlotError
from .derived import current
from .record import Map
from .shown import read, read_all

#: Number of arrows along the longer side of a map; length of the arrow of a strong current, in distances between
#: arrows.
ARROWS, LENGTH = 28, 1.1
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
        updates = []
        for kind, name in ((draw_arrows, "speed" * self.arrows), (draw_lines, self.contours)):
            if name:
                look = style.look(read_all(data, [name], records, [member]))
                updates.append(kind(maps, data, name, member, look, panels.TOP + (above + len(updates)) * panels.LINE))

        def update(record: int) -> None:
            for each in updates:
                each(record)

        update(record)
        return update


NOTHING = Over()


def draw_arrows(maps: Sequence, data, name: str, member, speed: style.Look, inches: float) -> Callable[[int], None]:
    """Arrows of the current at the centres of every n-th row and column, with a key to their length.

    Args:
        speed: the look of the speed: its upper end has the longest arrows.
        inches: distance of the key from the top of the figure.

    Returns:
        A function that shows the current of a record.
    """
    u = read(data, name, 0, member)
    cells, (unit, _) = max(u.values.shape), u.unit
    every = max(1, round(cells / ARROWS))
    some = slice(every // 2, None, every)
    figure, box = maps[0].figure, maps[0].get_position()
    width, height = figure.get_size_inches()
    strong = speed.limits[1] * 10.0**speed.exponent
    per_inch = strong * cells / (LENGTH * every * max(box.width * width, box.height * height))
    look = {"angles": "uv" if u.degrees else "xy", "scale_units": "inches", "scale": per_inch, "units": "inches"}
    look |= {"width": 0.012, "color": style.INK, "path_effects": style.EDGE}
    look |= {"headwidth": 4, "headlength": 4.5, "headaxislength": 4}
    still = np.zeros_like(u.values[some, some])
    quivers = [axes.quiver(u.x[some] / unit, u.y[some] / unit, still, still, **look) for axes in maps]
    size = nice(strong)
    maps[0].quiverkey(
        quivers[0],
        box.x0 + size / per_inch / width,
        1 - inches / height,
        size,
        f"current of {size:g} {style.units_of(u.units)}",
        labelpos="E",
        coordinates="figure",
        labelcolor=style.QUIET,
        fontproperties={"size": style.CAPTION},
    )

    def update(record: int) -> None:
        u, v = current(data, record, member)
        for quiver in quivers:
            quiver.set_UVC(u.values[some, some], v.values[some, some])

    return update


def draw_lines(maps: Sequence, data, name: str, member, look: style.Look, inches: float) -> Callable[[int], None]:
    """Lines of equal value, dashed below zero, with text that names the field and the interval.

    Args:
        look: the look of the field; the lines are at round values between its limits.
        inches: distance of the text from the top of the figure.

    Returns:
        A function that shows a record of the field.
    """
    levels = MaxNLocator(LINES, steps=[1, 2, 2.5, 5, 10]).tick_values(*look.limits)
    figure, left = maps[0].figure, maps[0].get_position().x0
    words = figure.text(left, 1 - inches / figure.get_figheight(), "", color=style.QUIET, fontsize=style.CAPTION)
    words.set_verticalalignment("center")
    drawn: list = []

    def update(record: int) -> None:
        field = read(data, name, record, member)
        while drawn:
            drawn.pop().remove()
        words.set_text(text_of(field, levels[1] - levels[0], look.exponent))
        if levels[0] < 0 and len(words.get_text()) + 19 <= panels.LETTERS * (1 - left) * figure.get_figwidth():
            words.set_text(f"{words.get_text()}; dashed below zero")
        values = look.scaled(field)
        inside = levels[(levels > np.ma.min(values)) & (levels < np.ma.max(values))] if values.count() else levels[:0]
        if inside.size:
            place, pens = (field.x / field.unit[0], field.y / field.unit[0]), np.where(inside == 0, 1.1, 0.6)
            drawn.extend(axes.contour(*place, values, inside, colors=style.INK, linewidths=pens) for axes in maps)
        for lines in drawn:
            lines.set_path_effects(style.EDGE)

    return update


def text_of(field: Map, step: float, exponent: int) -> str:
    """The name of the field and the interval of its lines."""
    factor = f" × 10{style.superscript(str(exponent))}" if exponent else ""
    return f"lines: {field.long_name}, every {step:g}{factor} {style.units_of(field.units)}".rstrip()


def nice(size: float) -> float:
    """The largest number of 1, 2 or 5 times a power of ten that is at most `size`."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= size * (1 + 1e-9)))
