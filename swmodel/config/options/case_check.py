"""Checks of the class of a case."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, cast

from pydantic.fields import FieldInfo

from ...errors import suggest
from ...ocean.elements import array_of
from ...ocean.table import GIVEN, VARIABLES
from ...ocean.terms import TERMS
from ...setup.fields.formula import OF_TERM, SIGNATURE, in_time, is_term, parameters, terms_in
from ..messages import kind
from .case import Case

#: Types of options, as TOML has them.
TYPES = (bool, int, float, str, tuple)


def declaration_problems(case: type[Case]) -> Iterator[str]:
    """The problems of the class of a case, one line each, which begins with the name of the attribute."""
    if not isinstance(case.defaults, dict) or not all(isinstance(each, dict) for each in case.defaults.values()):
        yield f"{case.__name__}.defaults: must be a dict of dicts, " + '{"grid": {"nx": 60}}'
        return
    tracers = case.defaults.get("physics", {}).get("tracers", ())
    if not isinstance(tracers, list | tuple) or not all(isinstance(each, dict) and "name" in each for each in tracers):
        yield f"{case.__name__}.defaults: physics.tracers must be a list of dicts, " + '[{"name": "dye"}]'
        return
    of_terms = (name for term in terms_in(case) for name in parameters(getattr(case, term))[len(OF_TERM) :])
    known = [*map(array_of, GIVEN), "tracer", *(each["name"] for each in tracers), *of_terms]
    for cls in case.__mro__[: case.__mro__.index(Case)]:
        found = {
            name: option_problem(name, case.model_fields[name])
            for name in vars(cls).get("__annotations__", {})
            if name in case.model_fields
        }
        found |= {name: function_problem(name, value, known) for name, value in vars(cls).items() if name not in found}
        yield from (f"{cls.__name__}.{name}: {problem}" for name, problem in found.items() if problem)


def option_problem(name: str, field: FieldInfo) -> str:
    """The problem of an option of a case; "" for none."""
    if name in Case.model_fields or hasattr(Case, name) or name in map(array_of, GIVEN):
        return "this name has another meaning in every case; give the option another"
    if "unit" not in cast(dict, field.json_schema_extra or {}):
        return f'write {name}: float = option(1.0, "m", "its meaning"), with its own type and unit'
    return "" if kind(field.annotation)[0] in TYPES else "an option is a bool, int, float, str or a tuple of these"


def function_problem(name: str, value: Any, known: Collection[str]) -> str:
    """The problem of an attribute of the class of a case; "" for none.

    A function of the SIGNATURE must have a name in `known`, or one that begins with an underscore: so a misspelt field
    is an error.
    """
    varies = name in VARIABLES and VARIABLES[name].varies
    fits = parameters(value) == SIGNATURE or in_time(value)
    if name in known and (not fits or in_time(value) and not varies):
        return f"must be a function of ({', '.join(SIGNATURE)})"
    if fits and name not in known and not name.startswith("_") and not hasattr(Case, name):
        return f"no such field; {suggest(name, known)} (a helper stands outside the class, or begins with _)"
    return "a term of swmodel has this name; give yours another" if name in TERMS and is_term(value) else ""
