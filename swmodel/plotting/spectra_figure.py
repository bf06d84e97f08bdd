"""The picture of a file of spectra: each quantity against wavenumber, with slopes for comparison, and its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import netCDF4
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..ocean.spectral_quantities import VARIANCE_SUFFIX, spectral_quantities_in, spectral_quantity
from . import style
from .dataset import PlotError, find_record, record_times
from .series import make_captioned_figure
from .titles import make_time_formatter, make_title_formatter

COLUMNS = 2
COLOURS = (style.LINE_COLOUR, "#c1582d", "#3f7f4f", "#7d5a9e", "#b08d2e", "#5b8fa8", "#a23b5a", "#6b6b6b")

#: Number of earlier records that are drawn faintly with the chosen one.
N_EARLIER_RECORDS = 4
#: Largest number of decades shown below the largest value.
MAX_DECADES = 9
#: Densities below this fraction of the largest count as rounding errors: the square of 1e-14, the error of a field.
ROUNDING_FRACTION = 1e-28
#: Slopes are drawn if the last wavenumber is at least this many times the wavenumber of the peak.
MIN_WAVENUMBER_RATIO = 4

#: Quantities that share a panel, and powers of the wavenumber for comparison. In two-dimensional turbulence the first
#: power holds where enstrophy cascades to smaller scales, the second where energy cascades to larger scales (Kraichnan
#: 1967). The powers for tracers hold in the same ranges (Batchelor 1959, Obukhov 1949).
PANEL_SLOPES = {
    ("kinetic_energy", "potential_energy"): {"$K^{-3}$": -3, "$K^{-5/3}$": -5 / 3},
    ("enstrophy",): {"$K^{-1}$": -1, "$K^{1/3}$": 1 / 3},
}
TRACER_SLOPES = {"$K^{-1}$": -1, "$K^{-5/3}$": -5 / 3}
#: Writes labels at 2 and 5 times powers of ten, and none at other numbers.
TWO_AND_FIVE_FORMATTER = FuncFormatter(lambda value, place: f"{value:g}" if f"{value:e}"[0] in "25" else "")
LINE_LABELS = {"kinetic_energy": "kinetic", "potential_energy": "potential"}
#: {ending of the name of a spectrum: label of the directions of its waves}.
DIRECTION_LABELS = {"": "all directions, $K$", "_x": "along x, $k$", "_y": "along y, $l$"}


def draw_spectra(data: netCDF4.Dataset, record: int = -1, time: float | None = None) -> Figure:
    """The figure of the spectra of one record, or of that nearest to `time` (s), and faintly of earlier records."""
    record = find_record(data, record, time)
    draw_functions = [*panel_functions(data, record)]
    if not draw_functions:
        raise PlotError(f"{data.filepath()} holds nothing beyond wavenumber 0 to draw: the flow is the same everywhere")
    caption = make_title_formatter(data)(record)
    if "time_bounds" in data.variables:
        first, last = (make_time_formatter(record_times(data))(time) for time in data["time_bounds"][record])
        caption = f"{caption.split(',')[0]}, mean of {first} to {last}"
    rows = -(-len(draw_functions) // COLUMNS)
    figure = make_captioned_figure(7.2, 0.4 + 2.75 * rows, caption)
    for number, draw in enumerate(draw_functions):
        axes = figure.add_subplot(rows, COLUMNS, number + 1)
        draw(axes)
        axes.set_xlabel("wavenumber (rad km⁻¹)")
        low, high = axes.get_xlim()
        axes.xaxis.set_minor_formatter(NullFormatter() if high > 100 * low else TWO_AND_FIVE_FORMATTER)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def panel_functions(data: netCDF4.Dataset, record: int) -> Iterator[Callable[[Axes], None]]:
    """The functions that draw the panels: the densities, then the budgets, of quantities that vary in space."""
    available = []
    for name in spectral_quantities_in(data.variables):
        rounding = ROUNDING_FRACTION * np.ma.filled(data[name][record], 0).max()
        if read_spectrum(data, name, record)[1].max(initial=0.0) > rounding:
            available.append(name)
    tracers = {(name,): TRACER_SLOPES for name in available if name.endswith(VARIANCE_SUFFIX)}
    for names, slopes in (PANEL_SLOPES | tracers).items():
        if panel_names := [name for name in names if name in available]:
            yield partial(draw_densities, data, record, {name: line_label(name) for name in panel_names}, slopes)
        if "kinetic_energy" in panel_names:
            directions = {f"kinetic_energy{ending}": label for ending, label in DIRECTION_LABELS.items()}
            yield partial(draw_densities, data, record, directions, slopes)
    for name in sorted(available, key=lambda name: f"{name}_flux" not in data.variables):
        budget_names = [each for each in data.variables if each.startswith(f"{name}_by_")]
        if term_names := [each for each in budget_names if data[each].dimensions[1] == "wavenumber"]:
            curves = []
            for term_name in term_names:
                K, values = read_spectrum(data, term_name, record)
                label = term_name.removeprefix(f"{name}_by_").replace("_", " ")
                # The change is multiplied by K in rad/m, so that areas below a curve on a logarithmic axis are changes.
                curves.append((K, 1e-3 * K * values, label))
            yield partial(draw_budget, name, curves, "change of {}, times $K$")
        if f"{name}_flux" in data.variables:
            flux = (*read_spectrum(data, f"{name}_flux", record), "")
            yield partial(draw_budget, name, [flux], "flux of {} to larger $K$")


def line_label(name: str) -> str:
    """The label of the line of a quantity; for a variance it is the name of the tracer."""
    return LINE_LABELS.get(name, name.removesuffix(VARIANCE_SUFFIX))


def read_spectrum(data: netCDF4.Dataset, name: str, record: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavenumbers, rad/km, and values, from the smallest wavenumber above zero to the attribute `largest_whole`."""
    wavenumber = data[data[name].dimensions[1]]
    K, values = (np.ma.filled(each, np.nan).astype(float) for each in (wavenumber[:], data[name][record]))
    is_shown = (K > 0) & (getattr(wavenumber, "largest_whole", np.inf) * (1 + 1e-9) >= K)
    return 1e3 * K[is_shown], values[is_shown]


