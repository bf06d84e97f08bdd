"""Numbers as text, and tables in Markdown. `format_number`, `format_percent` and `format_bytes` return "" for NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def format_count(n: int, noun: str) -> str:
    """A count with a noun: "1 core", "2 cores"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def format_number(value: float) -> str:
    """A number with at most three significant digits, but all digits before the point; "" for NaN.

    Numbers below 1e-3 have at most two significant digits, and those below 1e-4 an exponent: 1.2e-05.
    """
    if math.isnan(value) or value == 0:
        return "0" if value == 0 else ""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.2g}"


def format_percent(fraction: float) -> str:
    """A fraction as "83 %"."""
    fraction += 0.0  # -0.0 becomes 0.0
    if math.isnan(fraction):
        return ""
    return f"{100 * fraction:.0f} %" if abs(fraction) >= 0.01 or not fraction else f"{100 * fraction:.1g} %"


def format_bytes(n_bytes: float) -> str:
    """Bytes as "43.2 kB"."""
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= 0.9995 * size:
            return f"{n_bytes / size:.3g} {unit}"
    return "" if math.isnan(n_bytes) else f"{n_bytes:.0f} B"


def format_gib(n_bytes: float) -> str:
    """Bytes as "3.2 GiB"."""
    return f"{format_number(n_bytes / 2**30)} GiB"


def format_markdown_table(headers: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table. Columns with the header "row" or "machine" are left-aligned, all others right-aligned."""
    columns = []
    for head, *cells in zip(headers, *rows, strict=True):
        width, is_left_aligned = max(2, *map(len, (head, *cells))), head in ("row", "machine")
        separator = "-" * width if is_left_aligned else "-" * (width - 1) + ":"
        columns.append(
            [text.ljust(width) if is_left_aligned else text.rjust(width) for text in (head, separator, *cells)]
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*columns, strict=True))
