"""How each field looks: colour map, limits, power of ten, label; and the fonts and lines of all figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import product

import cmocean
import netCDF4
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..ocean.table import VARIABLES
from .dataset import PlotError
from .derived import changes, members_of, shown
from .record import Map

#: The fields that set the ends of the colours, as the user names them:
#:
#: record    each field, in the record that is shown.
#: run       each field, in all its records, so that pictures of several records compare.
#: shared    all fields with the same units and all members together, in the record that is shown or those of a film.
RANGES = ("record", "run", "shared")

#: Colour maps (Thyng et al. 2016) of single fields, and those of the kinds of fields. Limits of signed fields are
#: symmetric about zero, unless hardly any value lies on one side: then they end near zero. Limits of fields that cannot
#: be negative start from zero.
OWN = {"speed": "speed", "h": "deep", "depth": "deep", "q": "matter", "f": "matter"}
OWN |= {"mask": "gray", "h_max": "dense", "wet_arrival": "haline", "wet": "dense"}
USUAL = {"signed": "balance", "positive": "amp", "other": "dense"}

#: Percentage of the values that may lie beyond each end of the colours, so that a few extremes do not use them up.
CLIPPED = 0.1

#: Extremes closer than this to the other values, as a fraction of their range, are not cut off.
FAR = 0.25

#: Ends of the colours of a signed field that are nearer to zero than this, as a part of the other end, lie on one side.
NEAR = 0.25

LAND = "0.78"
#: Colours of dry ground by height: sand to brown, green below the resting sea level, LAND where it never floods.
GROUND = LinearSegmentedColormap.from_list("ground", ["#f3ead6", "#d9c6a5", "#b59a78"])
GROUND = GROUND.with_extremes(under="#cdd3b2", over=LAND, bad=(0, 0, 0, 0))
#: The colour of ground below lines, and that of water where a field has no value.
BED, SEA = "#d9c6a5", "#dfe9f0"
INK = "0.15"
QUIET = "0.45"
#: The colour of single curves.
LINE = "#1f4e79"
#: The colour and the dashes of what is known, over the model's curve.
KNOWN, DASHED = "#b2182b", {"linewidth": 1.0, "linestyle": (0, (4, 3))}
#: The colours of a storm's way and of its wind.
TRACK, WIND = INK, "#7a0177"
#: A light rim that makes lines readable on dark colours.
EDGE = [withStroke(linewidth=1.5, foreground="white", alpha=0.6)]

#: The fonts and lines of all figures, for `matplotlib.rc_context`.
RC = {"font.family": "sans-serif", "font.size": 8.5, "pdf.fonttype": 42, "svg.fonttype": "none", "savefig.dpi": 200}
RC |= dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
RC |= dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6)
RC |= {f"{axis}tick.{key}": value for axis in "xy" for key, value in (("major.size", 2.5), ("labelsize", 8))}
RC |= {"axes.formatter.limits": (-4, 5), "axes.formatter.use_mathtext": True, "axes.formatter.useoffset": False}

#: Dots per inch of a figure that a notebook shows.
INLINE = 144

#: Relative difference of values that are equal except for rounding in single precision.
SAME = 1e-6


class Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=INLINE)
        return buffer.getvalue()


def spans(field: np.ma.MaskedArray) -> np.ndarray:
    """The ends of the colours that suit a field of each kind of USUAL, and its extremes; [4, 2].

    Percentiles stand for extremes where a few values lie far beyond the others.
    """
    values = field.compressed() if field.count() else np.zeros(1)
    least, most, usual = values.min(), values.max(), np.percentile(values, (CLIPPED, 100 - CLIPPED))
    low, high = usual if usual[0] < usual[1] else (least, most)
    margin, strong = FAR * (high - low), np.percentile(np.abs(values), 100 - CLIPPED) or np.inf
    size = min(max(-least, most), (1 + FAR) * strong)
    positive = 0, min(most, (1 + FAR) * high)
    return np.array([(-size, size), positive, (max(least, low - margin), min(most, high + margin)), (least, most)])


def same(low: float, high: float) -> bool:
    """Whether two values are equal except for rounding."""
    return high - low <= SAME * max(abs(low), abs(high))


def about_zero(size: float, low: float, high: float) -> tuple[float, float]:
    """Both ends for signed values from `low` to `high`: symmetric (`size`), on one side of zero, or far from it."""
    nearer, further = sorted((abs(low), abs(high)))
    if low < 0 < high:
        return (low, high) if nearer < NEAR * further else (-size, size)
    return (min(low, 0.0), max(high, 0.0)) if nearer < NEAR * further else (low, high)


def apart(kind: str, low: float, high: float) -> tuple[float, float]:
    """Both ends of the colours; other ones if they are equal except for rounding."""
    if not same(low, high):
        return low, high
    half = abs(low) or 1.0
    return (0.0 if kind == "positive" else low - half), low + half


@dataclass(frozen=True)
class Scale:
    """How the ends of the colours are chosen.

    Attributes:
        range: one of RANGES.
        low, high: the ends themselves, in the units of the label without its power of ten; None: from the values.
    """

    range: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self):
        if self.range not in RANGES:
            raise PlotError(f'no range "{self.range}"; there are {", ".join(RANGES)}')
        given = [end for end in self.ends if end is not None]
        if not all(map(math.isfinite, given)) or given != sorted(set(given)):
            raise PlotError(f"vmin and vmax must be numbers, vmin the smaller one, not {self.low} and {self.high}")

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Both ends."""
        return self.low, self.high


OF_RECORD, OF_RUN = Scale("record"), Scale("run")


