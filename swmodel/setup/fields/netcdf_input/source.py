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
from ....ocean.table import EASTWARD, REDUCED, row_of
from .dataset import CFDataset, stamp, values_of
from .errors import InputError, remark
from .marks import check_marks
from .names import COMMON, candidates
from .units import DEGREES

if TYPE_CHECKING:
    from xarray import DataArray

#: Text after the name of the file.
REST = re.compile(r"(?::(?P<name>[^:@]*))?(?:@(?P<record>.*))?")

#: Names of vertical coordinates of winds, and their units.
VERTICAL = re.compile(r"height|level|lev|pressure|isobaric|plev|z|altitude", re.IGNORECASE)
METRES, PRESSURES = ("m", "metre", "metres", "meter", "meters"), ("Pa", "hPa", "mb", "mbar", "millibar", "millibars")
#: Largest lag of a tide, degrees.
LARGEST_LAG = 720.0

#: Further standard names, where x is east and y is north.
OTHERS = {
    "sea_water_x_velocity": "sea_water_eastward_velocity",
    "sea_water_y_velocity": "sea_water_northward_velocity",
}


class Source(NamedTuple):
    """A file or store, a variable in it (empty: found by its standard name) and a record (None: the only one)."""

    path: str
    name: str
    record: str | None

    def files(self) -> list[str]:
        """The file or store, or those that match the pattern, in the order of their names."""
        if os.path.exists(self.path) or not glob.has_magic(self.path):
            return [self.path]
        return sorted(glob.glob(self.path))

    def stamps(self) -> tuple:
        """Each of these files with its stamp."""
        return tuple((path, stamp(path)) for path in self.files())


def parse(text: str) -> Source:
    """The Source of an entry; an existing path wins over its other readings."""
    if os.path.exists(text):  # Path.exists raises where a name is too long
        return Source(text, "", None)
    folder, base = os.path.split(text)
    cuts = [place for place, sign in enumerate(base) if sign in ":@"]
    for cut in reversed(cuts):
        path, rest = os.path.join(folder, base[:cut]), REST.fullmatch(base, cut)
        if rest and (os.path.exists(path) or cut == cuts[0]):
            return Source(path, rest["name"] or "", rest["record"])
    return Source(text, "", None)


def find(dataset: CFDataset, source: Source, row) -> tuple[DataArray, Callable[..., np.ndarray]]:
    """The named variable, or the only one that may hold the field (`names.candidates`).

    Returns also a function of an index to its values, or to those from two variables (`part_of_tide`).
    """
    place, variables = f"input.{row.name}: {source.path}", dataset.data.variables
    names = ", ".join(variables) or "none"
    if wanted := source.name or ("" if row.standard_name else row.name):
        parts = [each.removeprefix("-") for each in wanted.split(",")]
        if len(parts) > 2 or not {*parts} <= variables.keys():
            raise InputError(f'{place} has no variable "{wanted}"; it has {names}')
        signs, both = (
            [-1 if each.startswith("-") else 1 for each in wanted.split(",")],
            [dataset.data[n] for n in parts],
        )
        of_sea = row_of(row.name).standard_name
        if row is REDUCED.get(row.name) and both[0].attrs.get("standard_name") == of_sea:
            raise InputError(
                f'{place}: {parts[0]} has the standard_name "{of_sea}"; with physics.reduced_gravity '
                f"{row.name} is the {row.long_name}"
            )
        if len(both) == 2 or index_of(row.name):
            return both[0], part_of_tide(both, signs, f"{place}: {wanted}", row)
        return both[0], lambda index: signs[0] * values_of(both[0], index)
    standard_names = [row.standard_name, *(each.get(row.standard_name, "") for each in (EASTWARD, OTHERS))]
    matches = candidates(dataset, standard_names, (row.name, *COMMON.get(row.name, ())))
    if row.name == "depth":  # the thickness of a layer has the name of ROMS' depth
        matches = [name for name in matches if "thick" not in str(variables[name].attrs.get("long_name", "")).lower()]
    wrong = {name: height_of(name, dataset) for name in matches if row.name in ("u10", "v10")}
    wrong = {name: height for name, height in wrong.items() if height not in ("", "10 m")}
    matches = [name for name in matches if name not in wrong] or matches
    for name in matches:
        if name in wrong:
            raise InputError(f"{place}:{name} is the wind at {wrong[name]}; the model needs that at 10 m")
    if len(matches) == 1:
        return dataset.data[matches[0]], partial(values_of, dataset.data[matches[0]])
    what = "several variables" if matches else "no variable"
    of_names = " or ".join(dict.fromkeys(filter(None, standard_names)))
    raise InputError(
        f'{place} has {what} with standard_name "{of_names}" '
        f'({", ".join(matches) or names}); name it as "{source.path}:NAME"'
    )


