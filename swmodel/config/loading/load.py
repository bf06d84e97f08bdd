"""From a case or a TOML file, environment variables and overrides to one checked `Config`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ... import cases
from ...errors import ConfigError, suggest
from ...ocean.own_term import OwnTerm
from ...ocean.terms.tracer import Tracer
from ...setup.fields.formula import SIGNATURE, parameters, terms_in
from ..options.case import Case, name_of
from ..options.grid import Grid
from ..options.input import with_files
from ..options.model import Config, section_class
from ..options.output import with_fields
from ..options.physics import TAKEN, Physics
from . import grid_from_file, older, tide_from_file
from .find_case import IDENTITY, case_of, find_case, is_case, take_identity
from .merge import Sources, convert, merge
from .sources import Given, Layer, from_environment, from_mapping, from_overrides, read_file
from .toml import to_toml

#: What `load` makes a configuration of.
Source: TypeAlias = str | os.PathLike[str] | Case | type[Case] | Config
#: What differs from it: {"grid.nx": 90, ...} or ["grid.nx=90", ...].
Overrides: TypeAlias = Mapping[str, Any] | Iterable[str]

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
    if fields or terms or config.python.terms or terms_in(type(config.case)):
        from ...setup.setup import setup_of
        from .python_inputs import check_terms, python_inputs

        config = python_inputs(config, fields, terms)
        check_terms(setup_of(config))
    return config


def is_source(value) -> bool:
    """Whether this is a name, a path or a case, of which `load` makes a configuration."""
    return isinstance(value, str | os.PathLike) or is_case(value)


def gather(source, overrides=(), environ=None) -> Sources:
    """The Sources of a configuration; see `load`.

    Raises:
        ConfigError: there is no such case or file.
    """
    if isinstance(source, Config):
        environ = {}
    environment = from_environment(os.environ if environ is None else environ, (*SECTIONS, *older.READ))
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
    layers, wrong = grid_from_file.expanded(layers, lambda key, given: convert(given, "grid", Grid.model_fields[key]))
    layers, more = tide_from_file.expanded(layers)
    layers, old = older.expanded(layers, value_of, quiet=isinstance(source, Config))
    tracers = tracers_in(layers)
    classes |= {"input": with_files(tracers), "output": with_fields(tracers)}
    problems += [*wrong, *more, *old, *name_problems(tracers, case)]
    if not isinstance(source, Config):
        return Sources(layers, case, classes, problems)
    python = source.python
    return Sources(layers, case, classes, problems, (python._sources, python._terms, python._parameters))


def value_of(at: tuple[str, str], given: Given) -> Any:
    """The value of a key, as Python wants it."""
    section, key = at
    return convert(given, section, section_class(section).model_fields[key])


def tracers_in(layers: Iterable[Layer]) -> tuple[str, ...]:
    """The names of the tracers, as far as they can be names; others are refused with their tables."""
    given = [layer.values[older.TRACERS] for layer in layers if older.TRACERS in layer.values]
    tables = convert(given[-1], "physics", Physics.model_fields["tracers"]) if given else ()
    each = tables if isinstance(tables, tuple) else ()
    names = [dict(table).get("name") for table in each if isinstance(table, Mapping | Tracer)]
    return tuple(name for name in names if isinstance(name, str) and name.isalnum() and name not in TAKEN)


def name_problems(tracers: Iterable[str], case: type[Case]) -> Iterator[str]:
    """Tracers whose names stand for something else in the case."""
    for name in tracers:
        if name in case.model_fields or (hasattr(case, name) and parameters(getattr(case, name)) != SIGNATURE):
            yield f'physics.tracers: "{name}" stands for something else in the case {name_of(case)}; take another name'


def options_in(layers: Iterable[Layer]) -> dict[str, Any]:
    """The values of the options of the case in layers, by key."""
    return {key: given.value for layer in layers for (section, key), given in layer.values.items() if section == "case"}


def from_toml(text: str, case: type[Case] | str | None = None, terms: Iterable = ()) -> Config:
    """The configuration that `to_toml` has written; no environment, no file.

    Args:
        case: where the text says that the case is a user's own: the text of its file, or its class. `Case` itself: the
            case plays no part, and its options are left out, as are terms given in Python.
        terms: given in Python; see `load`.

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
        for section in ("python", *older.RENAMED):
            tables.get(section, {}).pop("terms", None)
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
    file = read_file(path, (*SECTIONS, *older.READ))
    if not file.values and not file.problems:
        raise ConfigError([f"{path}: is empty; `swmodel init CASE > {path}` writes a configuration to start from"])
    return file


def whole(config: Config) -> Layer:
    """The layer of a configuration; of what was given in Python it has the names."""
    tables = tomllib.loads(to_toml(config))
    tables["case"] = {key: tables["case"][key] for key in tables["case"] if key not in IDENTITY}
    tables["python"] = {key: [text.split()[0] for text in getattr(config.python, key)] for key in ("fields", "terms")}
    tables["python"]["calls"] = list(config.python.calls)
    layer = from_mapping(tables, "the configuration")
    layer.values["case", "file"] = Given(type(config.case), "case", Path())
    return layer
