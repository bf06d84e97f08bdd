"""Check fields and terms from Python, and record their checksums.

A case from Python, a class or an object without a file, gives its functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ... import cases
from ...errors import ConfigError, UsageError, suggest
from ...ocean.elements import array_of, index_of
from ...ocean.own_term import own_term
from ...ocean.parametric import Parametric
from ...ocean.table import entry_of
from ...ocean.terms.outside import PARTS, file_of, in_case
from ...setup.fields.field import Local, case_terms, fields_of, python_field, rows_asked_for, with_python
from ...setup.fields.formula import in_time
from ...setup.fields.kinds import PythonField, absent, place_in
from ...setup.fields.noted import IN_TIME, digest
from ...setup.setup import Setup
from .case_file import recorded as recorded_case
from .own_terms import identity


def python_inputs(config, fields: Mapping | None = None, terms: Iterable = ()):
    """The configuration with more fields and terms from Python.

    Args:
        fields: {name: function of the points, number, array or DataArray}; see `fields.field.python_field`.
        terms: functions of (state, grid, t, *coefficients), Terms, or Parametric; see `ocean.own_term`.
    """
    fields = {} if fields is None else fields
    if not isinstance(fields, Mapping):
        raise ConfigError([f'fields: {fields!r:.60} is no dict, as {{"eta": function}}'])
    if callable(terms) or not isinstance(terms, Iterable):
        raise ConfigError([f"terms: {terms!r:.60} is no list, as [function]"])
    python, problems, made, parameters = config.python, [], [], dict(config.python._parameters)
    for each in terms:
        try:
            made.append(own_term(each))
        except UsageError as error:
            problems.append(str(error))
        else:
            if isinstance(each, Parametric):
                parameters[made[-1].name] = made[-1].parameters.vector(each.parameters, np, np.float64)
    added = {}
    known = {
        **{name: entry_of(name, config.physics) for name in fields_of(config)},
        **rows_asked_for([*case_terms(config), *made]),
    }
    for array, value in fields.items():
        elements = [name for name in known if name == array or array_of(name) == array]
        if not elements:
            problems.append(f"fields: no field {array}; {suggest(str(array), dict.fromkeys(map(array_of, known)))}")
        if any(file_of(config, name) for name in elements):
            problems.append(f"fields: {array}: input.{array} names a file, too; give one of both")
        try:
            for name, one in elements_in(config, array, value, elements):
                added[name] = python_field(one, known[name], config.grid)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    replaced = {text.split()[0]: text for text in python.fields} | {name: name for name in added}
    terms = {text.split()[0]: text for text in python.terms} | {term.name: term.name for term in made}
    objects = (*python._terms, *made)
    return with_python(config, replaced.values(), terms.values(), python._sources | added, objects, parameters)


def elements_in(config, array: str, value, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Pairs of name and value; an array [constituent, part, y, x] gives its elements.

    ConfigError: the array has another shape.
    """
    if not any(map(index_of, names)) or callable(value):
        yield from ((name, value) for name in names)
        return
    values, wrap = (value.values, Local) if isinstance(value, Local) else (value, lambda one: one)
    wanted, found = (len(config.open_sides.constituents), len(PARTS)), np.shape(values)[:2]
    if found != wanted:
        shape = f"{wanted[0]} constituents and {wanted[1]} parts (cosine, sine)"
        raise ConfigError(
            [f"fields: {array}: must begin with the axes of {shape}, and its shape is {np.shape(values)}"]
        )
    for name in names:
        constituent, part = place_in(config, name)
        yield name, wrap(values[constituent][part])


def recorded(setup: Setup):
    """The configuration of a Setup as a run records it: inputs from Python by name and SHA-256."""
    config, scheme = setup.config, setup.scheme
    python, case, sources = config.python, config.case, dict(config.python._sources)
    terms, names = {term.name: term for term in scheme.own}, [text.split()[0] for text in python.terms]
    if not cases.shipped(case) and not case.file_text:
        given = [name for name in (*fields_of(config), *rows_asked_for(case_terms(config))) if in_case(config, name)]
        given = [name for name in given if name not in python.names and not file_of(config, name)]
        sources |= {name: PythonField(None, in_time(getattr(type(case), array_of(name)))) for name in given}
        names += [term.name for term in case_terms(config)]
    old = {text.split()[0]: text for text in (*python.fields, *python.terms) if " " in text}
    changing = {name for name, source in sources.items() if source.in_time}  # no file has their earlier values
    kinds = {name: f"{name} {IN_TIME}" if name in changing else name for name in sources}
    fields = {
        name: (name not in changing and old.get(name)) or f"{kinds[name]} {digest(config, name, source)}"
        for name, source in sources.items()
    }
    for name in (name for name in python.names if name not in fields):
        fields[name] = old.get(name) or absent(name)
    texts = [
        old.get(name) or f"{name} {identity(terms[name], scheme, python._parameters)}" for name in dict.fromkeys(names)
    ]
    return with_python(config, fields.values(), texts, sources, python._terms)


def unhashed(config):
    """The configuration as a run records it, with the SHA-256 of its terms left open."""
    python = config.python
    texts = [text.split()[0] for text in python.terms]
    config = config.model_copy(update={"case": recorded_case(config.case)})
    return with_python(config, python.fields, texts, python._sources, python._terms)
