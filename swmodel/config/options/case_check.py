"""Whether a case is as it must be: its class as it stands there, and the values that its functions return."""

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

#: Difference of a field at the same point, relative to its largest value, that is rounding.
ROUND_OFF = 1e-9


def declaration_problems(case: type[Case]) -> Iterator[str]:
    """What is wrong with the class of a case, one line each, which begins with the name of what is wrong."""
    for cls in case.__mro__[: case.__mro__.index(Case)]:
        for name in vars(cls).get("__annotations__", {}):
            if name in case.model_fields and (problem := option_problem(name, case.model_fields[name])):
                yield f"{cls.__name__}.{name}: {problem}"
        known = (
            *map(array_of, GIVEN),
            *tracers_of(case),
            *(name for term in terms_in(case) for name in parameters(getattr(case, term))[len(OF_TERM) :]),
        )
        for name, value in vars(cls).items():
            if problem := function_problem(name, value, known):
                yield f"{cls.__name__}.{name}: {problem}"
    if not all(isinstance(each, dict) for each in (case.defaults, *case.defaults.values())):
        yield f"{case.__name__}.defaults: must be a dict of dicts, " + '{"grid": {"nx": 60}}'


def tracers_of(case: type[Case]) -> list[str]:
    """The names of the tracers in the defaults of a case, and that of earlier versions."""
    tables = case.defaults.get("physics", {}).get("tracers", ()) if isinstance(case.defaults, dict) else ()
    return ["tracer", *(str(each.get("name")) for each in tables if isinstance(each, dict))]


def option_problem(name: str, field: FieldInfo) -> str:
    """What is wrong with an option of a case; "" for nothing."""
    if name == "defaults":
        return "leave out the annotation: defaults = {...}"
    if name in Case.model_fields or hasattr(Case, name):
        return "a case has something of this name already; give the option another"
    if name in map(array_of, GIVEN):
        return "this is a field: define a function of (self, config, at), or give the option another name"
    if "unit" not in cast(dict, field.json_schema_extra or {}):
        return f'write {name}: float = option(1.0, "m", "what it is"), with its own type and unit'
    if kind(field.annotation)[0] not in TYPES:
        return "an option is a bool, int, float, str or a tuple of these"
    return ""


def function_problem(name: str, value: Any, known: Collection[str]) -> str:
    """What is wrong with what stands under a name in the class of a case; "" for nothing.

    A function of the SIGNATURE must be that of a field, unless its name begins with an underscore: so no field is left
    out because its name is misspelt.

    Args:
        known: names of fields, with those that terms of the case ask for.
    """
    fits = parameters(value) == SIGNATURE or in_time(value)
    if name in known and not fits:
        return f"must be a function of ({', '.join(SIGNATURE)})"
    if in_time(value) and name in known and not may_vary(name):
        return f"does not vary in time: must be a function of ({', '.join(SIGNATURE)})"
    if fits and name not in known and not name.startswith("_"):
        return f"no such field; {suggest(name, known)} (a helper stands outside the class, or begins with _)"
    if name in TERMS and is_term(value):
        return "a term of swmodel has this name; give yours another"
    return ""


def may_vary(name: str) -> bool:
    """Whether a field may vary in time."""
    return name in VARIABLES and VARIABLES[name].varies
