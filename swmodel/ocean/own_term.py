"""User-defined terms: a function of the state, the grid and the time becomes a Term.

    def grow(state, grid, t, roughness):
        return {"u": -1e-6 * state.u}

`state` is a Flow, `grid` a Grid, `t` the time since the start of the run, s. Further parameters are coefficients by
name. All consist of Patches, in SI units. The function returns tendencies of prognostic fields, in units of the field
per second, which count on water and open faces.
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
from .parametric import Form, Parametric, form_of
from .patch import Patch
from .table import COEFFICIENTS, GIVEN, VARIABLES
from .terms import TERMS, Term
from .variable import Variable

#: The forms of a user-defined term (docs/python.md).
OwnTerm: TypeAlias = Callable[..., Mapping[str, Patch | float]] | Term | Parametric

#: The first parameters of every function of a term, under any names; coefficients follow.
FIXED = ("state", "grid", "t")
#: Numbers in the params of every run.
NUMBERS = ("gravity", "density")
#: The number in the params from which `t` follows.
TIME_STEP = Variable("own_time_step", "", "s", "", "time step")

#: The attributes that a user-defined Term may have; others need the configuration or files.
ALLOWED = ("name", "tendency", "coefficients", "rate", "process")


def own_term(given: OwnTerm) -> Term:
    """A new Term of a function of (state, grid, t, *coefficients); a Term itself.

    Raises:
        UsageError: the argument is neither, or has parameters or attributes that a user-defined term cannot have.
    """
    if isinstance(given, Term):
        return checked_term(given)
    if not isinstance(given, Parametric):
        return term_of(given)
    try:
        form = form_of(given.parameters)
    except UsageError as error:
        raise UsageError(f"terms: {place_of(given.function)}: {name_of(given.function)}: {error}") from None
    return term_of(given.function, form)


@lru_cache(maxsize=256)
def term_of_case(case, method) -> Term:
    """The Term of a method (self, state, grid, t, *coefficients) of a case, one for all equal cases."""
    return own_term(partial(method, case))


def term_of(given, form: Form | None = None) -> Term:
    """The Term of a function, with or without parameters of a Form."""
    names = coefficients_of(given, (*FIXED, "parameters") if form else FIXED)
    place, name = place_of(given), name_of(given)
    if form and name in (*VARIABLES, *NUMBERS, *names):
        raise UsageError(f"terms: {place}: {name} is the name of a field; a term with parameters needs another name")

    def tendency(flow, params, now):
        dt = params[TIME_STEP.name]
        whole = now.step.astype(flow.h.values.dtype).reshape(1, 1) * dt  # the native step takes a number for constant
        t = whole + now.stage * dt if now.stage else whole
        coefficients = {name: params[name] for name in names}
        with computed_at_once(flow.h.values):
            parameters = (form.pytree(params[name]),) if form else ()
            found = given(flow, flow.grid, t, *parameters, **coefficients)
        rates = checked_rates(found, flow, f"{place}: {name}")
        if isinstance(flow.h.values, np.ndarray):
            return {name: rate.map(np.asarray) for name, rate in rates.items()}
        return rates

    return Term(
        name,
        update_wrapper(tendency, given, assigned=(), updated=()),
        tuple(row_of(each) for each in names if each not in NUMBERS),
        fields=(TIME_STEP,),
        build=lambda config, rows, columns: {TIME_STEP.name: np.full((1, 1), config.time.dt)},
        parameters=form,
    )


@contextlib.contextmanager
def computed_at_once(values):
    """A context in which JAX, if used, computes NumPy arrays at once and in their precision, also during tracing."""
    jax = sys.modules.get("jax")
    if not jax or not isinstance(values, np.ndarray):
        yield
        return
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        yield


def name_of(function) -> str:
    """The name of a function, a partial function or a callable object."""
    function = getattr(function, "func", function)
    return getattr(function, "__name__", type(function).__name__)


def place_of(function) -> str:
    """File and line of a function; its name if it is not written in Python."""
    function = inspect.unwrap(function)
    function = inspect.unwrap(getattr(function, "func", function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else name_of(function)


def coefficients_of(function, fixed: tuple[str, ...]) -> list[str]:
    """Names of the coefficients that the function of a term takes, after its `fixed` parameters."""
    form = f"a function of ({', '.join(fixed)})"
    if not callable(function) or isinstance(function, type):
        raise UsageError(f"terms: {function!r:.60} is no term; needs {form}, or a Term")
    parameters = list(inspect.signature(function).parameters.values())
    wrong = [each for each in parameters if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY)]
    if len(parameters) < len(fixed) or wrong:
        raise UsageError(
            f"terms: {place_of(function)}: {name_of(function)} has the parameters {inspect.signature(function)}; "
            f"needs {form}, followed by names of coefficients"
        )
    return [each.name for each in parameters[len(fixed) :] if each.default is each.empty]


def row_of(name: str) -> Variable:
    """The table's row of a coefficient; a new row at centres for a user-defined one."""
    if name in GIVEN and name not in COEFFICIENTS:
        raise UsageError(f"terms: {name} is no coefficient; it is in the state or in the grid")
    return COEFFICIENTS.get(name) or Variable(name, "centre", "", "", name)


def checked_term(term: Term) -> Term:
    """The Term. UsageError: it has attributes that a user-defined term cannot have."""
    plain = Term("", term.tendency)
    more = [name for name in vars(plain) if name not in ALLOWED and getattr(term, name) != getattr(plain, name)]
    if more:
        raise UsageError(f"terms: {term.name} has {', '.join(more)}; yours may only have {', '.join(ALLOWED)}")
    if term.name in TERMS:
        raise UsageError(f"terms: {term.name} is a term of swmodel; give yours another name")
    return term


def checked_rates(found, flow, place: str) -> dict[str, Patch]:
    """The tendencies from the function of a term, as Patches on the block; messages begin with `place`."""
    if not isinstance(found, dict):
        raise UsageError(
            f'{place} returns a {type(found).__name__}; must be a dict of tendencies, as {{"u": -1e-6 * state.u}}'
        )
    like, rates = flow.h, {}
    for name, rate in found.items():
        if name not in flow.state._fields:
            there = ", ".join(flow.state._fields)
            raise UsageError(f'{place} returns a tendency of "{name}"; prognostic fields are {there}')
        if isinstance(rate, int | float | np.number) and not isinstance(rate, bool):
            rate = Patch(np.full((1, 1), rate, like.values.dtype), like.start)
        if not isinstance(rate, Patch) or not lies_on(rate, like):
            values = rate.values if isinstance(rate, Patch) else rate
            kind, shape = getattr(values, "dtype", f"a {type(rate).__name__}"), tuple(getattr(values, "shape", ()))
            raise UsageError(
                f"{place} returns {kind} of shape {shape} for {name}; must be a number, or a Patch on the block in "
                f"{like.values.dtype} (a Python number, or .astype, keeps the precision)"
            )
        rates[name] = rate
    return rates


def lies_on(rate: Patch, like: Patch) -> bool:
    """Whether a Patch has the precision of another, and covers its cells and at most one more on each side."""
    shape = rate.values.shape
    return (
        rate.values.dtype == like.values.dtype
        and len(shape) == 2
        and all(
            length == 1 or start <= first + 1 and first + length <= start + cells + 1
            for length, first, start, cells in zip(shape, rate.start, like.start, like.values.shape, strict=True)
        )
    )
