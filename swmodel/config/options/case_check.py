"""Whether the class of a case is as it must be."""

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
    """What is wrong with the class of a case, one line each, which begins with the name of what is wrong."""
    if not isinstance(case.defaults, dict) or not all(isinstance(each, dict) for each in case.defaults.values()):
        yield f"{case.__name__}.defaults: must be a dict of dicts, " + '{"grid": {"nx": 60}}'
        return
    tracers = case.defaults.get("physics", {}).get("tracers", ())
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
    """What is wrong with an option of a case; "" for nothing."""
    if name in Case.model_fields or hasattr(Case, name) or name in map(array_of, GIVEN):
        return "a case has something of this name already; give the option another"
    if "unit" not in cast(dict, field.json_schema_extra or {}):
        return f'write {name}: float = option(1.0, "m", "what it is"), with its own type and unit'
    return "" if kind(field.annotation)[0] in TYPES else "an option is a bool, int, float, str or a tuple of these"


def function_problem(name: str, value: Any, known: Collection[str]) -> str:
    """What is wrong with what stands under a name in the class of a case; "" for nothing.

    A function of the SIGNATURE must be that of a field, one of the names `known`, unless its name begins with an
    underscore: so no field is left out because its name is misspelt.
    """
    varies = name in VARIABLES and VARIABLES[name].varies
    fits = parameters(value) == SIGNATURE or in_time(value)
    if name in known and (not fits or in_time(value) and not varies):
        return f"must be a function of ({', '.join(SIGNATURE)})"
    if fits and name not in known and not name.startswith("_") and not hasattr(Case, name):
        return f"no such field; {suggest(name, known)} (a helper stands outside the class, or begins with _)"
    return "a term of swmodel has this name; give yours another" if name in TERMS and is_term(value) else ""
