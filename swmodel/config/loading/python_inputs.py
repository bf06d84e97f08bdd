"""Fields and terms given in Python: they are checked, and recorded by their checksums.

A case given in Python, as a class or an object that lies in no file, gives its functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ... import cases
from ...errors import ConfigError, UsageError, failure, suggest
from ...ocean.elements import array_of, index_of
from ...ocean.flow import Flow
from ...ocean.own_term import NUMBERS, own_term, place_of
from ...ocean.parametric import Parametric
from ...ocean.patch import BeyondHalo
from ...ocean.reach import CELLS, WIDEST, small_block
from ...ocean.table import COEFFICIENTS, entry_of
from ...ocean.terms import Term
from ...ocean.terms.outside import PARTS, file_of, in_case
from ...ocean.variable import Variable
from ...setup.fields.field import Local, case_terms, fields_of, python_field, rows_asked_for, with_python
from ...setup.fields.formula import in_time
from ...setup.fields.kinds import PythonField, absent, place_in
from ...setup.fields.noted import IN_TIME, digest
from ...setup.setup import Setup

#: What tells one term from another: its tendencies of random fields in every EACH-th cell, to so many digits.
SEED, EACH, DIGITS = 11, 8, "%.5e"
#: Difference of a tendency, relative to its largest value, that is rounding.
ROUND_OFF = 1e-6


def python_inputs(config, fields: Mapping | None = None, terms: Iterable = ()):
    """The configuration with fields and terms from Python, on top of those that it has.

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
            problems.append(f"fields: {array}: input.{array} names a file of it, too; give one of them")
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
    """Pairs of a name and what it is given as: the value, or for an array [constituent, part, y, x] its elements.

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


def check_terms(setup: Setup) -> None:
    """See that the terms of the user's own can be computed."""
    config, scheme = setup.config, setup.scheme
    problems, names = [], set()
    for term in scheme.own:
        if term.name in names:
            problems.append(f"terms: there are two called {term.name}; give one another name")
        names.add(term.name)
        absent = [row.name for row in term.coefficients if row.name not in COEFFICIENTS and not provided(config, row)]
        problems += [
            f'terms: {term.name} asks for {name}; give it, as fields={{"{name}": function}}, or one of '
            f"{', '.join((*COEFFICIENTS, *NUMBERS))}"
            for name in absent
        ]
        if absent:
            continue
        try:
            check_cells(term, scheme, setup.parameters)
        except UsageError as error:
            problems.append(f"terms: {error}")
    if problems:
        raise ConfigError(problems)


def provided(config, row: Variable) -> bool:
    """Whether a coefficient of the user's own is given in Python or a function of the case."""
    return row.name in config.python.names or callable(getattr(config.case, row.name, None))


def identity(term: Term, scheme, parameters: Mapping) -> str:
    """SHA-256 of what a term computes: of its tendencies at some cells of random fields, to a few digits.

    Args:
        scheme: of the run, which says what fields there are.
        parameters: by the names of terms.
    """
    rates = rates_of(term, alone(term, scheme), parameters, WIDEST)
    some = {name: values[::EACH, ::EACH] + 0.0 for name, values in rates.items()}
    words = [f"{name} {' '.join(DIGITS % rate for rate in values.flat)}" for name, values in some.items()]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def check_cells(term: Term, scheme, parameters: Mapping) -> None:
    """Check that a term can be computed, and gives the same in a cell whatever block the cell lies in."""
    small = alone(term, scheme)
    rates = rates_of(term, small, parameters, WIDEST)
    where = f"{place_of(term.tendency)}: {term.name}"
    finite = {name: np.isfinite(values) for name, values in rates.items()}
    if bad := [name for name, of in finite.items() if not (of.all() if term.parameters else of.any())]:
        raise UsageError(f"{where} returns what is not finite for {', '.join(bad)}, of fields from 1 to 2")
    near = rates_of(term, small, parameters, small.width)
    for name, values in rates.items():
        largest = np.abs(values[finite[name]]).max(initial=0.0)
        if not np.allclose(near[name], values, rtol=0.0, atol=ROUND_OFF * largest, equal_nan=True):
            raise UsageError(
                f"{where} returns for {name} what depends on the block in which a cell lies, so on the number of "
                "processes: `map` is for functions of each cell alone; means, differences and operators.cell_by_cell "
                "have its neighbours"
            )


def alone(term: Term, scheme):
    """The scheme with this term and its tracers alone."""
    return replace(scheme, terms=(), own=(term,))


def rates_of(term: Term, scheme, parameters: Mapping, width: int) -> dict[str, np.ndarray]:
    """Tendencies [CELLS, CELLS] of random fields by one term; around these cells the fields are the same for any width.

    Args:
        scheme: see `alone`.
        parameters: by the names of terms.
        width: of the halo.
    """
    drawn, cut = np.random.default_rng(SEED), WIDEST - width

    def values(shape):
        if shape[1:] in ((), (1,)):
            return drawn.uniform(1.0, 2.0, shape)
        return drawn.uniform(1.0, 2.0, [n + 2 * cut for n in shape])[cut : shape[0] + cut, cut : shape[1] + cut]

    state, now, grid, params = small_block(scheme, width, values)
    given = {name: parameters[name] for name in params if name in parameters}
    return rates_on(term, scheme, state, now._replace(stage=0.5), grid, params | given)


def rates_on(term: Term, scheme, state, now, grid, params) -> dict[str, np.ndarray]:
    """Tendencies [CELLS, CELLS] by one term on a block of `reach.small_block`."""
    try:
        with np.errstate(all="ignore"):
            rates = term.tendency(Flow(state, grid, scheme), params, now)
        found = {name: np.asarray(rates[name].on((CELLS, CELLS)), np.float64) for name in sorted(rates)}
        return {name: np.broadcast_to(one, (CELLS, CELLS)) for name, one in found.items()}
    except BeyondHalo as error:
        raise UsageError(f"{term.name} reads cells further than {WIDEST} rows or columns away") from error
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(told(error, term)) from error


def told(error: Exception, term: Term) -> str:
    """Where and why a term failed, in words."""
    return failure(error, place_of(term.tendency).rpartition(":")[0], term.name)


def recorded(setup: Setup):
    """The configuration of a Setup with all given in Python, each with its SHA-256, as a run records it."""
    config, scheme = setup.config, setup.scheme
    python, case, sources = config.python, config.case, dict(config.python._sources)
    terms, names = {term.name: term for term in scheme.own}, [text.split()[0] for text in python.terms]
    if not cases.shipped(case) and not case.file_text:
        given = [name for name in (*fields_of(config), *rows_asked_for(case_terms(config))) if in_case(config, name)]
        given = [name for name in given if name not in python.names and not file_of(config, name)]
        sources |= {name: PythonField(None, in_time(getattr(type(case), array_of(name)))) for name in given}
        names += [term.name for term in case_terms(config)]
    old = {text.split()[0]: text for text in (*python.fields, *python.terms) if " " in text}
    anew = {name for name, source in sources.items() if source.in_time}  # no file has what these were
    kinds = {name: f"{name} {IN_TIME}" if name in anew else name for name in sources}
    fields = {
        name: (name not in anew and old.get(name)) or f"{kinds[name]} {digest(config, name, source)}"
        for name, source in sources.items()
    }
    for name in (name for name in python.names if name not in fields):
        fields[name] = old.get(name) or absent(name)
    texts = [
        old.get(name) or f"{name} {identity(terms[name], scheme, python._parameters)}" for name in dict.fromkeys(names)
    ]
    return with_python(config, fields.values(), texts, sources, python._terms)
