"""The picture of a file of spectra: each quantity by wavenumber, with slopes for comparison, and its budget."""

from __future__ import annotations

from collections.abc import Iterator

import netCDF4
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..ocean.squares import VARIANCE, quantities_in, square_of
from . import style
from .dataset import PlotError, find_record, seconds
from .titles import clock, titles

COLUMNS = 2
COLOURS = ("#1f4e79", "#c1582d", "#3f7f4f", "#7d5a9e", "#b08d2e", "#5b8fa8", "#a23b5a", "#6b6b6b")

#: Number of earlier records that are drawn faintly beside the chosen one.
EARLIER = 4

#: Number of decades shown below the largest value.
DECADES = 9
#: Fraction of a density below which another is rounding: the square of that for a field.
ROUNDING = 1e-28
#: Lines of the slopes are drawn if the last wavenumber is at least so many times that of the peak.
SHORTEST = 4

#: Quantities that are drawn together, and the powers of the wavenumber for comparison: those of two-dimensional
#: turbulence in the ranges of enstrophy cascading to smaller scales and of energy cascading to larger ones (Kraichnan
#: 1967), and for tracers in both (Batchelor 1959, Obukhov 1949).
PANELS = {
    ("kinetic_energy", "potential_energy"): {"$K^{-3}$": -3, "$K^{-5/3}$": -5 / 3},
    ("enstrophy",): {"$K^{-1}$": -1, "$K^{1/3}$": 1 / 3},
}
OF_TRACERS = {"$K^{-1}$": -1, "$K^{-5/3}$": -5 / 3}

#: The labels of lines.
NAMES = {
    "kinetic_energy": "kinetic",
    "potential_energy": "potential",
    "enstrophy": "enstrophy",
    "": "all directions, $K$",
    "_x": "along x, $k$",
    "_y": "along y, $l$",
}


def label_of(name: str) -> str:
    """The label of a quantity's line; of a variance the name of the tracer."""
    return NAMES.get(name, name.removesuffix(VARIANCE))


