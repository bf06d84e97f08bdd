"""What keys of earlier versions are called today, for the message that refuses them."""

from __future__ import annotations

import re

#: {pattern of section.key: what to write instead}.
OLD_KEYS = {
    r"own\..*": "the section is [python] now",
    r"tracer\..*": 'write a table [[tracer]] with name = "tracer" for each tracer',
    r"open_sides\.[a-z0-9]+_(amplitude|phase)": (
        "write open_sides.constituents, and open_sides.amplitude and open_sides.phase as lists with a number for each"
    ),
    r"input\.outside_[a-z0-9]+_.*(cosine|sine)": (
        "write open_sides.constituents, and input.outside_tide_level, outside_tide_transport_x and "
        'outside_tide_transport_y as lists with an entry "FILE:AMPLITUDE,LAG" for each'
    ),
    r"assimilation\.sigma_outside_[a-z0-9]+_.*(cosine|sine)": (
        "write assimilation.sigma_outside_tide_level, sigma_outside_tide_transport_x or sigma_outside_tide_transport_y"
    ),
}


def replacement_of_old_key(section: str, key: str) -> str:
    """What to write instead of a key of an earlier version; empty for other keys."""
    name = f"{section}.{key}"
    return next((words for pattern, words in OLD_KEYS.items() if re.fullmatch(pattern, name)), "")
