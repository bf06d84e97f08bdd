"""Lengths of time as people write them: 3600, "1 h", "1.5 days"."""

from __future__ import annotations

import re

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
NAMES = {
    "s": "s", "sec": "s", "second": "s", "seconds": "s",
    "min": "min", "minute": "min", "minutes": "min",
    "h": "h", "hour": "h", "hours": "h",
    "d": "d", "day": "d", "days": "d",
}  # fmt: skip
PATTERN = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)\s*", re.ASCII)


def parse_duration(value):
    """Seconds from a number of seconds or a text such as "6 h".

    Raises:
        ValueError: the text is no number followed by s, min, h or d.
    """
    if not isinstance(value, str):
        return value
    match = PATTERN.fullmatch(value)
    if match is None or (match[2] or "s") not in NAMES:
        raise ValueError(f'"{value}" is not a length of time; write seconds or a text such as "6 h" or "2 days"')
    return float(match[1]) * SECONDS[NAMES[match[2] or "s"]]
