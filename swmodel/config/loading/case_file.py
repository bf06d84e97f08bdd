"""The case of a configuration: one of the package by its name, one in a Python file, or one given in Python.

A Python file is executed. The configuration keeps the class and the text of its file (`Case.file_text`). So run
folders, restart files and all processes have the file as it was when the configuration was loaded.
"""

from __future__ import annotations

import os
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import create_model

from ... import cases
from ...errors import ConfigError, failure, suggest
from ...setup.fields.noted import sha256
from ..messages import show
from ..options.case import Case, name_of, option
from ..options.case_check import declaration_problems
from .sources import Given, Layer, read_text, text_in

#: The copy in a run folder, next to its config.toml.
CASE = "case.py"

#: In place of a file, where the case was given in Python.
NO_FILE = "(in Python)"

#: Largest size of a file, bytes: HDF5 has room for 64 KiB in an attribute.
LONGEST_FILE = 50_000

#: Keys of [case] that identify the case; all others are its own options.
IDENTITY = tuple(Case.model_fields)


def is_case(value) -> bool:
    """Whether this is a case: an object or a class."""
    return isinstance(value, Case) or (isinstance(value, type) and issubclass(value, Case))


def find_case(layers: Sequence[Layer]) -> tuple[type[Case], Layer]:
    """The case that the last layer with a case names; its identity is removed from all layers.

    The returned layer has the path of its file, or the options of a case object.
    """
    identity = {"name": Given("jet", "case.name")}
    for layer in layers:
        given = {key: layer.pop(("case", key)) for key in IDENTITY if ("case", key) in layer}
        given = {key: each for key, each in given.items() if key == "name" or each.value != ""}
        identity = given if given.keys() & {"name", "file"} else identity | given
    if "file" in identity:
        options = {at[1]: given.value for layer in layers for at, given in layer.items() if at[0] == "case"}
        return of_file(identity, options)
    if "sha256" in identity:
        raise ConfigError([f"{identity['sha256'].place}: is the checksum of a file, but case.file names none"])
    name, place = identity["name"].value, identity["name"].place
    if name not in cases.names():
        raise ConfigError([f"{place}: no case {show(name)}; {suggest(str(name), cases.names())}"])
    return cases.get(name), {}


def of_file(identity: Mapping[str, Given], options: Mapping[str, Any]) -> tuple[type[Case], Layer]:
    """The case from the file of an identity, or from Python, and its layer; see `find_case`."""
    file = identity["file"]
    value = read_text(file.value) if file.is_text else file.value
    if is_case(value):
        cls = value if isinstance(value, type) else type(value)
        if problems := [f"class {problem}" for problem in declaration_problems(cls)]:
            raise ConfigError(problems)
        keys = set() if isinstance(value, type) else value.model_fields_set - set(IDENTITY)
        return cls, {("case", key): Given(getattr(value, key), f"case.{key}") for key in keys}
    if value == NO_FILE:
        words = (identity["name"].value if "name" in identity else "case").split("_")
        given = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        made: Any = {key: (type(value), option(value, "", "option of the case")) for key, value in given.items()}
        cls = create_model("".join(word.capitalize() for word in words), __base__=Case, **made)
        return cls, {("case", "file"): file}  # a run has recorded its fields
    place = file.place and f"{file.place}: "
    if not isinstance(value, str):
        raise ConfigError([f"{place}must be the name of a file, not {show(value)}"])
    path = Path(os.path.normpath(file.folder / value))
    try:
        case = from_text(text_in(path, LONGEST_FILE, "case"), str(path))
        check_identity(case, {key: given.value for key, given in identity.items()}, str(path))
    except ConfigError as error:
        raise ConfigError(place + problem for problem in error.problems) from error
    pinned = {("case", key): given for key, given in identity.items() if key == "sha256"}
    return case, {("case", "file"): Given(os.path.abspath(path), file.place), **pinned}


def case_of(table: Mapping[str, Any], text: str | None) -> type[Case]:
    """The case that the table [case] of a run's configuration names; `text` is that of the file of a user's case."""
    file = table.get("file")
    if file and file != NO_FILE:
        if not text:
            raise ConfigError([f"case.file: {file} of the case {table['name']} is not there"])
        case = from_text(text, file)
        check_identity(case, table, file)
        return case
    return find_case([{("case", key): Given(value, f"case.{key}") for key, value in table.items()}])[0]


def check_identity(case: type[Case], identity: Mapping[str, Any], path: str) -> None:
    """Check the checksum and the name of a case from a file against its identity."""
    wanted, found = identity.get("sha256"), sha256(case.file_text)
    if wanted and wanted != found:
        raise ConfigError(
            [
                f"{path}: was changed: its SHA-256 is {found[:12]}..., case.sha256 is {str(wanted)[:12]}...; "
                "put the old file back, or leave out case.sha256 for a new run"
            ]
        )
    if identity.get("name", name_of(case)) != name_of(case):
        raise ConfigError([f'{path}: the case in it is "{name_of(case)}", not {show(identity["name"])}'])


def from_text(text: str, path: str) -> type[Case]:
    """The case in the text of a Python file."""
    found = cases.classes(execute(text, path))
    if len(found) != 1:
        what = f"{len(found)} cases: {', '.join(case.__name__ for case in found)}" if found else "no case"
        raise ConfigError([f"{path}: defines {what}; it must have one class that is derived from swmodel.Case"])
    (case,) = found
    if problems := [f"{path}: {problem}" for problem in declaration_problems(case)]:
        raise ConfigError(problems)
    case.file_text = text
    return case


def execute(text: str, path: str) -> types.ModuleType:
    """The module from the text of a Python file; each text is executed once."""
    name = f"swmodel_case_{sha256(text)[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = sys.modules[name] = types.ModuleType(name)  # where pydantic looks up the annotations
    module.__file__ = path
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Field name .* shadows an attribute")  # `declaration_problems` reports it
            exec(compile(text.encode(), path, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ConfigError([failure(error, path)]) from error
    return module


def recorded(case: Case) -> Case:
    """The case as a run records it: with the name of its file in the run folder, and its checksum."""
    case = case.recorded()
    if case.file_text:
        return case.model_copy(update={"file": CASE, "sha256": sha256(case.file_text)})
    return case if cases.shipped(case) else case.model_copy(update={"file": NO_FILE})
