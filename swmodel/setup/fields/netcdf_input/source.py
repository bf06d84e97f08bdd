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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....ocean.elements import index_of
from ....ocean.table import EASTWARD, REDUCED, row_of
from .dataset import CFDataset, stamp, values_of
from .errors import InputError
from .units import DEGREES

if TYPE_CHECKING:
    from xarray import DataArray

#: Text after the name of the file.
REST = re.compile(r"(?::(?P<name>[^:@]*))?(?:@(?P<record>.*))?")

#: Standard names that say nothing.
UNKNOWN = ("", "unknown", "none")

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


def find(dataset: CFDataset, source: Source, row) -> tuple[DataArray, Callable[[Any], np.ndarray]]:
    """The named variable, or the only one with the field's standard name, or with its name and no standard name.

    Returns also a function of an index to its values, or to those from two variables.
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
    others = (each.get(row.standard_name) for each in (EASTWARD, OTHERS))
    standard_names = dict.fromkeys((row.standard_name, *filter(None, others)))
    matches = [name for name, one in variables.items() if one.attrs.get("standard_name") in standard_names]
    plain = variables.get(row.name)
    if not matches and plain is not None and plain.ndim > 1 and plain.attrs.get("standard_name", "") in UNKNOWN:
        matches = [row.name]
    if row.name in ("u10", "v10"):
        for name in matches:
            check_height(name, variables[name], f"{place}:{name}")
    if len(matches) == 1:
        return dataset.data[matches[0]], partial(values_of, dataset.data[matches[0]])
    what = "several variables" if matches else "no variable"
    raise InputError(
        f'{place} has {what} with standard_name "{" or ".join(standard_names)}" '
        f'({", ".join(matches) or names}); name it as "{source.path}:NAME"'
    )


def check_height(name: str, variable, place: str) -> None:
    """Raise InputError if the name of a wind, or its description, has a height other than 10 m."""
    found = re.fullmatch(r"(?:wind|[uv](?:wind|grd)?)_?(\d{2,3})m?", name, re.IGNORECASE)
    found = found or re.search(r"\b(\d+)\s*-?\s*m(?:et(?:re|er)s?)?\b", str(variable.attrs.get("long_name", "")), re.I)
    if found and int(found[1]) != 10:
        raise InputError(f"{place} is the wind at {found[1]} m; the model needs that at 10 m")


def part_of_tide(both: list[DataArray], signs: list[int], place: str, row) -> Callable[[Any], np.ndarray]:
    """The function of an index to a part of a tide, from two variables multiplied by their signs.

    cosine = amplitude cos(lag) = Re,    sine = amplitude sin(lag) = -Im    of amplitude exp(-i lag)
    """
    if len(both) != 2 or not index_of(row.name):
        raise InputError(f"{place}: a tide needs two variables, AMPLITUDE,LAG or REAL,IMAGINARY, other fields need one")
    cosine, (first, second) = index_of(row.name)[1] == "cosine", both
    if first.dims != second.dims:
        raise InputError(f"{place} lie along {', '.join(first.dims)} and along {', '.join(second.dims)}")
    units = second.attrs.get("units", "")
    if units in DEGREES[""] | {"deg"}:
        wave = np.cos if cosine else np.sin
        return lambda index: signs[0] * values_of(first, index) * wave(np.radians(signs[1] * values_of(second, index)))
    if units != first.attrs.get("units", ""):
        raise InputError(f'{place}: the lag is in "{units}"; convert it to "degrees"')
    sign, of = (signs[0], first) if cosine else (-signs[1], second)
    return lambda index: sign * values_of(of, index)
