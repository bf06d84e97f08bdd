"""Means over time of the fields, updated after every step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..ocean.state import State


class Means:
    """Running means of derived fields, in the precision of the run.

    Args:
        evaluate: (State, Grid) -> dict of the fields to average, name -> array [y, x]; jitted together with the update.
        transport: of the run.
        grid: Grid of arrays as `transport.make` gives them.

    Attributes:
        fields: the means so far on the devices, by name; None where there was no step.
    """

    def __init__(self, evaluate, transport, grid):
        def update(means, count, state: State, grid):
            fields = evaluate(state, grid)
            return jax.tree.map(lambda mean, x: mean + (x - mean) / count.astype(x.dtype), means, fields)

        self._transport, self._grid = transport, grid
        self._update = transport.jit(update)
        self._zero = transport.jit(lambda state, grid: jax.tree.map(jnp.zeros_like, evaluate(state, grid)))
        self.fields, self._count = None, 0

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
