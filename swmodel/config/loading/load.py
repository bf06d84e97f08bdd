"""From a case or a TOML file, environment variables and overrides to one checked `Config`."""

from __future__ import annotations

import os
import tomllib
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from ... import cases
from ...ocean.own_term import OwnTerm
from ..errors import ConfigError, suggest, unknown
from ..messages import describe_mistake, elements, kind
from ..options.case_check import terms_in
from ..options.grid import CORIOLIS, EXTENTS, KEYS_OF, Grid
from ..options.model import ALTERNATIVES, Case, Config, Own, Run, Section, name_of, outdated, section_class
from .find_case import IDENTITY, case_of, find_case, is_case, take_identity
from .grid_from_file import expanded
from .sources import Given, Layer, from_environment, from_mapping, from_overrides, read_file, read_text
from .toml import to_toml

#: What `load` makes a configuration of.
Source: TypeAlias = str | os.PathLike[str] | Case | type[Case] | Config
#: What differs from it: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
Overrides: TypeAlias = Mapping[str, Any] | Iterable[str]

#: Names of the sections, in the order in which they are written.
SECTIONS = tuple(Config.model_fields)

KIND = "grid", "kind"


def load(
    source: Source = "jet",
    overrides: Overrides = (),
    environ: Mapping[str, str] | None = None,
    complete: bool = False,
    fields: Mapping[str, Any] | None = None,
    terms: Iterable[OwnTerm] = (),
) -> Config:
    """The configuration of a run: defaults < case < file < environment < overrides < fields.

    Args:
        source: name of a case; path of a user's own case, a Python file, which is executed; a case as class or object;
            path of a TOML file, which names the case that it starts from by `case.name` or `case.file`; or a Config.
        overrides: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
        environ: variables SWMODEL_<SECTION>_<KEY>; those of the process if None. For a Config they play no part.
        complete: the source has the options of a run. One that it lacks was not known to the version that wrote it, and
            has the default of the model, not that of the case.
        fields: {"eta": ...}: fields of the table, and those that terms ask for; functions of the points, numbers,
            arrays [ny, nx] of NumPy, or DataArrays of xarray (docs/python.md).
        terms: functions of (state, grid, t, ...) to a dict of tendencies; Terms; or Parametric.

    Raises:
        ConfigError: with everything that is wrong at once.
    """
    config = merge(gather(source, overrides, environ), complete)
    if fields or terms or config.own.terms or terms_in(type(config.case)):
        from .hand_over import check_terms, hand_over

        config = hand_over(config, fields, terms)
        check_terms(config)
    return config


def merge(sources: Sources, complete: bool = False) -> Config:
    """The configuration that Sources make together; see `load`.

    Raises:
        ConfigError: with everything that is wrong at once.
    """
    layers, case, classes, problems = sources[:4]
    layers = layers[1:] if complete and case is not None else layers
    merged: dict[tuple[str, str], Given] = {}
    for layer in layers:
        problems = problems + add_layer(merged, layer, classes, case is not None)
    sections: dict[str, Any] = {}
    for section, cls in classes.items():
        values = {key: given for (at, key), given in merged.items() if at == section}
        try:
            sections[section] = cls(**{key: given.value for key, given in values.items()})
        except ValidationError as error:
            if section != "case" or case is not None:
                problems += [complaint(detail, cls, values, section) for detail in error.errors()]
    if isinstance(grid := sections.get("grid"), Grid):
        wrong = grid.contradictions()
        places = {key: given.place for (section, key), given in merged.items() if section == "grid"}
        problems += [f"{places.get(key, f'grid.{key}')}: {words}" for key, words in wrong.items()]
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    own = sections["own"]
    own._sources, own._terms, own._parameters = sources.own
    try:
        return Config(**sections)
    except ValidationError as error:  # sections that are right, and do not go together
        kind_of_grid = sections["grid"].kind
        known = f"; for {kind_of_grid} there are {', '.join(made_for(kind_of_grid))}: case.name"
        raise ConfigError([f"{detail['ctx']['error']}{known}" for detail in error.errors()]) from None


def made_for(kind: str) -> list[str]:
    """Names of the cases whose formulas are made for a kind of grid."""
    return [name for name in cases.names() if kind in cases.get(name).kinds]


