"""The picture of a file of spectra: each quantity by wavenumber, with slopes for comparison, and its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import netCDF4
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..ocean.squares import VARIANCE, quantities_in, square_of
from . import style
from .dataset import PlotError, find_record, seconds
from .series import caption_figure
from .titles import clock, titles

COLUMNS = 2
COLOURS = (style.LINE, "#c1582d", "#3f7f4f", "#7d5a9e", "#b08d2e", "#5b8fa8", "#a23b5a", "#6b6b6b")

#: Number of earlier records that are drawn faintly beside the chosen one.
EARLIER = 4
#: Number of decades shown below the largest value.
DECADES = 9
#: Fraction of a density below which another is rounding: the square of that for a field.
ROUNDING = 1e-28
#: Lines of the slopes are drawn if the last wavenumber is at least so many times that of the peak.
SHORTEST = 4

#: Quantities that are drawn together, and the powers of the wavenumber for comparison. These hold in two-dimensional
#: turbulence, in the ranges where enstrophy cascades to smaller scales and energy to larger ones (Kraichnan 1967).
#: Tracers have powers for both ranges (Batchelor 1959, Obukhov 1949).
PANELS = {
    ("kinetic_energy", "potential_energy"): {"$K^{-3}$": -3, "$K^{-5/3}$": -5 / 3},
    ("enstrophy",): {"$K^{-1}$": -1, "$K^{1/3}$": 1 / 3},
}
OF_TRACERS = {"$K^{-1}$": -1, "$K^{-5/3}$": -5 / 3}
#: Texts for 2 and 5 times powers of ten, none for other numbers.
TWO_AND_FIVE = FuncFormatter(lambda value, place: f"{value:g}" if f"{value:e}"[0] in "25" else "")
#: The labels of lines.
NAMES = {"kinetic_energy": "kinetic", "potential_energy": "potential"}
ALONG = {"": "all directions, $K$", "_x": "along x, $k$", "_y": "along y, $l$"}


def picture(data: netCDF4.Dataset, record: int = -1, time: float | None = None) -> Figure:
    """The figure of the spectra of one record, or of that nearest to a model time, and faintly of some before it."""
    record = find_record(data, record, time)
    drawings = [*panels(data, record)]
    if not drawings:
        raise PlotError(f"{data.filepath()} holds nothing beyond wavenumber 0 to draw: the flow is the same everywhere")
    words = titles(data)(record)
    if "time_bounds" in data.variables:
        first, last = (clock(seconds(data))(time) for time in data["time_bounds"][record])
        words = f"{words.split(',')[0]}, mean of {first} to {last}"
    rows = -(-len(drawings) // COLUMNS)
    figure = caption_figure(7.2, 0.4 + 2.75 * rows, words)
    for number, draw in enumerate(drawings):
        axes = figure.add_subplot(rows, COLUMNS, number + 1)
        draw(axes)
        axes.set_xlabel("wavenumber (rad km⁻¹)")
        low, high = axes.get_xlim()
        axes.xaxis.set_minor_formatter(NullFormatter() if high > 100 * low else TWO_AND_FIVE)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def panels(data: netCDF4.Dataset, record: int) -> Iterator[Callable[[Axes], None]]:
    """The functions that draw the panels: densities, then the budget of each quantity that varies."""
    held = []
    for name in quantities_in(data.variables):
        rounding = ROUNDING * np.ma.filled(data[name][record], 0).max()
        held += [name] if line(data, name, record)[1].max(initial=0.0) > rounding else []
    tracers = {(name,): OF_TRACERS for name in held if name.endswith(VARIANCE)}
    for names, slopes in (PANELS | tracers).items():
        if here := [name for name in names if name in held]:
            yield partial(densities, data, record, {name: label_of(name) for name in here}, slopes)
        if "kinetic_energy" in here:
            directions = {f"kinetic_energy{along}": words for along, words in ALONG.items()}
            yield partial(densities, data, record, directions, slopes)
    for name in sorted(held, key=lambda name: f"{name}_flux" not in data.variables):
        starts = [each for each in data.variables if each.startswith(f"{name}_by_")]
        if parts := [each for each in starts if data[each].dimensions[1] == "wavenumber"]:
            # On this logarithmic axis areas are gains: the change times the wavenumber, in rad/m.
            lines = [(line(data, part, record), part.removeprefix(f"{name}_by_").replace("_", " ")) for part in parts]
            curves = [(K, 1e-3 * K * values, words) for (K, values), words in lines]
            yield partial(budget, name, curves, "change of {}, times $K$")
        if f"{name}_flux" in data.variables:
            yield partial(budget, name, [(*line(data, f"{name}_flux", record), "")], "flux of {} to larger $K$")


def label_of(name: str) -> str:
    """The label of a quantity's line; of a variance the name of the tracer."""
    return NAMES.get(name, name.removesuffix(VARIANCE))


def line(data: netCDF4.Dataset, name: str, record: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavenumbers in rad/km and values, from the smallest wavenumber above zero to the last whole ring."""
    along = data[data[name].dimensions[1]]
    K, values = (np.ma.filled(each, np.nan).astype(float) for each in (along[:], data[name][record]))
    shown = (K > 0) & (getattr(along, "largest_whole", np.inf) * (1 + 1e-9) >= K)
    return 1e3 * K[shown], values[shown]


def densities(data: netCDF4.Dataset, record: int, names: dict[str, str], slopes: dict[str, float], axes: Axes) -> None:
    """Draw densities of one record, with those of some before, and the slopes."""
    first, least, largest = next(iter(names)), np.inf, 0.0
    earlier = sorted({int(number) for number in np.linspace(0, record, EARLIER + 1)[:-1]} - {record})
    for colour, (name, words) in zip(COLOURS, names.items(), strict=False):
        for before in earlier if len(names) < 3 else ():
            axes.plot(*line(data, name, before), color=colour, linewidth=0.6, alpha=0.25)
        K, values = line(data, name, record)
        if values.max(initial=0.0) > 0:
            least, largest = min(least, values.min()), max(largest, values.max())
            axes.plot(K, values, color=colour, linewidth=1.2, label=words)
    axes.set(xscale="log", yscale="log")
    if largest > 0:
        axes.set_ylim(max(largest * 10.0**-DECADES, 0.3 * least), largest * 5)
        guides(axes, *line(data, first, record), slopes)
    quantity = "energy" if len(names) == 2 else first.replace("_", " ")
    axes.set_title(style.label(f"density of {quantity}", data[first].units), loc="left", fontsize=8)
    if len(names) > 1:
        axes.legend(frameon=False, fontsize=7, handlelength=1.4)


def guides(axes: Axes, K: np.ndarray, values: np.ndarray, slopes: dict[str, float]) -> None:
    """Draw straight lines of the slopes beyond the largest value, above the curve."""
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


def budget(name: str, curves: list[tuple], words: str, axes: Axes) -> None:
    """Draw curves (wavenumbers, values, label) of a quantity's budget on the same scale."""
    exponent = style.power_of_ten(max(np.abs(values).max(initial=0.0) for _, values, _ in curves))
    for number, (K, values, label) in enumerate(curves):
        axes.plot(K, values * 10.0**-exponent, color=COLOURS[number % len(COLOURS)], linewidth=1.1, label=label)
    axes.axhline(0, color=style.QUIET, linewidth=0.6)
    axes.set_xscale("log")
    words = words.format(label_of(name) + (" energy" if "energy" in name else ""))
    axes.set_title(style.label(words, square_of(name).units[2], exponent), loc="left", fontsize=8)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=7, handlelength=1.4)