def picture(data: netCDF4.Dataset, record: int = -1, time: float | None = None) -> Figure:
    """The figure of the spectra of one record, and faintly of some before it.

    Args:
        record: number of the record; negative ones count from the last.
        time: model time, s; the nearest record is drawn.
    """
    record = find_record(data, record, time)
    drawings = [*panels(data, record)]
    if not drawings:
        raise PlotError(f"{data.filepath()} holds nothing beyond wavenumber 0 to draw: the flow is the same everywhere")
    rows = -(-len(drawings) // COLUMNS)
    figure = Figure(figsize=(7.2, 0.4 + 2.75 * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    figure.suptitle(caption(data, record), x=0.01, ha="left", fontsize=style.CAPTION, color=style.QUIET)
    grid = figure.subplots(rows, COLUMNS, squeeze=False).flat
    for axes, (draw, *what) in zip(grid, drawings, strict=False):
        draw(axes, data, record, *what)
    for axes in list(figure.axes)[len(drawings) :]:
        axes.remove()
    return figure


def caption(data: netCDF4.Dataset, record: int) -> str:
    """The case and the time, or the interval of the mean."""
    words = titles(data)(record)
    if "time_bounds" not in data.variables:
        return words
    first, last = (clock(seconds(data))(time) for time in data["time_bounds"][record])
    return f"{words.split(',')[0]}, mean of {first} to {last}"


def panels(data: netCDF4.Dataset, record: int) -> Iterator[tuple]:
    """The panels, each a function of (axes, data, record, ...) with its further arguments."""
    held = [name for name in quantities_in(data.variables) if varies(data, name, record)]
    tracers = {(name,): OF_TRACERS for name in held if name.endswith(VARIANCE)}
    for names, slopes in (PANELS | tracers).items():
        if here := [name for name in names if name in held]:
            yield densities, {name: label_of(name) for name in here}, slopes
        if "kinetic_energy" in here:
            yield densities, {f"kinetic_energy{along}": NAMES[along] for along in ("", "_x", "_y")}, slopes
    for name in sorted(held, key=lambda name: f"{name}_flux" not in data.variables):
        if parts := parts_of(data, name):
            yield changes, name, parts
            if f"{name}_flux" in data.variables:
                yield flux, name


def parts_of(data: netCDF4.Dataset, name: str) -> list[str]:
    """The parts of the tendency whose effect on a quantity is in the file."""
    of = [
        each for each in data.variables if each.startswith(f"{name}_by_") and data[each].dimensions[1] == "wavenumber"
    ]
    return [each.removeprefix(f"{name}_by_") for each in of]


def densities(axes: Axes, data: netCDF4.Dataset, record: int, names: dict[str, str], slopes: dict[str, float]) -> None:
    """Densities of one record, with those of some before; and the slopes."""
    first, least, largest = next(iter(names)), np.inf, 0.0
    single = len(names) < 3
    for colour, (name, words) in zip(COLOURS, names.items(), strict=False):
        for before in earlier(record) if single else ():
            axes.plot(*line(data, name, before), color=colour, linewidth=0.6, alpha=0.25)
        K, values = line(data, name, record)
        if not values.max(initial=0.0) > 0:
            continue
        least, largest = min(least, values.min(initial=np.inf)), max(largest, values.max(initial=0.0))
        axes.plot(K, values, color=colour, linewidth=1.2, label=words)
    axes.set(xscale="log", yscale="log")
    if largest > 0:
        axes.set_ylim(max(largest * 10.0**-DECADES, 0.3 * least), largest * 5)
        guides(axes, *line(data, first, record), slopes)
    title(axes, data[first], "energy" if len(names) == 2 else None)
    along_wavenumber(axes, legend=len(names) > 1)


def varies(data: netCDF4.Dataset, name: str, record: int) -> bool:
    """Whether a quantity has more than rounding beyond wavenumber 0."""
    whole = np.ma.filled(data[name][record], 0).max()
    return line(data, name, record)[1].max(initial=0.0) > ROUNDING * whole


def earlier(record: int) -> list[int]:
    """Records before this one, evenly spread."""
    return sorted({int(number) for number in np.linspace(0, record, EARLIER + 1)[:-1]} - {record})


def line(data: netCDF4.Dataset, name: str, record: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavenumbers in rad/km and values, from the smallest wavenumber above zero to the last whole ring."""
    along = data[data[name].dimensions[1]]
    K, values = (np.ma.filled(each, np.nan).astype(float) for each in (along[:], data[name][record]))
    shown = (K > 0) & (getattr(along, "largest_whole", np.inf) * (1 + 1e-9) >= K)
    return 1e3 * K[shown], values[shown]


def guides(axes: Axes, K: np.ndarray, values: np.ndarray, slopes: dict[str, float]) -> None:
    """Straight lines of the slopes beyond the largest value, above the curve."""
    peak = int(np.argmax(values))
    if values[peak] <= 0 or K[-1] < SHORTEST * K[peak]:
        return
    first = K[peak] * (K[-1] / K[peak]) ** 0.3
    ends = np.array([first, first * (K[-1] / first) ** 0.6])
    height = 5 * np.interp(first, K, values)
    for words, power in slopes.items():
        heights = height * (ends / first) ** power
        axes.plot(ends, heights, color=style.QUIET, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.annotate(words, (ends[-1], heights[-1]), (2, 0), textcoords="offset points", fontsize=7, va="center")


def changes(axes: Axes, data: netCDF4.Dataset, record: int, name: str, parts: list[str]) -> None:
    """How parts of the tendency change a quantity, times the wavenumber: on this axis areas are gains."""
    scaled = {part: line(data, f"{name}_by_{part}", record) for part in parts}
    scaled = {part: (K, 1e-3 * K * values) for part, (K, values) in scaled.items()}
    exponent = style.power_of_ten(max(np.abs(values).max(initial=0.0) for _, values in scaled.values()))
    for colour, (part, (K, values)) in zip(COLOURS * len(parts), scaled.items(), strict=False):
        axes.plot(K, values * 10.0**-exponent, color=colour, linewidth=1.1, label=part.replace("_", " "))
    words = f"change of {label_of(name)}{' energy' if 'energy' in name else ''}, times $K$"
    budget_axis(axes, words, square_of(name).units[2], exponent, legend=True)


def flux(axes: Axes, data: netCDF4.Dataset, record: int, name: str) -> None:
    """The flux of a quantity through each wavenumber to larger ones."""
    K, values = line(data, f"{name}_flux", record)
    exponent = style.power_of_ten(np.abs(values).max(initial=0.0))
    axes.plot(K, values * 10.0**-exponent, color=COLOURS[0], linewidth=1.2)
    words = f"flux of {label_of(name)}{' energy' if 'energy' in name else ''} to larger $K$"
    budget_axis(axes, words, square_of(name).units[2], exponent, legend=False)


def budget_axis(axes: Axes, words: str, units: str, exponent: int, legend: bool) -> None:
    """Draw what panels of budgets have in common: a line at zero, and their axes."""
    axes.axhline(0, color=style.QUIET, linewidth=0.6)
    axes.set_xscale("log")
    axes.set_title(style.label(words, units, exponent), loc="left", fontsize=8)
    along_wavenumber(axes, legend)


def title(axes: Axes, variable, words: str | None) -> None:
    """Write what is drawn above the panel."""
    name = words or variable.name.replace("_", " ")
    axes.set_title(style.label(f"density of {name}", variable.units), loc="left", fontsize=8)


def two_and_five(value: float, place) -> str:
    """The text for 2 and 5 times powers of ten; none for other numbers."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def along_wavenumber(axes: Axes, legend: bool) -> None:
    """Label the axis of wavenumbers; name the lines, if there are several."""
    axes.set_xlabel("wavenumber (rad km⁻¹)")
    axes.spines[["top", "right"]].set_visible(False)
    low, high = axes.get_xlim()
    axes.xaxis.set_minor_formatter(NullFormatter() if high > 100 * low else FuncFormatter(two_and_five))
    if legend:
        axes.legend(frameon=False, fontsize=7, handlelength=1.4)
