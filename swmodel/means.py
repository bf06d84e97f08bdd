"""Means over time of the fields, updated after every step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .state import State


class Means:
    """Running means of derived fields, in the precision of the run.

    Args:
        evaluate: (State, Grid) -> dict of the fields to average, name -> array [y, x]; jitted together with the update.
        transport: of the run.
        grid: Grid of arrays as `transport.put` gives them.
    """

    def __init__(self, evaluate, transport, grid):
        def update(means, count, state: State, grid):
            fields = evaluate(state, grid)
            return jax.tree.map(lambda mean, x: mean + (x - mean) / count.astype(x.dtype), means, fields)

        self._transport, self._grid = transport, grid
        self._update = transport.jit(update)
        self._zero = transport.jit(lambda state, grid: jax.tree.map(jnp.zeros_like, evaluate(state, grid)))
        self._means, self._count = None, 0

    def add(self, state: State) -> None:
        """Take the fields of one more step into the means."""
        if self._means is None:
            self._means = self._zero(state, self._grid)
        self._count += 1
        self._means = self._update(self._means, jnp.asarray(self._count), state, self._grid)

    @property
    def count(self) -> int:
        """Number of steps that the means are of."""
        return self._count

    def values(self) -> dict[str, np.ndarray] | None:
        """The means so far; None where there was no step."""
        return None if self._means is None else self._transport.get(self._means)

    def reset(self, means: dict[str, np.ndarray] | None = None, count: int = 0) -> None:
        """Start anew, or from what `values` and `count` have given."""
        self._means, self._count = self._transport.put(means) if count else None, count
