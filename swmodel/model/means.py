"""Means over time of the fields, updated after every step within the compiled loop."""

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
from .padded import make_padded, params_of
from .recorder import MOST_TIMES


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


def make_look(*parts):
    """The function look(seen, given, State, step) -> `seen` after one more state: the means, and how many are in them.

    The bits must be the same on any layout. So nothing but the weight is divided, as compilers may multiply by the
    reciprocal; and products pass through a maximum, so that they are rounded before they are added.

    Args:
        parts: arguments of `make_fields`; `given` are Grid and Params.
    """
    fields = make_fields(*parts)

    def look(seen, given, state, step):
        means, count = seen[0], seen[1] + 1

        def taken(mean, x):
            weight = jnp.ones((), x.dtype) / count.astype(x.dtype)
            return mean + jnp.maximum((x - mean) * weight, jnp.finfo(x.dtype).min)

        return jax.tree.map(taken, means, fields(state, *given, step)), count

    return look


class Means:
    """Running means of derived fields, in the precision of the run; see `watching.Watching`.

    Args:
        names: of the fields.
        simulation: the run.

    Attributes:
        seen: the means so far on the devices, by name, and the number of states in them.
    """

    def __init__(self, names, simulation):
        self._simulation, self._names, config = simulation, tuple(names), simulation.config
        self.look = make_look, self._names, config.physics, config.grid, simulation.scheme
        self.reset()

    def given(self):
        """See `watching.Watcher`."""
        return self._simulation.grid, params_of(self._simulation)

    def most(self, step: int) -> int:
        """See `watching.Watcher`."""
        return MOST_TIMES

    def add(self, state: State) -> None:
        """Add the fields of one more state to the means, outside the loop over steps."""
        simulation = self._simulation
        look = jitted(*self.look, simulation.transport)
        self.seen = look(self.seen, self.given(), state, jnp.asarray(simulation.step, jnp.int32))

    @property
    def fields(self) -> dict:
        """The means so far on the devices, by name."""
        return self.seen[0]

    @property
    def count(self) -> int:
        """Number of states in the means."""
        return int(self.seen[1])

    def values(self) -> dict[str, np.ndarray] | None:
        """The means so far; None where there is no state in them."""
        return self._simulation.get(self.fields) if self.count else None

    def reset(self, means: dict | None = None, count: int = 0) -> None:
        """Start anew, or from earlier `fields` and `count`."""
        simulation = self._simulation
        if not count:
            dtype = np.dtype(simulation.config.run.dtype)
            means = simulation.transport.make(
                lambda block: {name: np.zeros(block.shape, dtype) for name in self._names}
            )
        self.seen = means, simulation.transport.put(np.int32(count))