def is_source(value) -> bool:
    """Whether `load` makes a configuration of this: of a name, a path, or a case."""
    return isinstance(value, str | os.PathLike) or is_case(value)


class Sources(NamedTuple):
    """All that a configuration is made from.

    Attributes:
        layers: what each source gives, the case first; a later one overrides those before.
        case: its class, None where there is none as named.
        classes: {section: its class}.
        problems: what is wrong so far.
        own: fields and terms that were handed over (`model.Own`).
    """

    layers: list[Layer]
    case: type[Case] | None
    classes: dict[str, type[Section]]
    problems: list[str]
    own: tuple[dict, tuple, dict] = ({}, (), {})


def gather(source, overrides=(), environ=None) -> Sources:
    """The Sources of a configuration; see `load`.

    Raises:
        ConfigError: there is no such case or file.
    """
    if isinstance(source, Config):
        environ = {}
    environment = from_environment(os.environ if environ is None else environ, SECTIONS)
    known = [(section, key) for section in SECTIONS for key in section_class(section).model_fields]
    layers = [read_source(source), environment, from_overrides(overrides, known)]
    problems = [problem for layer in layers for problem in layer.problems]
    classes = {section: section_class(section) for section in SECTIONS}
    try:
        case, of_case = find_case(take_identity(layers), options_in(layers))
    except ConfigError as error:
        return Sources(layers, None, classes, [*problems, *error.problems])
    classes["case"] = case
    layers = [from_mapping(case.defaults, f"case {name_of(case)}"), of_case, *layers]
    layers, wrong = expanded(layers, lambda key, given: convert(given, "grid", Grid.model_fields[key]))
    problems += wrong
    if not isinstance(source, Config):
        return Sources(layers, case, classes, problems)
    own = source.own
    return Sources(layers, case, classes, problems, (own._sources, own._terms, own._parameters))


def options_in(layers: Iterable[Layer]) -> dict[str, Any]:
    """The values of the options of the case in layers, by key."""
    return {key: given.value for layer in layers for (section, key), given in layer.values.items() if section == "case"}


def from_toml(text: str, case: type[Case] | str | None = None, terms: Iterable = ()) -> Config:
    """The configuration that `to_toml` has written; no environment, no file.

    Args:
        case: where the text says that the case is a user's own: the text of its file, or its class. `Case` itself: the
            case plays no part, and its options are left out, as are terms that were handed over.
        terms: that were handed over; see `load`.

    Raises:
        ConfigError: another version of the program has written it, with options that are not known here; or the case or
            a term is not there, or the case is not the one of the text.
    """
    tables = tomllib.loads(text)
    of_case = tables["case"]
    if case is None or isinstance(case, str):
        case = case_of(of_case, case)
    tables["case"] = {key: of_case[key] for key in of_case if key not in IDENTITY and case is not Case}
    if case is Case:
        tables.get("own", {}).pop("terms", None)
    values = {f"{section}.{key}": value for section, options in tables.items() for key, value in options.items()}
    return load(case, values, environ={}, complete=True, terms=terms)


def read_source(source) -> Layer:
    """The layer of what `load` is given; of a case or its file alone it has only that."""
    if isinstance(source, Config):
        return whole(source)
    if is_case(source):
        return Layer({("case", "file"): Given(source, "case", Path())}, [])
    path = Path(source)
    if str(source) in cases.names():
        return Layer({("case", "name"): Given(str(source), str(source), Path())}, [])
    if path.suffix == ".py":
        return Layer({("case", "file"): Given(str(source), "", Path())}, [])
    if path.suffix != ".toml" and len(path.parts) == 1 and not os.path.lexists(path):
        raise ConfigError([f"{source}: there is no case or file of this name; {suggest(str(source), cases.names())}"])
    file = read_file(path, SECTIONS)
    if not file.values and not file.problems:
        raise ConfigError([f"{path}: is empty; `swmodel init CASE > {path}` writes a configuration to start from"])
    return file


