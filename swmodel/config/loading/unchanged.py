"""What the terms of the user's own compute, read anew for each run, and the same as long as it goes on.

A function of a term may read what nobody sees from outside: globals, attributes, dicts, files. JAX and the native step
keep what it computed when they recorded it. So each run has Terms of its own, with programs of their own; and wherever
such a Term is recorded once more, it is compared with what it computed at first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import UsageError
from ...ocean.own_term import TIME_STEP, place_of
from ...ocean.patch import Patch
from ...ocean.reach import WIDEST, small_block
from ...ocean.scheme import Scheme
from ...ocean.terms import Term
from ...setup.fields.field import with_python
from ...setup.setup import Setup
from .case_file import recorded
from .python_inputs import alone, rates_on

SEED = 12
#: Powers of ten of the sizes of half the values that a term is given; the times since the start of the run, s.
SIZES, TIMES = (-6.0, 5.0), (1.0, 1e9)
#: Relative difference of a tendency that is rounding.
ROUND_OFF = 1e-9


def unhashed(config):
    """The configuration as a run records it, with the SHA-256 of its terms left open."""
    python = config.python
    texts = [text.split()[0] for text in python.terms]
    config = config.model_copy(update={"case": recorded(config.case)})
    return with_python(config, python.fields, texts, python._sources, python._terms)


def with_fresh_terms(setup: Setup) -> Setup:
    """The Setup with Terms of the user's own that no other run has, each of which is `Unchanged`."""
    scheme = setup.scheme
    fresh = tuple(replace(term, tendency=Unchanged(term, scheme)) for term in scheme.own)
    return replace(setup, scheme=replace(scheme, own=fresh))


class Unchanged:
    """The tendency of a term, as long as it computes what it computed when this object was made.

    Args:
        term: the Term.
        scheme: of the run.
    """

    def __init__(self, term: Term, scheme: Scheme):
        self.__wrapped__ = term.tendency
        self._term, self._scheme = term, alone(term, scheme)
        self._first = self._rates()

    def __call__(self, flow, params, now):
        first, rates, term = self._first, self._rates(), self._term
        if first.keys() != rates.keys() or not all(same(first[name], rates[name]) for name in rates):
            raise UsageError(
                f"terms: {place_of(term.tendency)}: {term.name} no longer computes what it did when the run was made: "
                "a global, an attribute or a dict that it reads has changed. Let each run have a function of its own, "
                f"as functools.partial({term.name}, rate=1e-4), or finish one before the next is made"
            )
        return term.tendency(flow, params, now)

    def _rates(self) -> dict[str, np.ndarray]:
        """Tendencies of random fields: west from 1 to 2, east of all sizes and both signs, each row at its own time."""
        drawn = np.random.default_rng(SEED)

        def values(shape):
            if len(shape) == 1:
                return drawn.uniform(-1.0, 1.0, shape)
            found = drawn.uniform(1.0, 2.0, shape)
            if shape != (1, 1):
                east = found[:, shape[1] // 2 :]
                east[:] = drawn.choice((-1.0, 1.0), east.shape) * 10.0 ** drawn.uniform(*SIZES, east.shape)
            return found

        state, now, grid, params = small_block(self._scheme, WIDEST, values)
        if TIME_STEP.name in params:
            times = np.geomspace(*TIMES, grid.wet.values.shape[0])
            params[TIME_STEP.name] = Patch(times[:, None], grid.wet.start)
        return rates_on(self._term, self._scheme, state, now._replace(stage=1.0), grid, params)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two tendencies are equal, to rounding."""
    return np.allclose(one, other, rtol=ROUND_OFF, atol=0.0, equal_nan=True)
