"""The case of a configuration: a case of the package by its name, a case in a Python file, or a Python class or object.

A Python file is executed. The configuration keeps the class and the text of its file (`Case.file_text`), so that run
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
from ...errors import ConfigError, describe_failure, suggest
from ...setup.fields.record_notes import sha256
from ..messages import format_value
from ..options.case import Case, case_name, option
from .case_check import declaration_problems
from .sources import ConfigLayer, ConfigValue, parse_value, read_text_file

#: The copy of a user's case file in a run folder, next to its config.toml.
CASE_FILE_NAME = "case.py"

#: The value of case.file for a case that came from Python as a class or object.
IN_PYTHON = "(in Python)"

#: Largest size of the file of a case, bytes: restart files keep its text in an attribute, which HDF5 limits to 64 KiB.
MAX_CASE_FILE_BYTES = 50_000

#: Keys of [case] that identify the case; all others are its own options.
IDENTITY_KEYS = tuple(Case.model_fields)


def is_case(value) -> bool:
    return isinstance(value, Case) or (isinstance(value, type) and issubclass(value, Case))


def find_case(layers: Sequence[ConfigLayer]) -> tuple[type[Case], ConfigLayer]:
    """The case of the last layer that names a case, "jet" if none does.

    The keys that identify a case are removed from all layers. The second result is a layer with the path and checksum
    of the case's file, or with the options of a case object. ConfigError: there is no such case, or its file or class
    cannot be used.
    """
    identity = {"name": ConfigValue("jet", "case.name")}
    for layer in layers:
        identity_in_layer = {key: layer.pop(("case", key)) for key in IDENTITY_KEYS if ("case", key) in layer}
        identity_in_layer = {key: each for key, each in identity_in_layer.items() if key == "name" or each.value != ""}
        identity = identity_in_layer if identity_in_layer.keys() & {"name", "file"} else identity | identity_in_layer
    if "file" in identity:
        options = {key: each.value for layer in layers for (section, key), each in layer.items() if section == "case"}
        return case_from_file(identity, options)
    if "sha256" in identity:
        raise ConfigError([f"{identity['sha256'].context}: is the checksum of a file, but case.file names none"])
    name, context = identity["name"].value, identity["name"].context
    if name not in cases.names():
        raise ConfigError([f"{context}: no case {format_value(name)}; {suggest(str(name), cases.names())}"])
    return cases.get(name), {}


def case_from_file(identity: Mapping[str, ConfigValue], options: Mapping[str, Any]) -> tuple[type[Case], ConfigLayer]:
    """The case of `case.file`, which may be a Python class or object, and its layer (`find_case`).

    Args:
        identity: keys of [case] that identify the case.
        options: other keys of [case].
    """
    file = identity["file"]
    value = parse_value(file.value) if file.is_text else file.value
    if is_case(value):
        cls = value if isinstance(value, type) else type(value)
        if problems := [f"class {problem}" for problem in declaration_problems(cls)]:
            raise ConfigError(problems)
        keys = set() if isinstance(value, type) else value.model_fields_set - set(IDENTITY_KEYS)
        return cls, {("case", key): ConfigValue(getattr(value, key), f"case.{key}") for key in keys}
    if value == IN_PYTHON:
        name_words = (identity["name"].value if "name" in identity else "case").split("_")
        defaults = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        option_fields: Any = {
            key: (type(value), option(value, "", "option of the case")) for key, value in defaults.items()
        }
        cls = create_model("".join(word.capitalize() for word in name_words), __base__=Case, **option_fields)
        return cls, {("case", "file"): file}  # without functions, because the run has recorded the fields
    context = file.context and f"{file.context}: "
    if not isinstance(value, str):
        raise ConfigError([f"{context}must be the name of a file, not {format_value(value)}"])
    path = Path(os.path.normpath(file.folder / value))
    try:
        case = case_from_text(read_text_file(path, MAX_CASE_FILE_BYTES, "case"), str(path))
        check_identity(case, {key: each.value for key, each in identity.items()}, str(path))
    except ConfigError as error:
        raise ConfigError(context + problem for problem in error.problems) from error
    checksum_layer = {("case", key): each for key, each in identity.items() if key == "sha256"}
    return case, {("case", "file"): ConfigValue(os.path.abspath(path), file.context), **checksum_layer}


def case_from_table(table: Mapping[str, Any], text: str | None) -> type[Case]:
    """The case that the table [case] of a run's configuration names; `text`: that of a user-defined case's file.

    ConfigError: there is no such case, the text is missing, or it is that of another case.
    """
    file = table.get("file")
    if file and file != IN_PYTHON:
        if not text:
            raise ConfigError([f"case.file: {file} of the case {table['name']} is missing"])
        case = case_from_text(text, file)
        check_identity(case, table, file)
        return case
    return find_case([{("case", key): ConfigValue(value, f"case.{key}") for key, value in table.items()}])[0]


def check_identity(case: type[Case], identity: Mapping[str, Any], path: str) -> None:
    expected, actual = identity.get("sha256"), sha256(case.file_text)
    if expected and expected != actual:
        raise ConfigError(
            [
                f"{path}: was changed: its SHA-256 is {actual[:12]}..., but case.sha256 is {str(expected)[:12]}...; "
                "restore the old file, or leave out case.sha256 for a new run"
            ]
        )
    if identity.get("name", case_name(case)) != case_name(case):
        raise ConfigError([f'{path}: the case in it is "{case_name(case)}", not {format_value(identity["name"])}'])


def case_from_text(text: str, path: str) -> type[Case]:
    case_classes = cases.case_classes_in(execute_module(text, path))
    if len(case_classes) != 1:
        contents = (
            f"{len(case_classes)} cases: {', '.join(case.__name__ for case in case_classes)}"
            if case_classes
            else "no case"
        )
        raise ConfigError([f"{path}: defines {contents}; it must have one class derived from swmodel.Case"])
    (case,) = case_classes
    if problems := [f"{path}: {problem}" for problem in declaration_problems(case)]:
        raise ConfigError(problems)
    case.file_text = text
    return case


def execute_module(text: str, path: str) -> types.ModuleType:
    """The module from the text of a Python file; each text is executed once. ConfigError: it fails."""
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
        raise ConfigError([describe_failure(error, path)]) from error
    return module


def recorded_case(case: Case) -> Case:
    """The case as a run records it.

    `file` and `sha256` describe the copy of a user's file in the run folder. For a class or object from Python, `file`
    is IN_PYTHON.
    """
    case = case.for_record()
    if case.file_text:
        return case.model_copy(update={"file": CASE_FILE_NAME, "sha256": sha256(case.file_text)})
    return case if cases.is_shipped(case) else case.model_copy(update={"file": IN_PYTHON})
