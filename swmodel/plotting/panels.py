"""Panels of a figure: maps with colour bars, or lines if the domain is a narrow channel."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, ScalarFormatter

from . import style
from .field_map import STAGGER, FieldMap, format_degrees, length_unit
from .ground import SEA_LEVEL_FIELDS, is_hidden_by_ground, max_floodable_height

#: Smallest and largest ratio of height to width of a panel; other domains are stretched.
MIN_ASPECT, MAX_ASPECT = 0.25, 2.0
#: Inches next to and above a panel for labels and colour bar, estimated before the layout.
LABELS_WIDTH_INCHES, LABELS_HEIGHT_INCHES = 1.4, 0.4
#: Height of a line of a caption, inches, and the style of captions.
CAPTION_LINE_INCHES = 0.16
CAPTION_STYLE: dict[str, Any] = {
    "x": 0.01,
    "ha": "left",
    "color": style.MID_GREY,
    "fontsize": 8,
    "linespacing": CAPTION_LINE_INCHES * 72 / 8,
}
#: Letters per inch of a panel's title or of a caption.
LETTERS_PER_INCH = 14
#: Leading digits of the distance between ticks, usually and on axes that span WIDE_MAP_DEGREES or more.
TICK_STEPS, DEGREE_TICK_STEPS, WIDE_MAP_DEGREES = [1, 2, 2.5, 5, 10], [1, 1.5, 2, 3, 6, 10], 10.0

#: Largest number of coast lines in one interrupted line, which matplotlib draws much faster than separate lines.
MAX_LINES_PER_SEGMENT = 10_000

#: A function that replaces the map in a panel by another with its style.
ShowMap = Callable[[FieldMap, style.FieldStyle], None]


def draw_panels(
    field_maps: list[FieldMap], field_styles: list[style.FieldStyle], caption: Sequence[str]
) -> tuple[Figure, list[ShowMap]]:
    """A figure with one panel for each map, and for each panel a function that shows another map in it.

    `caption`: lines of text above all panels; long lines are wrapped.
    """
    add_panel = add_line if field_maps[0].is_drawn_as_line else add_map
    columns, width, height = layout_panels(field_maps)
    rows, show_functions = -(-len(field_maps) // columns), []
    figure = style.NotebookFigure(
        figsize=(columns * (width + LABELS_WIDTH_INCHES), rows * (height + LABELS_HEIGHT_INCHES)),
        layout=ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.03, wspace=0, hspace=0),
    )
    write_caption(figure, caption)
    for number, (field_map, field_style) in enumerate(zip(field_maps, field_styles, strict=True)):
        axes = figure.add_subplot(rows, columns, number + 1)
        show_functions.append(add_panel(axes, field_map, field_style, width))
        has_y_label = add_panel is add_line or number % columns == 0
        has_x_label = number + columns >= len(field_maps)
        axes.tick_params(labelleft=has_y_label, labelbottom=has_x_label)
        axes.xaxis.label.set_visible(has_x_label)
        axes.yaxis.label.set_visible(has_y_label)
    for _ in range(2):  # resize the figure until the panels have the intended size
        figure.draw_without_rendering()
        missing_inches = np.array([width, height]) - np.divide(figure.axes[0].get_window_extent().size, figure.dpi)
        figure.set_size_inches(*(figure.get_size_inches() + missing_inches * (columns, rows)))
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure, show_functions


def write_caption(figure: Figure, lines: Sequence[str]) -> None:
    """Write a caption at the top left of the figure, replacing an earlier one."""
    letters_per_line = int(LETTERS_PER_INCH * figure.get_figwidth())
    text = "\n".join(part for line in lines for part in (textwrap.wrap(line, letters_per_line) or [" "]))
    if figure.texts:
        figure.texts[0].set_text(text)  # `suptitle` would move it from the position that the layout chose
    else:
        figure.suptitle(text, **CAPTION_STYLE)


def layout_panels(field_maps: list[FieldMap]) -> tuple[int, float, float]:
    """Panels per row, and width and height of a panel, inches: wide panels are stacked, tall ones side by side."""
    count, aspect = len(field_maps), min(max(field_maps[0].aspect, MIN_ASPECT), MAX_ASPECT)
    if field_maps[0].is_drawn_as_line:
        return 1, 6.0, 1.8
    columns = 1 if count == 1 or aspect < 0.7 else 3 if count == 3 and aspect > 1.3 else 2
    max_width = 5.6 if aspect < 0.7 else 4.4 if count == 1 else 3.2
    width = min(max_width, 5.0 / aspect)
    return columns, width, width * aspect


def wrap_title(text: str, width: float) -> str:
    """A title in lines of at most about `width` inches; units stay on the line of the last word."""
    name, bracket, units = text.rpartition(" (")
    unbroken = name + (bracket + units).replace(" ", "\N{NO-BREAK SPACE}") if name else text
    lines = textwrap.wrap(unbroken, int(LETTERS_PER_INCH * width), break_long_words=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def set_panel_title(axes, label: str, width: float) -> None:
    """Write name and units above a panel that is `width` inches wide, without its colour bar."""
    axes.set_title(wrap_title(label, width + 0.5), loc="left", fontsize=8.5, pad=3.5)


def add_map(axes, field_map: FieldMap, field_style: style.FieldStyle, width: float) -> ShowMap:
    """Draw a map with axis labels, a few ticks and a colour bar in a panel that is `width` inches wide."""
    image, show_image = draw_image(axes, field_map, field_style)
    colorbar = axes.figure.colorbar(
        image, ax=axes, extend=field_style.extend, extendfrac=0.03, pad=0.02, fraction=0.1, aspect=30
    )
    colorbar.outline.set_linewidth(0.4)
    west, east, south, north = field_map.domain
    x_and_y = (axes.xaxis, east - west, 6, "EW"), (axes.yaxis, north - south, 5, "NS")
    for axis, span, max_ticks, hemispheres in x_and_y:
        is_wide = field_map.is_geographic and span >= WIDE_MAP_DEGREES
        axis.set_major_locator(MaxNLocator(max_ticks, steps=DEGREE_TICK_STEPS if is_wide else TICK_STEPS))
        if field_map.crs:
            axis.get_major_formatter().set_useOffset(False)
        if field_map.is_geographic:
            axis.set_major_formatter(
                FuncFormatter(lambda at, _, hemispheres=hemispheres: format_degrees(round(at, 9), hemispheres))
            )
    unit = "" if field_map.is_geographic else f" ({field_map.axis_unit[1]})"
    axes.set(xlabel=field_map.axis_names[0] + unit, ylabel=field_map.axis_names[1] + unit)

    def show(field_map: FieldMap, field_style: style.FieldStyle) -> None:
        show_image(field_map, field_style)
        set_panel_title(axes, field_style.label, width)
        ticks = field_style.ticks
        colorbar.ax.set_visible(ticks != ())
        colorbar.locator = MaxNLocator(8, steps=TICK_STEPS) if ticks is None else FixedLocator(ticks)
        colorbar.formatter = ScalarFormatter() if ticks is None else FixedFormatter([f"{at:.6g}" for at in ticks])

    show(field_map, field_style)
    return show


def draw_image(axes, field_map: FieldMap, field_style: style.FieldStyle) -> tuple[AxesImage, ShowMap]:
    """Draw the cells of a map in their colours, with coasts; points beyond the grid are white.

    Returns the image, and a function that shows another map in it.
    """
    west, east, south, north = field_map.domain
    scale, _ = field_map.axis_unit
    (dx, dy), (half_x, half_y) = field_map.spacing, STAGGER[field_map.location]
    edges = west - half_x * dx / 2, east + half_x * dx / 2, south - half_y * dy / 2, north + half_y * dy / 2
    if field_map.ground:
        axes.set_facecolor(style.WATER_COLOUR)
        extent = np.array(field_map.domain) / scale
        ground_image = axes.imshow(field_map.ground.values, origin="lower", extent=extent, aspect="auto")
        ground_image.set(clim=(0.0, max_floodable_height(field_map.ground)), cmap=style.GROUND_COLOURMAP)
        ground_image.set_zorder(0.5 if is_hidden_by_ground(field_map.name) else -0.5)
    extent = np.array(edges) / scale
    image = axes.imshow(cell_values(field_map, field_style), origin="lower", extent=extent, aspect="auto")
    image.set(clim=field_style.limits, cmap=field_style.colormap)
    coast = LineCollection([], colors=style.DARK_GREY, linewidths=0.8 if field_map.ground else 0.5)
    if field_map.ground or field_map.is_geographic or field_map.crs:
        axes.add_collection(coast, autolim=False)
    if field_map.outside_grid is not None:
        ground_outside = field_map.ground.outside_grid if field_map.ground else False
        outside_grid = field_map.outside_grid | ground_outside
        white = np.ma.masked_where(~outside_grid, np.ones(outside_grid.shape))
        outside_image = axes.imshow(white, origin="lower", extent=image.get_extent(), aspect="auto", zorder=1)
        outside_image.set(cmap="gray", clim=(0, 1))
    axes.set(xlim=(west / scale, east / scale), ylim=(south / scale, north / scale))

    def show(field_map: FieldMap, field_style: style.FieldStyle) -> None:
        colours = field_style.colormap.with_extremes(bad=(0, 0, 0, 0)) if field_map.ground else field_style.colormap
        image.set(data=cell_values(field_map, field_style), clim=field_style.limits, cmap=colours)
        lines = coast_lines(field_map.ground or field_map)
        chunks = range(0, len(lines), MAX_LINES_PER_SEGMENT)
        coast.set_segments([lines[first : first + MAX_LINES_PER_SEGMENT].reshape(-1, 2) for first in chunks])
        if field_map.ground:
            ground_image.set_data(field_map.ground.values)

    show(field_map, field_style)
    return image, show


def coast_lines(field_map: FieldMap) -> np.ndarray:
    """Lines along the faces between cells with and without a value, in the units of the axes.

    The shape is [line, 3, (x, y)]: both ends of each line, then NaN, so that matplotlib can draw many lines as one
    interrupted line.
    """
    is_masked = np.ma.getmaskarray(field_map.values).astype(float)
    if field_map.outside_grid is not None:
        is_masked[field_map.outside_grid] = np.nan
    is_masked = np.pad(is_masked, 1, mode="edge")
    (dx, dy), lines = field_map.spacing, []
    for rows, columns in ((1, 0), (0, 1)):
        cells = is_masked[: is_masked.shape[0] - rows, : is_masked.shape[1] - columns]
        j, i = np.nonzero(cells + is_masked[rows:, columns:] == 1)
        x, y = field_map.x[0] + (i - 0.5) * dx, field_map.y[0] + (j - 0.5) * dy
        gap = np.full_like(x, np.nan)
        lines.append(np.stack([x - dx * rows, y - dy * columns, x, y, gap, gap], axis=-1).reshape(-1, 3, 2))
    return np.concatenate(lines) / field_map.axis_unit[0]


def cell_values(field_map: FieldMap, field_style: style.FieldStyle) -> np.ma.MaskedArray:
    """The scaled values that fill the domain.

    Fields on faces or corners start half a cell inside it, so their first column or row is repeated.
    """
    values = field_style.scaled_values(field_map)
    half_x, half_y = STAGGER[field_map.location]
    values = np.ma.concatenate([values[:, :half_x], values], axis=1)
    return np.ma.concatenate([values[:half_y], values], axis=0)


def add_line(axes, field_map: FieldMap, field_style: style.FieldStyle, width: float) -> ShowMap:
    """Draw the middle row of a map as a line, or the middle column if there are fewer columns than rows."""
    axis = int(field_map.values.shape[1] < field_map.values.shape[0])
    positions = (field_map.x, field_map.y)[axis]
    scale, unit = (1.0, "degrees") if field_map.is_geographic else length_unit(float(np.ptp(positions)))

    def middle_line(values):
        return values[:, values.shape[1] // 2] if axis else values[values.shape[0] // 2]

    (line,) = axes.plot(positions / scale, 0 * positions, color=style.LINE_COLOUR, linewidth=1.2, label="model")
    if field_map.analytic is not None:
        options = {"color": style.REFERENCE_COLOUR, "label": "analytic solution"} | style.DASHED_LINE
        (analytic_line,) = axes.plot(positions / scale, 0 * positions, **options)
        axes.legend(frameon=False, fontsize=7.5)
    if field_map.ground and field_map.name in SEA_LEVEL_FIELDS:
        bed = middle_line(np.ma.getdata(field_map.ground.values) * 10.0**-field_style.exponent)
        bottom = min(bed.min(), field_style.limits[0]) - 1
        axes.fill_between(positions / scale, bed, bottom, color=style.BED_COLOUR, zorder=0)
    axes.margins(x=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=TICK_STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=TICK_STEPS))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(f"{field_map.axis_names[axis]} ({unit})")

    def show(field_map: FieldMap, field_style: style.FieldStyle) -> None:
        low, high = field_style.limits
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        line.set_ydata(middle_line(field_style.scaled_values(field_map)))
        if field_map.analytic is not None:
            analytic_line.set_ydata(middle_line(field_map.analytic * 10.0**-field_style.exponent))
        set_panel_title(axes, field_style.label, width)

    show(field_map, field_style)
    return show
