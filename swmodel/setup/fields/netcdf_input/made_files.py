"""Input files made by the model: those of `swmodel grid`, and the harmonics.nc of a run."""

from __future__ import annotations

import os
import tomllib

from ....ocean.terms.outside import ARRAYS, LEVEL, NAMES
from .dataset import open_file
from .errors import InputError, remark

#: The attribute of a file of `swmodel grid` with the keys of [grid], as TOML.
ATTRIBUTE = "swmodel_grid"

#: The field whose harmonic constants give an array of the tide outside.
FIELDS = {array: "eta" if array == LEVEL else array.removeprefix("outside_tide_") for array in ARRAYS}

#: The axis of the constituents, and the attribute with their names in files of earlier versions.
AXIS, OLDER = "constituent", "constituents"


def keys_in(path: str) -> dict[str, object]:
    """The keys of [grid] that a file is for."""
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}; `swmodel grid {os.path.basename(path)}` makes one")
    with open_file(path) as dataset:
        text = str(dataset.data.attrs.get(ATTRIBUTE, ""))
    if not text:
        raise InputError(f"{path} is no file of `swmodel grid`; depth and mask of others are named by [input]")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: its attribute {ATTRIBUTE} was changed or damaged: {error}") from None


def constants_in(path: str) -> dict[str, tuple[str, ...]]:
    """{"constituents": their names in the file, array: its entries of [input]}."""
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}; a run with output.harmonics, as `swmodel run global_m2`, makes one")
    with open_file(path) as dataset:
        there, older = {*dataset.data.variables}, str(dataset.data.attrs.get(OLDER, "")).split()
        known = older or ([str(name) for name in dataset.data[AXIS].values] if AXIS in there else [])
    names, left_out = [name for name in NAMES if name in known], [name for name in known if name not in NAMES]
    found: dict[str, tuple[str, ...]] = {}
    for array, field in FIELDS.items():
        entries = []
        for name in names:
            start, end = (f"{field}_{name}", "") if older else (field, f"@{known.index(name)}")
            pair = f"{start}_amplitude", f"{start}_phase"
            entries.append(f"{path}:{','.join(pair)}{end}" if there.issuperset(pair) else "")
        found |= {array: tuple(entries)} if any(entries) else {}
    if LEVEL not in found:
        raise InputError(
            f"{path} has no amplitude and phase of eta for any of {', '.join(NAMES)}; harmonics.nc of a run with "
            "output.harmonics has them"
        )
    if left_out:
        remark(f"open_sides.tide: leaves out {', '.join(left_out)} of {path}; possible are: {', '.join(NAMES)}")
    return {"constituents": tuple(names)} | found
