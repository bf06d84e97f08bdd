"""Fields and terms given in Python, and terms of the case, as they travel with a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import ConfigError
from ...ocean.elements import index_of
from ...ocean.own_term import term_of_case
from ...ocean.table import GIVEN, VARIABLES
from ...ocean.terms import Term
from ...ocean.variable import Variable
from .formula import terms_in
from .kinds import Formula, PythonField, field_of


def with_python(config, fields, terms, sources: Mapping[str, PythonField], objects, parameters: Mapping | None = None):
    """The configuration with what Python gave: texts that are recorded, and what they stand for."""
    python = type(config.python)(fields=tuple(fields), terms=tuple(terms), calls=config.python.calls)
    python._sources, python._terms = dict(sources), tuple(objects)
    python._parameters = dict(config.python._parameters if parameters is None else parameters)
    return config.model_copy(update={"python": python})


def fields_of(config) -> tuple[str, ...]:
    """The fields that a case, a file or Python may give, arrays by their elements: of the table, and the tracers."""
    there = ("", *config.open_sides.constituents)
    of_table = (name for name in GIVEN if (index_of(name) or there)[0] in there)
    return (*of_table, *(each.name for each in config.physics.tracers))


def rows_asked_for(terms: Iterable[Term]) -> dict[str, Variable]:
    """The coefficients of the user's own that terms ask for, by name."""
    return {row.name: row for term in terms for row in term.coefficients if row.name not in VARIABLES}


def case_terms(config) -> list[Term]:
    """The terms that the case has as functions."""
    case: Any = config.case  # hashable, as it is frozen
    cls: Any = type(case)
    return [term_of_case(case, getattr(cls, name)) for name in terms_in(cls)]


def python_terms(config) -> tuple[Term, ...]:
    """The terms of the user's own: of the case, and those given in Python."""
    found = (*case_terms(config), *config.python._terms)
    recorded, there = [text.split()[0] for text in config.python.terms], {term.name for term in found}
    if missing := [name for name in recorded if name not in there]:
        raise ConfigError(
            [
                f"python.terms: {', '.join(missing)} was given in Python and lies in no file: only there the run "
                "can go on, as swmodel.Simulation.resume(DIR, terms=[...]).run(DIR), or with case=CLASS where it has it"
            ]
        )
    return found


def formulas(config) -> list[Formula]:
    """The functions of the points that give fields, of the case or given in Python."""
    python, of_case = config.python, [*fields_of(config), *rows_asked_for(case_terms(config))]
    names = dict.fromkeys([*(name for name in of_case if name not in python.names), *python._sources])
    return [field for field in (field_of(config, name) for name in names) if isinstance(field, Formula)]
