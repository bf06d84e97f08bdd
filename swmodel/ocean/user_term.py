"""User-defined terms: a function of the state, the grid and the time becomes a Term.

    def damp(state, grid, t, roughness):
        return {"u": -1e-6 * mx_f(roughness) * state.u}

`state` is a Flow and `grid` a Grid, both of Patches; `t` is the time since the start of the run, s, [1, 1]. Further
parameters are coefficients of these names, Patches in SI units. The function returns tendencies of prognostic fields,
in units of the field per second; those on land and closed faces are ignored.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache, partial, update_wrapper
from typing import TypeAlias

import numpy as np

from ..errors import UsageError
from .parametric import ParameterLayout, Parametric, parameter_layout
from .patch import Patch
from .table import COEFFICIENTS, INPUT_FIELDS, VARIABLES
from .terms import TERMS, Term
from .variable import Variable

#: The forms of a user-defined term (docs/python.md).
UserTerm: TypeAlias = Callable[..., Mapping[str, Patch | float]] | Term | Parametric

#: The first parameters of every function of a term; coefficients follow. Only in a case must they have these names.
FIXED_PARAMETERS = ("state", "grid", "t")
#: Numbers in the params of every run.
SCALAR_PARAMS = ("gravity", "density")
#: The number in the params from which `t` is computed.
TIME_STEP = Variable("user_time_step", "", "s", "", "time step")

#: The attributes that a user-defined Term may have; others need the configuration or files.
ALLOWED_ATTRIBUTES = ("name", "tendency", "coefficients", "rate", "process")


def make_user_term(user_term: UserTerm) -> Term:
    """A new Term from a function of (state, grid, t, *coefficients) or a Parametric; a Term is returned as it is.

    Raises:
        UsageError: the argument is none of these, or has parameters or attributes that a user term cannot have.
    """
    if isinstance(user_term, Term):
        return check_term(user_term)
    if not isinstance(user_term, Parametric):
        return term_of_function(user_term)
    try:
        layout = parameter_layout(user_term.parameters)
    except UsageError as error:
        function = user_term.function
        raise UsageError(f"terms: {source_line_of(function)}: {function_name(function)}: {error}") from None
    return term_of_function(user_term.function, layout)


@lru_cache(maxsize=256)
def case_term(case, method) -> Term:
    """The Term of a method (self, state, grid, t, *coefficients) of a case, one for all equal cases."""
    return make_user_term(partial(method, case))


def term_of_function(function, layout: ParameterLayout | None = None) -> Term:
    """The Term of a function; `layout`: that of its parameters, if it is the function of a Parametric.

    UsageError: the function has unsuitable parameters, or with a layout the name of a field.
    """
    names = coefficient_names(function, (*FIXED_PARAMETERS, "parameters") if layout else FIXED_PARAMETERS)
    context, name = source_line_of(function), function_name(function)
    if layout and name in (*VARIABLES, *SCALAR_PARAMS, *names):
        raise UsageError(f"terms: {context}: {name} is the name of a field; a term with parameters needs another name")

    def tendency(flow, params, now):
        dt = params[TIME_STEP.name]
        # an array [1, 1], because the native step treats a number as constant
        step_start_time = now.step.astype(flow.h.values.dtype).reshape(1, 1) * dt
        t = step_start_time + now.stage * dt if now.stage else step_start_time
        coefficients = {name: params[name] for name in names}
        with eager_jax(flow.h.values):
            parameters = (layout.to_pytree(params[name]),) if layout else ()
            raw_rates = function(flow, flow.grid, t, *parameters, **coefficients)
        rates = check_rates(raw_rates, flow, f"{context}: {name}")
        if isinstance(flow.h.values, np.ndarray):
            return {name: rate.map(np.asarray) for name, rate in rates.items()}
        return rates

    return Term(
        name,
        update_wrapper(tendency, function, assigned=(), updated=()),
        tuple(coefficient_variable(each) for each in names if each not in SCALAR_PARAMS),
        fields=(TIME_STEP,),
        build=lambda config, rows, columns: {TIME_STEP.name: np.full((1, 1), config.time.dt)},
        parameters=layout,
        is_freshwater=True,
        acts_at_rest=True,
    )


@contextlib.contextmanager
def eager_jax(values):
    """A context in which JAX computes with NumPy arrays eagerly and in their precision, even during tracing."""
    jax = sys.modules.get("jax")
    if not jax or not isinstance(values, np.ndarray):
        yield
        return
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        yield


def function_name(function) -> str:
    function = getattr(function, "func", function)
    return getattr(function, "__name__", type(function).__name__)


def source_line_of(function) -> str:
    """File and line of a function; its name if it is not written in Python."""
    function = inspect.unwrap(function)
    function = inspect.unwrap(getattr(function, "func", function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else function_name(function)


def coefficient_names(function, fixed: tuple[str, ...]) -> list[str]:
    """The coefficients of a term's function: its parameters after the `fixed` ones, except those with defaults.

    UsageError: it is not a function, or has too few parameters or parameters such as *args.
    """
    form = f"a function of ({', '.join(fixed)})"
    if not callable(function) or isinstance(function, type):
        raise UsageError(f"terms: {function!r:.60} is not a term; must be {form}, or a Term")
    parameters = list(inspect.signature(function).parameters.values())
    supported_kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    if len(parameters) < len(fixed) or any(each.kind not in supported_kinds for each in parameters):
        raise UsageError(
            f"terms: {source_line_of(function)}: {function_name(function)} has the parameters "
            f"{inspect.signature(function)}; must be {form}, followed by names of coefficients"
        )
    return [each.name for each in parameters[len(fixed) :] if each.default is each.empty]


def coefficient_variable(name: str) -> Variable:
    """The table's row of a coefficient; a new row at centres for a user-defined one.

    UsageError: the name is that of the depth, the mask or an initial field.
    """
    if name in INPUT_FIELDS and name not in COEFFICIENTS:
        raise UsageError(f"terms: {name} is not a coefficient; it belongs to the state or the grid")
    return COEFFICIENTS.get(name) or Variable(name, "centre", "", "", name)


def check_term(term: Term) -> Term:
    """The Term. UsageError: it has attributes that a user-defined term cannot have, or the name of another term."""
    plain = Term("", term.tendency)
    extra_attributes = [
        name for name in vars(plain) if name not in ALLOWED_ATTRIBUTES and getattr(term, name) != getattr(plain, name)
    ]
    if extra_attributes:
        raise UsageError(
            f"terms: {term.name} has {', '.join(extra_attributes)}; a term may have {', '.join(ALLOWED_ATTRIBUTES)}"
        )
    if term.name in TERMS:
        raise UsageError(f"terms: {term.name} is a term of swmodel; choose another name")
    return term


def check_rates(rates_by_name, flow, context: str) -> dict[str, Patch]:
    """The tendencies from the function of a term, as Patches on the block.

    UsageError, which begins with `context`: they are not a dict of such Patches or of numbers by prognostic field.
    """
    if not isinstance(rates_by_name, dict):
        raise UsageError(
            f"{context} returns a {type(rates_by_name).__name__}; must be a dict of tendencies, such as "
            f'{{"u": -1e-6 * state.u}}'
        )
    template, rates = flow.h, {}
    for name, rate in rates_by_name.items():
        if name not in flow.state._fields:
            prognostic = ", ".join(flow.state._fields)
            raise UsageError(f'{context} returns a tendency of "{name}"; prognostic fields are {prognostic}')
        if isinstance(rate, int | float | np.number) and not isinstance(rate, bool):
            rate = Patch(np.full((1, 1), rate, template.values.dtype), template.start)
        if not isinstance(rate, Patch) or not fits_block(rate, template):
            values = rate.values if isinstance(rate, Patch) else rate
            kind, shape = getattr(values, "dtype", f"a {type(rate).__name__}"), tuple(getattr(values, "shape", ()))
            raise UsageError(
                f"{context} returns {kind} of shape {shape} for {name}; must be a number, or a Patch on the block in "
                f"{template.values.dtype} (a Python number, or .astype, keeps the precision)"
            )
        rates[name] = rate
    return rates


def fits_block(rate: Patch, template: Patch) -> bool:
    """Whether a Patch has the precision of another, and reaches at most one cell beyond it on each side."""
    shape = rate.values.shape
    return (
        rate.values.dtype == template.values.dtype
        and len(shape) == 2
        and all(
            length == 1 or start <= first + 1 and first + length <= start + cells + 1
            for length, first, start, cells in zip(
                shape, rate.start, template.start, template.values.shape, strict=True
            )
        )
    )