def whole(config: Config) -> Layer:
    """The layer of a configuration; of what was handed over it has the names."""
    tables = tomllib.loads(to_toml(config))
    tables["case"] = {key: tables["case"][key] for key in tables["case"] if key not in IDENTITY}
    tables["own"] = {key: [text.split()[0] for text in getattr(config.own, key)] for key in Own.model_fields}
    layer = from_mapping(tables, "the configuration")
    layer.values["case", "file"] = Given(type(config.case), "case", Path())
    return layer


def add_layer(merged: dict, layer: Layer, classes: dict[str, type[Section]], case_known: bool) -> list[str]:
    """Put a layer on top of `merged`, where its alternatives replace those below; what is wrong with its names."""
    problems: list[str] = []
    accepted: dict[tuple[str, str], Given] = {}
    for (section, key), given in layer.values.items():
        if section not in classes:
            unknown(problems, given.place, "section", section, classes)
        elif key not in classes[section].model_fields:
            if section != "case" or case_known:
                unknown(problems, given.place, "key", key, classes[section].model_fields)
        else:
            accepted[section, key] = given._replace(value=convert(given, section, classes[section].model_fields[key]))
    for section, first, second in ALTERNATIVES:
        both = [accepted[section, key] for key in (first, second) if (section, key) in accepted]
        if len(both) == 2 and None not in (both[0].value, both[1].value):
            problems.append(f"{both[1].place}: give {first} or {second}, not both")
        if both:
            forget(merged, section, first, second)
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
    take_back_layout(merged, accepted)
    merged.update(accepted)
    return problems


def forget(merged: dict, section: str, *keys: str):
    """Remove keys of a section that others replace."""
    for key in keys:
        merged.pop((section, key), None)


def take_back_layout(merged: dict, accepted: Mapping[tuple[str, str], Given]):
    """Remove what was chosen for other processes and devices than those that are accepted: `model.outdated`."""
    if ("run", "layout") not in merged:
        return
    defaults = {key: field.default for key, field in Run.model_fields.items()}
    before = defaults | {key: given.value for (section, key), given in merged.items() if section == "run"}
    after = before | {key: given.value for (section, key), given in accepted.items() if section == "run"}
    if not all(isinstance(run[key], int) for run in (before, after) for key in ("nproc", "devices")):
        return
    for key in outdated(before, after):
        merged.pop(("run", key), None)


def convert(given: Given, section: str, field) -> Any:
    """The value as Python wants it for the field: texts read, lists made tuples, file names made absolute."""
    base, optional = kind(field.annotation)
    value = given.value.tolist() if hasattr(given.value, "tolist") else given.value  # NumPy
    if optional and value == "none":
        return None
    if given.is_text:
        parsed = read_text(value)
        if base is tuple:
            words = parsed if isinstance(parsed, str) else value
            listed = [word.strip() for word in words.split(",") if word.strip()]
            if {int, float} & set(elements(field.annotation)):
                listed = [read_text(word) for word in listed]
            value = parsed if isinstance(parsed, list) else listed
        elif base is not str or isinstance(parsed, str):
            value = parsed
    if base is tuple and isinstance(value, list):
        return tuple(value)
    if base is int and isinstance(value, float) and value.is_integer():
        return int(value)
    is_file = section in ("input", "assimilation") or (field.json_schema_extra or {}).get("unit") == "file"
    if is_file and field.annotation is str and isinstance(value, str) and value:
        return os.path.abspath(given.folder / value)
    return value


def complaint(detail: Mapping, cls: type[Section], values: Mapping[str, Given], section: str) -> str:
    """The line about one value that pydantic refuses: where it was given, and what is wrong with it."""
    key, *inner = detail["loc"]
    place, field = values[key].place if key in values else f"{section}.{key}", cls.model_fields[str(key)]
    if len(inner) > 1 and typing.get_origin(field.annotation) is tuple:  # a key of a table in a list of them
        number, name, table = inner[0], str(inner[1]), typing.get_args(field.annotation)[0]
        tables = values[key].tables if key in values else ()
        place = f"{tables[number] if tables else f'{place}, number {number + 1}'}, {name}"
        if name not in table.model_fields:
            return f"{place}: there is no such key; {suggest(name, table.model_fields)}"
        if detail["type"] == "missing":
            return f"{place}: must be given: {table.model_fields[name].description}"
        field = table.model_fields[name]
    return f"{place}: {describe_mistake(detail, field)}"
