"""File, variable and record of an entry of `[input]`: FILE, FILE:NAME, FILE@RECORD or FILE:NAME@RECORD.

-NAME changes the sign of the variable. A tide has two variables, AMPLITUDE,LAG or REAL,IMAGINARY, the parts of
amplitude exp(-i lag), which are combined before interpolation.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....ocean.elements import index_of
from ....ocean.table import EASTWARD_NAMES, REDUCED_GRAVITY_VARIABLES, variable_of
from .dataset import CFDataset, file_stamp, read_values
from .errors import InputError, log_once
from .missing_values import check_missing_values
from .names import COMMON_NAMES, MASS_STANDARD_NAMES, candidate_names
from .units import DEGREE_UNITS

if TYPE_CHECKING:
    from xarray import DataArray

#: The part of an entry after the name of the file.
NAME_AND_RECORD_PATTERN = re.compile(r"(?::(?P<name>[^:@]*))?(?:@(?P<record>.*))?")

#: Names of vertical coordinates of winds, and their units.
VERTICAL_NAMES_PATTERN = re.compile(r"height|level|lev|pressure|isobaric|plev|z|altitude", re.IGNORECASE)
METRE_UNITS, PRESSURE_UNITS = (
    ("m", "metre", "metres", "meter", "meters"),
    ("Pa", "hPa", "mb", "mbar", "millibar", "millibars"),
)
#: Largest plausible phase lag of a tide, degrees.
MAX_LAG_DEGREES = 720.0

#: Further standard names, which count if x is east and y is north.
GEOGRAPHIC_STANDARD_NAMES = {
    "sea_water_x_velocity": "sea_water_eastward_velocity",
    "sea_water_y_velocity": "sea_water_northward_velocity",
}


class InputEntry(NamedTuple):
    """A file or store, a variable in it (empty: found by its standard name) and a record (None: the only one)."""

    path: str
    name: str
    record: str | None

    def files(self) -> list[str]:
        """The file or store, or those that match the pattern, in the order of their names."""
        if os.path.exists(self.path) or not glob.has_magic(self.path):
            return [self.path]
        return sorted(glob.glob(self.path))

    def file_stamps(self) -> tuple:
        return tuple((path, file_stamp(path)) for path in self.files())


def parse_entry(text: str) -> InputEntry:
    """The InputEntry of a text; a reading with an existing path takes precedence."""
    if os.path.exists(text):  # Path.exists raises if a name is too long
        return InputEntry(text, "", None)
    folder, base = os.path.split(text)
    cuts = [position for position, sign in enumerate(base) if sign in ":@"]
    for cut in reversed(cuts):
        path, rest = os.path.join(folder, base[:cut]), NAME_AND_RECORD_PATTERN.fullmatch(base, cut)
        if rest and (os.path.exists(path) or cut == cuts[0]):
            return InputEntry(path, rest["name"] or "", rest["record"])
    return InputEntry(text, "", None)


def find_variable(dataset: CFDataset, entry: InputEntry, model_variable) -> tuple[DataArray, Callable[..., np.ndarray]]:
    """The named variable, or the only one that may hold the field (`names.candidate_names`).

    Also returns a function from an index to its values, or to those from two variables (`tide_part_reader`).
    """
    context, variables = f"input.{model_variable.name}: {entry.path}", dataset.data.variables
    names = ", ".join(variables) or "none"
    if wanted := entry.name or ("" if model_variable.standard_name else model_variable.name):
        parts = [each.removeprefix("-") for each in wanted.split(",")]
        if len(parts) > 2 or not {*parts} <= variables.keys():
            raise InputError(f'{context} has no variable "{wanted}"; it has {names}')
        signs, variables_named = (
            [-1 if each.startswith("-") else 1 for each in wanted.split(",")],
            [dataset.data[n] for n in parts],
        )
        sea_standard_name = variable_of(model_variable.name).standard_name
        if (
            model_variable is REDUCED_GRAVITY_VARIABLES.get(model_variable.name)
            and variables_named[0].attrs.get("standard_name") == sea_standard_name
        ):
            raise InputError(
                f'{context}: {parts[0]} has the standard_name "{sea_standard_name}", but with physics.reduced_gravity '
                f"{model_variable.name} is the {model_variable.long_name}"
            )
        if len(variables_named) == 2 or index_of(model_variable.name):
            return variables_named[0], tide_part_reader(variables_named, signs, f"{context}: {wanted}", model_variable)
        return variables_named[0], lambda index: signs[0] * read_values(variables_named[0], index)
    standard_names = [
        model_variable.standard_name,
        *(
            each.get(model_variable.standard_name, "")
            for each in (EASTWARD_NAMES, GEOGRAPHIC_STANDARD_NAMES, MASS_STANDARD_NAMES)
        ),
    ]
    matches = candidate_names(
        dataset, standard_names, (model_variable.name, *COMMON_NAMES.get(model_variable.name, ()))
    )
    if model_variable.name == "depth":  # the thickness of a layer may be called h, like ROMS' depth
        matches = [name for name in matches if "thick" not in str(variables[name].attrs.get("long_name", "")).lower()]
    wrong_heights = {name: wind_height(name, dataset) for name in matches if model_variable.name in ("u10", "v10")}
    wrong_heights = {name: height for name, height in wrong_heights.items() if height not in ("", "10 m")}
    matches = [name for name in matches if name not in wrong_heights] or matches
    for name in matches:
        if name in wrong_heights:
            raise InputError(f"{context}:{name} is the wind at {wrong_heights[name]}; the model needs that at 10 m")
    if len(matches) == 1:
        return dataset.data[matches[0]], partial(read_values, dataset.data[matches[0]])
    what = "several variables" if matches else "no variable"
    of_names = " or ".join(dict.fromkeys(filter(None, standard_names)))
    raise InputError(
        f'{context} has {what} with standard_name "{of_names}" '
        f'({", ".join(matches) or names}); name it as "{entry.path}:NAME"'
    )


def wind_height(name: str, dataset: CFDataset) -> str:
    """The height of a wind in words, such as "10 m" or "850 hPa"; empty if it is unknown.

    It follows from the only value of a vertical coordinate, else from the name of the variable or its description.
    """
    variable = dataset.data[name]
    for level_name in {**dict.fromkeys(variable.dims), **dict.fromkeys(map(str, variable.coords))}:
        level = dataset.data.variables.get(level_name)
        units = str(level.attrs.get("units", "")) if level is not None else ""
        vertical = level is not None and (
            str(level.attrs.get("axis", "")).upper() == "Z" or VERTICAL_NAMES_PATTERN.match(level_name)
        )
        if vertical and level.size == 1 and units in (*METRE_UNITS, *PRESSURE_UNITS):
            return f"{float(np.ravel(level.values)[0]):g} {'m' if units in METRE_UNITS else units}"
    match = re.fullmatch(r"(?:wind|[uv](?:wind|grd)?)_?(\d{2,3})m?", name, re.IGNORECASE)
    match = match or re.search(r"\b(\d+)\s*-?\s*m(?:et(?:re|er)s?)?\b", str(variable.attrs.get("long_name", "")), re.I)
    return f"{int(match[1])} m" if match else ""


def tide_part_reader(
    both: list[DataArray], signs: list[int], context: str, model_variable
) -> Callable[..., np.ndarray]:
    """A function from an index to a part of a tide, computed from two variables multiplied by their signs.

        cosine = amplitude cos(lag) = Re,    sine = amplitude sin(lag) = -Im    of amplitude exp(-i lag)

    The result is missing where the amplitude or both parts are zero, because atlases write zeros on land.
    """
    if len(both) != 2 or not index_of(model_variable.name):
        raise InputError(
            f"{context}: a tide needs two variables, AMPLITUDE,LAG or REAL,IMAGINARY; other fields need one"
        )
    cosine, (first, second) = index_of(model_variable.name)[1] == "cosine", both
    if first.dims != second.dims:
        raise InputError(f"{context} lie along {', '.join(first.dims)} and along {', '.join(second.dims)}")
    units = second.attrs.get("units", "")
    is_lag = re.sub(r"[_ ]+(gmt|utc|g)$", "", units.lower()) in {*DEGREE_UNITS[""], "deg"}
    if not is_lag and units != first.attrs.get("units", ""):
        raise InputError(f'{context}: the lag is in "{units}"; convert it to "degrees"')

    def read_part(index):
        raw = [read_values(variable, index) for variable in both]
        for each, variable in zip(raw, both, strict=True):
            check_missing_values(np.atleast_2d(each), f"{context.rpartition(':')[0]}:{variable.name}")
        one, other = (sign * values for sign, values in zip(signs, raw, strict=True))
        if is_lag and (np.abs(other[one != 0]) > MAX_LAG_DEGREES).any():
            found = np.abs(np.where(one != 0, other, 0))
            raise InputError(
                f"{context}: a lag of {np.nanmax(found):g} degrees is impossible; missing values need _FillValue"
            )
        wave = np.cos if cosine else np.sin
        found = one * wave(np.radians(other)) if is_lag else one if cosine else -other
        zero = (one == 0) & ((other == 0) | is_lag)
        if zero.any() and not zero.all():
            which = "the amplitude is" if is_lag else "both are"
            log_once(f"{context.partition(': ')[2]}: cells in which {which} 0 count as land")
        return np.where(zero, np.nan, found)

    return read_part
