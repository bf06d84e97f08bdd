"""Terms of the user's own: a function of the state, the grid and the time becomes a Term.

    def grow(state, grid, t, roughness):
        return {"u": -1e-6 * state.u}

`state` is a Flow, `grid` a Grid, `t` the time since the start of the run, s, and further parameters are coefficients,
by their names: Patches all of them, in SI units. What is returned are tendencies of prognostic fields, units of the
field per second, added where the field is not closed by a coast.
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

#: What a term of the user's own may be given as (docs/python.md).
OwnTerm: TypeAlias = Callable[..., Mapping[str, Patch | float]] | Term | Parametric

#: Parameters that every function of a term has, whatever it calls them; those that follow are coefficients.
FIXED = ("state", "grid", "t")
#: What those of a term with parameters have behind them.
PARAMETERS = ("parameters",)
#: Numbers among the params of every run.
NUMBERS = ("gravity", "density")
#: The number among the params from which `t` is made.
TIME_STEP = Variable("own_time_step", "", "s", "", "time step")

#: Terms that are kept, so that programs with them are compiled once.
KEPT = 256

#: What a Term that is handed over may have; all else belongs to the configuration or to files.
ALLOWED = ("name", "tendency", "coefficients", "rate", "process", "stress", "acceleration", "energy")


def own_term(given: OwnTerm) -> Term:
    """The Term of a function of (state, grid, t, *coefficients), the same one for the same function; or the Term given.

    That of a Parametric is the same for parameters of one form, whatever their values.

    Raises:
        UsageError: it is none of these, or has parameters or parts that such a term cannot have.
    """
    if isinstance(given, Term):
        return checked_term(given)
    parts: tuple = (given,)
    if isinstance(given, Parametric):
        if not callable(given.function):
            asked_for(given.function, FIXED + PARAMETERS)  # which says so
        name = f"terms: {place_of(given.function)}: {name_of(given.function)}"
        try:
            parts = given.function, form_of(given.parameters)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
    try:
        hash(parts)
    except TypeError:
        return term_of.__wrapped__(*parts)
    return term_of(*parts)


@lru_cache(maxsize=KEPT)
def term_of_case(case, name: str) -> Term:
    """The Term of a function of (self, state, grid, t, *coefficients) of a case, the same one for equal cases."""
    return own_term(partial(getattr(type(case), name), case))


@lru_cache(maxsize=KEPT)
def term_of(given, form: Form | None = None) -> Term:
    """See `own_term`.

    Args:
        form: of its parameters, if it has some.
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
        with double_precision(flow.h.values):
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
        energy=1,
        parameters=form,
    )


def double_precision(values):
    """A context in which JAX, where it is used, computes with arrays of NumPy in their precision."""
    jax = sys.modules.get("jax")
    return jax.enable_x64(True) if jax and isinstance(values, np.ndarray) else contextlib.nullcontext()


def name_of(function) -> str:
    """What a function, or a part of one, or an object that can be called, is called."""
    function = getattr(function, "func", function)
    return getattr(function, "__name__", type(function).__name__)


def place_of(function) -> str:
    """File and line of a function; of what is not written in Python its name."""
    function = inspect.unwrap(function)
    function = inspect.unwrap(getattr(function, "func", function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else name_of(function)


def asked_for(function, fixed=FIXED) -> list[str]:
    """Names of the coefficients that a function of a term asks for.

    Args:
        fixed: what it is a function of besides.

    Raises:
        UsageError: it is no function, or not one of (*fixed, *coefficients).
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
    """The row of a coefficient: of the table, or of the user's own, at centres.

    Raises:
        UsageError: a field of this name is none.
    """
    if name in GIVEN and name not in COEFFICIENTS:
        raise UsageError(f"terms: {name} is no coefficient; it is in the state or in the grid")
    return COEFFICIENTS.get(name) or Variable(name, "centre", "", "", name)


def checked_term(term: Term) -> Term:
    """The Term, if it has nothing that only one of the package can have.

    Raises:
        UsageError: it has.
    """
    plain = Term("", term.tendency)
    more = [name for name in vars(plain) if name not in ALLOWED and getattr(term, name) != getattr(plain, name)]
    if more:
        raise UsageError(f"terms: {term.name} has {', '.join(more)}; one of your own has {', '.join(ALLOWED)} alone")
    if term.name in TERMS:
        raise UsageError(f"terms: {term.name} is a term of swmodel; give yours another name")
    return term


def checked_rates(found, flow, place: str) -> dict[str, Patch]:
    """What the function of a term has returned, if these are tendencies.

    Args:
        place: how messages begin.

    Raises:
        UsageError: they are not; or not of the shape or the precision of the fields.
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
        if wrong := misshapen(rate, like):
            raise UsageError(f"{place} returns {wrong} for {name}")
        rates[name] = rate
    return rates


def misshapen(rate: Patch, like: Patch) -> str:
    """What is wrong with shape or precision of a tendency, beside the thickness; "" for nothing."""
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
