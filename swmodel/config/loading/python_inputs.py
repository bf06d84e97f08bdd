"""Check fields and terms from Python, and record their checksums.

The functions of a case that is a Python class or object without a file are recorded in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import cases
from ...errors import ConfigError, UsageError, suggest
from ...ocean.elements import array_of, index_of
from ...ocean.parametric import Parametric
from ...ocean.table import variable_in_run
from ...ocean.terms.boundary_data import PARTS, input_file_of, is_in_case
from ...ocean.user_term import make_user_term
from ...setup.fields.field_sources import PythonField, index_in_array, raise_missing_field
from ...setup.fields.formula import is_time_varying_field
from ...setup.fields.python_fields import (
    LocalArray,
    case_terms,
    field_names,
    python_field,
    user_coefficients,
    with_python_inputs,
)
from ...setup.fields.record_notes import IN_TIME_LABEL, field_checksum
from ...setup.setup import Setup
from .case_file import recorded_case
from .user_terms import term_checksum

if TYPE_CHECKING:
    from ..options.model import Config


def add_python_inputs(config: Config, fields: Mapping | None = None, terms: Iterable = ()):
    """The configuration with additional fields and terms from Python. ConfigError: some of them cannot be used.

    Args:
        fields: {name: function of the points, number, array or DataArray}; see `fields.python_fields.python_field`.
        terms: functions of (state, grid, t, *coefficients), Terms, or Parametric; see `ocean.user_term`.
    """
    fields = {} if fields is None else fields
    if not isinstance(fields, Mapping):
        raise ConfigError([f'fields: {fields!r:.60} is not a dict such as {{"eta": function}}'])
    if callable(terms) or not isinstance(terms, Iterable):
        raise ConfigError([f"terms: {terms!r:.60} is not a list such as [function]"])
    python, problems, new_terms, parameters = config.python, [], [], dict(config.python._parameters)
    for each in terms:
        try:
            new_terms.append(make_user_term(each))
        except UsageError as error:
            problems.append(str(error))
        else:
            if isinstance(each, Parametric):
                name, layout = new_terms[-1].name, new_terms[-1].parameters
                parameters[name] = layout.to_vector(name, each.parameters, np, np.float64)
    new_fields = {}
    variables = {
        **{name: variable_in_run(name, config.physics) for name in field_names(config)},
        **user_coefficients([*case_terms(config), *new_terms]),
    }
    for array_name, value in fields.items():
        names = [name for name in variables if array_name == array_of(name)]
        if not names:
            known_names = dict.fromkeys(map(array_of, variables))
            problems.append(f"fields: no field {array_name}; {suggest(str(array_name), known_names)}")
        if any(input_file_of(config, name) for name in names):
            problems.append(f"fields: {array_name}: input.{array_name} also names a file; give one of the two")
        try:
            for name, element in array_elements(config, array_name, value, names):
                new_fields[name] = python_field(element, variables[name], config.grid)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    field_entries = {entry.split()[0]: entry for entry in python.fields} | {name: name for name in new_fields}
    term_entries = {entry.split()[0]: entry for entry in python.terms} | {term.name: term.name for term in new_terms}
    sources, all_terms = python._sources | new_fields, (*python._terms, *new_terms)
    return with_python_inputs(config, field_entries.values(), term_entries.values(), sources, all_terms, parameters)


def array_elements(config: Config, array_name: str, value, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Pairs of a name and its value; an array [constituent, part, y, x] is split into its elements.

    ConfigError: the array has another shape.
    """
    if not any(map(index_of, names)) or callable(value):
        yield from ((name, value) for name in names)
        return
    values, wrap = (value.values, LocalArray) if isinstance(value, LocalArray) else (value, lambda element: element)
    expected, actual = (len(config.open_boundaries.constituents), len(PARTS)), np.shape(values)[:2]
    if actual != expected:
        shape = f"{expected[0]} constituents and {expected[1]} parts (cosine, sine)"
        raise ConfigError(
            [f"fields: {array_name}: must begin with the axes of {shape}, but its shape is {np.shape(values)}"]
        )
    for name in names:
        constituent, part = index_in_array(config, name)
        yield name, wrap(values[constituent][part])


def recorded_config(setup: Setup):
    """The configuration of a Setup, in which [python] has the names and SHA-256 of inputs, as a run records them.

    ConfigError: a field from Python is missing.
    """
    config, scheme = setup.config, setup.scheme
    python, case, sources = config.python, config.case, dict(config.python._sources)
    terms, term_names = {term.name: term for term in scheme.user_terms}, [entry.split()[0] for entry in python.terms]
    if not cases.is_shipped(case) and not case.file_text:
        fields_of_case = [
            name
            for name in (*field_names(config), *user_coefficients(case_terms(config)))
            if is_in_case(config, name) and name not in python.names and not input_file_of(config, name)
        ]
        sources |= {
            name: PythonField(None, is_time_varying_field(getattr(type(case), array_of(name))))
            for name in fields_of_case
        }
        term_names += [term.name for term in case_terms(config)]
    recorded_entries = {entry.split()[0]: entry for entry in (*python.fields, *python.terms) if " " in entry}
    # Restart files do not contain fields that vary in time. Therefore their checksums are computed again.
    time_varying = {name for name, source in sources.items() if source.varies_in_time}
    labels = {name: f"{name} {IN_TIME_LABEL}" if name in time_varying else name for name in sources}
    fields = {
        name: (name not in time_varying and recorded_entries.get(name))
        or f"{labels[name]} {field_checksum(config, name, source)}"
        for name, source in sources.items()
    }
    for name in (name for name in python.names if name not in fields):
        fields[name] = recorded_entries.get(name) or raise_missing_field(name)
    term_entries = [
        recorded_entries.get(name) or f"{name} {term_checksum(terms[name], scheme, python._parameters)}"
        for name in dict.fromkeys(term_names)
    ]
    return with_python_inputs(config, fields.values(), term_entries, sources, python._terms)


def without_term_checksums(config: Config):
    """The configuration as a run records it, without the SHA-256 of its terms."""
    python = config.python
    term_names = [entry.split()[0] for entry in python.terms]
    config = config.model_copy(update={"case": recorded_case(config.case)})
    return with_python_inputs(config, python.fields, term_names, python._sources, python._terms)
