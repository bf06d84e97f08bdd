"""From a case or a TOML file, environment variables and overrides to one checked `Config`."""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from .. import cases
from .errors import ConfigError, suggest
from .model import ALTERNATIVES, DEPEND_ON_NPROC, CaseOptions, Config, Section
from .sources import Given, Layer, from_environment, from_mapping, from_overrides, read_file, read_text

#: Names of the sections, in the order in which they are written.
SECTIONS = tuple(Config.model_fields)


def load(
    source: str | os.PathLike = "jet",
    overrides: Mapping[str, Any] | Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Config:
    """The configuration of a run: defaults < case < file < environment < overrides.

    Args:
        source: name of a case, or path of a TOML file, whose `case.name` says which case it starts from.
        overrides: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
        environ: variables SWMODEL_<SECTION>_<KEY>; those of the process if None.

    Raises:
        ConfigError: with everything that is wrong at once.
    """
    file, name = read_source(source)
    environment = from_environment(os.environ if environ is None else environ, SECTIONS)
    known = [(section, key) for section in SECTIONS for key in Config.model_fields[section].annotation.model_fields]
    layers = [file, environment, from_overrides(overrides, known)]
    problems = [problem for layer in layers for problem in layer.problems]

    for layer in layers:
        name = layer.values.get(("case", "name"), name)
    case, problem = find_case(name)
    problems += problem
    classes = {section: Config.model_fields[section].annotation for section in SECTIONS}
    if case is not None:
        classes["case"] = getattr(case, "Options", CaseOptions)
        layers.insert(0, from_mapping(getattr(case, "DEFAULTS", {}), f"case {name.value}"))

    merged: dict[tuple[str, str], Given] = {}
    for layer in layers:
        problems += add_layer(merged, layer, classes, case is not None)
    merged["case", "name"] = name
    sections = {}
    for section, cls in classes.items():
        values = {key: given for (at, key), given in merged.items() if at == section}
        try:
            sections[section] = cls(**{key: given.value for key, given in values.items()})
        except ValidationError as error:
            if section != "case" or case is not None:
                problems += [describe(detail, cls, values, section) for detail in error.errors()]
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    return Config(**sections)


def read_source(source: str | os.PathLike) -> tuple[Layer, Given]:
    """The layer of the file, empty for a case, and the name of the case where the file gives none."""
    path = Path(source)
    if str(source) in cases.names():
        return Layer({}, []), Given(str(source), str(source), Path())
    if path.is_file():
        return read_file(path, SECTIONS), Given("jet", f"{path}: case.name", Path())
    if path.is_dir():
        raise ConfigError([f"{path}: is a folder, not a file"])
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise ConfigError([f"{path}: there is no such file"])
    raise ConfigError([f"{source}: there is no case or file of this name; {suggest(str(source), cases.names())}"])


def find_case(name: Given) -> tuple[types.ModuleType | None, list[str]]:
    """The module of the case, or None and the reason."""
    if name.value in cases.names():
        return cases.get(name.value), []
    return None, [f"{name.place}: no case {show(name.value)}; {suggest(str(name.value), cases.names())}"]


def add_layer(merged: dict, layer: Layer, classes: dict[str, type[Section]], case_known: bool) -> list[str]:
    """Put a layer on top of `merged`, where its alternatives replace those below; what is wrong with its names."""
    problems = []
    accepted = {}
    for (section, key), given in layer.values.items():
        if section not in classes:
            problems.append(f"{given.place}: no such section; {suggest(section, classes)}")
        elif key not in classes[section].model_fields:
            if section != "case" or case_known:
                problems.append(f"{given.place}: no such key; {suggest(key, classes[section].model_fields)}")
        else:
            accepted[section, key] = given._replace(value=convert(given, section, classes[section].model_fields[key]))
    for section, first, second in ALTERNATIVES:
        both = [accepted[section, key] for key in (first, second) if (section, key) in accepted]
        if len(both) == 2 and None not in (both[0].value, both[1].value):
            problems.append(f"{both[1].place}: give {first} or {second}, not both")
        if both:
            merged.pop((section, first), None)
            merged.pop((section, second), None)
    nproc = [layer["run", "nproc"].value for layer in (merged, accepted) if ("run", "nproc") in layer]
    if len(nproc) == 2 and nproc[0] != nproc[1]:
        for name in DEPEND_ON_NPROC:
            merged.pop(name, None)
    merged.update(accepted)
    return problems


def convert(given: Given, section: str, field) -> Any:
    """The value as Python wants it for the field: texts read, lists made tuples, file names made absolute."""
    base, optional = kind(field.annotation)
    value = given.value.tolist() if hasattr(given.value, "tolist") else given.value  # NumPy
    if given.is_text:
        parsed = read_text(value)
        if base is tuple:
            words = parsed if isinstance(parsed, str) else value
            value = parsed if isinstance(parsed, list) else [word.strip() for word in words.split(",") if word.strip()]
        elif base is not str or isinstance(parsed, str):
            value = parsed
    if optional and value == "none":
        return None
    if base is tuple and isinstance(value, list):
        return tuple(value)
    if base is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if section == "input" and isinstance(value, str) and value:
        return os.path.abspath(given.folder / value)
    return value


def kind(annotation: Any) -> tuple[type, bool]:
    """(int, float, bool, str or tuple; whether None is allowed) of the annotation of a key."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return kind(arguments[0])[0], type(None) in arguments
    if origin is typing.Annotated:
        return kind(arguments[0])
    if origin is Literal:
        return str, False
    return origin or annotation, False


def describe(detail: Mapping, cls: type[Section], values: Mapping[str, Given], section: str) -> str:
    """One line for one thing that is wrong with a value: place, what it must be with its unit, what it is."""
    key = str(detail["loc"][0])
    field = cls.model_fields[key]
    place = values[key].place if key in values else f"{section}.{key}"
    value, context = detail["input"], detail.get("ctx", {})
    unit = field.json_schema_extra["unit"] if field.json_schema_extra else ""
    with_unit = f" {unit}" if unit not in ("", "1") else ""
    bounds = {"greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "above")}
    bounds |= {"less_than_equal": ("le", "at most"), "less_than": ("lt", "below")}
    if detail["type"] in bounds:
        name, words = bounds[detail["type"]]
        return f"{place}: must be {words} {context[name]:.12g}{with_unit}, not {show(value)}"
    if detail["type"] == "literal_error":
        return f"{place}: no choice {show(value)}; {suggest(str(value), choices(field.annotation))}"
    if detail["type"] == "value_error":
        return f"{place}: {context['error']}"
    if detail["type"] == "string_pattern_mismatch":
        return f"{place}: must look like {PATTERNS.get(key, context['pattern'])}, not {show(value)}"
    wanted = {
        "int_type": f"a whole number{' of' + with_unit if with_unit else ''}",
        "float_type": f"a number{' in' + with_unit if with_unit else ''}",
        "finite_number": f"a finite number{' in' + with_unit if with_unit else ''}",
        "bool_type": "true or false",
        "string_type": "a text",
        "tuple_type": "a list",
    }
    return f"{place}: must be {wanted.get(detail['type'], detail['msg'])}, not {show(value)}"


#: What a text with a pattern looks like.
PATTERNS = {"layout": "2x3 (blocks in y by blocks in x)"}


def choices(annotation: Any) -> tuple[str, ...]:
    """The texts that a key accepts, the elements' for a list; none where any will do."""
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    return tuple(word for argument in typing.get_args(annotation) for word in choices(argument))


def show(value: Any) -> str:
    """A value as it is written in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if isinstance(value, (date, datetime, time)):
        return f"the date {value}"
    return "none" if value is None else str(value)
