"""Merge the values of several sources, later ones over earlier ones, and check them."""

from __future__ import annotations

import os
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from ... import cases
from ...errors import ConfigError, suggest, unknown
from ..messages import describe_mistake, elements, kind
from ..options.case import Case, name_of
from ..options.grid import CORIOLIS, EXTENTS, KEYS_OF, Grid, cells_between
from ..options.input import Python
from ..options.model import ALTERNATIVES, Config, Section, section_class
from ..options.run import Run, outdated
from .from_files import LISTED, tables_in
from .renamed import replacement
from .sources import Given, Layer, read_text

KIND = ("grid", "kind")


class Sources(NamedTuple):
    """The sources of a configuration.

    Attributes:
        layers: the values of each source, the case first; later ones override earlier ones.
        case: its class; `Case` where no case has the name, which is one of the problems.
        classes: {section: its class}.
        problems: one line for each problem.
        python: the section [python] of the source Config, with the fields and terms from Python.
    """

    layers: list[Layer]
    case: type[Case]
    classes: dict[str, type[Section]]
    problems: list[str]
    python: Python | None = None


def merge(sources: Sources, complete: bool = False) -> Config:
    """The configuration that Sources make together; see `load`."""
    layers, case, classes, problems = sources[:4]
    problems = list(problems)
    merged: Layer = {}
    for layer in layers[1:] if complete else layers:
        problems += add_layer(merged, layer, classes)
    sections: dict[str, Any] = {}
    for section, cls in classes.items():
        values = {key: given for (at, key), given in merged.items() if at == section}
        try:
            sections[section] = cls(**{key: given.value for key, given in values.items()})
        except ValidationError as error:
            problems += [complaint(detail, cls, values, section) for detail in error.errors()]
    if "grid" in sections:
        wrong = sections["grid"].contradictions()
        places = {key: given.place for (section, key), given in merged.items() if section == "grid"}
        problems += [f"{places.get(key, f'grid.{key}')}: {words}" for key, words in wrong.items()]
        kind_now = sections["grid"].kind
        if not wrong and kind_now not in case.kinds:
            names = ", ".join(name for name in cases.names() if kind_now in cases.get(name).kinds)
            only = f"the formulas of the case {name_of(case)} are made for {' or '.join(case.kinds)} only"
            problems.append(f"grid.kind: {only}; for {kind_now} there are {names}: case.name")
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    if sources.python is not None:
        for name in Python.__private_attributes__:
            setattr(sections["python"], name, getattr(sources.python, name))
    time = sections["time"]
    if not complete and not time.start:
        sections["time"] = time.model_copy(update={"start": sections["case"].start_date()})
    return Config(**sections)


def add_layer(merged: Layer, layer: Layer, classes: dict[str, type[Section]]) -> list[str]:
    """Put a layer on top of `merged`, where its alternatives replace those below; returns problems with its names."""
    problems: list[str] = []
    accepted: Layer = {}
    strange: set[str] = set()
    for (section, key), given in layer.items():
        known = section in classes and key in classes[section].model_fields
        if not known and (words := replacement(section, key)):
            problems.append(f"{given.place}: is a key of an earlier version: {words}")
        elif section not in classes:
            if section not in strange:
                unknown(problems, given.place, "section", section, classes)
            strange.add(section)
        elif isinstance(given.value, str) and not given.value.isascii() and has_surrogates(given.value):
            problems.append(f"{given.place}: is not text in UTF-8")
        elif known:
            value = convert(given, section, classes[section].model_fields[key])
            accepted[section, key] = given._replace(value=value, is_text=False)
        else:
            unknown(problems, given.place, "key", key, classes[section].model_fields)
    for at in [at for at in LISTED if at in accepted and isinstance(accepted[at].value, str)]:
        given = accepted.pop(at)
        try:
            accepted[at] = tables_in(given, at)
        except ConfigError as error:
            problems += [f"{given.place}: {line}" for line in error.problems]
    for section, first, second in ALTERNATIVES:
        both = [accepted[section, key] for key in (first, second) if (section, key) in accepted]
        if len(both) == 2 and None not in (both[0].value, both[1].value):
            problems.append(f"{both[1].place}: give {first} or {second}, not both")
        if both:
            forget(merged, section, first, second)
    resize(merged, accepted)
    run = {key: given.value for (section, key), given in merged.items() if section == "run"}
    now = run | {key: given.value for (section, key), given in accepted.items() if section == "run"}
    usual = {key: field.default for key, field in Run.model_fields.items()}
    forget(merged, "run", *outdated(usual | run, usual | now))
    merged.update(accepted)
    return problems


