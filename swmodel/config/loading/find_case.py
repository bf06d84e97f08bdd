"""The case of a configuration: one of the package by its name, a user's own by its file, or one given in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import create_model

from ... import cases
from ...errors import ConfigError, suggest
from ..messages import show
from ..options.case import Case, name_of, option
from ..options.case_check import declaration_problems
from .case_file import NO_FILE, digest, from_text, read
from .sources import Given, Layer, read_text

#: Keys of [case] that say which case it is; all others are its own options.
IDENTITY = tuple(Case.model_fields)


def is_case(value) -> bool:
    """Whether this is a case: an object or a class."""
    return isinstance(value, Case) or (isinstance(value, type) and issubclass(value, Case))


def take_identity(layers: Iterable[Layer]) -> dict[str, Given]:
    """What the last layer that names a case says of it, by the keys of IDENTITY, which are taken out of all layers."""
    found = {"name": Given("jet", "case.name", Path())}
    for layer in layers:
        given = {key: layer.values.pop(("case", key)) for key in IDENTITY if ("case", key) in layer.values}
        given = {key: each for key, each in given.items() if key == "name" or each.value != ""}
        found = given if given.keys() & {"name", "file"} else found | given
    return found


def find_case(identity: Mapping[str, Given], options: Mapping[str, Any] | None = None) -> tuple[type[Case], Layer]:
    """The case of an identity, and the layer of where its file lies, or of the options that an object has.

    Args:
        options: that it is given, for one given in Python and is not there.
    """
    if "file" in identity:
        value = identity["file"].value
        if value == NO_FILE:
            return stand_in(identity, options or {}), Layer({("case", "file"): identity["file"]}, [])
        return handed_over(value) if is_case(value) else in_file(identity)
    if "sha256" in identity:
        raise ConfigError([f"{identity['sha256'].place}: is of a file, and case.file names none"])
    name = identity["name"]
    if name.value not in cases.names():
        known = suggest(str(name.value), cases.names())
        raise ConfigError([f"{name.place}: no case {show(name.value)}; {known}"])
    return cases.get(name.value), Layer({}, [])


def handed_over(case: Case | type[Case]) -> tuple[type[Case], Layer]:
    """The class of a case from Python, and the layer of the options that an object has."""
    cls = case if isinstance(case, type) else type(case)
    if problems := [f"class {problem}" for problem in declaration_problems(cls)]:
        raise ConfigError(problems)
    keys = set() if isinstance(case, type) else case.model_fields_set - set(IDENTITY)
    return cls, Layer({("case", key): Given(getattr(case, key), f"case.{key}", Path()) for key in keys}, [])


def stand_in(identity: Mapping[str, Given], options: Mapping[str, Any]) -> type[Case]:
    """A case with the name and the options of one given in Python: a run has recorded its fields."""
    name = identity["name"].value if "name" in identity else "case"
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    made: dict[str, Any] = {
        key: (type(value), option(value, "", "of the case in Python")) for key, value in given.items()
    }
    return create_model("".join(word.capitalize() for word in name.split("_")), __base__=Case, **made)


def in_file(identity: Mapping[str, Given]) -> tuple[type[Case], Layer]:
    """The case in the file that an identity names, and the layer of where that lies; see `find_case`."""
    file = identity["file"]
    value = read_text(file.value) if file.is_text else file.value
    place = file.place and f"{file.place}: "
    if not isinstance(value, str):
        raise ConfigError([f"{place}must be the name of a file, not {show(value)}"])
    path = Path(os.path.normpath(file.folder / value))
    try:
        case = read(path)
    except ConfigError as error:
        raise ConfigError(place + problem for problem in error.problems) from error
    check_identity(case, {key: given.value for key, given in identity.items()}, f"{place}{path}")
    layer = {("case", "file"): Given(os.path.abspath(path), file.place, Path())}
    return case, Layer(layer | {("case", key): given for key, given in identity.items() if key == "sha256"}, [])


def case_of(identity: Mapping[str, str], text: str | None) -> type[Case]:
    """The case that the table [case] of a run's configuration names.

    Args:
        text: what its file holds, where it is a user's own.
    """
    if not identity.get("file") or identity["file"] == NO_FILE:
        given = {key: Given(identity[key], f"case.{key}", Path()) for key in IDENTITY if identity.get(key)}
        return find_case(given, {key: value for key, value in identity.items() if key not in IDENTITY})[0]
    if not text:
        raise ConfigError([f"case.file: {identity['file']} of the case {identity['name']} is not there"])
    case = from_text(text, identity["file"])
    check_identity(case, identity, identity["file"])
    return case


def check_identity(case: type[Case], identity: Mapping[str, str], place: str) -> None:
    """Make sure that a case from a file is the one that is wanted."""
    wanted, found = identity.get("sha256"), digest(case.file_text)
    if wanted and wanted != found:
        raise ConfigError(
            [
                f"{place}: was changed: its SHA-256 is {found[:12]}..., not {str(wanted)[:12]}... as case.sha256 says; "
                "put the old file back, or leave out case.sha256 for a new run"
            ]
        )
    if identity.get("name", name_of(case)) != name_of(case):
        raise ConfigError([f'{place}: the case in it is "{name_of(case)}", not {show(identity["name"])}'])