@dataclass(frozen=True)
class Look:
    """How the values of a field are shown.

    Attributes:
        colormap: a matplotlib colour map, land in grey.
        limits: the values at the ends of the colours, in units of 10^exponent.
        exponent: the values are divided by this power of ten.
        extend: which ends of the colours also show values beyond them: neither, min, max or both.
        label: name and units for axis or colour bar.
        ticks: what the colour bar has numbers at: the only value, none if there is no value; None: round numbers.
    """

    colormap: object
    limits: tuple[float, float]
    exponent: int
    extend: str
    label: str
    ticks: tuple[float, ...] | None = None

    def scaled(self, field: Map) -> np.ma.MaskedArray:
        """The values in the units of the label."""
        return field.values * 10.0**-self.exponent


def looks(
    data: netCDF4.Dataset, panels: Sequence[Map], records: Iterable[int], member: int | None, scale: Scale
) -> list[Look]:
    """The Look of each of several fields.

    Args:
        records: those that are shown, for the range "shared".
    """
    if scale.ends != (None, None) and len({panel.units for panel in panels}) > 1:
        fields = ", ".join(f"{panel.name} ({panel.units})" for panel in panels)
        raise PlotError(f"vmin and vmax are for fields of the same units, not for {fields}")
    return [look(beside(data, panel, panels, records, member, scale.range), scale.ends) for panel in panels]


def beside(data: netCDF4.Dataset, panel: Map, panels, records, member: int | None, range_: str) -> Iterator[Map]:
    """The fields, one by one, that set the ends of a panel's colours; the panel's own is the first."""
    yield panel
    if range_ == "run" and changes(data, panel.name):
        yield from (shown(data, panel.name, record, member) for record in range(len(data["time"])))
    if range_ == "shared":
        for name in (other.name for other in panels if other.units == panel.units):
            yield from (shown(data, name, *each) for each in product(records, members_of(data, name)))


def look(fields: Iterable[Map], ends: tuple[float | None, float | None] = (None, None)) -> Look:
    """A look for all given fields, named after the first; they are read one by one, and none is kept.

    The limits enclose those that each field would have alone.

    Args:
        ends: the values at the lower and upper end of the colours; None: chosen for the fields.
    """
    first, names, lower, upper, empty = None, set(), np.inf, -np.inf, True
    for field in fields:
        first, empty = first or field, empty and not field.values.count()
        names.add(field.name.removesuffix("_mean"))
        span = spans(field.values)
        lower, upper = np.minimum(lower, span[:, 0]), np.maximum(upper, span[:, 1])
    kind = kind_of(names, lower[-1], upper[-1])
    place = list(USUAL).index(kind)
    usual = float(lower[place]), float(upper[place])
    if kind == "signed":
        usual = about_zero(usual[1], float(lower[2]), float(upper[2]))
    usual = apart(kind, *usual)
    low, high = (given if end is None else end for given, end in zip(usual, ends, strict=True))
    if not low < high:
        raise PlotError(f"the lower end of the colours, {low:g}, is not below the upper one, {high:g}")
    exponent = power_of_ten(max(abs(low), abs(high)))
    scale = 10.0**-exponent
    return Look(
        colormap=colours(names, kind, low, high),
        limits=(low * scale, high * scale),
        exponent=exponent,
        extend=("neither", "min", "max", "both")[int((lower[-1] < low) + 2 * (upper[-1] > high))],
        label=label(first.long_name, first.units, exponent) + (": no value" if empty else ""),
        ticks=() if empty else (float(lower[-1]) * scale,) if same(lower[-1], upper[-1]) else None,
    )


def kind_of(names: set[str], least: float, most: float) -> str:
    """The kind of fields, a key of USUAL: by the table of variables; for unknown fields by their values."""
    rows = {name: VARIABLES.get(name) for name in names}
    if any(name.startswith("d_") or name.endswith("_error") or (row and row.signed) for name, row in rows.items()):
        return "signed"
    if all(name.endswith("_spread") or (row and row.least == 0 and not row.above) for name, row in rows.items()):
        return "positive"
    return "signed" if least < 0 < most else "other"


def colours(names: set[str], kind: str, low: float, high: float):
    """The colour map of fields; for signed ones zero has the neutral colour, whatever the ends."""
    palettes = {OWN.get(name, USUAL[kind]) for name in names}
    palette = palettes.pop() if len(palettes) == 1 else USUAL[kind]
    with_zero = kind == "signed" and low <= 0 <= high
    if kind == "signed" and not with_zero:
        palette = USUAL["other"]
    chosen = cmocean.cm.cmap_d[palette]
    if with_zero and low != -high:
        chosen = cmocean.tools.crop(chosen, low, high, 0.0)
    return chosen.with_extremes(bad=LAND)


def power_of_ten(size: float) -> int:
    """0 if values of this size read well (0.01 to 10 000), else the power of ten to divide them by."""
    return 0 if size == 0 or 0.01 <= size < 1e4 else int(np.floor(np.log10(size)))


def label(long_name: str, units: str, exponent: int = 0) -> str:
    """Name and units for an axis: "Sea level (m)", "Relative vorticity (10⁻⁵ s⁻¹)"; a pure number has no units."""
    factor = f"10{superscript(str(exponent))}" if exponent else ""
    unit = " ".join(part for part in (factor, units_of(units)) if part)
    return long_name[:1].upper() + long_name[1:] + (f" ({unit})" if unit else "")


def units_of(units: str) -> str:
    """Units as they are printed: "m s⁻¹"; empty for a pure number."""
    return "" if units == "1" else re.sub(r"(?<=[A-Za-z])-?\d+", lambda power: superscript(power[0]), units)


def superscript(number: str) -> str:
    return number.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
