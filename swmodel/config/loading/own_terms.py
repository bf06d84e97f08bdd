"""User-defined terms: check that they can be computed, identify them, and give each run its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...errors import ConfigError, UsageError, failure
from ...ocean.flow import Flow
from ...ocean.own_term import NUMBERS, place_of
from ...ocean.patch import BeyondHalo
from ...ocean.scheme import CELLS, WIDEST, Scheme, small_block
from ...ocean.table import COEFFICIENTS
from ...ocean.terms import Term
from ...setup.fields.noted import sha256
from ...setup.setup import Setup

#: A term is identified by its tendencies of random fields in every EACH-th cell, to so many digits.
SEED, EACH, DIGITS = 11, 8, "%.5e"
#: Between which numbers these fields lie; and others, as a term may have conditions.
SPAN, WIDE = (1.0, 2.0), (-1e4, 1e4)
#: Difference of a tendency, relative to its largest value, that is rounding.
ROUND_OFF = 1e-6


def check_terms(setup: Setup) -> None:
    """Check that the user-defined terms can be computed. ConfigError or UsageError: one cannot."""
    config, scheme = setup.config, setup.scheme
    problems, names = [], [term.name for term in scheme.own]
    problems += [
        f"terms: there are two called {name}; give one another name"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    for term in scheme.own:
        coefficients = [row.name for row in term.coefficients if row.name not in COEFFICIENTS]
        of_case = [name for name in coefficients if callable(getattr(config.case, name, None))]
        if absent := [name for name in coefficients if name not in (*config.python.names, *of_case)]:
            problems += [
                f'terms: {term.name} asks for {name}; give it, as fields={{"{name}": function}}, or one of '
                f"{', '.join((*COEFFICIENTS, *NUMBERS))}"
                for name in absent
            ]
            continue
        try:
            check_cells(term, scheme, setup.parameters)
        except UsageError as error:
            problems.append(f"terms: {error}")
    if problems:
        raise ConfigError(problems)


def check_cells(term: Term, scheme: Scheme, parameters: Mapping) -> None:
    """Check that a term can be computed, and that its tendency in a cell does not depend on the block."""
    rates = rates_of(term, scheme, parameters)
    where = f"{place_of(term.tendency)}: {term.name}"
    finite = {name: np.isfinite(values) for name, values in rates.items()}
    if bad := [name for name, of in finite.items() if not (of.all() if term.parameters else of.any())]:
        raise UsageError(f"{where} returns values that are not finite for {', '.join(bad)}, of fields from 1 to 2")
    near = rates_of(term, scheme, parameters, replace(scheme, terms=(), own=(term,)).width)
    for name, values in rates.items():
        largest = np.abs(values[finite[name]]).max(initial=0.0)
        if not np.allclose(near[name], values, rtol=0.0, atol=ROUND_OFF * largest, equal_nan=True):
            raise UsageError(
                f"{where}: the tendency of {name} depends on the block of a cell; use `map` for functions of each cell "
                "alone, and means, differences or operators.cell_by_cell for neighbours"
            )


def identity(term: Term, scheme: Scheme, parameters: Mapping, span: tuple[float, float] = SPAN) -> str:
    """SHA-256 of what a term computes: of its tendencies at some cells of random fields, to a few digits."""
    rates = rates_of(term, scheme, parameters, span=span)
    some = {name: values[::EACH, ::EACH] + 0.0 for name, values in rates.items()}
    words = [f"{name} {' '.join(DIGITS % rate for rate in values.flat)}" for name, values in some.items()]
    return sha256("\n".join(words))


def rates_of(
    term: Term, scheme: Scheme, parameters: Mapping, width: int = WIDEST, span: tuple[float, float] = SPAN
) -> dict[str, np.ndarray]:
    """Tendencies [CELLS, CELLS] of random fields by one term; around these cells the fields are the same for any width.

    `parameters` are by the names of terms; `width` is the width of the halo.
    """
    alone = replace(scheme, terms=(), own=(term,))
    drawn, cut = np.random.default_rng(SEED), WIDEST - width

    def values(shape):
        if shape[1:] in ((), (1,)):
            return drawn.uniform(*span, shape)
        return drawn.uniform(*span, [n + 2 * cut for n in shape])[cut : shape[0] + cut, cut : shape[1] + cut]

    state, now, grid, params = small_block(alone, width, values)
    params |= {name: parameters[name] for name in params if name in parameters}
    try:
        with np.errstate(all="ignore"):
            rates = term.tendency(Flow(state, grid, alone), params, now._replace(stage=0.5))
        found = {name: np.asarray(rates[name].on((CELLS, CELLS)), np.float64) for name in sorted(rates)}
        return {name: np.broadcast_to(one, (CELLS, CELLS)) for name, one in found.items()}
    except BeyondHalo as error:
        raise UsageError(f"{term.name} reads cells further than {WIDEST} rows or columns away") from error
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(failure(error, place_of(term.tendency).rpartition(":")[0], term.name)) from error


def with_fresh_terms(setup: Setup) -> Setup:
    """The Setup with new copies of its user-defined terms, so that it has its own compiled programs."""
    fresh = tuple(replace(term, tendency=Unchanged(term, setup.scheme)) for term in setup.scheme.own)
    return replace(setup, scheme=replace(setup.scheme, own=fresh))


class Unchanged:
    """The tendency of a term, as long as it computes the same as when this object was made.

    A function may read globals, attributes, dicts or files that change. JAX and the native step keep the recorded
    computation; each new recording checks the function again.
    """

    def __init__(self, term: Term, scheme: Scheme):
        self.__wrapped__ = term.tendency
        self._term, self._scheme = term, scheme
        self._first = self._found()

    def __call__(self, flow, params, now):
        term = self._term
        if self._found() != self._first:
            raise UsageError(
                f"terms: {place_of(term.tendency)}: {term.name} has changed since the run was made, with a global, an "
                f"attribute or a dict that it reads; give each run its own function, as "
                f"functools.partial({term.name}, rate=1e-4), or finish one run before you make the next"
            )
        return term.tendency(flow, params, now)

    def _found(self) -> list[str]:
        return [identity(self._term, self._scheme, {}, span) for span in (SPAN, WIDE)]
