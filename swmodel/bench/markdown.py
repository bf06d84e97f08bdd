"""Tables in Markdown, and the numbers in them as text."""

from __future__ import annotations

MISSING = ""


def markdown(heads: list[str], lines: list[list[str]], left: frozenset[str] = frozenset({"row", "machine"})) -> str:
    """A Markdown table; columns with a head in `left` are aligned to the left, numbers to the right."""
    widths = [max(len(line[n]) for line in [heads, *lines]) for n in range(len(heads))]
    sides = [head in left for head in heads]
    rules = [
        "-" * width if side else "-" * (max(width, 2) - 1) + ":" for side, width in zip(sides, widths, strict=True)
    ]
    return "".join(f"| {' | '.join(map(padded, line, sides, widths))} |\n" for line in (heads, rules, *lines))


def padded(text: str, left: bool, width: int) -> str:
    """The text filled up to the width."""
    return text.ljust(width) if left else text.rjust(width)


def digits(value: float) -> str:
    """A number with three significant digits, without an exponent."""
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.2g}"


def number(value: float | None) -> str:
    """Three digits, empty for None."""
    return MISSING if value is None else digits(value)


def percent(part: float | None) -> str:
    """A part as "83 %", empty for None."""
    return MISSING if part is None else f"{100 * part:.0f} %" if part >= 0.01 or not part else f"{100 * part:.1g} %"


def amount(size: float | None) -> str:
    """Bytes as "43.2 kB", empty for None."""
    if size is None:
        return MISSING
    for factor, unit in ((1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"


def gib(size: float) -> str:
    """Bytes as "3.2 GiB"."""
    return f"{digits(size / 2**30)} GiB"