def resize(merged: Layer, accepted: Layer) -> None:
    """Remove keys of the grid that accepted ones replace; accept the number of cells from length and size."""
    if KIND in accepted:
        kind_now = accepted[KIND].value
        forget(merged, "grid", *(key for of, keys in KEYS_OF.items() if of != kind_now for key in keys))
        before = merged[KIND].value if KIND in merged else Grid.model_fields["kind"].default
        if (before, kind_now) == ("plane", "latlon"):
            forget(merged, "physics", *CORIOLIS)
    for extent in (extent for extents in EXTENTS.values() for extent in extents):
        both = [accepted[at] for key in (extent.size, extent.end) if (at := ("grid", key)) in accepted]
        if any(each.value is not None for each in both):
            forget(merged, "grid", extent.size, extent.end)
        if len(both) == 2 and ("grid", extent.cells) not in accepted:
            start = (merged | accepted).get(("grid", extent.start))
            cells = cells_between(both[0].value, both[1].value, start.value if start else 0.0)
            accepted |= {("grid", extent.cells): both[0]._replace(value=cells)} if cells else {}


def forget(merged: Layer, section: str, *keys: str) -> None:
    """Remove keys of a section that others replace."""
    for key in keys:
        merged.pop((section, key), None)


def has_surrogates(text: str) -> bool:
    """Whether a text of the command line or the environment has bytes that are no UTF-8."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def value_of(at: tuple[str, str], given: Given) -> Any:
    """The value of a key, in Python's type."""
    section, key = at
    field = section_class(section).model_fields.get(key)
    return convert(given, section, field) if field else given.value


def convert(given: Given, section: str, field) -> Any:
    """The value in the type of the field: texts parsed, lists made tuples, file names made absolute."""
    base, optional = kind(field.annotation)
    value = given.value.tolist() if hasattr(given.value, "tolist") else given.value  # NumPy
    if optional and value == "none":
        return None
    if given.is_text:
        parsed, of = read_text(value), elements(field.annotation)
        of_tables = any(isinstance(each, type) and issubclass(each, Section) for each in of)
        if base is tuple and not isinstance(parsed, list) and not of_tables:
            words = parsed if isinstance(parsed, str) else value
            value = [word.strip() for word in words.split(",") if word.strip()]
            value = [read_text(word) for word in value] if {int, float} & set(of) else value
        elif base is not str or isinstance(parsed, str):
            value = parsed
    is_file = field.json_schema_extra["unit"] == "file"
    if base is tuple and isinstance(value, list | tuple):
        return tuple(absolute(each, given) if is_file and each else each for each in value)
    if base is int and isinstance(value, float) and value.is_integer():
        return int(value)
    is_file = is_file or section == "input"
    return absolute(value, given) if is_file and field.annotation is str and value else value


def absolute(value: Any, given: Given) -> Any:
    """A file name, relative to the folder of its source."""
    return os.path.abspath(given.folder / value) if isinstance(value, str) else value


def complaint(detail: Mapping, cls: type[Section], values: Mapping[str, Given], section: str) -> str:
    """The line about one value that pydantic refuses: its place and the problem."""
    key, *inner = detail["loc"]
    place, field = values[key].place if key in values else f"{section}.{key}", cls.model_fields[str(key)]
    if len(inner) > 1 and typing.get_origin(field.annotation) is tuple:  # a key of a table in a list of them
        number, name, table = inner[0], str(inner[1]), typing.get_args(field.annotation)[0]
        tables = values[key].tables if key in values else ()
        place = f"{tables[number] if tables else f'{place}, number {number + 1}'}, {name}"
        if name not in table.model_fields:
            return f"{place}: no such key; {suggest(name, table.model_fields)}"
        if detail["type"] == "missing":
            return f"{place}: must be given: {table.model_fields[name].description}"
        field = table.model_fields[name]
    return f"{place}: {describe_mistake(detail, field)}"
