"""From a case or a TOML file, environment variables and overrides to one checked `Config`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ... import cases
from ...errors import ConfigError, suggest
from ...ocean.own_term import OwnTerm
from ...ocean.terms.tracer import Tracer
from ...setup.fields.formula import SIGNATURE, parameters, terms_in
from ..options.case import Case, name_of
from ..options.input import with_files
from ..options.model import Config, section_class
from ..options.output import with_fields
from ..options.physics import TAKEN
from . import from_files
from .case_file import IDENTITY, case_of, find_case, is_case
from .merge import Sources, merge, value_of
from .sources import Given, Layer, from_environment, from_mapping, from_overrides, read_file
from .toml import to_toml

#: The sources of a configuration, see `load`.
Source: TypeAlias = str | os.PathLike[str] | Case | type[Case] | Config
#: Overrides: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
Overrides: TypeAlias = Mapping[str, Any] | Iterable[str]

#: The key of the tables of tracers.
TRACERS = ("physics", "tracers")
#: Names of the sections, in the order in which they are written.
SECTIONS = tuple(Config.model_fields)


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
        source: name, class or object of a case, path of a file, or a Config. A Python file has a case, and is
            executed. A TOML file names its case by `case.name` or `case.file`.
        overrides: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
        environ: variables SWMODEL_<SECTION>_<KEY>; those of the process if None. A Config ignores them.
        complete: the source has all options of a run. An option that it lacks is newer than the source, and has the
            default of the model, not that of the case.
        fields: {"eta": ...}, fields of the table and of terms. Each is a function of the points, a number, an array
            [ny, nx] of NumPy or a DataArray of xarray (docs/python.md).
        terms: functions of (state, grid, t, ...) that return a dict of tendencies, Terms or Parametric.

    Raises:
        ConfigError: with all problems of the configuration.
    """
    config = merge(gather(source, overrides, environ), complete)
    if fields or terms or config.python.terms or terms_in(type(config.case)):
        from ...setup.setup import setup_of
        from .own_terms import check_terms
        from .python_inputs import python_inputs

        config = python_inputs(config, fields, terms)
        check_terms(setup_of(config))
    return config


def is_source(value) -> bool:
    """Whether this is a name, a path or a case, from which `load` makes a configuration."""
    return isinstance(value, str | os.PathLike) or is_case(value)


def gather(source, overrides=(), environ=None) -> Sources:
    """The Sources of a configuration; see `load`. ConfigError: there is no such case or file."""
    problems: list[str] = []
    python = source.python if isinstance(source, Config) else None
    variables = {} if python is not None else os.environ if environ is None else environ
    classes = {section: section_class(section) for section in SECTIONS}
    known = [(section, key) for section in SECTIONS for key in classes[section].model_fields]
    layers = [
        read_source(source, problems),
        from_environment(variables, SECTIONS),
        from_overrides(overrides, known, problems),
    ]
    try:
        case, of_case = find_case(layers)
    except ConfigError as error:
        known_keys = [{at: given for at, given in layer.items() if at[0] != "case"} for layer in layers]
        return Sources([{}, *known_keys], Case, classes, [*problems, *error.problems])
    layers = [from_mapping(case.defaults, f"case {name_of(case)}"), of_case, *layers]
    layers = from_files.expanded(layers, value_of, problems)
    tracers = tracers_in(layers)
    for name in tracers:
        if name in case.model_fields or (hasattr(case, name) and parameters(getattr(case, name)) != SIGNATURE):
            problems.append(
                f'physics.tracers: "{name}" has another meaning in the case {name_of(case)}; choose another name'
            )
    classes |= {"case": case, "input": with_files(tracers), "output": with_fields(tracers)}
    return Sources(layers, case, classes, problems, python)


def tracers_in(layers: Iterable[Layer]) -> tuple[str, ...]:
    """The valid names of tracers; the checks of their tables refuse others."""
    given = [value_of(TRACERS, layer[TRACERS]) for layer in layers if TRACERS in layer]
    tables = given[-1] if given and isinstance(given[-1], tuple) else ()
    names = [dict(table).get("name") for table in tables if isinstance(table, Mapping | Tracer)]
    return tuple(name for name in names if isinstance(name, str) and name.isalnum() and name not in TAKEN)


def from_toml(text: str, case: type[Case] | str | None = None, terms: Iterable = ()) -> Config:
    """The configuration that `to_toml` has written; no environment, no file.

    Args:
        case: text of the file of a user's case, or its class. The class `Case` leaves out the options of the case and
            the terms from Python.
        terms: terms from Python; see `load`.

    Raises:
        ConfigError: the text has unknown options of another version, its case or a term is missing, or `case` is
            another one.
    """
    tables = tomllib.loads(text)
    of_case = tables["case"]
    if case is None or isinstance(case, str):
        case = case_of(of_case, case)
    tables["case"] = {key: of_case[key] for key in of_case if key not in IDENTITY and case is not Case}
    if case is Case:
        for section in ("python", "own"):
            tables.get(section, {}).pop("terms", None)
    values = {f"{section}.{key}": value for section, options in tables.items() for key, value in options.items()}
    return load(case, values, environ={}, complete=True, terms=terms)


def read_source(source, problems: list[str]) -> Layer:
    """The layer of a source of `load`; a case or its file gives only the case."""
    if isinstance(source, Config):
        return whole(source)
    if is_case(source):
        return {("case", "file"): Given(source, "case")}
    path = Path(source)
    if str(source) in cases.names():
        return {("case", "name"): Given(str(source), str(source))}
    if path.suffix == ".py":
        return {("case", "file"): Given(str(source), "")}
    if path.suffix != ".toml" and len(path.parts) == 1 and not os.path.lexists(path):
        raise ConfigError([f"{source}: there is no case or file of this name; {suggest(str(source), cases.names())}"])
    return read_file(path, problems)


def whole(config: Config) -> Layer:
    """The layer of a configuration; fields and terms from Python appear by their names."""
    tables = tomllib.loads(to_toml(config))
    tables["case"] = {key: tables["case"][key] for key in tables["case"] if key not in IDENTITY}
    tables["python"] |= {key: [text.split()[0] for text in tables["python"][key]] for key in ("fields", "terms")}
    return from_mapping(tables, "the configuration") | {("case", "file"): Given(type(config.case), "case")}
