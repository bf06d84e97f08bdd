"""File, variable and record of an entry of `[input]`: FILE, FILE:NAME, FILE@RECORD or FILE:NAME@RECORD.

-NAME changes the sign of the variable. A tide has two variables, AMPLITUDE,LAG or REAL,IMAGINARY. They are parts of
amplitude exp(-i lag), and are combined before interpolation.
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

    from ....ocean.variable import Variable

#: The part of an entry after the name of the file.
NAME_AND_RECORD_PATTERN = re.compile(r"(?::(?P<name>[^:@]*))?(?:@(?P<record>.*))?")

#: Names of vertical coordinates of winds, and units of such coordinates.
VERTICAL_NAMES_PATTERN = re.compile(r"height|level|lev|pressure|isobaric|plev|z|altitude", re.IGNORECASE)
METRE_UNITS = ("m", "metre", "metres", "meter", "meters")
MODEL_LEVELS_PATTERN = re.compile(r"hybrid|sigma|model_level|eta_level", re.IGNORECASE)
PRESSURE_UNITS = ("Pa", "hPa", "mb", "mbar", "millibar", "millibars")

#: Largest plausible phase lag of a tide, degrees.
MAX_LAG_DEGREES = 720.0

#: Further standard names of velocities, besides those in EASTWARD_NAMES.
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
        """The file or store or, if the path is a pattern, those that match it, in the order of their names."""
        if os.path.exists(self.path) or not glob.has_magic(self.path):
            return [self.path]
        return sorted(glob.glob(self.path))

    def file_stamps(self) -> tuple:
        return tuple((path, file_stamp(path)) for path in self.files())


def parse_entry(text: str) -> InputEntry:
    """The InputEntry of a text. If the text can be split in several ways, one whose path exists takes precedence."""
    if os.path.exists(text):  # not Path.exists, because that raises if a name is too long
        return InputEntry(text, "", None)
    folder, base = os.path.split(text)
    cuts = [position for position, character in enumerate(base) if character in ":@"]
    for cut in reversed(cuts):
        path, name_and_record = os.path.join(folder, base[:cut]), NAME_AND_RECORD_PATTERN.fullmatch(base, cut)
        if name_and_record and (os.path.exists(path) or cut == cuts[0]):
            return InputEntry(path, name_and_record["name"] or "", name_and_record["record"])
    return InputEntry(text, "", None)


def find_variable(
    dataset: CFDataset, entry: InputEntry, model_variable: Variable
) -> tuple[DataArray, Callable[..., np.ndarray], float]:
    """The named variable, or the only one that may hold the field (`names.candidate_names`).

    Also returns a function from an index to the values, which for a tide combines two variables (`tide_part_reader`),
    and the sign by which the values must be multiplied. InputError: no variable fits, or several do.
    """
    context, variables = f"input.{model_variable.name}: {entry.path}", dataset.data.variables
    names = ", ".join(map(str, variables)) or "none"
    if requested := entry.name or ("" if model_variable.standard_name else model_variable.name):
        part_names = [each.removeprefix("-") for each in requested.split(",")]
        if len(part_names) > 2 or not {*part_names} <= variables.keys():
            raise InputError(f'{context} has no variable "{requested}"; it has {names}')
        signs = [-1 if each.startswith("-") else 1 for each in requested.split(",")]
        part_variables = [dataset.data[name] for name in part_names]
        sea_standard_name = variable_of(model_variable.name).standard_name
        if (
            model_variable is REDUCED_GRAVITY_VARIABLES.get(model_variable.name)
            and part_variables[0].attrs.get("standard_name") == sea_standard_name
        ):
            raise InputError(
                f'{context}: {part_names[0]} has the standard_name "{sea_standard_name}", but with '
                f"physics.reduced_gravity {model_variable.name} is the {model_variable.long_name}"
            )
        if len(part_variables) == 2 or index_of(model_variable.name):
            reader = tide_part_reader(part_variables, signs, f"{context}: {requested}", model_variable)
            return part_variables[0], reader, 1.0
        return part_variables[0], partial(read_values, part_variables[0]), signs[0]
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
        return dataset.data[matches[0]], partial(read_values, dataset.data[matches[0]]), 1.0
    how_many = "several variables" if matches else "no variable"
    wanted_standard_names = " or ".join(dict.fromkeys(filter(None, standard_names)))
    raise InputError(
        f'{context} has {how_many} with standard_name "{wanted_standard_names}" '
        f'({", ".join(matches) or names}); name it as "{entry.path}:NAME"'
    )


def wind_height(name: str, dataset: CFDataset) -> str:
    """The height of a wind in words, such as "10 m", "850 hPa" or "hybrid 60"; empty if it is unknown.

    It is the only value of a vertical coordinate, or follows from the name of the variable or its `long_name`.
    """
    variable = dataset.data[name]
    scalars = f"{variable.attrs.get('coordinates', '')} {variable.encoding.get('coordinates', '')}".split()
    for level_name in dict.fromkeys(map(str, (*variable.dims, *variable.coords, *scalars))):
        level = dataset.data.variables.get(level_name)
        if level is None or level.size != 1:
            continue
        if MODEL_LEVELS_PATTERN.match(level_name):
            return f"{level_name} {float(np.ravel(level.values)[0]):g}"
        units = str(level.attrs.get("units", ""))
        is_vertical = str(level.attrs.get("axis", "")).upper() == "Z" or VERTICAL_NAMES_PATTERN.match(level_name)
        if is_vertical and units in (*METRE_UNITS, *PRESSURE_UNITS):
            return f"{float(np.ravel(level.values)[0]):g} {'m' if units in METRE_UNITS else units}"
    match = re.fullmatch(r"(?:wind|[uv](?:wind|grd)?)_?(\d{2,3})m?", name, re.IGNORECASE)
    match = match or re.search(r"\b(\d+)\s*-?\s*m(?:et(?:re|er)s?)?\b", str(variable.attrs.get("long_name", "")), re.I)
    return f"{int(match[1])} m" if match else ""


def tide_part_reader(
    variable_pair: list[DataArray], signs: list[int], context: str, model_variable
) -> Callable[..., np.ndarray]:
    """A function from an index to the cosine or sine part of a tide, from two variables multiplied by their signs.

        cosine = amplitude cos(lag) = Re,    sine = amplitude sin(lag) = -Im    of amplitude exp(-i lag)

    The result is missing where the amplitude or both parts are zero, because atlases write zeros on land.
    InputError, also by the returned function: there are not two variables along the same axes in suitable units for a
    tide, or a lag is impossible.
    """
    if len(variable_pair) != 2 or not index_of(model_variable.name):
        raise InputError(
            f"{context}: a tide needs two variables, AMPLITUDE,LAG or REAL,IMAGINARY; other fields need one"
        )
    is_cosine, (first, second) = index_of(model_variable.name)[1] == "cosine", variable_pair
    if first.dims != second.dims:
        raise InputError(
            f"{context} lie along {', '.join(map(str, first.dims))} and along {', '.join(map(str, second.dims))}"
        )
    units = second.attrs.get("units", "")
    is_lag = re.sub(r"[_ ]+(gmt|utc|g)$", "", units.lower()) in {*DEGREE_UNITS[""], "deg"}
    if not is_lag and units != first.attrs.get("units", ""):
        raise InputError(f'{context}: the lag is in "{units}"; convert it to "degrees"')

    def read_part(index):
        stored_values = [read_values(variable, index) for variable in variable_pair]
        for values, variable in zip(stored_values, variable_pair, strict=True):
            check_missing_values(np.atleast_2d(values), f"{context.rpartition(':')[0]}:{variable.name}")
        amplitude_or_real, lag_or_imaginary = (sign * values for sign, values in zip(signs, stored_values, strict=True))
        if is_lag and (np.abs(lag_or_imaginary[amplitude_or_real != 0]) > MAX_LAG_DEGREES).any():
            lags = np.abs(np.where(amplitude_or_real != 0, lag_or_imaginary, 0))
            raise InputError(
                f"{context}: a lag of {np.nanmax(lags):g} degrees is impossible; missing values need _FillValue"
            )
        if is_lag:
            part = amplitude_or_real * (np.cos if is_cosine else np.sin)(np.radians(lag_or_imaginary))
        else:
            part = amplitude_or_real if is_cosine else -lag_or_imaginary
        is_land = (amplitude_or_real == 0) & ((lag_or_imaginary == 0) | is_lag)
        if is_land.any() and not is_land.all():
            zero_values = "the amplitude is" if is_lag else "both are"
            log_once(f"{context.partition(': ')[2]}: cells in which {zero_values} 0 count as land")
        return np.where(is_land, np.nan, part)

    return read_part
