"""JSON that every reader takes: it has no numbers that are not finite, so these become null."""

from __future__ import annotations

import json
import math


def dumps(value) -> str:
    """The text of JSON values, indented, with a line break at its end."""
    return json.dumps(finite(value), indent=2, allow_nan=False) + "\n"


def finite(value):
    """JSON values with None for each number that is not finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
