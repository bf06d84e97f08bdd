"""Numbers as text, empty for NaN, and tables in Markdown."""

from __future__ import annotations

import math


def counted(n: int, noun: str) -> str:
    """A count with a noun: "1 core", "2 cores"."""
    return f"{n} {noun}{'s' if n > 1 else ''}"


def digits(value: float) -> str:
    """A number with three significant digits, without an exponent."""
    if math.isnan(value) or value == 0:
        return "0" if value == 0 else ""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.2g}"


def percent(part: float) -> str:
    """A part as "83 %"."""
    part += 0.0  # -0.0 becomes 0.0
    return "" if math.isnan(part) else f"{100 * part:.0f} %" if abs(part) >= 0.01 or not part else f"{100 * part:.1g} %"


def amount(size: float) -> str:
    """Bytes as "43.2 kB"."""
    if size >= 1e3:
        return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
    return "" if math.isnan(size) else f"{size:.0f} B"


def gib(size: float) -> str:
    """Bytes as "3.2 GiB"."""
    return f"{digits(size / 2**30)} GiB"


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    """A Markdown table; names of rows and machines are aligned to the left, numbers to the right."""
    columns = []
    for head, *cells in zip(heads, *lines, strict=True):
        width, left = max(2, *map(len, (head, *cells))), head in ("row", "machine")
        rule = "-" * width if left else "-" * (width - 1) + ":"
        columns.append([text.ljust(width) if left else text.rjust(width) for text in (head, rule, *cells)])
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*columns, strict=True))
