"""Means over time of the fields, updated after every step."""

from __future__ import annotations

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from ..ocean.diagnostics import derive, known
from ..ocean.elliptic import Equation, require_rectangle
from ..ocean.grid import as_patches
from ..ocean.patch import Patch
from ..ocean.state import State
from ..ocean.table import POTENTIALS
from ..parallel.transport.halo import make_pad
from ..parallel.transport.programs import jitted


def running_means(simulation, names: Iterable[str]) -> Means:
    """The Means of a simulation's fields called `names`; see `Simulation.means`."""
    names = known(names, simulation.scheme)
    if set(names) & set(POTENTIALS):
        require_rectangle("stream function and velocity potential are", simulation.blocks(), simulation.transport)
    return Means(names, simulation.config, simulation.scheme.width, simulation.transport, simulation.grid)


def make_fields(names, physics, sea, width: int, transport):
    """The function (State, Grid) -> dict of the derived fields called `names`, [y, x] of a block.

    Args:
        physics, sea: sections [physics] and [grid] of the configuration, which the fields depend on.
        width: cells of a halo; the Grid has one more around the block.
    """
    with_halo, shape = make_pad(width, transport), transport.shape

    def invert(location: str, sources: list) -> list:
        return [Equation(location, sea).solved(source, transport) for source in sources]

    def fields(state: State, grid) -> dict:
        patches = type(state)._make(Patch(field, (-width, -width)) for field in with_halo(state))
        return derive(names, [(patches, as_patches(grid, width), shape)], physics, invert)[0]

    return fields


def make_update(*parts):
    """The function (means, count, State, Grid) -> means with one more state, the one of that number, taken into them.

    Args:
        parts: of `make_fields`.
    """
    fields = make_fields(*parts)

    def update(means, count, state: State, grid):
        return jax.tree.map(lambda mean, x: mean + (x - mean) / count.astype(x.dtype), means, fields(state, grid))

    return update


def make_zero(*parts):
    """The function (State, Grid) -> fields of zeros; `parts` of `make_fields`."""
    fields = make_fields(*parts)
    return lambda state, grid: jax.tree.map(jnp.zeros_like, fields(state, grid))


class Means:
    """Running means of derived fields, in the precision of the run.

    Args:
        names: of the fields.
        config: resolved configuration.
        width: cells of a halo.
        transport: of the run.
        grid: Grid of arrays as `transport.make` gives them.

    Attributes:
        fields: the means so far on the devices, by name; None where there was no step.
    """

    def __init__(self, names, config, width: int, transport, grid):
        self._transport, self._grid = transport, grid
        parts = tuple(names), config.physics, config.grid, width, transport
        self._zero, self._update = (jitted(make, *parts) for make in (make_zero, make_update))
        self.fields: dict | None = None
        self._count = 0

    def add(self, state: State) -> None:
        """Take the fields of one more step into the means."""
        if self.fields is None:
            self.fields = self._zero(state, self._grid)
        self._count += 1
        self.fields = self._update(self.fields, jnp.asarray(self._count), state, self._grid)

    @property
    def count(self) -> int:
        """Number of steps that the means are of."""
        return self._count

    def values(self) -> dict[str, np.ndarray] | None:
        """The means so far; None where there was no step."""
        return None if self.fields is None else self._transport.get(self.fields)

    def reset(self, means: dict | None = None, count: int = 0) -> None:
        """Start anew, or from what `fields` and `count` have been."""
        self.fields, self._count = means if count else None, count
