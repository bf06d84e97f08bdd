"""Time steppers: their coefficients as data, and the three algorithms that use them.

A step takes a Carry (state, memory, step number) to the next; a tendency is a function of a State and its Instant.
Multistep methods weight the newest tendency and those in memory. Runge-Kutta methods combine stages. The leapfrog jumps
over the present state and filters it. `weights` are the numbers of one step; `combine` is its arithmetic, for any type
of numbers and fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .instant import Instant
from .state import Carry, State


class Multistep(NamedTuple):
    """x += dt sum_k table[k] F_{n-k}. Row n of `table` serves step n, the last row all later steps."""

    table: tuple[tuple[float, ...], ...]

    @property
    def counts(self) -> tuple[int, int]:
        """The number of weights, and of States in memory."""
        return len(self.table[0]), len(self.table) - 1

    def remember(self, state: State) -> tuple[State, ...]:
        """The tendencies before the first step: zero, as they have no weight."""
        return (type(state)._make(x.__array_namespace__().zeros_like(x) for x in state),) * (len(self.table) - 1)

    def weights(self, step, dt) -> list:
        """The weights of the newest tendency and of those in memory, s."""
        import jax.numpy as jnp

        table = jnp.asarray(self.table, dt.dtype)
        return list(dt * table[jnp.minimum(step, len(self.table) - 1)])

    def combine(self, tendency: Callable[[State, Instant], State], carry: Carry, weights) -> Carry:
        """The next Carry."""
        tendencies = (tendency(carry.state, Instant(carry.step)), *carry.memory)
        state = type(carry.state)._make(x + weigh(weights, F) for x, *F in zip(carry.state, *tendencies, strict=True))
        return Carry(state, tendencies[:-1], carry.step + 1)


class RungeKutta(NamedTuple):
    """Stage s+1 is x + dt sum_k table[s][k] F(x_k), with x_0 = x the present state; the last stage is the result.

    Every stage starts from x, so that a state at rest does not change by a bit.
    """

    table: tuple[tuple[float, ...], ...]

    @property
    def counts(self) -> tuple[int, int]:
        """See `Multistep`; numbers 0.0 in the table are no weights."""
        return sum(bool(weight) for row in self.table for weight in row), 0

    def remember(self, state: State) -> tuple[State, ...]:
        return ()

    def weights(self, step, dt) -> list:
        """The weights of the tendencies in all stages, s."""
        return [dt * weight for row in self.table for weight in row if weight]

    def rows(self, weights) -> list[list]:
        """The weights in each stage; the number 0.0 for a tendency without weight."""
        given = iter(weights)
        return [[next(given) if weight else 0.0 for weight in row] for row in self.table]

    def now(self, step, stage: int) -> Instant:
        """The Instant of a stage."""
        return Instant(step, sum(self.table[stage - 1])) if stage else Instant(step)

    def combine(self, tendency: Callable[[State, Instant], State], carry: Carry, weights) -> Carry:
        """The next Carry."""
        stage, tendencies = carry.state, []
        for number, row in enumerate(self.rows(weights)):
            tendencies.append(tendency(stage, self.now(carry.step, number)))
            stage = type(carry.state)._make(x + weigh(row, F) for x, *F in zip(carry.state, *tendencies, strict=True))
        return Carry(stage, (), carry.step + 1)


class Leapfrog(NamedTuple):
    """x_{n+1} = x_{n-1} + 2 dt F_n, then x_n += filter (x_{n-1} - 2 x_n + x_{n+1}); the first step is Euler's.

    The memory is the filtered x_{n-1}. Reference: Asselin (1972).
    """

    filter: float

    @property
    def counts(self) -> tuple[int, int]:
        """See `Multistep`."""
        return 2, 1

    def remember(self, state: State) -> tuple[State, ...]:
        """The present state: the first step starts from it."""
        return (state,)

    def weights(self, step, dt) -> list:
        """The length of the jump, s, and the strength of the filter."""
        import jax.numpy as jnp

        first = step == 0
        return [jnp.where(first, dt, 2 * dt), jnp.where(first, 0, jnp.asarray(self.filter, dt.dtype))]

    def combine(self, tendency: Callable[[State, Instant], State], carry: Carry, weights) -> Carry:
        """The next Carry."""
        interval, strength = weights
        before, now = carry.memory[0], carry.state
        F = tendency(now, Instant(carry.step))
        after = type(now)._make(x + interval * F for x, F in zip(before, F, strict=True))
        filtered = type(now)._make(n + strength * (b - 2 * n + a) for b, n, a in zip(before, now, after, strict=True))
        return Carry(after, (filtered,), carry.step + 1)


def step(method, tendency: Callable[[State, Instant], State], carry: Carry, dt) -> Carry:
    """The next Carry by a time stepper."""
    return method.combine(tendency, carry, method.weights(carry.step, dt))


def weigh(weights, terms):
    """sum_k weights[k] terms[k] from left to right, without the terms whose weight is the number 0."""
    products = [w * x for w, x in zip(weights, terms, strict=True) if not (isinstance(w, float) and w == 0.0)]
    return sum(products[1:], start=products[0])


def method_of(name: str, ab2_epsilon: float = 0.1, robert_asselin: float = 0.05) -> Multistep | RungeKutta | Leapfrog:
    """The time stepper called ab2, ab3, rk3, rk4 or leapfrog (docs/numerics.md).

    `ab2_epsilon` shifts the weights of ab2, which damps its computational mode.
    """
    methods: dict[str, Multistep | RungeKutta | Leapfrog] = {
        "ab2": Multistep(((1.0, 0.0), (1.5 + ab2_epsilon, -0.5 - ab2_epsilon))),
        "ab3": Multistep(((1.0, 0.0, 0.0), (1.5, -0.5, 0.0), (23 / 12, -16 / 12, 5 / 12))),
        "rk3": RungeKutta(((1.0,), (1 / 4, 1 / 4), (1 / 6, 1 / 6, 2 / 3))),
        "rk4": RungeKutta(((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))),
        "leapfrog": Leapfrog(robert_asselin),
    }
    return methods[name]
