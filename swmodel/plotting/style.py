"""How each field looks: colour map, limits, power of ten, label; and the fonts and lines of all figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, product
from typing import Any

import cmocean
import netCDF4
import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import AbstractPathEffect, withStroke

from ..ocean.table import VARIABLES
from .dataset import PlotError
from .derived import field_members, has_records, read_displayed_field
from .field_map import FieldMap

#: The values that the colour scale of a panel spans, by the names of `--range`:
#:
#: record    each field, in the record that is shown.
#: run       each field, in all its records, so that pictures of several records compare.
#: shared    all fields with the same units and all members together, in the records that are shown.
RANGES = ("record", "run", "shared")

#: Colour maps (Thyng et al. 2016) of single fields, and of kinds of fields. Limits of positive fields start at zero;
#: `limits_of_signed` explains the limits of signed fields.
COLOURMAP_BY_FIELD = {"speed": "speed", "h": "deep", "depth": "deep", "q": "matter", "f": "matter"}
COLOURMAP_BY_FIELD |= {"mask": "gray", "h_max": "dense", "wet_arrival": "haline", "wet": "dense"}
COLOURMAP_BY_KIND = {"signed": "balance", "positive": "amp", "other": "dense"}

#: Percentage of the values that may lie beyond each end of the colour scale, so that a few extremes do not widen it.
CLIPPED_PERCENT = 0.1

#: The colour scale includes extremes that exceed the other values by less than this fraction of their range.
MAX_EXTENSION_FRACTION = 0.25

#: Limits of a signed field are not symmetric if the size of one is less than this fraction of the size of the other.
ONE_SIDED_FRACTION = 0.25

LAND_COLOUR = "0.78"
#: Colours of dry ground by height: sand to brown, green below the resting sea level, LAND_COLOUR where it never floods.
GROUND_COLOURMAP = LinearSegmentedColormap.from_list("ground", ["#f3ead6", "#d9c6a5", "#b59a78"]).with_extremes(
    under="#cdd3b2", over=LAND_COLOUR, bad=(0, 0, 0, 0)
)
#: Colours of the ground below lines, and of water where a field has no value.
BED_COLOUR, WATER_COLOUR = "#d9c6a5", "#dfe9f0"
DARK_GREY = "0.15"
MID_GREY = "0.45"
LINE_COLOUR = "#1f4e79"
#: The colour and the dashes of the analytic solution, over the model's curve.
REFERENCE_COLOUR, DASHED_LINE = "#b2182b", {"linewidth": 1.0, "linestyle": (0, (4, 3))}
#: The colours of a storm's track and of the wind.
TRACK_COLOUR, WIND_COLOUR = DARK_GREY, "#7a0177"
#: The colour of barriers.
BARRIER_COLOUR = "#e66101"
#: A light outline that makes lines readable on dark colours.
WHITE_OUTLINE: list[AbstractPathEffect] = [withStroke(linewidth=1.5, foreground="white", alpha=0.6)]

#: The fonts and lines of all figures, for `matplotlib.rc_context`.
RC_PARAMS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "savefig.dpi": 200,
}
RC_PARAMS |= dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), DARK_GREY)
RC_PARAMS |= dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6)
RC_PARAMS |= {f"{axis}tick.{key}": value for axis in "xy" for key, value in (("major.size", 2.5), ("labelsize", 8))}
RC_PARAMS |= {"axes.formatter.limits": (-4, 5), "axes.formatter.use_mathtext": True, "axes.formatter.useoffset": False}

#: Dots per inch of a figure that a notebook shows.
NOTEBOOK_DPI = 144

#: Largest relative difference of values that are equal except for rounding in single precision.
ROUNDING_FRACTION = 1e-6


class NotebookFigure(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
        return buffer.getvalue()


def limits_by_kind(values: np.ma.MaskedArray) -> np.ndarray:
    """Suitable limits (low, high) of the colours for each kind of COLOURMAP_BY_KIND, then the extremes; [4, 2].

    Limits based on percentiles replace extremes that lie far beyond the other values.
    """
    unmasked = values.compressed() if values.count() else np.zeros(1)
    minimum, maximum = unmasked.min(), unmasked.max()
    percentiles = np.percentile(unmasked, (CLIPPED_PERCENT, 100 - CLIPPED_PERCENT))
    low, high = percentiles if percentiles[0] < percentiles[1] else (minimum, maximum)
    extension = MAX_EXTENSION_FRACTION * (high - low)
    max_usual_abs = np.percentile(np.abs(unmasked), 100 - CLIPPED_PERCENT) or np.inf
    symmetric_limit = min(max(-minimum, maximum), (1 + MAX_EXTENSION_FRACTION) * max_usual_abs)
    signed = -symmetric_limit, symmetric_limit
    positive = 0, min(maximum, (1 + MAX_EXTENSION_FRACTION) * high)
    other = max(minimum, low - extension), min(maximum, high + extension)
    return np.array([signed, positive, other, (minimum, maximum)])


def is_nearly_equal(low: float, high: float) -> bool:
    """Whether two values are equal except for rounding."""
    return high - low <= ROUNDING_FRACTION * max(abs(low), abs(high))


def limits_of_signed(symmetric_limit: float, low: float, high: float) -> tuple[float, float]:
    """Limits for signed values from `low` to `high`.

    Values of both signs have symmetric limits, unless one sign dominates (ONE_SIDED_FRACTION). Limits of values of one
    sign start at zero, unless all values are far from zero.
    """
    nearer, further = sorted((abs(low), abs(high)))
    if low < 0 < high:
        return (low, high) if nearer < ONE_SIDED_FRACTION * further else (-symmetric_limit, symmetric_limit)
    return (min(low, 0.0), max(high, 0.0)) if nearer < ONE_SIDED_FRACTION * further else (low, high)


def separate_limits(kind: str, low: float, high: float) -> tuple[float, float]:
    """The limits of the colours, moved apart if they are equal except for rounding."""
    if not is_nearly_equal(low, high):
        return low, high
    half = abs(low) or 1.0
    return (0.0 if kind == "positive" else low - half), low + half


@dataclass(frozen=True)
class ColourRange:
    """How the ends of the colours are chosen.

    Attributes:
        range: one of RANGES.
        low, high: fixed ends of the colour scale, in the units of the label without its power of ten; None: chosen from
            the values.
    """

    range: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self):
        if self.range not in RANGES:
            raise PlotError(f'no range "{self.range}"; there are {", ".join(RANGES)}')
        fixed_ends = [end for end in self.ends if end is not None]
        if not all(map(math.isfinite, fixed_ends)) or fixed_ends != sorted(set(fixed_ends)):
            raise PlotError(f"vmin and vmax must be finite numbers, vmin below vmax, not {self.low} and {self.high}")

    @property
    def ends(self) -> tuple[float | None, float | None]:
        return self.low, self.high


RECORD_RANGE, RUN_RANGE = ColourRange("record"), ColourRange("run")


@dataclass(frozen=True)
class FieldStyle:
    """How the values of a field are shown.

    Attributes:
        colormap: a matplotlib colour map, land in grey.
        limits: the values at the ends of the colours, in units of 10^exponent.
        exponent: the values are divided by this power of ten.
        extend: at which ends the colours also stand for values beyond the limits: neither, min, max or both.
        label: name and units for axis or colour bar.
        ticks: scaled values with numbers on the colour bar: the only value of a constant field, or () if there
            are no values; None: round values.
    """

    colormap: Colormap
    limits: tuple[float, float]
    exponent: int
    extend: str
    label: str
    ticks: tuple[float, ...] | None = None

    def scaled_values(self, field: FieldMap) -> np.ma.MaskedArray:
        return field.values * 10.0**-self.exponent


def make_styles(
    data: netCDF4.Dataset,
    field_maps: Sequence[FieldMap],
    records: Iterable[int],
    member: int | None,
    colour_range: ColourRange,
) -> list[FieldStyle]:
    """The FieldStyle of each of several fields; `records`: the records that are shown, for the range "shared"."""
    if colour_range.ends != (None, None) and len({field_map.units for field_map in field_maps}) > 1:
        fields = ", ".join(f"{field_map.name} ({field_map.units})" for field_map in field_maps)
        raise PlotError(f"vmin and vmax are for fields of the same units, not for {fields}")
    return [
        make_style(fields_for_limits(data, each, field_maps, records, member, colour_range.range), colour_range.ends)
        for each in field_maps
    ]


def fields_for_limits(
    data: netCDF4.Dataset, field_map: FieldMap, field_maps, records, member: int | None, range_name: str
) -> Iterator[FieldMap]:
    """The fields whose values the colour scale of a panel spans, one by one; the first is the field of the panel."""
    yield field_map
    if range_name == "run" and has_records(data, field_map.name):
        yield from (read_displayed_field(data, field_map.name, record, member) for record in range(len(data["time"])))
    if range_name == "shared":
        names = dict.fromkeys(other.name for other in field_maps if other.units == field_map.units)
        yield from (other for other in field_maps if other.name in names)  # includes other constituents of the tide
        for name in names:
            yield from (read_displayed_field(data, name, *each) for each in product(records, field_members(data, name)))


def make_style(fields: Iterable[FieldMap], ends: tuple[float | None, float | None] = (None, None)) -> FieldStyle:
    """A common FieldStyle, with the name of the first field, whose limits enclose the limits of each field alone.

    Args:
        fields: an iterator over many fields needs little memory, because only the first is kept.
        ends: fixed values at the lower and upper end of the colours; None: chosen from the fields.
    """
    fields, names, is_empty = iter(fields), set(), True
    first, lower, upper = next(fields), np.full(4, np.inf), np.full(4, -np.inf)
    for field in chain([first], fields):
        is_empty = is_empty and not field.values.count()
        names.add(field.name.removesuffix("_mean"))
        limits = limits_by_kind(field.values)
        lower, upper = np.minimum(lower, limits[:, 0]), np.maximum(upper, limits[:, 1])
    kind = field_kind(names, lower[-1], upper[-1])
    kind_index = list(COLOURMAP_BY_KIND).index(kind)
    default_limits = float(lower[kind_index]), float(upper[kind_index])
    if kind == "signed":
        default_limits = limits_of_signed(default_limits[1], float(lower[2]), float(upper[2]))
    default_limits = separate_limits(kind, *default_limits)
    low, high = (default if end is None else end for default, end in zip(default_limits, ends, strict=True))
    if not low < high:
        raise PlotError(f"the lower end of the colours, {low:g}, is not below the upper one, {high:g}")
    exponent = power_of_ten(max(abs(low), abs(high)))
    scale = 10.0**-exponent
    return FieldStyle(
        colormap=choose_colourmap(names, kind, low, high),
        limits=(low * scale, high * scale),
        exponent=exponent,
        extend=("neither", "min", "max", "both")[int((lower[-1] < low) + 2 * (upper[-1] > high))],
        label=axis_label(first.long_name, first.units, exponent) + (": no value" if is_empty else ""),
        ticks=() if is_empty else (float(lower[-1]) * scale,) if is_nearly_equal(lower[-1], upper[-1]) else None,
    )


def field_kind(names: set[str], minimum: float, maximum: float) -> str:
    """The kind of fields, a key of COLOURMAP_BY_KIND, from the table of variables or else from their extremes."""
    variables = {name: VARIABLES.get(name) for name in names}
    if any(
        name.startswith("d_") or name.endswith("_error") or (variable and variable.is_signed)
        for name, variable in variables.items()
    ):
        return "signed"
    if all(
        name.endswith("_spread") or (variable and variable.min_value == 0 and not variable.is_min_exclusive)
        for name, variable in variables.items()
    ):
        return "positive"
    return "signed" if minimum < 0 < maximum else "other"


def choose_colourmap(names: set[str], kind: str, low: float, high: float):
    """The colour map of fields; if the limits of signed fields include zero, zero has the neutral colour."""
    colourmap_names = {COLOURMAP_BY_FIELD.get(name, COLOURMAP_BY_KIND[kind]) for name in names}
    colourmap_name = colourmap_names.pop() if len(colourmap_names) == 1 else COLOURMAP_BY_KIND[kind]
    has_neutral_zero = kind == "signed" and low <= 0 <= high
    if kind == "signed" and not has_neutral_zero:
        colourmap_name = COLOURMAP_BY_KIND["other"]
    colourmap = cmocean.cm.cmap_d[colourmap_name]
    if has_neutral_zero and low != -high:
        colourmap = cmocean.tools.crop(colourmap, low, high, 0.0)
    return colourmap.with_extremes(bad=LAND_COLOUR)


def power_of_ten(size: float) -> int:
    """The power of ten by which values of a size are divided for display; 0 for sizes from 0.01 to below 10 000."""
    return 0 if size == 0 or 0.01 <= size < 1e4 else int(np.floor(np.log10(size)))


def axis_label(long_name: str, units: str, exponent: int = 0) -> str:
    """Name and units for an axis: "Sea level (m)", "Relative vorticity (10⁻⁵ s⁻¹)"; a pure number has no units."""
    factor = f"10{superscript(str(exponent))}" if exponent else ""
    unit = " ".join(part for part in (factor, format_units(units)) if part)
    return long_name[:1].upper() + long_name[1:] + (f" ({unit})" if unit else "")


def format_units(units: str) -> str:
    """Units as they are printed: "m s⁻¹"; empty for a pure number."""
    return "" if units == "1" else re.sub(r"(?<=[A-Za-z])-?\d+", lambda power: superscript(power[0]), units)


def superscript(number: str) -> str:
    return number.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
