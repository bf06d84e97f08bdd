"""The control `incident_wave`: sea level of a wave that comes in through the open side, at its records in time.

Record k is a number x_k, the same along the side. The wave moves inward alone, so by the invariant of what goes out

    level = x_k,   transport inward = 2 h (sqrt(g h) - sqrt(g H)),   h = H + x_k,

with the depth H of the cells. Both replace `outside_level` and the transport through the side; between records they
are linear in time (`ocean.records`).
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..ocean.records import names_of
from ..ocean.terms.open_sides import LEAST
from ..ocean.terms.outside import SIDES
from ..setup.fields.varying import record

NAME, LEVEL = "incident_wave", "outside_level"


def transport_of(setup) -> str:
    """The coefficient of the transport through the open side. UsageError: a run has no such wave."""
    sides = setup.config.open_sides.sides
    flow = f"outside_transport_{SIDES[sides[0]]}" if len(sides) == 1 else ""
    if not {LEVEL, flow} <= set(setup.scheme.varying):
        raise UsageError(f"{NAME}: needs one open side whose level and transport have records in time")
    return flow


def fields_of(setup) -> tuple[str, ...]:
    """The names in the params of the fields that a step takes from the wave."""
    return tuple(part for name in (LEVEL, transport_of(setup)) for part in names_of(name)[:2])


def given(setup) -> np.ndarray:
    """The level of the configuration at its records, m, [records]: that of a corner of the open side."""
    transport_of(setup)
    corner = [-1 if setup.config.open_sides.sides[0] in ("east", "north") else 0]
    last = setup.records().series[LEVEL].at(setup.config.run.steps - 1)[0] + 2
    return np.array([record(setup.config, LEVEL, k, corner, corner)[0, 0] for k in range(last)])


def expansion(setup) -> Callable:
    """The function (level at the record before, after, Fixed) to the fields of a step, by name."""
    level, flow, inward = names_of(LEVEL), names_of(transport_of(setup)), 1
    if setup.config.open_sides.sides[0] in ("east", "north"):
        inward = -1

    def expand(first, second, fixed):
        fields: dict = {}
        depth, g = jnp.maximum(fixed.grid.depth, LEAST), fixed.params["gravity"]
        for part, x in (("before", first), ("after", second)):
            h = jnp.maximum(depth + x, LEAST)
            found = {level: x, flow: inward * 2 * h * (jnp.sqrt(g * h) - jnp.sqrt(g * depth))}
            for names, values in found.items():
                name = getattr(names, part)
                fields[name] = jnp.broadcast_to(values, fixed.params[name].shape)
        return fields

    return expand
