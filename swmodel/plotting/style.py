"""How each field looks: colour map, limits, power of ten, label; and the fonts and lines of all figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import cmocean
import numpy as np

from ..ocean.table import VARIABLES
from .dataset import PlotError
from .record import Map

#: Colour maps (Thyng et al. 2016) of single fields, and those of the kinds of fields: signed fields have limits
#: symmetric about zero; limits of fields that cannot be negative start from zero.
OWN = {"u": "delta", "v": "delta", "speed": "speed", "h": "deep", "depth": "deep", "q": "matter", "f": "matter"}
OWN |= {"mask": "gray"}
USUAL = {"signed": "balance", "positive": "amp", "other": "dense"}

#: Letters of the words above a figure, points.
CAPTION = 8

#: Percentage of the values that may lie beyond each end of the colours, so that a few extremes do not use them up.
CLIPPED = 0.1

#: Extremes closer than this to the other values, as a fraction of their range, are not cut off.
FAR = 0.25

LAND = "0.78"
INK = "0.15"
QUIET = "0.45"

RC = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.formatter.limits": (-4, 5),
    "axes.formatter.use_mathtext": True,
    "axes.formatter.useoffset": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}


#: Relative difference of values that are equal but for rounding in single precision.
SAME = 1e-6


@dataclass(frozen=True)
class Span:
    """The numbers for the limits of colours, of one field or several: all are finite.

    Attributes:
        least, most: the extremes.
        low, high: the extremes, or percentiles where a few values lie far beyond them.
        size: the upper end of the sizes, for a field that is shown symmetric about zero.
        top: the upper end for a field that is shown from zero on.
    """

    least: float
    most: float
    low: float
    high: float
    size: float
    top: float

    @classmethod
    def of(cls, field: np.ma.MaskedArray) -> Span:
        """The Span of a field; of zero for a field without values."""
        values = field.compressed() if field.count() else np.zeros(1)
        low, high = np.percentile(values, (CLIPPED, 100 - CLIPPED))
        size = np.percentile(np.abs(values), 100 - CLIPPED)
        least, most, margin = float(values.min()), float(values.max()), FAR * (high - low)
        return cls(
            least=least,
            most=most,
            low=max(least, low - margin),
            high=min(most, high + margin),
            size=min(max(-least, most), (1 + FAR) * size),
            top=min(most, (1 + FAR) * high),
        )

    def __or__(self, other: Span | None) -> Span:
        """The span of both."""
        if other is None:
            return self
        lower = {name: min(getattr(self, name), getattr(other, name)) for name in ("least", "low")}
        upper = {name: max(getattr(self, name), getattr(other, name)) for name in ("most", "high", "size", "top")}
        return Span(**lower, **upper)

    def limits(self, kind: str) -> tuple[float, float]:
        """Values at the ends of the colours: about zero, from zero on, or both ends unchanged; never equal."""
        positive = kind == "positive"
        if kind == "signed":
            bound = self.size or 1.0
            return -bound, bound
        low, high = (0.0, self.top) if positive else (self.low, self.high)
        if high - low > SAME * max(abs(low), abs(high)):
            return low, high
        return low if positive else low - 1.0, low + 1.0


@dataclass(frozen=True)
class Look:
    """How the values of a field are shown.

    Attributes:
        colormap: a matplotlib colour map, land in grey.
        limits: the values at the ends of the colours, in units of 10^exponent.
        exponent: the values are divided by this power of ten.
        extend: which ends of the colours also show values beyond them: neither, min, max or both.
        label: name and units for axis or colour bar.
    """

    colormap: object
    limits: tuple[float, float]
    exponent: int
    extend: str
    label: str

    def scaled(self, field: Map) -> np.ma.MaskedArray:
        """The values in the units of the label."""
        return field.values * 10.0**-self.exponent


def look(fields: Iterable[Map], ends: tuple[float | None, float | None] = (None, None)) -> Look:
    """A look for all given fields, named after the first; they are read one by one, and none is kept.

    Limits of derivatives (d_...) are symmetric about zero. The limits enclose those that each field would have.

    Args:
        ends: the values at the lower and upper end of the colours; None: chosen for the fields.
    """
    first, names, span = None, set(), None
    for field in fields:
        first = first or field
        names.add(field.name.removesuffix("_mean"))
        span = Span.of(field.values) | span
    kind = kind_of(names, span)
    low, high = (given if end is None else end for given, end in zip(span.limits(kind), ends, strict=True))
    if not low < high:
        raise PlotError(f"the lower end of the colours, {low:g}, is not below the upper one, {high:g}")
    exponent = power_of_ten(max(abs(low), abs(high)))
    scale = 10.0**-exponent
    return Look(
        colormap=colours(names, kind, low, high),
        limits=(low * scale, high * scale),
        exponent=exponent,
        extend=("neither", "min", "max", "both")[(span.least < low) + 2 * (span.most > high)],
        label=label(first.long_name, first.units, exponent),
    )


def kind_of(names: set[str], span: Span) -> str:
    """The kind of fields, a key of USUAL: by the table of variables; for unknown fields by their values."""
    rows = {name: VARIABLES.get(name) for name in names}
    if any(name.startswith("d_") or (row and row.signed) for name, row in rows.items()):
        return "signed"
    if all(name.endswith("_spread") or (row and row.least == 0 and not row.above) for name, row in rows.items()):
        return "positive"
    return "signed" if span.least < 0 < span.most else "other"


def colours(names: set[str], kind: str, low: float, high: float):
    """The colour map of fields; for signed ones zero has the neutral colour, whatever the ends."""
    palettes = {OWN.get(name, USUAL[kind]) for name in names}
    palette = palettes.pop() if len(palettes) == 1 else USUAL[kind]
    about_zero = kind == "signed" and low < 0 < high
    if kind == "signed" and not about_zero:
        palette = USUAL["other"]
    chosen = cmocean.cm.cmap_d[palette]
    if about_zero and low != -high:
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


def time_unit(span: float) -> tuple[float, str]:
    """A suitable unit for a time axis of this length: seconds in it, and its name."""
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if span >= size:
            return size, name
    return 1.0, "seconds"


def clock(times: np.ndarray, exact: float = np.inf):
    """A function that writes model time (s) in a suitable unit for all `times`, with enough digits to distinguish them.

    Args:
        exact: largest distance from a time that is written as a whole number, s.
    """
    size, unit = time_unit(float(np.nanmax(times)))
    written = np.unique(np.asarray(times) / size)
    step = np.min(np.diff(written), initial=max(1.0, written[-1]))
    digits = next((d for d in range(3) if np.all(np.abs(written - np.round(written, d)) < 0.05 * step)), 3)
    while np.any(np.abs(written - np.round(written))[np.round(written, digits) % 1 == 0] * size > exact):
        digits += 1

    def write(time: float) -> str:
        number = f"{time / size:.{digits}f}"
        return f"{number} {unit.removesuffix('s') if number == '1' else unit}"

    return write