def height_of(name: str, dataset: CFDataset) -> str:
    """The height of a wind in words, such as "10 m" or "850 hPa"; empty if it is unknown.

    It follows from the only value of a vertical coordinate, else from the name of the variable or its description.
    """
    variable = dataset.data[name]
    for of in {**dict.fromkeys(variable.dims), **dict.fromkeys(map(str, variable.coords))}:
        level = dataset.data.variables.get(of)
        units = str(level.attrs.get("units", "")) if level is not None else ""
        vertical = level is not None and (str(level.attrs.get("axis", "")).upper() == "Z" or VERTICAL.match(of))
        if vertical and level.size == 1 and units in (*METRES, *PRESSURES):
            return f"{float(np.ravel(level.values)[0]):g} {'m' if units in METRES else units}"
    found = re.fullmatch(r"(?:wind|[uv](?:wind|grd)?)_?(\d{2,3})m?", name, re.IGNORECASE)
    found = found or re.search(r"\b(\d+)\s*-?\s*m(?:et(?:re|er)s?)?\b", str(variable.attrs.get("long_name", "")), re.I)
    return f"{int(found[1])} m" if found else ""


def part_of_tide(both: list[DataArray], signs: list[int], place: str, row) -> Callable[..., np.ndarray]:
    """The function of an index to a part of a tide, from two variables multiplied by their signs.

        cosine = amplitude cos(lag) = Re,    sine = amplitude sin(lag) = -Im    of amplitude exp(-i lag)

    Where the amplitude, or both parts, are zero, as atlases write land, the result is missing.
    """
    if len(both) != 2 or not index_of(row.name):
        raise InputError(f"{place}: a tide needs two variables, AMPLITUDE,LAG or REAL,IMAGINARY, other fields need one")
    cosine, (first, second) = index_of(row.name)[1] == "cosine", both
    if first.dims != second.dims:
        raise InputError(f"{place} lie along {', '.join(first.dims)} and along {', '.join(second.dims)}")
    units = second.attrs.get("units", "")
    lags = re.sub(r"[_ ]+(gmt|utc|g)$", "", units.lower()) in {*DEGREES[""], "deg"}
    if not lags and units != first.attrs.get("units", ""):
        raise InputError(f'{place}: the lag is in "{units}"; convert it to "degrees"')

    def part(index):
        raw = [values_of(variable, index) for variable in both]
        for each, variable in zip(raw, both, strict=True):
            check_marks(np.atleast_2d(each), f"{place.rpartition(':')[0]}:{variable.name}")
        one, other = (sign * values for sign, values in zip(signs, raw, strict=True))
        if lags and (np.abs(other[one != 0]) > LARGEST_LAG).any():
            found = np.abs(np.where(one != 0, other, 0))
            raise InputError(f"{place}: a lag of {np.nanmax(found):g} degrees is none; missing values need _FillValue")
        wave = np.cos if cosine else np.sin
        found = one * wave(np.radians(other)) if lags else one if cosine else -other
        zero = (one == 0) & ((other == 0) | lags)
        if zero.any() and not zero.all():
            which = "the amplitude is" if lags else "both are"
            remark(f"{place.partition(': ')[2]}: cells in which {which} 0 count as land")
        return np.where(zero, np.nan, found)

    return part
