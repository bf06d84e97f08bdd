"""Checks of the class of a case."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from typing import Any, cast

from pydantic.fields import FieldInfo

from ...errors import suggest
from ...ocean.elements import array_of
from ...ocean.table import INPUT_FIELDS, VARIABLES
from ...ocean.terms import TERMS
from ...setup.fields.formula import (
    FIELD_SIGNATURE,
    TERM_SIGNATURE,
    is_term_function,
    is_time_varying_field,
    parameter_names,
    term_function_names,
)
from ..messages import base_type
from ..options.case import Case

#: Types of options, as TOML has them.
OPTION_TYPES = (bool, int, float, str, tuple)

#: Names of attributes of cases in version 0.8, and their names today.
NEW_NAMES = {"theory": "analytic_solution", "believed": "prior_config", "kinds": "grid_kinds"}


def declaration_problems(case: type[Case]) -> Iterator[str]:
    """The problems of a case class, one line each, which begins with `Class.attribute:`."""
    if not isinstance(case.defaults, dict) or not all(isinstance(each, dict) for each in case.defaults.values()):
        yield f"{case.__name__}.defaults: must be a dict of dicts, " + '{"grid": {"nx": 60}}'
        return
    tracers = case.defaults.get("physics", {}).get("tracers", ())
    if not isinstance(tracers, list | tuple) or not all(isinstance(each, dict) and "name" in each for each in tracers):
        yield f"{case.__name__}.defaults: physics.tracers must be a list of dicts, " + '[{"name": "dye"}]'
        return
    term_coefficients = (
        name
        for term in term_function_names(case)
        for name in parameter_names(getattr(case, term))[len(TERM_SIGNATURE) :]
    )
    known_names = [*map(array_of, INPUT_FIELDS), "tracer", *(each["name"] for each in tracers), *term_coefficients]
    for cls in case.__mro__[: case.__mro__.index(Case)]:
        problems = {
            name: option_problem(name, case.model_fields[name])
            for name in inspect.get_annotations(cls)
            if name in case.model_fields
        }
        problems |= {
            name: attribute_problem(name, value, known_names)
            for name, value in vars(cls).items()
            if name not in problems
        }
        yield from (f"{cls.__name__}.{name}: {problem}" for name, problem in problems.items() if problem)


def option_problem(name: str, field: FieldInfo) -> str:
    """The problem of an option of a case; "" for none."""
    if name in Case.model_fields or hasattr(Case, name) or name in map(array_of, INPUT_FIELDS):
        return "every case already uses this name for something else; choose another name"
    if "unit" not in cast(dict, field.json_schema_extra or {}):
        return f'write {name}: float = option(1.0, "m", "its meaning"), with its own type and unit'
    return (
        ""
        if base_type(field.annotation)[0] in OPTION_TYPES
        else "an option is a bool, int, float, str or a tuple of these"
    )


def attribute_problem(name: str, value: Any, known_names: Collection[str]) -> str:
    """The problem of an attribute of the class of a case; "" for none.

    A function with FIELD_SIGNATURE, with or without a further t, must have a name that is in `known_names`, that `Case`
    has, or that begins with an underscore, so that a misspelt field is an error.
    """
    if new_name := NEW_NAMES.get(name, name.replace("outside_", "boundary_") if name.startswith("outside_") else ""):
        return f"is called {new_name} now; rename it"
    may_vary = name in VARIABLES and VARIABLES[name].varies_in_time
    is_field_function = parameter_names(value) == FIELD_SIGNATURE or is_time_varying_field(value)
    if name in known_names and (not is_field_function or is_time_varying_field(value) and not may_vary):
        return f"must be a function of ({', '.join(FIELD_SIGNATURE)})"
    if is_field_function and name not in known_names and not name.startswith("_") and not hasattr(Case, name):
        return f"no such field; {suggest(name, known_names)} (put a helper outside the class, or begin its name with _)"
    return "a term of swmodel has this name; choose another one" if name in TERMS and is_term_function(value) else ""
