"""A file of harmonic constants, harmonics.nc of a run: the variables that give the tide outside open sides."""

from __future__ import annotations

import os

from ....ocean.terms.open_sides import NAMES, OSCILLATING, parts_of
from .dataset import open_file
from .errors import InputError, remark

#: The field whose constants give a quantity of OSCILLATING.
FIELDS = {of: of.removesuffix("_") or "eta" for of in OSCILLATING}


def constants_in(path: str) -> dict[str, str]:
    """What of the file gives the parts of the tide, as `[input]` names it behind the file, by their names."""
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}; a run with output.harmonics, as `swmodel run global_m2`, makes one")
    with open_file(path) as dataset:
        there, known = {*dataset.data.variables}, str(dataset.data.attrs.get("constituents", "")).split()
    found, left_out = {}, [name for name in known if name not in NAMES]
    for name in (name for name in known if name in NAMES):
        for of, field in FIELDS.items():
            pair = [f"{field}_{name}_{what}" for what in ("amplitude", "phase")]
            if there.issuperset(pair):
                found |= dict.fromkeys(parts_of(name, of), ",".join(pair))
    if not any(part in found for name in NAMES for part in parts_of(name)):
        raise InputError(
            f"{path} has no amplitude and phase of eta for any of {', '.join(NAMES)}; harmonics.nc of a run with "
            "output.harmonics has them"
        )
    if left_out:
        remark(f"open_sides.tide: {', '.join(left_out)} of {path} do not come in; these may: {', '.join(NAMES)}")
    return found
