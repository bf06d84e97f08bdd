"""What is drawn over maps: barriers, lines of equal value, arrows of current and wind, and tracks of drifters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import style
from .barriers import make_barrier_layers
from .dataset import PlotError
from .derived import read_current, read_displayed_field, read_or_derive
from .field_map import FieldMap, to_picture_components
from .panels import CAPTION_LINE_INCHES, CAPTION_STYLE, TICK_STEPS
from .tracks import make_track_layer

#: Number of arrows along the longer axis of a map, and smallest number along the shorter one. Length of the arrow of a
#: strong current, as a multiple of the distance between arrows.
ARROWS_ON_LONG_SIDE, MIN_ARROWS_ON_SHORT_SIDE, ARROW_LENGTH = 24, 6, 1.3
#: Fraction of the strong speed below which no arrow is drawn; largest ratio of the strong speed to the median speed.
MIN_SPEED_FRACTION, MAX_SPEED_RATIO = 0.12, 4.0
#: Largest number of lines of equal value.
MAX_CONTOURS = 10


class ArrowKind(NamedTuple):
    """The vectors that arrows show."""

    label: str  # in the key of the arrows
    colour: str
    components: tuple[str, ...] = ()  # names of fields at centres, along x and y; empty: the current, from u and v


CURRENT_ARROWS = ArrowKind("current", style.DARK_GREY)
WIND_ARROWS = ArrowKind("wind", style.WIND_COLOUR, ("u10", "v10"))

#: A line for the caption, and a function that draws over the axes of maps and returns a function that shows a record.
OverlayLayer = tuple[str, Callable[[Sequence], Callable[[int], None]]]


@dataclass(frozen=True)
class Overlays:
    """What is drawn over each map, besides the barriers of the run.

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
    def field_names(self) -> list[str]:
        """Names of the fields that contours and arrows show; "speed" stands for the current."""
        contours = [self.contours] if self.contours else []
        return contours + ["speed"] * self.arrows + [*WIND_ARROWS.components] * self.wind

    def make_layers(self, data: netCDF4.Dataset, member: int | None, records: Sequence[int]) -> list[OverlayLayer]:
        """The layers to draw; the fields in `records` set the values of contours and the length of arrows."""
        overlay_layers = make_barrier_layers(data)
        if self.contours:
            fields = (read_displayed_field(data, self.contours, each, member) for each in records)
            overlay_layers.append(make_contours(data, self.contours, member, style.make_style(fields)))
        overlay_layers += [make_track_layer(data)] if self.drifters else []
        arrow_kinds = [CURRENT_ARROWS] * self.arrows + [WIND_ARROWS] * self.wind
        key_lines = reversed(range(len(arrow_kinds)))  # number of caption lines below each key
        return overlay_layers + [
            make_arrows(data, kind, member, records, line) for kind, line in zip(arrow_kinds, key_lines, strict=True)
        ]


NO_OVERLAYS = Overlays()


def draw_layers(layers: Sequence[OverlayLayer], figure: Figure, record: int) -> Callable[[int], None]:
    """Draw over the maps of a figure whose caption ends with the lines of the layers.

    Returns a function that shows another record.
    """
    map_axes = [axes for axes in figure.axes if axes.images]
    if layers and not map_axes:
        raise PlotError("arrows, contours and tracks are drawn over maps, but this channel is drawn as a line")
    updates = [draw(map_axes) for _, draw in layers]

    def update(record: int) -> None:
        for update_layer in updates:
            update_layer(record)

    update(record)
    return update


def read_vectors(
    data: netCDF4.Dataset, kind: ArrowKind, record: int, member: int | None
) -> tuple[FieldMap, FieldMap, FieldMap]:
    """The components along the axes of pictures and the magnitude of vectors, at centres."""
    if kind.components:
        x, y = (read_or_derive(data, name, record, member) for name in kind.components)
        x, y = to_picture_components(data, x, y)
    else:
        x, y = read_current(data, record, member)
    return x, y, replace(x, name="speed", values=np.ma.hypot(x.values, y.values))


