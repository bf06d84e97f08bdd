"""The control `incident_wave`: the level, at records in time, of a wave that enters through the open boundary.

Record k is a number x_k, uniform along the boundary. No wave goes out, so by the Riemann invariant of outgoing waves

    level = x_k,   transport inward = 2 h (sqrt(g h) - sqrt(g H)),   h = H + x_k,

with the depth H of the cells. Both replace boundary data; between records they are linear in time (`ocean.records`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..ocean.records import record_names
from ..ocean.terms.boundary_data import AXIS_OF_SIDE
from ..ocean.terms.open_boundaries import MIN_WAVE_DEPTH
from ..setup.fields.varying import read_record

if TYPE_CHECKING:
    from ..setup.setup import Setup

CONTROL, LEVEL = "incident_wave", "boundary_level"


def transport_coefficient(setup: Setup) -> str:
    """The name of the coefficient for the transport through the open boundary. UsageError: the run has no wave."""
    sides = setup.config.open_boundaries.sides
    coefficient = f"boundary_transport_{AXIS_OF_SIDE[sides[0]]}" if len(sides) == 1 else ""
    if not {LEVEL, coefficient} <= set(setup.scheme.varying):
        raise UsageError(f"{CONTROL}: needs one open boundary whose level and transport have records in time")
    return coefficient


def param_names(setup: Setup) -> tuple[str, ...]:
    """The names of the params that a step takes from the wave."""
    return tuple(part for name in (LEVEL, transport_coefficient(setup)) for part in record_names(name)[:2])


def first_guess_records(setup: Setup) -> np.ndarray:
    """The configured level at the times of its records, m, [records], read at one end of the open boundary."""
    transport_coefficient(setup)
    corner = [-1 if setup.config.open_boundaries.sides[0] in ("east", "north") else 0]
    n_records = setup.varying_coefficients().sources[LEVEL].record_at(setup.config.run.steps - 1)[0] + 2
    return np.array([read_record(setup.config, LEVEL, k, corner, corner)[0, 0] for k in range(n_records)])


def make_expand(setup: Setup) -> Callable:
    """The function (level at the record before, level at the record after, FixedInputs) -> {name: field of a step}."""
    level, transport = record_names(LEVEL), record_names(transport_coefficient(setup))
    inward_sign = -1 if setup.config.open_boundaries.sides[0] in ("east", "north") else 1

    def expand(level_before, level_after, fixed):
        fields: dict = {}
        depth, g = jnp.maximum(fixed.grid.depth, MIN_WAVE_DEPTH), fixed.params["gravity"]
        for part, x in (("before", level_before), ("after", level_after)):
            h = jnp.maximum(depth + x, MIN_WAVE_DEPTH)
            level_and_transport = {level: x, transport: inward_sign * 2 * h * (jnp.sqrt(g * h) - jnp.sqrt(g * depth))}
            for names, values in level_and_transport.items():
                name = getattr(names, part)
                fields[name] = jnp.broadcast_to(values, fixed.params[name].shape)
        return fields

    return expand
