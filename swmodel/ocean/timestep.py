"""Time steppers: their coefficients as data, and the three algorithms that use them.

A step takes a Carry (state, memory, step number) to the next; a tendency is a function of a State and its Instant.
Multistep methods weight the newest tendency and those in memory; Runge-Kutta methods combine stages; the leapfrog jumps
over the present state and filters it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .instant import Instant
from .state import Carry, State


class Multistep(NamedTuple):
    """x += dt sum_k weights[k] F_{n-k}. Row n of `weights` serves step n, the last row all later steps."""

    weights: tuple[tuple[float, ...], ...]

    def remember(self, state: State) -> tuple[State, ...]:
        """Tendencies before the first step: zero, as they have no weight there."""
        return (jax.tree.map(jnp.zeros_like, state),) * (len(self.weights) - 1)

    def step(self, tendency: Callable[[State, Instant], State], carry: Carry, dt) -> Carry:
        """The next Carry."""
        tendencies = (tendency(carry.state, Instant(carry.step)), *carry.memory)
        table = jnp.asarray(self.weights, dt.dtype)
        weights = dt * table[jnp.minimum(carry.step, len(self.weights) - 1)]
        state = jax.tree.map(lambda x, *F: x + weigh(weights, F), carry.state, *tendencies)
        return Carry(state, tendencies[:-1], carry.step + 1)


class RungeKutta(NamedTuple):
    """Stage s+1 is x + dt sum_k weights[s][k] F(x_k), with x_0 = x the present state; the last stage is the result.

    Every stage starts from x, so that a state at rest stays as it is, to the last bit.
    """

    weights: tuple[tuple[float, ...], ...]

    def remember(self, state: State) -> tuple[State, ...]:
        """Nothing."""
        return ()

    def step(self, tendency: Callable[[State, Instant], State], carry: Carry, dt) -> Carry:
        """The next Carry."""
        stage, tendencies, now = carry.state, [], Instant(carry.step)
        for row in self.weights:
            tendencies.append(tendency(stage, now))
            now = Instant(carry.step, sum(row))
            weights = [dt * weight if weight else 0.0 for weight in row]
            stage = jax.tree.map(lambda x, *F, w=weights: x + weigh(w, F), carry.state, *tendencies)
        return Carry(stage, (), carry.step + 1)


class Leapfrog(NamedTuple):
    """x_{n+1} = x_{n-1} + 2 dt F_n, then x_n += filter (x_{n-1} - 2 x_n + x_{n+1}); the first step is Euler's.

    The memory is the filtered x_{n-1}. Reference: Asselin (1972).
    """

    filter: float

    def remember(self, state: State) -> tuple[State, ...]:
        """The present state, from which the first step starts."""
        return (state,)

    def step(self, tendency: Callable[[State, Instant], State], carry: Carry, dt) -> Carry:
        """The next Carry."""
        first = carry.step == 0
        interval = jnp.where(first, dt, 2 * dt)
        strength = jnp.where(first, 0, jnp.asarray(self.filter, dt.dtype))
        before, now = carry.memory[0], carry.state
        after = jax.tree.map(lambda x, F: x + interval * F, before, tendency(now, Instant(carry.step)))
        filtered = jax.tree.map(lambda b, n, a: n + strength * (b - 2 * n + a), before, now, after)
        return Carry(after, (filtered,), carry.step + 1)


def weigh(weights, terms):
    """sum_k weights[k] terms[k] from left to right, without the terms whose weight is the number 0."""
    products = [w * x for w, x in zip(weights, terms, strict=True) if not (isinstance(w, float) and w == 0.0)]
    return sum(products[1:], start=products[0])


def method_of(name: str, ab2_epsilon: float = 0.1, robert_asselin: float = 0.05) -> Multistep | RungeKutta | Leapfrog:
    """The time stepper called `name`.

    Args:
        name: ab2, ab3, rk3, rk4 or leapfrog (docs/numerics.md).
        ab2_epsilon: offset of the ab2 weights, which damps its computational mode.
        robert_asselin: coefficient of the leapfrog's filter.
    """
    methods = {
        "ab2": Multistep(((1.0, 0.0), (1.5 + ab2_epsilon, -0.5 - ab2_epsilon))),
        "ab3": Multistep(((1.0, 0.0, 0.0), (1.5, -0.5, 0.0), (23 / 12, -16 / 12, 5 / 12))),
        "rk3": RungeKutta(((1.0,), (1 / 4, 1 / 4), (1 / 6, 1 / 6, 2 / 3))),
        "rk4": RungeKutta(((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))),
        "leapfrog": Leapfrog(robert_asselin),
    }
    return methods[name]
