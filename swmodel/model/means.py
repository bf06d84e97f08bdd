"""Means over time of the fields, updated after every step."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

from ..ocean.derived import derive, known
from ..ocean.elliptic import Equation, require_rectangle
from ..ocean.state import State
from ..ocean.table import POTENTIALS
from ..parallel.transport.programs import jitted
from .padded import given_to_fields, make_padded


def running_means(simulation, names: Iterable[str], blocks: Callable) -> Means:
    """The Means of the fields called `names` of a simulation; `blocks` returns its state; see `Simulation.means`."""
    names = known(names, simulation.scheme)
    if set(names) & set(POTENTIALS):
        require_rectangle("stream function and velocity potential are", blocks(), simulation.transport)
    return Means(names, simulation)


def make_fields(names, physics, sea, scheme, transport):
    """The function (State, Grid, Params, step) -> dict of the derived fields called `names`, [y, x] of a block.

    Args:
        physics, sea: sections [physics] and [grid] of the configuration, on which the fields depend.
        scheme: of the run.
    """
    padded, shape = make_padded(scheme, transport), transport.shape

    def invert(location: str, sources: list) -> list:
        return [Equation(location, sea).solved(source, transport) for source in sources]

    def fields(state: State, grid, params, step) -> dict:
        return derive(names, [(*padded(state, grid, params, step), shape)], physics, invert)[0]

    return fields


def make_update(*parts):
    """The function (means, weight, *given) -> means with one more state, of this weight.

    The bits must be the same on any layout. So nothing is divided, as compilers may multiply by the reciprocal; and
    products pass through a maximum, so that they are rounded before they are added.

    Args:
        parts: arguments of `make_fields`; `given` are those of the function that it makes.
    """
    fields = make_fields(*parts)

    def update(means, weight, *given):
        def taken(mean, x):
            return mean + jnp.maximum((x - mean) * weight.astype(x.dtype), jnp.finfo(x.dtype).min)

        return jax.tree.map(taken, means, fields(*given))

    return update


def make_zero(*parts):
    """The function (*given) -> fields of zeros; see `make_update`."""
    fields = make_fields(*parts)
    return lambda *given: jax.tree.map(jnp.zeros_like, fields(*given))


class Means:
    """Running means of derived fields, in the precision of the run.

    Args:
        names: of the fields.
        simulation: the run.

    Attributes:
        fields: the means so far on the devices, by name; None where there was no step.
    """

    def __init__(self, names, simulation):
        self._simulation, config = simulation, simulation.config
        parts = tuple(names), config.physics, config.grid, simulation.scheme, simulation.transport
        self._zero, self._update = (jitted(make, *parts) for make in (make_zero, make_update))
        self.fields: dict | None = None
        self._count = 0

    def add(self, state: State) -> None:
        """Add the fields of one more step to the means."""
        given = given_to_fields(self._simulation, state)
        if self.fields is None:
            self.fields = self._zero(*given)
        self._count += 1
        self.fields = self._update(self.fields, jnp.asarray(1 / self._count), *given)

    @property
    def count(self) -> int:
        """Number of steps in the means."""
        return self._count

    def values(self) -> dict[str, np.ndarray] | None:
        """The means so far; None where there was no step."""
        return None if self.fields is None else self._simulation.get(self.fields)

    def reset(self, means: dict | None = None, count: int = 0) -> None:
        """Start anew, or from earlier `fields` and `count`."""
        self.fields, self._count = means if count else None, count
