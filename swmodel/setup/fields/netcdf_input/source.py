"""Which file, variable and record an entry of `[input]` stands for: FILE, FILE:NAME, FILE@RECORD, FILE:NAME@RECORD.

-NAME is the variable with its sign changed. AMPLITUDE,LAG are two variables that a part of a tide is made of, before it
is interpolated: amplitude cos(lag) or amplitude sin(lag).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....ocean.table import EASTWARD, REDUCED, row_of
from .attributes import DEGREES, attribute
from .errors import InputError

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


class Made:
    """A variable of a file with other values; all else is that of the file.

    Args:
        of: the variable.
        values: function of an index to those that it has there.
    """

    def __init__(self, of, values: Callable[[Any], Any]):
        self.of, self.values = of, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["of"], name)

    def __getitem__(self, index) -> Any:
        return self.values(index)


def made(amplitude, lag, place: str, variable) -> Made:
    """The part of a tide that a variable of the model is, of amplitude and lag.

    Raises:
        InputError: it is no part of a tide, or these are not in degrees, or along other dimensions.
    """
    part = variable.name.rpartition("_")[2]
    both = f"{place}: {amplitude.name},{lag.name}"
    if part not in ("cosine", "sine"):
        raise InputError(f"{both}: of two variables, amplitude and lag, only parts of a tide are made; name one")
    if attribute(lag, "units") not in DEGREES[""] | {"deg"}:
        raise InputError(f'{both}: the lag is in "{attribute(lag, "units")}"; convert it to "degrees"')
    if lag.dimensions != amplitude.dimensions:
        raise InputError(f"{both} lie along {', '.join(amplitude.dimensions)} and along {', '.join(lag.dimensions)}")
    function = np.ma.cos if part == "cosine" else np.ma.sin
    return Made(amplitude, lambda index: amplitude[index] * function(np.ma.asarray(np.radians(lag[index]))))


def find(dataset, source: Source, variable):
    """The variable that is named, or the only one with the standard name of the field, else of its name without one.

    Raises:
        InputError: there is none, or there are several.
    """
    path, place = source.path, f"input.{variable.name}"
    names = ", ".join(dataset.variables) or "none"
    wanted = source.name or ("" if variable.standard_name else variable.name)
    if wanted:
        found = [dataset.variables.get(name) for name in wanted.removeprefix("-").split(",")]
        if None in found or len(found) > 2:
            raise InputError(f'{place}: {path} has no variable "{wanted}"; it has {names}')
        require_layer(found[0], f"{place}: {path}", variable)
        one = made(*found, f"{place}: {path}", variable) if len(found) == 2 else found[0]
        return Made(one, lambda index: -one[index]) if wanted.startswith("-") else one
    others = (each.get(variable.standard_name) for each in (EASTWARD, OTHERS))
    standard_names = [variable.standard_name, *filter(None, others)]
    matches = [v for v in dataset.variables.values() if attribute(v, "standard_name") in standard_names]
    named = dataset.variables.get(variable.name)
    if not matches and named is not None and named.ndim > 1 and not attribute(named, "standard_name"):
        matches = [named]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(v.name for v in matches) or names
    what = "several variables" if matches else "no variable"
    raise InputError(
        f'{place}: {path} has {what} with standard_name "{" or ".join(dict.fromkeys(standard_names))}" ({names}); '
        f'name it as "{path}:NAME"'
    )


def require_layer(found, place: str, variable) -> None:
    """See that a field of a layer over a deep one at rest is not sea level, nor the depth of the sea floor.

    Raises:
        InputError: its standard name says that it is.
    """
    of_sea = row_of(variable.name).standard_name
    if variable is REDUCED.get(variable.name) and attribute(found, "standard_name") == of_sea:
        raise InputError(
            f'{place}: {found.name} has the standard_name "{of_sea}"; with physics.reduced_gravity '
            f"{variable.name} is the {variable.long_name}"
        )
