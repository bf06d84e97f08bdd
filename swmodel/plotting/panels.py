"""Panels of a figure: maps with colour bars, or lines if the domain is a narrow channel."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, ScalarFormatter

from . import style
from .ground import LEVELS, covers, top_of
from .record import STAGGER, Map, degrees, length_unit

#: The ratio of height to width of a panel lies between these; other domains are stretched.
FLATTEST, TALLEST = 0.25, 2.0
#: Inches beside and above a panel for labels and colour bar, as far as they are known before the layout.
ASIDE, ABOVE = 1.4, 0.4
#: The look of a caption, and the height of its lines, inches.
LINE = 0.16
CAPTION = {"x": 0.01, "ha": "left", "color": style.QUIET, "fontsize": 8, "linespacing": LINE * 72 / 8}
#: Letters in an inch of a panel's title, or of a caption.
LETTERS = 14
#: First digits of the distance between ticks: the usual ones, and those for maps that span WIDE degrees or more.
STEPS, OF_DEGREES, WIDE = [1, 2, 2.5, 5, 10], [1, 1.5, 2, 3, 6, 10], 10.0

#: A function that shows another map in a panel, with its look.
Show = Callable[[Map, style.Look], None]


def draw(panels: list[Map], looks: list[style.Look], caption: Sequence[str]) -> tuple[Figure, list[Show]]:
    """A figure with one panel for each map, and for each panel a function that shows another map in it.

    `caption`: lines of text above all panels; long ones are broken.
    """
    add = add_line if panels[0].slim else add_map
    columns, width, height = table(panels)
    rows, shows = -(-len(panels) // columns), []
    figure = style.Picture(figsize=(columns * (width + ASIDE), rows * (height + ABOVE)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.03, wspace=0, hspace=0)
    write_caption(figure, caption)
    for number, (panel, look) in enumerate(zip(panels, looks, strict=True)):
        axes = figure.add_subplot(rows, columns, number + 1)
        shows.append(add(axes, panel, look, width))
        left, bottom = add is add_line or number % columns == 0, number + columns >= len(panels)
        axes.tick_params(labelleft=left, labelbottom=bottom)
        axes.xaxis.label.set_visible(bottom)
        axes.yaxis.label.set_visible(left)
    for _ in range(2):  # to the size with which the panels have theirs
        figure.draw_without_rendering()
        lacking = np.array([width, height]) - figure.axes[0].get_window_extent().size / figure.dpi
        figure.set_size_inches(figure.get_size_inches() + lacking * (columns, rows))
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure, shows


def write_caption(figure: Figure, lines: Sequence[str]):
    """Write what the figure shows at its top left, in place of what stands there; returns the text."""
    letters = int(LETTERS * figure.get_figwidth())
    whole = "\n".join(part for line in lines for part in (textwrap.wrap(line, letters) or [" "]))
    if not figure.texts:
        return figure.suptitle(whole, **CAPTION)
    figure.texts[0].set_text(whole)
    return figure.texts[0]


def table(panels: list[Map]) -> tuple[int, float, float]:
    """Panels in a row, and the inches of one: below each other for wide domains, beside each other for tall ones."""
    count, aspect = len(panels), min(max(panels[0].aspect, FLATTEST), TALLEST)
    if panels[0].slim:
        return 1, 6.0, 1.8
    columns = 1 if count == 1 or aspect < 0.7 else 3 if count == 3 and aspect > 1.3 else 2
    widest = 5.6 if aspect < 0.7 else 4.4 if count == 1 else 3.2
    width = min(widest, 5.0 / aspect)
    return columns, width, width * aspect


def wrapped(text: str, width: float) -> str:
    """A title in lines of so many inches; units are not separated from the last word."""
    name, bracket, units = text.rpartition(" (")
    whole = name + (bracket + units).replace(" ", "\N{NO-BREAK SPACE}") if name else text
    lines = textwrap.wrap(whole, int(LETTERS * width), break_long_words=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def name_panel(axes, label: str, width: float) -> None:
    """Write name and units above a panel of so many inches and its colour bar."""
    axes.set_title(wrapped(label, width + 0.5), loc="left", fontsize=8.5, pad=3.5)


def add_map(axes, panel: Map, look: style.Look, width: float) -> Show:
    """Draw a map with its names, a few ticks and a colour bar, in a panel of so many inches."""
    image, show_image = draw_image(axes, panel, look)
    bar = axes.figure.colorbar(image, ax=axes, extend=look.extend, extendfrac=0.03, pad=0.02, fraction=0.1, aspect=30)
    bar.outline.set_linewidth(0.4)
    west, east, south, north = panel.domain
    for axis, span, most, letters in ((axes.xaxis, east - west, 6, "EW"), (axes.yaxis, north - south, 5, "NS")):
        axis.set_major_locator(MaxNLocator(most, steps=OF_DEGREES if panel.degrees and span >= WIDE else STEPS))
        if panel.degrees:
            axis.set_major_formatter(FuncFormatter(lambda at, _, letters=letters: degrees(round(at, 9), letters)))
    across, up = panel.names if panel.degrees else (f"{name} ({panel.unit[1]})" for name in panel.names)
    axes.set(xlabel=across, ylabel=up)

    def show(panel: Map, look: style.Look) -> None:
        show_image(panel, look)
        name_panel(axes, look.label, width)
        bar.ax.set_visible(look.ticks != ())
        bar.locator = MaxNLocator(8, steps=STEPS) if look.ticks is None else FixedLocator(look.ticks)
        bar.formatter = ScalarFormatter() if look.ticks is None else FixedFormatter([f"{at:.6g}" for at in look.ticks])

    show(panel, look)
    return show


def draw_image(axes, panel: Map, look: style.Look) -> tuple[AxesImage, Show]:
    """The cells of one map in their colours, with coasts; what lies beyond the grid stays white.

    Returns the image, and a function that shows another map in it.
    """
    west, east, south, north = panel.domain
    scale, _ = panel.unit
    (dx, dy), (half_x, half_y) = panel.spacing, STAGGER[panel.location]
    edges = west - half_x * dx / 2, east + half_x * dx / 2, south - half_y * dy / 2, north + half_y * dy / 2
    if panel.ground:
        axes.set_facecolor(style.SEA)
        base = axes.imshow(panel.ground.values, origin="lower", extent=np.array(panel.domain) / scale, aspect="auto")
        base.set(clim=(0.0, top_of(panel.ground)), cmap=style.GROUND, zorder=0.5 if covers(panel.name) else -0.5)
    image = axes.imshow(cells(panel, look), origin="lower", extent=np.array(edges) / scale, aspect="auto")
    image.set(clim=look.limits, cmap=look.colormap)
    coast = LineCollection([], colors=style.INK, linewidths=0.8 if panel.ground else 0.5)
    if panel.ground or panel.degrees:
        axes.add_collection(coast, autolim=False)
    if panel.outside is not None:
        outside = panel.outside | panel.ground.outside if panel.ground else panel.outside
        white = np.ma.masked_where(~outside, np.ones(outside.shape))
        beyond = axes.imshow(white, origin="lower", extent=image.get_extent(), aspect="auto", zorder=1)
        beyond.set(cmap="gray", clim=(0, 1))
    axes.set(xlim=(west / scale, east / scale), ylim=(south / scale, north / scale))

    def show(panel: Map, look: style.Look) -> None:
        colours = look.colormap.with_extremes(bad=(0, 0, 0, 0)) if panel.ground else look.colormap
        image.set(data=cells(panel, look), clim=look.limits, cmap=colours)
        coast.set_segments(coasts(panel.ground or panel))
        if panel.ground:
            base.set_data(panel.ground.values)

    show(panel, look)
    return image, show


def coasts(panel: Map) -> list[np.ndarray]:
    """Lines between cells with and without a value, along their sides, on the axes of a picture."""
    kind = np.ma.getmaskarray(panel.values).astype(float)
    kind = np.pad(kind if panel.outside is None else np.where(panel.outside, np.nan, kind), 1, mode="edge")
    (dx, dy), lines = panel.spacing, []
    for rows, columns in ((1, 0), (0, 1)):
        here, beyond = kind[: kind.shape[0] - rows, : kind.shape[1] - columns], kind[rows:, columns:]
        j, i = np.nonzero(here + beyond == 1)
        x, y = panel.x[0] + (i - 0.5) * dx, panel.y[0] + (j - 0.5) * dy
        lines += [*np.stack([x - dx * rows, y - dy * columns, x, y], axis=-1).reshape(-1, 2, 2) / panel.unit[0]]
    return lines


def cells(panel: Map, look: style.Look) -> np.ma.MaskedArray:
    """The values that fill the domain: faces and corners need one more column in the west and row in the south."""
    values = look.scaled(panel)
    half_x, half_y = STAGGER[panel.location]
    values = np.ma.concatenate([values[:, :half_x], values], axis=1)
    return np.ma.concatenate([values[:half_y], values], axis=0)


def add_line(axes, panel: Map, look: style.Look, width: float) -> Show:
    """Draw the middle row of a map as a line, or the middle column if there are fewer columns than rows."""
    along = int(panel.values.shape[1] < panel.values.shape[0])
    positions = (panel.x, panel.y)[along]
    scale, unit = (1.0, "degrees") if panel.degrees else length_unit(float(np.ptp(positions)))

    def middle(values):
        return values[:, values.shape[1] // 2] if along else values[values.shape[0] // 2]

    (line,) = axes.plot(positions / scale, 0 * positions, color=style.LINE, linewidth=1.2, label="model")
    if panel.known is not None:
        (known,) = axes.plot(positions / scale, 0 * positions, color=style.KNOWN, **style.DASHED, label="known answer")
        axes.legend(frameon=False, fontsize=7.5)
    if panel.ground and panel.name in LEVELS:
        bed = middle(np.ma.getdata(panel.ground.values) * 10.0**-look.exponent)
        axes.fill_between(positions / scale, bed, np.minimum(bed.min(), look.limits[0]) - 1, color=style.BED, zorder=0)
    axes.margins(x=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(f"{panel.names[along]} ({unit})")

    def show(panel: Map, look: style.Look) -> None:
        low, high = look.limits
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        line.set_ydata(middle(look.scaled(panel)))
        if panel.known is not None:
            known.set_ydata(middle(panel.known * 10.0**-look.exponent))
        name_panel(axes, look.label, width)

    show(panel, look)
    return show
