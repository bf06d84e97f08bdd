"""Quantities of the state, tracers and forcing, evaluated on blocks."""

from __future__ import annotations

import numpy as np

from ..errors import UsageError
from .derived import DERIVED
from .instant import Instant
from .records import present
from .terms.tracer import concentration_of


def derive(names, blocks, physics, invert) -> list[dict]:
    """The quantities, or the tracers, called `names` on each block, arrays of its shape.

    Args:
        blocks: (State of Patches with a halo, Grid of Patches, shape) of each block, NumPy or JAX.
        invert: function of a location and the sources on each block to the fields whose Laplacian these are.
    """
    found = [{} for _ in blocks]
    for name in names:
        row, values = DERIVED.get(name), []
        for state, grid, shape in blocks:
            made = row.evaluate(**state._asdict(), grid=grid, physics=physics) if row else concentration_of(name, state)
            values.append(made.on(shape))
        values = invert(row.location, values) if row and row.laplacian else values
        for fields, field in zip(found, values, strict=True):
            fields[name] = field
    return found


def derived(scheme) -> list[str]:
    """The names of the derived fields of a run with this Scheme."""
    return [*DERIVED, *(term.name for term in scheme.tracers)]


def forces(names, params, scheme, step: int, shape) -> dict[str, np.ndarray]:
    """The fields of FORCING called `names` after a number of steps, as used in the equations, on a block."""
    dtype = params["density"].values.dtype
    now = present(params, Instant(np.full((1, 1), step, np.int32)), scheme.varying, dtype)
    return {name: np.broadcast_to(now[name].on(shape), shape) for name in names}


def known(names, scheme, more=()) -> list[str]:
    """The list of names, which may be a single name, if they are fields of a run with this Scheme, or among `more`."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    there = [*derived(scheme), *more]
    if unknown := [name for name in names if name not in there]:
        raise UsageError(f"no field {', '.join(unknown)}; there are {', '.join(there)}")
    return names
