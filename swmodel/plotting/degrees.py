"""Longitudes and latitudes in words, and as ticks of a map."""

from __future__ import annotations

from matplotlib.ticker import FuncFormatter, MaxNLocator

#: First digits of the distance between ticks, for maps that span many degrees, and a few.
MANY, FEW = [1, 1.5, 3, 5, 6, 9, 10], [1, 2, 2.5, 5, 10]
#: Degrees that count as many, or more.
WIDE = 10.0


def degrees(angle: float, letters: str) -> str:
    """A longitude or latitude in words; `letters` stand for positive and negative ones."""
    angle = (angle + 180) % 360 - 180 if letters == "EW" else angle
    return f"{abs(angle):.6g}° {letters[int(angle < 0)]}" if angle else "0°"


def mark_degrees(axis, span: float, most: int, letters: str | None) -> None:
    """A few ticks along an axis that spans so many degrees, labelled with `letters`, if given."""
    axis.set_major_locator(MaxNLocator(most, steps=MANY if span >= WIDE else FEW))
    if letters:
        axis.set_major_formatter(FuncFormatter(lambda angle, _: degrees(round(angle, 9), letters)))
