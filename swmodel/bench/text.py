"""Numbers as text, empty for None, and tables in Markdown."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """So many of something: "1 core", "2 cores"."""
    return f"{n} {noun}{'s' if n > 1 else ''}"


def digits(value: float | None) -> str:
    """A number with three significant digits, without an exponent."""
    if not value:
        return "" if value is None else "0"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.2g}"


def percent(part: float | None) -> str:
    """A part as "83 %"."""
    return "" if part is None else f"{100 * part:.0f} %" if part >= 0.01 or not part else f"{100 * part:.1g} %"


def amount(size: float | None) -> str:
    """Bytes as "43.2 kB"."""
    if size is None or size < 1e3:
        return "" if size is None else f"{size:.0f} B"
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"


def gib(size: float) -> str:
    """Bytes as "3.2 GiB"."""
    return f"{digits(size / 2**30)} GiB"


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    """A Markdown table; names of rows and machines are aligned to the left, numbers to the right."""
    widths = [max(2, *(len(line[n]) for line in [heads, *lines])) for n in range(len(heads))]
    left = [head in ("row", "machine") for head in heads]
    rules = ["-" * w if l else "-" * (w - 1) + ":" for w, l in zip(widths, left, strict=True)]
    table = [
        [text.ljust(w) if l else text.rjust(w) for text, w, l in zip(line, widths, left, strict=True)]
        for line in (heads, rules, *lines)
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in table)
