"""Make one checked `Config` from a case or a TOML file, environment variables and overrides."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ... import cases
from ...errors import ConfigError, suggest
from ...ocean.terms.tracer import TracerOptions
from ...ocean.user_term import UserTerm
from ...setup.fields.formula import FIELD_SIGNATURE, parameter_names, term_function_names
from ..options.case import Case, case_name
from ..options.input import input_class
from ..options.model import Config, section_class
from ..options.output import output_class
from ..options.physics import RESERVED_NAMES
from . import from_files
from .case_file import IDENTITY_KEYS, case_from_table, find_case, is_case
from .merge import ConfigSources, convert_by_key, merge
from .sources import (
    ConfigLayer,
    ConfigValue,
    layer_from_environment,
    layer_from_file,
    layer_from_mapping,
    layer_from_overrides,
)
from .toml import to_toml

#: What a configuration can be loaded from; see `load`.
Source: TypeAlias = str | os.PathLike[str] | Case | type[Case] | Config
#: Overrides: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
Overrides: TypeAlias = Mapping[str, Any] | Iterable[str]

#: The key of the tables of tracers.
TRACERS_KEY = ("physics", "tracers")
#: Names of the sections, in the order in which they are written.
SECTION_NAMES = tuple(Config.model_fields)


def load(
    source: Source = "jet",
    overrides: Overrides = (),
    environ: Mapping[str, str] | None = None,
    has_all_options: bool = False,
    fields: Mapping[str, Any] | None = None,
    terms: Iterable[UserTerm] = (),
) -> Config:
    """The configuration of a run: defaults < case < file < environment < overrides < fields.

    Args:
        source: name, class or object of a case, path of a file, or a Config. A Python file defines a case, and is
            executed. A TOML file names its case by `case.name` or `case.file`.
        overrides: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
        environ: variables SWMODEL_<SECTION>_<KEY>; those of the process if None. A Config ignores them.
        has_all_options: whether the source has all options of a run. An option that it lacks is newer than the source,
            and gets the default of the model, not that of the case.
        fields: {"eta": ...}, fields of `ocean.table` and of terms. Each is a function of the points, a number, an array
            [ny, nx] of NumPy or a DataArray of xarray (docs/python.md), and excludes a file of this field in [input].
        terms: functions of (state, grid, t, ...) that return a dict of tendencies, Terms or Parametric.

    Raises:
        ConfigError: with all problems of the configuration.
    """
    config = merge(gather_sources(source, overrides, environ), has_all_options)
    if fields or terms or config.python.terms or term_function_names(type(config.case)):
        from ...setup.setup import setup_of
        from .python_inputs import add_python_inputs
        from .user_terms import check_terms

        config = add_python_inputs(config, fields, terms)
        check_terms(setup_of(config))
    return config


def is_unloaded_source(value) -> bool:
    """Whether a value is a name, a path or a case, which `load` has yet to turn into a configuration."""
    return isinstance(value, str | os.PathLike) or is_case(value)


def gather_sources(source, overrides=(), environ=None) -> ConfigSources:
    """The ConfigSources of a configuration; see `load`. ConfigError: `source` is missing or cannot be read."""
    problems: list[str] = []
    python_options = source.python if isinstance(source, Config) else None
    variables = {} if python_options is not None else os.environ if environ is None else environ
    classes = {section: section_class(section) for section in SECTION_NAMES}
    known_keys = [(section, key) for section in SECTION_NAMES for key in classes[section].model_fields]
    layers = [
        layer_from_source(source, problems),
        layer_from_environment(variables, SECTION_NAMES),
        layer_from_overrides(overrides, known_keys, problems),
    ]
    try:
        case, case_layer = find_case(layers)
    except ConfigError as error:
        layers_without_case = [{key: entry for key, entry in layer.items() if key[0] != "case"} for layer in layers]
        return ConfigSources([{}, *layers_without_case], Case, classes, [*problems, *error.problems])
    layers = [layer_from_mapping(case.defaults, f"case {case_name(case)}"), case_layer, *layers]
    layers = from_files.expand_files(layers, convert_by_key, problems)
    tracers = tracer_names(layers)
    for name in tracers:
        if name in case.model_fields or (
            hasattr(case, name) and parameter_names(getattr(case, name)) != FIELD_SIGNATURE
        ):
            problems.append(
                f'physics.tracers: "{name}" has another meaning in the case {case_name(case)}; choose another name'
            )
    classes |= {"case": case, "input": input_class(tracers), "output": output_class(tracers)}
    return ConfigSources(layers, case, classes, problems, python_options)


def tracer_names(layers: Iterable[ConfigLayer]) -> tuple[str, ...]:
    """The valid names of tracers in the last layer that has any; the checks of their tables refuse other names."""
    values = [convert_by_key(TRACERS_KEY, layer[TRACERS_KEY]) for layer in layers if TRACERS_KEY in layer]
    tables = values[-1] if values and isinstance(values[-1], tuple) else ()
    names = [dict(table).get("name") for table in tables if isinstance(table, Mapping | TracerOptions)]
    return tuple(name for name in names if isinstance(name, str) and name.isalnum() and name not in RESERVED_NAMES)


def from_toml(text: str, case: type[Case] | str | None = None, terms: Iterable = ()) -> Config:
    """The configuration that `to_toml` has written, without environment variables and files.

    Args:
        case: text of the file of a user's case, or its class. The class `Case` leaves out the options of the case and
            the terms from Python.
        terms: terms from Python; see `load`.

    Raises:
        ConfigError: the text has unknown options of another version, its case or a term is missing, or `case` is the
            text of another case.
    """
    tables = tomllib.loads(text)
    case_table = tables["case"]
    if case is None or isinstance(case, str):
        case = case_from_table(case_table, case)
    tables["case"] = {key: case_table[key] for key in case_table if key not in IDENTITY_KEYS and case is not Case}
    if case is Case:
        tables.get("python", {}).pop("terms", None)
    values = {f"{section}.{key}": value for section, options in tables.items() for key, value in options.items()}
    return load(case, values, environ={}, has_all_options=True, terms=terms)


def layer_from_source(source, problems: list[str]) -> ConfigLayer:
    """The layer of a source of `load`; the layer of a case or of its file contains only the case."""
    if isinstance(source, Config):
        return layer_from_config(source)
    if is_case(source):
        return {("case", "file"): ConfigValue(source, "case")}
    path = Path(source)
    if str(source) in cases.names():
        return {("case", "name"): ConfigValue(str(source), str(source))}
    if path.suffix == ".py":
        return {("case", "file"): ConfigValue(str(source), "")}
    if path.suffix != ".toml" and len(path.parts) == 1 and not os.path.lexists(path):
        raise ConfigError([f"{source}: there is no case or file of this name; {suggest(str(source), cases.names())}"])
    return layer_from_file(path, problems)


def layer_from_config(config: Config) -> ConfigLayer:
    """The layer of a configuration; fields and terms from Python appear by their names."""
    tables = tomllib.loads(to_toml(config))
    tables["case"] = {key: tables["case"][key] for key in tables["case"] if key not in IDENTITY_KEYS}
    tables["python"] |= {key: [text.split()[0] for text in tables["python"][key]] for key in ("fields", "terms")}
    return layer_from_mapping(tables, "the configuration") | {("case", "file"): ConfigValue(type(config.case), "case")}
