"""Tidal atlases by name: the entries of [input] for their files, which pyTMD's database lists."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

from ....extras import missing_package_reason
from ....ocean.terms.boundary_data import CONSTITUENTS, TIDE_LEVEL, TIDE_TRANSPORTS
from .dataset import open_file
from .errors import InputError, log_once

#: The group of each array in the database.
GROUP_OF_ARRAY = {TIDE_LEVEL: "z", **dict(zip(TIDE_TRANSPORTS, "uv", strict=True))}

#: By format and group, the pairs of variables that editions of an atlas have: AMPLITUDE,LAG or REAL,IMAGINARY.
VARIABLE_PAIRS: dict[str, dict[str, tuple[str, ...]]] = {
    "ATLAS-netcdf": {"z": ("hRe,hIm",), "u": ("uRe,uIm", "URe,UIm"), "v": ("vRe,vIm", "VRe,VIm")},
    "FES-netcdf": {
        "z": ("amplitude,phase", "Ha,Hg", "AMPL,PHAS"),
        "u": ("Ua,Ug", "UAMP,UPHA"),
        "v": ("Va,Vg", "VAMP,VPHA"),
    },
    "GOT-netcdf": {"z": ("amplitude,phase",)},
}


@cache
def atlases() -> dict[str, dict[str, Any]]:
    """{name: its entry in the database} of the atlases of ocean tides that are NetCDF on longitudes and latitudes."""
    with warnings.catch_warnings():  # importing pyTMD would hide warnings of other packages
        from pyTMD.io.model import load_database

    return {
        name.removesuffix("-nc").removesuffix("_nc"): entry
        for name, entry in load_database().items()
        if entry["format"] in VARIABLE_PAIRS and entry["z"]["variable"] == "tide_ocean" and not name.endswith("_SAL")
    }


def read_atlas(name: str, folder: str, wanted: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """{"constituents": names, array of the tide at open boundaries: its entries of [input]}.

    The names are those `wanted`, or if there are none, all that both the atlas and the model know. Transports are left
    out if the folder has none of their files. InputError: there is no such atlas, file or constituent.
    """
    if line := missing_package_reason("open_boundaries.atlas", "pyTMD"):
        raise InputError(line)
    if name not in atlases():
        raise InputError(f'there is no atlas "{name}" in NetCDF; there are {", ".join(sorted(atlases()))}')
    if not os.path.isdir(folder):
        raise InputError(f"there is no file or folder {folder}, which is open_boundaries.atlas_folder")
    atlas = atlases()[name]
    files = {group: files_of_constituents(atlas, group) for group in "zuv" if group in atlas}
    if missing := [each for each in wanted if each not in files["z"]]:
        raise InputError(f"{name} has no {', '.join(missing)}; it has {', '.join(sorted(files['z']))}")
    names = list(wanted) or [each for each in CONSTITUENTS if each in files["z"]]
    if not wanted:
        log_once(
            f"open_boundaries.atlas: the tide has {', '.join(names)}; the key constituents can choose some of them"
        )
    entries_by_array = {}
    for array, group in GROUP_OF_ARRAY.items():
        paths = {each: find_file(folder, files, group, each) for each in names if group in files}
        if group != "z" and not any(map(os.path.exists, paths.values())):
            continue
        pairs = VARIABLE_PAIRS[atlas["format"]][group]
        entries_by_array[array] = tuple(entry_of_file(path, pairs, each) for each, path in paths.items())
    if len(entries_by_array) == 1 and "u" in files:
        path = os.path.join(folder, next(iter(files["u"].values())))
        log_once(f"open_boundaries.atlas: {folder} has the levels of {name}, but not its currents, such as {path}")
    return {"constituents": tuple(names)} | entries_by_array


def files_of_constituents(atlas: dict[str, Any], group: str) -> dict[str, str]:
    """{constituent: file} of a group, relative to the folder of the atlases."""
    from pyTMD.io.model import model

    return {str(model.parse_file(file)).upper(): file for file in atlas[group]["model_file"]}


def find_file(folder: str, files: dict[str, dict[str, str]], group: str, constituent: str) -> str:
    """The path of the file of a constituent. If there is no such file, the path at which it is expected.

    `folder` is the folder of the atlas, or contains it. Some editions have both components of the current in one file.
    """
    groups = [group, *(each for each in "uv" if each != group and each in files and group != "z")]
    names = [files[each][constituent] for each in groups if constituent in files[each]]
    paths = [os.path.join(folder, *parts) for name in names for parts in (name.split("/"), name.split("/")[1:])]
    return next(filter(os.path.exists, paths), paths[0])


def entry_of_file(path: str, pairs: Sequence[str], constituent: str) -> str:
    """The entry of [input] for the first of `pairs` whose variables a file has; if it has none, for the first pair.

    InputError: there is no such file, or its attributes name another constituent.
    """
    if not os.path.isfile(path):
        is_packed = os.path.isfile(f"{path}.gz")
        hint = (
            f"unpack {path}.gz" if is_packed else "open_boundaries.constituents chooses those of which you have files"
        )
        raise InputError(f"there is no file {path}; {hint}")
    with open_file(path) as dataset:
        variables = {*dataset.data.variables}
        attributes = {key.lower(): str(text).strip().upper() for key, text in dataset.data.attrs.items()}
    if (in_file := attributes.get("constituent", constituent)) != constituent:
        raise InputError(f"{path}: has the constituent {in_file}; its name says {constituent}")
    return f"{path}:{next((pair for pair in pairs if variables.issuperset(pair.split(','))), pairs[0])}"
