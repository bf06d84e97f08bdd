"""Which file, variable and record an entry of `[input]` stands for: FILE, FILE:NAME, FILE@RECORD, FILE:NAME@RECORD."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ...ocean.table import EASTWARD, REDUCED, VARIABLES
from .attributes import attribute
from .errors import InputError

#: What may follow the name of the file.
REST = re.compile(r"(?::(?P<name>[^:@]*))?(?:@(?P<record>.*))?")

#: Names that files have for the same where x is east and y is north, beside the standard ones.
OTHERS = {
    "sea_water_x_velocity": "sea_water_eastward_velocity",
    "sea_water_y_velocity": "sea_water_northward_velocity",
}


class Source(NamedTuple):
    """A file, the name of a variable in it (empty: found by its standard name) and a record (None: not said which)."""

    path: str
    name: str
    record: str | None


def parse(text: str) -> Source:
    """The Source that an entry stands for; what exists is a file, whatever signs its name has."""
    if os.path.isfile(text):  # Path.is_file raises where a name is too long
        return Source(text, "", None)
    folder, base = os.path.split(text)
    cuts = [place for place, sign in enumerate(base) if sign in ":@"]
    for cut in reversed(cuts):
        path, rest = os.path.join(folder, base[:cut]), REST.fullmatch(base, cut)
        if rest and (os.path.isfile(path) or cut == cuts[0]):
            return Source(path, rest["name"] or "", rest["record"])
    return Source(text, "", None)


def find(dataset, source: Source, variable):
    """The variable that is named, or the only one with the standard name wanted (ours has none: called like ours).

    Raises:
        InputError: there is none, or there are several.
    """
    path, place = source.path, f"input.{variable.name}"
    names = ", ".join(dataset.variables) or "none"
    wanted = source.name or ("" if variable.standard_name else variable.name)
    if wanted:
        if wanted in dataset.variables:
            require_layer(dataset.variables[wanted], f"{place}: {path}", variable)
            return dataset.variables[wanted]
        raise InputError(f'{place}: {path} has no variable "{wanted}"; it has {names}')
    others = (each.get(variable.standard_name) for each in (EASTWARD, OTHERS))
    standard_names = [variable.standard_name, *filter(None, others)]
    matches = [v for v in dataset.variables.values() if attribute(v, "standard_name") in standard_names]
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
    of_sea = VARIABLES[variable.name].standard_name
    if variable is REDUCED.get(variable.name) and attribute(found, "standard_name") == of_sea:
        raise InputError(
            f'{place}: {found.name} has the standard_name "{of_sea}"; with physics.reduced_gravity '
            f"{variable.name} is the {variable.long_name}"
        )
