"""Which file, variable and record an entry of `[input]` stands for: FILE, FILE:NAME, FILE@RECORD, FILE:NAME@RECORD.

-NAME is the variable with its sign changed. AMPLITUDE,LAG are two variables that a part of a tide is made of, before it
is interpolated: amplitude cos(lag) or amplitude sin(lag).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....ocean.table import EASTWARD, REDUCED, row_of
from .dataset import CFDataset, stamp, values_of
from .errors import InputError
from .units import DEGREES

if TYPE_CHECKING:
    from xarray import DataArray

#: What may follow the name of the file.
REST = re.compile(r"(?::(?P<name>[^:@]*))?(?:@(?P<record>.*))?")

#: Names that files use, besides the standard ones, where x is east and y is north.
OTHERS = {
    "sea_water_x_velocity": "sea_water_eastward_velocity",
    "sea_water_y_velocity": "sea_water_northward_velocity",
}


class Source(NamedTuple):
    """A file or store, a variable in it (empty: found by its standard name) and a record (None: not said which)."""

    path: str
    name: str
    record: str | None

    def files(self) -> list[str]:
        """The files or stores that are named: one, or those that the pattern fits, in the order of their names."""
        if os.path.exists(self.path) or not glob.has_magic(self.path):
            return [self.path]
        return sorted(glob.glob(self.path))

    def stamps(self) -> tuple:
        """What tells these files from later ones of their names."""
        return tuple((path, stamp(path)) for path in self.files())


def parse(text: str) -> Source:
    """The Source that an entry stands for; what exists is a file or a store, whatever signs its name has."""
    if os.path.exists(text):  # Path.exists raises where a name is too long
        return Source(text, "", None)
    folder, base = os.path.split(text)
    cuts = [place for place, sign in enumerate(base) if sign in ":@"]
    for cut in reversed(cuts):
        path, rest = os.path.join(folder, base[:cut]), REST.fullmatch(base, cut)
        if rest and (os.path.exists(path) or cut == cuts[0]):
            return Source(path, rest["name"] or "", rest["record"])
    return Source(text, "", None)


class Found(NamedTuple):
    """A variable of a file, and a function of an index to its values there, or to what is made of them."""

    variable: DataArray
    values: Callable[[Any], np.ndarray]


def find(dataset: CFDataset, source: Source, row) -> Found:
    """The variable that is named, or the only one with the standard name of the field, else of its name without one."""
    place, variables = f"input.{row.name}: {source.path}", dataset.data.variables
    names = ", ".join(variables) or "none"
    if wanted := source.name or ("" if row.standard_name else row.name):
        parts = wanted.removeprefix("-").split(",")
        if len(parts) > 2 or not {*parts} <= variables.keys():
            raise InputError(f'{place} has no variable "{wanted}"; it has {names}')
        first, *lag = (dataset.data[name] for name in parts)
        require_layer(first, place, row)
        sign = -1 if wanted.startswith("-") else 1
        if lag:
            return Found(first, part_of_tide(first, *lag, place, row, sign))
        return Found(first, lambda index: sign * values_of(first, index))
    others = (each.get(row.standard_name) for each in (EASTWARD, OTHERS))
    standard_names = [row.standard_name, *filter(None, others)]
    matches = [name for name, one in variables.items() if one.attrs.get("standard_name") in standard_names]
    plain = variables.get(row.name)
    if not matches and plain is not None and plain.ndim > 1 and not plain.attrs.get("standard_name"):
        matches = [row.name]
    if len(matches) == 1:
        one = dataset.data[matches[0]]
        return Found(one, lambda index: values_of(one, index))
    what = "several variables" if matches else "no variable"
    raise InputError(
        f'{place} has {what} with standard_name "{" or ".join(dict.fromkeys(standard_names))}" '
        f'({", ".join(matches) or names}); name it as "{source.path}:NAME"'
    )


def part_of_tide(amplitude: DataArray, lag: DataArray, place: str, row, sign: int) -> Callable[[Any], np.ndarray]:
    """The function of an index to the part of a tide that a field is, of amplitude and lag."""
    part = row.name.rpartition("_")[2]
    both = f"{place}: {amplitude.name},{lag.name}"
    if part not in ("cosine", "sine"):
        raise InputError(f"{both}: of two variables, amplitude and lag, only parts of a tide are made; name one")
    if (units := lag.attrs.get("units", "")) not in DEGREES[""] | {"deg"}:
        raise InputError(f'{both}: the lag is in "{units}"; convert it to "degrees"')
    if lag.dims != amplitude.dims:
        raise InputError(f"{both} lie along {', '.join(amplitude.dims)} and along {', '.join(lag.dims)}")
    wave = np.cos if part == "cosine" else np.sin
    return lambda index: sign * values_of(amplitude, index) * wave(np.radians(values_of(lag, index)))


def require_layer(found: DataArray, place: str, row) -> None:
    """See that a field of a layer over a deep one at rest is not sea level, nor the depth of the sea floor."""
    of_sea = row_of(row.name).standard_name
    if row is REDUCED.get(row.name) and found.attrs.get("standard_name") == of_sea:
        raise InputError(
            f'{place}: {found.name} has the standard_name "{of_sea}"; with physics.reduced_gravity '
            f"{row.name} is the {row.long_name}"
        )
