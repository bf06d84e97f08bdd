"""Terms of the user's own: a function of the state, the grid and the time becomes a Term.

    def grow(state, grid, t, roughness):
        return {"u": -1e-6 * state.u}

`state` is a Flow, `grid` a Grid, `t` the time since the start of the run, s, and further parameters are coefficients by
their names; all consist of Patches, in SI units. The function returns tendencies of prognostic fields, in units of the
field per second, which are added on water and open faces.
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

#: The forms of a term of the user's own (docs/python.md).
OwnTerm: TypeAlias = Callable[..., Mapping[str, Patch | float]] | Term | Parametric

#: The first parameters of every function of a term, whatever their names; those that follow are coefficients.
FIXED = ("state", "grid", "t")
#: The next parameter of a term with parameters.
PARAMETERS = ("parameters",)
#: Numbers in the params of every run.
NUMBERS = ("gravity", "density")
#: The number in the params from which `t` follows.
TIME_STEP = Variable("own_time_step", "", "s", "", "time step")

#: Most Terms of cases that are kept.
KEPT = 256

#: The attributes that a Term of the user's own may have; the others need the configuration or files.
ALLOWED = ("name", "tendency", "coefficients", "rate", "process")


def own_term(given: OwnTerm) -> Term:
    """A new Term of a function of (state, grid, t, *coefficients); a Term is returned as it is.

    Raises:
        UsageError: it is none of these, or has parameters or attributes that such a term cannot have.
    """
    if isinstance(given, Term):
        return checked_term(given)
    if not isinstance(given, Parametric):
        return term_of(given)
    if not callable(given.function):
        asked_for(given.function, FIXED + PARAMETERS)  # raises
    try:
        form = form_of(given.parameters)
    except UsageError as error:
        raise UsageError(f"terms: {place_of(given.function)}: {name_of(given.function)}: {error}") from None
    return term_of(given.function, form)


@lru_cache(maxsize=KEPT)
def term_of_case(case, method) -> Term:
    """The Term of a method (self, state, grid, t, *coefficients) of a case, one for all equal cases."""
    return own_term(partial(method, case))


def term_of(given, form: Form | None = None) -> Term:
    """See `own_term`.

    Args:
        form: that of its parameters, if it has any.
    """
    names = asked_for(given, FIXED + PARAMETERS if form else FIXED)
    place, name = place_of(given), name_of(given)
    if form and name in (*VARIABLES, *NUMBERS, *names):
        raise UsageError(
            f"terms: {place}: {name} is the name of a field, and this term has parameters; give it another one"
        )

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
    """A context in which JAX, if used, computes with NumPy arrays in their precision, also while it records."""
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


def asked_for(function, fixed=FIXED) -> list[str]:
    """Names of the coefficients that the function of a term takes.

    Args:
        fixed: its other parameters, which come first.

    Raises:
        UsageError: it is no function, or has other parameters than (*fixed, *coefficients).
    """
    form = f"a function of ({', '.join(fixed)})"
    if not callable(function) or isinstance(function, type):
        raise UsageError(f"terms: {function!r:.60} is no term; needs {form}, or a Term")
    parameters = list(inspect.signature(function).parameters.values())
    wrong = [each for each in parameters if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY)]
    if len(parameters) < len(fixed) or wrong:
        raise UsageError(
            f"terms: {place_of(function)}: {name_of(function)} has the parameters {inspect.signature(function)}; "
            f"needs {form}, and names of coefficients behind them"
        )
    return [each.name for each in parameters[len(fixed) :] if each.default is each.empty]


def row_of(name: str) -> Variable:
    """The table's row of a coefficient; for one of the user's own a new row, at centres.

    Raises:
        UsageError: the name is that of a field which is no coefficient.
    """
    if name in GIVEN and name not in COEFFICIENTS:
        raise UsageError(f"terms: {name} is no coefficient; it is in the state or in the grid")
    return COEFFICIENTS.get(name) or Variable(name, "centre", "", "", name)


def checked_term(term: Term) -> Term:
    """The Term, if it has only attributes that a term of the user's own may have.

    Raises:
        UsageError: it has others.
    """
    plain = Term("", term.tendency)
    more = [name for name in vars(plain) if name not in ALLOWED and getattr(term, name) != getattr(plain, name)]
    if more:
        raise UsageError(f"terms: {term.name} has {', '.join(more)}; one of your own has {', '.join(ALLOWED)} alone")
    if term.name in TERMS:
        raise UsageError(f"terms: {term.name} is a term of swmodel; give yours another name")
    return term


def checked_rates(found, flow, place: str) -> dict[str, Patch]:
    """What the function of a term has returned, if it is a dict of tendencies.

    Args:
        place: how messages begin.

    Raises:
        UsageError: it is not, or has another shape or precision than the fields.
    """
    if not isinstance(found, dict):
        what = "nothing" if found is None else f"a {type(found).__name__}"
        raise UsageError(f'{place} returns {what}; must be a dict of tendencies, as {{"u": -1e-6 * state.u}}')
    like, rates = flow.h, {}
    for name, rate in found.items():
        if name not in flow.state._fields:
            there = ", ".join(flow.state._fields)
            raise UsageError(f'{place} returns a tendency of "{name}"; there are those of {there}')
        if isinstance(rate, int | float | np.number) and not isinstance(rate, bool):
            rate = Patch(np.full((1, 1), rate, like.values.dtype), like.start)
        if not isinstance(rate, Patch):
            raise UsageError(f"{place} returns a {type(rate).__name__} for {name}; must be a Patch or a number")
        if wrong := shape_problem(rate, like):
            raise UsageError(f"{place} returns {wrong} for {name}")
        rates[name] = rate
    return rates


def shape_problem(rate: Patch, like: Patch) -> str:
    """What is wrong with the shape or precision of a tendency, compared with the thickness; "": nothing."""
    shape, dtype = tuple(rate.values.shape), rate.values.dtype
    if dtype != like.values.dtype:
        return f"{dtype} where the run is in {like.values.dtype} (a Python number, or .astype, keeps the precision)"
    if len(shape) != 2:
        return f"an array with {len(shape)} axes"
    for axis, length in enumerate(shape):
        first, last = rate.start[axis], rate.start[axis] + length
        outer = like.start[axis] - 1, like.start[axis] + like.values.shape[axis] + 1
        if length > 1 and not outer[0] <= first < last <= outer[1]:
            return f"an array of shape {shape} that does not lie on the block: `map` must leave the shape as it is"
    return ""
