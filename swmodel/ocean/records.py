"""Coefficients that vary in time: records, and linear interpolation between them.

    c(t) = c + c_before + w (c_after - c_before),   w = min(1, (n + s - a) / (b - a))

at stage s of step n, where the records before and after are at the times a and b, counted in steps. A step uses the
records around its start; stages beyond the second record use the value of that record. c is a constant offset, present
only for derivatives with respect to it. Corrections of a coefficient are further records, at times of their own, which
are added to the coefficient, whether or not it varies itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .instant import Instant
from .patch import Patch

UINT32_RANGE = 2**32

CORRECTION_SUFFIX = "_correction"


class RecordInterval(NamedTuple):
    """The times of two successive records, in steps since the start of the run; may be fractional."""

    before: float
    after: float


class RecordNames(NamedTuple):
    """The names of a coefficient's two fields and three numbers in the params."""

    before: str
    after: str
    negated_first_step: str
    lead_steps: str
    rate: str


def record_names(name: str) -> RecordNames:
    return RecordNames(*(f"{name}_{part}" for part in RecordNames._fields))


def interpolation_numbers(name: str, interval: RecordInterval) -> dict[str, np.ndarray]:
    """The numbers with which a coefficient is interpolated between two records, [1, 1].

    `negated_first_step` is minus the first whole step, modulo 2^32; the record before is `lead_steps` before that step.
    """
    first, names = math.ceil(interval.before), record_names(name)
    return {
        names.negated_first_step: np.full((1, 1), -first % UINT32_RANGE, np.uint32),
        names.lead_steps: np.full((1, 1), first - interval.before),
        names.rate: np.full((1, 1), 1 / (interval.after - interval.before)),
    }


def interpolation_weight(numbers: tuple[Any, Any, Any], now: Instant, dtype):
    """w at an Instant, [1, 1] of `dtype`, from the three numbers, without loss of precision after many steps."""
    negated_first_step, lead_steps, rate = numbers
    steps_since_first = (now.step.astype(np.uint32) + negated_first_step.astype(np.uint32)).astype(dtype)
    fraction = (steps_since_first + (lead_steps + now.stage if now.stage else lead_steps)) * rate
    return fraction.__array_namespace__().minimum(fraction, 1.0)


def interpolate_records(params: dict[str, Patch], now: Instant, varying: Iterable[str], dtype) -> dict[str, Patch]:
    """The params, Patches by name, with varying coefficients interpolated to an Instant, in the dtype of the fields."""
    interpolated = dict(params)
    for name in varying:
        before, after, *numbers = (params[part] for part in record_names(name))
        w = interpolation_weight(tuple(number.values for number in numbers), now, dtype)
        value, coefficient = before + (after - before) * w, name.removesuffix(CORRECTION_SUFFIX)
        interpolated[coefficient] = interpolated[coefficient] + value if coefficient in interpolated else value
    return interpolated


def record_param_kinds(varying: Iterable[str]) -> dict[str, bool]:
    """{name in the params: whether it is a field} for varying coefficients."""
    return {part: n < 2 for name in varying for n, part in enumerate(record_names(name))}


def params_for_substeps(params: dict[str, Any], varying: Iterable[str], substeps: int) -> dict[str, Any]:
    """The params with the numbers of varying coefficients for steps that are shorter by the factor `substeps`."""
    divided_params = dict(params)
    for _, _, negated_first_step, lead_steps, rate in map(record_names, varying):
        divided_params[negated_first_step] = params[negated_first_step] * np.uint32(substeps)  # modulo 2^32
        divided_params[lead_steps] = params[lead_steps] * substeps
        divided_params[rate] = params[rate] / substeps
    return divided_params