def make_arrows(
    data: netCDF4.Dataset, kind: ArrowKind, member: int | None, records: Sequence[int], key_line: int
) -> OverlayLayer:
    """Arrows at cell centres in every n-th row and column; none below MIN_SPEED_FRACTION of the strong speed.

    The line for the caption is blank, because the key of the arrows stands there.

    Args:
        records: the records from which the strong speed is chosen; its arrows have the length ARROW_LENGTH.
        key_line: number of caption lines below the line with the key of these arrows.
    """
    strong_speed = max(choose_strong_speed(read_vectors(data, kind, each, member)[2].values) for each in records)

    def draw(map_axes: Sequence) -> Callable[[int], None]:
        speed_map = read_vectors(data, kind, 0, member)[2]
        (min_cells, max_cells), (x, y) = sorted(speed_map.values.shape), speed_map.axis_positions
        stride = max(1, round(min(max_cells / ARROWS_ON_LONG_SIDE, min_cells / MIN_ARROWS_ON_SHORT_SIDE)))
        subset = slice(stride // 2, None, stride)
        figure = map_axes[0].figure
        panel_inches = map_axes[0].get_window_extent().size / figure.dpi
        speed_per_inch = strong_speed * max_cells / (ARROW_LENGTH * stride * max(panel_inches))
        quiver_options = {"scale_units": "inches", "scale": speed_per_inch}
        quiver_options |= {"angles": "uv" if speed_map.is_geographic else "xy"}
        quiver_options |= {"units": "inches", "width": 0.012, "headwidth": 4, "headlength": 4.5, "headaxislength": 4}
        quiver_options |= {"color": kind.colour, "path_effects": style.WHITE_OUTLINE}
        zeros = np.zeros_like(speed_map.values[subset, subset])
        quivers = [axes.quiver(x[subset], y[subset], zeros, zeros, **quiver_options) for axes in map_axes]
        key_speed = round_down_to_one_two_five(strong_speed)
        width, height = figure.get_size_inches()
        key_x = CAPTION_STYLE["x"] + key_speed / speed_per_inch / width
        key_y = (figure.texts[0].get_window_extent().y0 / figure.dpi + CAPTION_LINE_INCHES * (key_line + 0.5)) / height
        key_options = {"labelpos": "E", "coordinates": "figure", "labelcolor": CAPTION_STYLE["color"]}
        key_options |= {"fontproperties": {"size": CAPTION_STYLE["fontsize"]}}
        key_label = f"{kind.label} of {key_speed:g} {style.format_units(speed_map.units)}"
        map_axes[0].quiverkey(quivers[0], key_x, key_y, key_speed, key_label, **key_options)

        def update(record: int) -> None:
            u, v, speed = (each.values[subset, subset] for each in read_vectors(data, kind, record, member))
            is_weak = np.ma.filled(speed, 0.0) < MIN_SPEED_FRACTION * strong_speed
            for quiver in quivers:
                quiver.set_UVC(np.ma.masked_where(is_weak, u), np.ma.masked_where(is_weak, v))

        return update

    return " ", draw


def choose_strong_speed(speed: np.ma.MaskedArray) -> float:
    """The speed of long arrows: the largest, but at most MAX_SPEED_RATIO times the median of speeds that are not weak.

    The result is 1 if nothing moves.
    """
    max_speed = float(speed.max()) if speed.count() else 0.0
    if not max_speed:
        return 1.0
    speeds = speed.compressed()
    return min(max_speed, MAX_SPEED_RATIO * float(np.median(speeds[speeds > MIN_SPEED_FRACTION * max_speed])))


def make_contours(data: netCDF4.Dataset, name: str, member: int | None, field_style: style.FieldStyle) -> OverlayLayer:
    """Lines of equal value, at round values between the limits of the field's style, dashed below zero."""
    levels = MaxNLocator(MAX_CONTOURS, steps=TICK_STEPS).tick_values(*field_style.limits)
    dashes_text = "; dashed below zero" if levels[0] < 0 else ""

    def draw(map_axes: Sequence) -> Callable[[int], None]:
        contours: list = []

        def update(record: int) -> None:
            field = read_displayed_field(data, name, record, member)
            while contours:
                contours.pop().remove()
            values = field_style.scaled_values(field)
            if not values.count():
                return
            levels_inside = levels[(levels > values.min()) & (levels < values.max())]
            options = {"colors": style.DARK_GREY, "linewidths": np.where(levels_inside == 0, 1.1, 0.6)}
            for axes in map_axes if levels_inside.size else ():
                contours.append(axes.contour(*field.axis_positions, values, levels_inside, **options))
                contours[-1].set_path_effects(style.WHITE_OUTLINE)

        return update

    return f"lines: {field_style.label}, every {levels[1] - levels[0]:g}{dashes_text}", draw


def round_down_to_one_two_five(size: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... and of 0.5, 0.2, 0.1, ... that does not exceed a positive number."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= size * (1 + 1e-9)))
