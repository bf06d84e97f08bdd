"""What to write instead of the keys of earlier versions, for the message that refuses them."""

from __future__ import annotations

import re

#: {pattern of section.key: what to write instead}; \1 in these words stands for a part of the key.
OLD_KEYS = {
    r"own\..*": "the section is [python] now",
    r"tracer\..*": 'write a table [[tracer]] with name = "tracer" for each tracer',
    r"open_sides\.[a-z0-9]+_(amplitude|phase)": (
        "write open_boundaries.constituents, and open_boundaries.amplitude and open_boundaries.phase as lists with a "
        "number for each"
    ),
    r"open_sides\.(.*)": r"the section is [open_boundaries] now: write open_boundaries.\1",
    r"input\.outside_[a-z0-9]+_.*(cosine|sine)": (
        "write open_boundaries.constituents, and input.boundary_tide_level, boundary_tide_transport_x and "
        'boundary_tide_transport_y as lists with an entry "FILE:AMPLITUDE,LAG" for each'
    ),
    r"assimilation\.sigma_outside_[a-z0-9]+_.*(cosine|sine)": (
        "write assimilation.sigma_boundary_tide_level, sigma_boundary_tide_transport_x or "
        "sigma_boundary_tide_transport_y"
    ),
    r"input\.outside_(.*)": r"write input.boundary_\1",
    r"assimilation\.sigma_outside_(.*)": r"write assimilation.sigma_boundary_\1",
    r"case\.least_depth": "write case.min_depth",
    r"case\.largest_depth": "write case.max_depth",
    r"time\.halvings": "write time.max_substeps, the number of substeps: 8 where halvings was 3",
    r"time\.halve_every_steps": "write time.substeps_every_steps",
}


def replacement_of_old_key(section: str, key: str) -> str:
    """What to write instead of a key of an earlier version; empty for other keys."""
    matches = ((re.fullmatch(pattern, f"{section}.{key}"), words) for pattern, words in OLD_KEYS.items())
    return next((match.expand(words) for match, words in matches if match), "")
