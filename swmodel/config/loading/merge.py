"""Merge the values of several sources, of which later ones replace earlier ones, and check them."""

from __future__ import annotations

import os
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from ... import cases
from ...errors import ConfigError, add_unknown_name, suggest
from ...ocean.option import unit_of
from ..messages import base_type, describe_mistake, element_types
from ..options.case import Case, case_name
from ..options.grid import CORIOLIS_KEYS, EXTENT_KEYS, KEYS_BY_KIND, GridOptions, cells_between
from ..options.input import PythonOptions
from ..options.model import EXCLUSIVE_KEYS, Config, Section, section_class
from ..options.run import RunOptions, keys_to_reset
from .from_files import BARRIERS_KEY, TABLE_FILE_COLUMNS, read_tables
from .old_keys import replacement_of_old_key
from .sources import ConfigLayer, ConfigValue, parse_value

GRID_KIND_KEY, GRID_CRS_KEY = ("grid", "kind"), ("grid", "crs")


class ConfigSources(NamedTuple):
    """The sources of a configuration.

    Attributes:
        layers: the values of each source, the defaults of the case first; later layers override earlier ones.
        case: the class of the case; `Case` if the case cannot be found, which is one of the problems.
        classes: {section: its class}.
        problems: one message for each problem found so far.
        python: the section [python], with the fields and terms from Python, if the source is a Config; else None.
    """

    layers: list[ConfigLayer]
    case: type[Case]
    classes: dict[str, type[Section]]
    problems: list[str]
    python: PythonOptions | None = None


def merge(sources: ConfigSources, has_all_options: bool = False) -> Config:
    """The configuration from all layers of ConfigSources; if `has_all_options`, without the defaults of the case.

    ConfigError: all problems.
    """
    layers, case, classes, problems = sources[:4]
    problems = list(problems)
    merged: ConfigLayer = {}
    for layer in layers[1:] if has_all_options else layers:
        problems += add_layer(merged, layer, classes)
    sections: dict[str, Any] = {}
    for section, cls in classes.items():
        values = {key: entry for (owner, key), entry in merged.items() if owner == section}
        try:
            sections[section] = cls(**{key: entry.value for key, entry in values.items()})
        except ValidationError as error:
            problems += [problem_line(detail, cls, values, section) for detail in error.errors()]
    if "grid" in sections:
        contradictions = sections["grid"].contradictions()
        contexts = {key: entry.context for (section, key), entry in merged.items() if section == "grid"}
        problems += [
            f"{contexts.get(key, f'grid.{key}')}: {contradiction}" for key, contradiction in contradictions.items()
        ]
        geometry = sections["grid"].geometry
        if not contradictions and geometry not in case.grid_kinds:
            names = ", ".join(name for name in cases.names() if geometry in cases.get(name).grid_kinds)
            reason = f"the formulas of the case {case_name(case)} are made for {' or '.join(case.grid_kinds)} only"
            key = "crs" if sections["grid"].crs else "kind"
            problems.append(f"grid.{key}: {reason}; for {geometry} there are {names} (case.name)")
        barriers = merged.get(BARRIERS_KEY)
        if barriers and barriers.is_in_metres and sections["grid"].kind == "latlon":
            problems.append(
                f"{barriers.table_contexts[0]}: x and y are in m, but the grid is in degrees; give columns lon and lat"
            )
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    if sources.python is not None:
        for name in PythonOptions.__private_attributes__:
            setattr(sections["python"], name, getattr(sources.python, name))
    time = sections["time"]
    if not has_all_options and not time.start:
        sections["time"] = time.model_copy(update={"start": sections["case"].start_date()})
    return Config(**sections)


def add_layer(merged: ConfigLayer, layer: ConfigLayer, classes: dict[str, type[Section]]) -> list[str]:
    """Merge a layer into `merged`, where it replaces keys and their alternatives; returns the problems of the layer."""
    problems: list[str] = []
    accepted: ConfigLayer = {}
    unknown_sections: set[str] = set()
    for (section, key), entry in layer.items():
        is_known = section in classes and key in classes[section].model_fields
        if not is_known and (replacement := replacement_of_old_key(section, key)):
            problems.append(f"{entry.context}: is a key of an earlier version: {replacement}")
        elif section not in classes:
            if section not in unknown_sections:
                add_unknown_name(problems, entry.context, "section", section, classes)
            unknown_sections.add(section)
        elif isinstance(entry.value, str) and not entry.value.isascii() and has_surrogates(entry.value):
            problems.append(f"{entry.context}: is not text in UTF-8")
        elif is_known:
            value = convert(entry, section, classes[section].model_fields[key])
            accepted[section, key] = entry._replace(value=value, is_text=False)
        else:
            add_unknown_name(problems, entry.context, "key", key, classes[section].model_fields)
    for list_key in TABLE_FILE_COLUMNS:
        if list_key not in accepted or not isinstance(accepted[list_key].value, str):
            continue
        entry = accepted.pop(list_key)
        try:
            accepted[list_key] = read_tables(entry, list_key)
        except ConfigError as error:
            problems += [f"{entry.context}: {line}" for line in error.problems]
    for section, first, second in EXCLUSIVE_KEYS:
        both = [accepted[section, key] for key in (first, second) if (section, key) in accepted]
        if len(both) == 2 and None not in (both[0].value, both[1].value):
            problems.append(f"{both[1].context}: give {first} or {second}, not both")
        if both:
            remove_keys(merged, section, first, second)
    resize_grid(merged, accepted)
    run_before = {key: entry.value for (section, key), entry in merged.items() if section == "run"}
    run_after = run_before | {key: entry.value for (section, key), entry in accepted.items() if section == "run"}
    run_defaults = {key: field.default for key, field in RunOptions.model_fields.items()}
    remove_keys(merged, "run", *keys_to_reset(run_defaults | run_before, run_defaults | run_after))
    merged.update(accepted)
    return problems