def draw_densities(
    data: netCDF4.Dataset, record: int, label_by_name: dict[str, str], slopes: dict[str, float], axes: Axes
) -> None:
    """Draw densities of one record and of some earlier ones, and the slopes."""
    first, min_value, max_value = next(iter(label_by_name)), np.inf, 0.0
    earlier_records = sorted({int(number) for number in np.linspace(0, record, N_EARLIER_RECORDS + 1)[:-1]} - {record})
    for colour, (name, line_text) in zip(COLOURS, label_by_name.items(), strict=False):
        for earlier_record in earlier_records if len(label_by_name) < 3 else ():
            axes.plot(*read_spectrum(data, name, earlier_record), color=colour, linewidth=0.6, alpha=0.25)
        K, values = read_spectrum(data, name, record)
        if values.max(initial=0.0) > 0:
            min_value, max_value = min(min_value, values.min()), max(max_value, values.max())
            axes.plot(K, values, color=colour, linewidth=1.2, label=line_text)
    axes.set(xscale="log", yscale="log")
    if max_value > 0:
        axes.set_ylim(max(max_value * 10.0**-MAX_DECADES, 0.3 * min_value), max_value * 5)
        draw_slopes(axes, *read_spectrum(data, first, record), slopes)
    quantity = "energy" if len(label_by_name) == 2 else first.replace("_", " ")
    axes.set_title(style.axis_label(f"density of {quantity}", data[first].units), loc="left", fontsize=8)
    if len(label_by_name) > 1:
        axes.legend(frameon=False, fontsize=7, handlelength=1.4)


def draw_slopes(axes: Axes, K: np.ndarray, values: np.ndarray, slopes: dict[str, float]) -> None:
    """Draw a straight line for each slope, above the curve and at larger wavenumbers than its peak."""
    peak = int(np.argmax(values))
    if values[peak] <= 0 or K[-1] < MIN_WAVENUMBER_RATIO * K[peak]:
        return
    K_start = K[peak] * (K[-1] / K[peak]) ** 0.3
    K_ends = np.array([K_start, K_start * (K[-1] / K_start) ** 0.6])
    height = 5 * np.interp(K_start, K, values)
    for slope_label, power in slopes.items():
        heights = height * (K_ends / K_start) ** power
        axes.plot(K_ends, heights, color=style.MID_GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.annotate(
            slope_label, (K_ends[-1], heights[-1]), (2, 0), textcoords="offset points", fontsize=7, va="center"
        )


def draw_budget(name: str, curves: list[tuple], title: str, axes: Axes) -> None:
    """Draw curves (wavenumbers in rad/km, values, label) of the budget of a quantity."""
    exponent = style.power_of_ten(max(np.abs(values).max(initial=0.0) for _, values, _ in curves))
    for number, (K, values, label) in enumerate(curves):
        axes.plot(K, values * 10.0**-exponent, color=COLOURS[number % len(COLOURS)], linewidth=1.1, label=label)
    axes.axhline(0, color=style.MID_GREY, linewidth=0.6)
    axes.set_xscale("log")
    title = title.format(line_label(name) + (" energy" if "energy" in name else ""))
    axes.set_title(style.axis_label(title, spectral_quantity(name).units[2], exponent), loc="left", fontsize=8)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=7, handlelength=1.4)
