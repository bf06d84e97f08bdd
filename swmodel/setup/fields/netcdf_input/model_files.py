"""Input files that the model itself has written: grids of `swmodel grid`, and the harmonics.nc of a run."""

from __future__ import annotations

import os
import tomllib

from ....ocean.terms.boundary_data import CONSTITUENTS, TIDE_ARRAYS, TIDE_LEVEL
from .dataset import open_file
from .errors import InputError, log_once

#: The attribute of a file from `swmodel grid` that holds the section [grid] as TOML.
GRID_ATTRIBUTE = "swmodel_grid"

#: The field whose harmonic constants give each array of the tide at open boundaries.
HARMONIC_FIELDS = {
    array: "eta" if array == TIDE_LEVEL else array.removeprefix("boundary_tide_") for array in TIDE_ARRAYS
}

#: The dimension and coordinate of the constituents; in files of earlier versions an attribute lists their names.
CONSTITUENT_DIMENSION, OLD_CONSTITUENTS_ATTRIBUTE = "constituent", "constituents"


def read_grid_keys(path: str) -> dict[str, object]:
    """The section [grid] that `swmodel grid` stored in its file, {key: value}.

    InputError: there is no such file, `swmodel grid` did not make it, or it is damaged.
    """
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}; `swmodel grid {os.path.basename(path)}` makes one")
    with open_file(path) as dataset:
        text = str(dataset.data.attrs.get(GRID_ATTRIBUTE, ""))
    if not text:
        raise InputError(
            f"{path} was not made by `swmodel grid`; to use another file, name its depth and mask in [input]"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: its attribute {GRID_ATTRIBUTE} was changed or damaged: {error}") from None


def read_harmonic_constants(path: str) -> dict[str, tuple[str, ...]]:
    """The tide at open boundaries from the harmonics.nc of a run, as keys of the configuration.

    InputError: there is no such file, or it has no tide of eta.

    Returns:
        "constituents": the names in the file that open boundaries can use; and for each array of HARMONIC_FIELDS that
        the file has, an entry of [input] per constituent, "" where the file lacks it.
    """
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}; a run with output.harmonics makes one: `swmodel run global_m2`")
    with open_file(path) as dataset:
        variable_names = {*dataset.data.variables}
        names_in_file = old_names = str(dataset.data.attrs.get(OLD_CONSTITUENTS_ATTRIBUTE, "")).split()
        if not old_names and CONSTITUENT_DIMENSION in variable_names:
            names_in_file = [str(name) for name in dataset.data[CONSTITUENT_DIMENSION].values]
    names = [name for name in CONSTITUENTS if name in names_in_file]
    unsupported = [name for name in names_in_file if name not in CONSTITUENTS]
    entries_by_array: dict[str, tuple[str, ...]] = {}
    for array, field in HARMONIC_FIELDS.items():
        entries = []
        for name in names:
            prefix, suffix = (f"{field}_{name}", "") if old_names else (field, f"@{names_in_file.index(name)}")
            pair = f"{prefix}_amplitude", f"{prefix}_phase"
            entries.append(f"{path}:{','.join(pair)}{suffix}" if variable_names.issuperset(pair) else "")
        entries_by_array |= {array: tuple(entries)} if any(entries) else {}
    if TIDE_LEVEL not in entries_by_array:
        raise InputError(
            f"{path} has no amplitude and phase of eta for any of {', '.join(CONSTITUENTS)}; the harmonics.nc of a run "
            "with output.harmonics has them"
        )
    if unsupported:
        log_once(
            f"open_boundaries.tide: {', '.join(unsupported)} in {path} are not used; open boundaries can use "
            f"{', '.join(CONSTITUENTS)}"
        )
    return {"constituents": tuple(names)} | entries_by_array