def resize_grid(merged: ConfigLayer, accepted: ConfigLayer) -> None:
    """Remove keys from `merged` that keys of the grid in `accepted` replace.

    If `accepted` has the cell size and the end along an axis, but not the number of cells, the number is added.
    """
    if GRID_KIND_KEY in accepted:
        grid_kind = accepted[GRID_KIND_KEY].value
        remove_keys(merged, "grid", *(key for kind, keys in KEYS_BY_KIND.items() if kind != grid_kind for key in keys))
        kind_before = (
            merged[GRID_KIND_KEY].value if GRID_KIND_KEY in merged else GridOptions.model_fields["kind"].default
        )
        if (kind_before, grid_kind) == ("plane", "latlon"):
            remove_keys(merged, "physics", *CORIOLIS_KEYS)
    if GRID_CRS_KEY in accepted and GRID_CRS_KEY not in merged:
        remove_keys(merged, "physics", *CORIOLIS_KEYS)
        remove_keys(merged, "grid", "origin")
    for extent in (extent for extents in EXTENT_KEYS.values() for extent in extents):
        both = [accepted["grid", key] for key in (extent.size, extent.end) if ("grid", key) in accepted]
        if any(each.value is not None for each in both):
            remove_keys(merged, "grid", extent.size, extent.end)
        if len(both) == 2 and ("grid", extent.cells) not in accepted:
            start = (merged | accepted).get(("grid", extent.start))
            cells = cells_between(both[0].value, both[1].value, start.value if start else 0.0)
            accepted |= {("grid", extent.cells): both[0]._replace(value=cells)} if cells else {}


def remove_keys(merged: ConfigLayer, section: str, *keys: str) -> None:
    for key in keys:
        merged.pop((section, key), None)


def has_surrogates(text: str) -> bool:
    """Whether a text has surrogates, with which Python represents bytes of the command line that are not UTF-8."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def convert_by_key(section_and_key: tuple[str, str], entry: ConfigValue) -> Any:
    """As `convert`, for (section, key); if there is no such key, the value is unchanged."""
    section, key = section_and_key
    field = section_class(section).model_fields.get(key)
    return convert(entry, section, field) if field else entry.value


def convert(entry: ConfigValue, section: str, field) -> Any:
    """The value in the type of the field: texts are parsed, lists become tuples, and file names absolute paths."""
    type_of_field, allows_none = base_type(field.annotation)
    value = entry.value.tolist() if hasattr(entry.value, "tolist") else entry.value  # NumPy
    if allows_none and value == "none":
        return None
    if entry.is_text:
        parsed, types_of_elements = parse_value(value), element_types(field.annotation)
        holds_tables = bool(table_classes(field.annotation))
        if type_of_field is tuple and not isinstance(parsed, list) and not holds_tables:
            words = parsed if isinstance(parsed, str) else value
            value = [word.strip() for word in words.split(",") if word.strip()]
            value = [parse_value(word) for word in value] if {int, float} & set(types_of_elements) else value
        elif type_of_field is not str or isinstance(parsed, str):
            value = parsed
    is_file = field.json_schema_extra["unit"] == "file"
    if type_of_field is tuple and isinstance(value, list | tuple):
        file_keys = file_keys_of_tables(field.annotation)
        tables = (with_absolute_paths(each, file_keys, entry) if isinstance(each, dict) else each for each in value)
        return tuple(absolute_path(each, entry) if is_file and each else each for each in tables)
    if type_of_field is int and isinstance(value, float) and value.is_integer():
        return int(value)
    is_file = is_file or section == "input"
    return absolute_path(value, entry) if is_file and field.annotation is str and value else value


def file_keys_of_tables(annotation: Any) -> list[str]:
    """The keys that name files in the tables of a list of tables."""
    fields = [item for table in table_classes(annotation) for item in table.model_fields.items()]
    return [key for key, field in fields if unit_of(field) == "file"]


def table_classes(annotation: Any) -> list[type[Section]]:
    """The classes of the tables in a list of tables; none for other values."""
    return [each for each in element_types(annotation) if isinstance(each, type) and issubclass(each, Section)]


def with_absolute_paths(table: dict, keys: list[str], entry: ConfigValue) -> dict:
    return table | {key: absolute_path(table[key], entry) for key in keys if table.get(key)}


def absolute_path(value: Any, entry: ConfigValue) -> Any:
    return os.path.abspath(entry.folder / value) if isinstance(value, str) else value


def problem_line(detail: Mapping, cls: type[Section], values: Mapping[str, ConfigValue], section: str) -> str:
    """The message about an error of pydantic: the context of the value and what is wrong with it."""
    key, *inner = detail["loc"]
    context, field = values[key].context if key in values else f"{section}.{key}", cls.model_fields[str(key)]
    if len(inner) > 1 and typing.get_origin(field.annotation) is tuple:  # a key in a list of tables
        number, name, table = inner[0], str(inner[1]), typing.get_args(field.annotation)[0]
        tables = values[key].table_contexts if key in values else ()
        context = f"{tables[number] if tables else f'{context}, number {number + 1}'}, {name}"
        if name not in table.model_fields:
            return f"{context}: no such key; {suggest(name, table.model_fields)}"
        if detail["type"] == "missing":
            return f"{context}: must be given: {table.model_fields[name].description}"
        field = table.model_fields[name]
    return f"{context}: {describe_mistake(detail, field)}"
