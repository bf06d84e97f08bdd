"""Coefficients that vary in time: records, and linear interpolation between them.

    c(t) = c + c_before + w (c_after - c_before),   w = min(1, (n + s - a) / (b - a))

at stage s of step n, with the records before and after at the times a and b, counted in steps. A step uses the records
around its begin; stages beyond the second record use its value. c is a change at all times, present only for
derivatives with respect to it. Corrections of a coefficient are further records, at times of their own, which are added
to it, whether it varies itself or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .instant import Instant
from .patch import Patch

WORD = 2**32

#: The ending of the name of a coefficient's corrections.
CORRECTION = "_correction"


class Span(NamedTuple):
    """The times of two successive records, in steps since the start of the run; may be fractional."""

    before: float
    after: float


class Names(NamedTuple):
    """The names of a coefficient's two fields and three numbers in the params."""

    before: str
    after: str
    back: str
    early: str
    rate: str


def names_of(name: str) -> Names:
    """The Names of a coefficient."""
    return Names(*(f"{name}_{part}" for part in Names._fields))


def numbers_of(name: str, span: Span) -> dict[str, np.ndarray]:
    """The numbers of a coefficient between two records, [1, 1].

    `back` is the first whole step, to be subtracted modulo 2^32; the record before is `early` steps before it.
    """
    first, names = math.ceil(span.before), names_of(name)
    return {
        names.back: np.full((1, 1), -first % WORD, np.uint32),
        names.early: np.full((1, 1), first - span.before),
        names.rate: np.full((1, 1), 1 / (span.after - span.before)),
    }


def weight(numbers: tuple[Any, Any, Any], now: Instant, dtype):
    """w at an Instant from back, early and rate, [1, 1] of `dtype`, without loss of precision after many steps."""
    back, early, rate = numbers
    since = (now.step.astype(np.uint32) + back.astype(np.uint32)).astype(dtype)
    passed = (since + (early + now.stage if now.stage else early)) * rate
    return passed.__array_namespace__().minimum(passed, 1.0)


def present(params: dict[str, Patch], now: Instant, varying: Iterable[str], dtype) -> dict[str, Patch]:
    """The params, Patches by name, with the varying coefficients at an Instant, in the dtype of the fields."""
    found = dict(params)
    for name in varying:
        before, after, *numbers = (params[part] for part in names_of(name))
        w = weight(tuple(number.values for number in numbers), now, dtype)
        there, of = before + (after - before) * w, name.removesuffix(CORRECTION)
        found[of] = found[of] + there if of in found else there
    return found


def params_of(varying: Iterable[str]) -> dict[str, bool]:
    """{name in the params: whether it is a field} for coefficients that vary."""
    return {part: n < 2 for name in varying for n, part in enumerate(names_of(name))}


def divided(params: dict[str, Any], varying: Iterable[str], substeps: int) -> dict[str, Any]:
    """The params with the numbers of varying coefficients for steps that are `substeps` times as short."""
    found = dict(params)
    for _, _, back, early, rate in map(names_of, varying):
        found[back] = params[back] * np.uint32(substeps)  # modulo 2^32
        found[early] = params[early] * substeps
        found[rate] = params[rate] / substeps
    return found
