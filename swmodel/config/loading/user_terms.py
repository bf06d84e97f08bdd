"""User terms: check that they can be computed, identify them by checksum, and give each run its own copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...errors import ConfigError, UsageError, describe_failure
from ...ocean.flow import Flow
from ...ocean.patch import BeyondHalo
from ...ocean.scheme import MAX_HALO_WIDTH, TEST_BLOCK_CELLS, Scheme, make_test_block
from ...ocean.table import COEFFICIENTS
from ...ocean.terms import Term
from ...ocean.user_term import SCALAR_PARAMS, source_line_of
from ...setup.fields.record_notes import sha256
from ...setup.setup import Setup

#: A term is identified by its tendencies for random fields, in every CELL_STRIDE-th row and column, in NUMBER_FORMAT.
SEED, CELL_STRIDE, NUMBER_FORMAT = 11, 8, "%.5e"
#: The range of these fields, and a wider range, because conditions in a term may hold only outside VALUE_RANGE.
VALUE_RANGE, WIDE_VALUE_RANGE = (1.0, 2.0), (-1e4, 1e4)
#: Largest difference of a tendency, relative to its largest value, that counts as rounding.
ROUND_OFF = 1e-6


def check_terms(setup: Setup) -> None:
    """Check the user terms. ConfigError: one cannot be computed, depends on the block, or has the name of another."""
    config, scheme = setup.config, setup.scheme
    problems, names = [], [term.name for term in scheme.user_terms]
    problems += [
        f"terms: two terms are called {name}; give one of them another name"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    for term in scheme.user_terms:
        coefficients = [row.name for row in term.coefficients if row.name not in COEFFICIENTS]
        functions_of_case = [name for name in coefficients if callable(getattr(config.case, name, None))]
        if missing := [name for name in coefficients if name not in (*config.python.names, *functions_of_case)]:
            problems += [
                f'terms: {term.name} asks for {name}; give it as fields={{"{name}": function}}, or use one of '
                f"{', '.join((*COEFFICIENTS, *SCALAR_PARAMS))}"
                for name in missing
            ]
            continue
        try:
            check_term(term, scheme, setup.parameters)
        except UsageError as error:
            problems.append(f"terms: {error}")
    if problems:
        raise ConfigError(problems)


def check_term(term: Term, scheme: Scheme, parameters: Mapping) -> None:
    """Raise UsageError if a term cannot be computed, or if its tendency in a cell depends on the block."""
    rates = tendencies_of_random_fields(term, scheme, parameters)
    context = f"{source_line_of(term.tendency)}: {term.name}"
    is_finite = {name: np.isfinite(values) for name, values in rates.items()}
    if fields_not_finite := [
        name for name, values in is_finite.items() if not (values.all() if term.parameters else values.any())
    ]:
        raise UsageError(
            f"{context} returns values that are not finite for {', '.join(fields_not_finite)}, given fields from 1 to 2"
        )
    rates_of_narrow_halo = tendencies_of_random_fields(
        term, scheme, parameters, replace(scheme, term_names=(), user_terms=(term,)).halo_width
    )
    for name, values in rates.items():
        largest = np.abs(values[is_finite[name]]).max(initial=0.0)
        if not np.allclose(rates_of_narrow_halo[name], values, rtol=0.0, atol=ROUND_OFF * largest, equal_nan=True):
            raise UsageError(
                f"{context}: the tendency of {name} depends on the block of the cell; use `map` for functions of each "
                "cell alone, and means, differences or operators.cell_by_cell for neighbours"
            )


def term_checksum(
    term: Term, scheme: Scheme, parameters: Mapping, value_range: tuple[float, float] = VALUE_RANGE
) -> str:
    """SHA-256 of what a term computes: of its tendencies for random fields, in some cells and to a few digits."""
    rates = tendencies_of_random_fields(term, scheme, parameters, value_range=value_range)
    sampled_rates = {name: values[::CELL_STRIDE, ::CELL_STRIDE] + 0.0 for name, values in rates.items()}
    words = [
        f"{name} {' '.join(NUMBER_FORMAT % rate for rate in values.flat)}" for name, values in sampled_rates.items()
    ]
    return sha256("\n".join(words))


def tendencies_of_random_fields(
    term: Term,
    scheme: Scheme,
    parameters: Mapping,
    halo_width: int = MAX_HALO_WIDTH,
    value_range: tuple[float, float] = VALUE_RANGE,
) -> dict[str, np.ndarray]:
    """{field: its tendency from random fields, [TEST_BLOCK_CELLS, TEST_BLOCK_CELLS]}. UsageError: the term fails.

    Args:
        parameters: {name of a term: its parameters}.
        halo_width: cells; the fields are the same for any width.
        value_range: the range of the random fields.
    """
    scheme_of_term = replace(scheme, term_names=(), user_terms=(term,))
    generator, n_cut = np.random.default_rng(SEED), MAX_HALO_WIDTH - halo_width

    def random_values(shape):
        if shape[1:] in ((), (1,)):
            return generator.uniform(*value_range, shape)
        return generator.uniform(*value_range, [n + 2 * n_cut for n in shape])[
            n_cut : shape[0] + n_cut, n_cut : shape[1] + n_cut
        ]

    state, now, grid, params = make_test_block(scheme_of_term, halo_width, random_values)
    params |= {name: parameters[name] for name in params if name in parameters}
    try:
        with np.errstate(all="ignore"):
            rates = term.tendency(Flow(state, grid), params, now._replace(stage=0.5))
        arrays = {
            name: np.asarray(rates[name].block_values((TEST_BLOCK_CELLS, TEST_BLOCK_CELLS)), np.float64)
            for name in sorted(rates)
        }
        return {name: np.broadcast_to(rate, (TEST_BLOCK_CELLS, TEST_BLOCK_CELLS)) for name, rate in arrays.items()}
    except BeyondHalo as error:
        raise UsageError(f"{term.name} reads cells further than {MAX_HALO_WIDTH} rows or columns away") from error
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            describe_failure(error, source_line_of(term.tendency).rpartition(":")[0], term.name)
        ) from error


def with_new_terms(setup: Setup) -> Setup:
    """The Setup with new copies of its user terms, so that it has its own compiled programs."""
    new_terms = tuple(replace(term, tendency=TendencyGuard(term, setup.scheme)) for term in setup.scheme.user_terms)
    return replace(setup, scheme=replace(setup.scheme, user_terms=new_terms))


class TendencyGuard:
    """The tendency of a term. UsageError: the term no longer computes what it did when this object was made.

    A function may read globals, attributes, dicts or files that change. JAX and the native step keep the traced
    computation, and each new trace checks the function again.
    """

    def __init__(self, term: Term, scheme: Scheme):
        self.__wrapped__ = term.tendency
        self._term, self._scheme = term, scheme
        self._first_checksums = self._checksums()

    def __call__(self, flow, params, now):
        term = self._term
        if self._checksums() != self._first_checksums:
            raise UsageError(
                f"terms: {source_line_of(term.tendency)}: {term.name} has changed since the run was made, through a "
                f"global, an attribute or a dict that it reads; give each run its own function, such as "
                f"functools.partial({term.name}, rate=1e-4), or finish one run before you make the next"
            )
        return term.tendency(flow, params, now)

    def _checksums(self) -> list[str]:
        return [term_checksum(self._term, self._scheme, {}, span) for span in (VALUE_RANGE, WIDE_VALUE_RANGE)]
