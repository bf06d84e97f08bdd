"""Time steppers: their coefficients as data, and the four algorithms that use them.

A step advances a Carry (state, memory, step number); a tendency is a function of a State and its Instant. Multistep
methods weight the newest tendency and those in memory. Runge-Kutta methods combine stages. The leapfrog steps over the
present state and filters it. The forward-backward method takes the pressure from the new thickness. `weights` returns
the numbers of one step; `combine` computes the next Carry with them, for any type of numbers and fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from .instant import Instant
from .state import Carry, State


class Multistep(NamedTuple):
    """x += dt sum_k w_k F_{n-k}. Row n of `table` has the weights w of step n, the last row those of later steps."""

    table: tuple[tuple[float, ...], ...]

    @property
    def weight_and_state_counts(self) -> tuple[int, int]:
        """The number of weights, and of States in memory."""
        return len(self.table[0]), len(self.table) - 1

    def initial_memory(self, state: State) -> tuple[State, ...]:
        """The tendencies before the first step: zero, because they have no weight in it."""
        return (type(state)._make(x.__array_namespace__().zeros_like(x) for x in state),) * (len(self.table) - 1)

    def weights(self, step, dt) -> list:
        """The weights of the newest tendency and of those in memory, s."""
        return [dt * weight for weight in table_row(self.table, step, dt)]

    def combine(self, tendency: Callable[[State, Instant], State], carry: Carry, weights) -> Carry:
        tendencies = (tendency(carry.state, Instant(carry.step)), *carry.memory)
        state = type(carry.state)._make(
            x + weighted_sum(weights, F) for x, *F in zip(carry.state, *tendencies, strict=True)
        )
        return Carry(state, tendencies[:-1], carry.step + 1)


class RungeKutta(NamedTuple):
    """Stage s+1 is x + dt sum_k table[s][k] F(x_k), with x_0 = x the present state; the last stage is the result.

    Every stage starts from x, so that a state at rest does not change by a bit.
    """

    table: tuple[tuple[float, ...], ...]

    @property
    def weight_and_state_counts(self) -> tuple[int, int]:
        """See `Multistep`; numbers 0.0 in the table do not count as weights."""
        return sum(bool(weight) for row in self.table for weight in row), 0

    def initial_memory(self, state: State) -> tuple[State, ...]:
        return ()

    def weights(self, step, dt) -> list:
        """The weights of the tendencies in all stages, s."""
        return [dt * weight for row in self.table for weight in row if weight]

    def stage_weights(self, weights) -> list[list]:
        """The weights in each stage; the number 0.0 for a tendency without weight."""
        remaining = iter(weights)
        return [[next(remaining) if weight else 0.0 for weight in row] for row in self.table]

    def stage_instant(self, step, number: int) -> Instant:
        """The Instant of the state from which the tendency of the stage with this number, from 0 on, is computed."""
        return Instant(step, sum(self.table[number - 1])) if number else Instant(step)

    def combine(self, tendency: Callable[[State, Instant], State], carry: Carry, weights) -> Carry:
        stage, tendencies = carry.state, []
        for number, row in enumerate(self.stage_weights(weights)):
            tendencies.append(tendency(stage, self.stage_instant(carry.step, number)))
            stage = type(carry.state)._make(
                x + weighted_sum(row, F) for x, *F in zip(carry.state, *tendencies, strict=True)
            )
        return Carry(stage, (), carry.step + 1)


class Leapfrog(NamedTuple):
    """x_{n+1} = x_{n-1} + 2 dt F_n, then x_n += filter (x_{n-1} - 2 x_n + x_{n+1}); the first step is an Euler step.

    The memory is the filtered x_{n-1}. Reference: Asselin (1972).
    """

    filter: float

    @property
    def weight_and_state_counts(self) -> tuple[int, int]:
        return 2, 1

    def initial_memory(self, state: State) -> tuple[State, ...]:
        """The present state: the first step starts from it."""
        return (state,)

    def weights(self, step, dt) -> list:
        """The time from x_{n-1} to x_{n+1}, s, and the strength of the filter."""
        xp, first = dt.__array_namespace__(), step == 0
        return [xp.where(first, dt, 2 * dt), xp.where(first, 0, xp.asarray(self.filter, dtype=dt.dtype))]

    def combine(self, tendency: Callable[[State, Instant], State], carry: Carry, weights) -> Carry:
        interval, strength = weights
        before, now = carry.memory[0], carry.state
        F = tendency(now, Instant(carry.step))
        after = type(now)._make(x + interval * F for x, F in zip(before, F, strict=True))
        filtered = type(now)._make(n + strength * (b - 2 * n + a) for b, n, a in zip(before, now, after, strict=True))
        return Carry(after, (filtered,), carry.step + 1)


class ForwardBackwardInputs(NamedTuple):
    """What a tendency of the forward-backward step needs besides its state, which is that in the middle of the step."""

    pressure_h: Any  # m; the slope of pressure_h + pressure_dt dh/dt drives the currents
    pressure_dt: Any  # s
    #: the State at the start of the step; for `dynamics.tendency` {name: field} of `Scheme.step_start_fields`
    step_start: Any = None
    step_length: Any = None  # length of the step, s


class WholeStep(NamedTuple):
    """A whole step, for terms that compute the change over it."""

    step_start: dict[str, Any]  # fields at its start, `Scheme.step_start_fields`
    h: Any  # thickness at its end, m
    dt: Any  # s
    freshwater_rate: Any  # the part of dh/dt, m s-1, that brings no tracer; None: there is none


def blend_three(x, y, z, weight_y, weight_z):
    """x + weight_y (y - x) + weight_z (z - x), which is x to the bit where all are equal."""
    return x + weight_y * (y - x) + weight_z * (z - x)


class ForwardBackward(NamedTuple):
    """The generalised forward-backward step AB3-AM4, with one tendency per step:

        x* = x_n + a1 (x_{n-1} - x_n) + a2 (x_{n-2} - x_n)
        x_{n+1} = x_n + dt F(x*), with g grad h^ in place of g grad h*
        h^ = h_n + b0 dt F_h(x*) + b1 (h_{n-1} - h_n) + b2 (h_{n-2} - h_n)

    All forces are at n + 1/2, and so is x*, except that it is x_n in the first two steps. Row n of `table` =
    (a1, a2, b0, b1, b2) serves step n, the last row all later steps. Because of the differences, a state at rest does
    not change by a bit. The memory is x_{n-1} and x_{n-2}.

    Reference: Shchepetkin and McWilliams (2005).
    """

    table: tuple[tuple[float, float, float, float, float], ...]

    @property
    def weight_and_state_counts(self) -> tuple[int, int]:
        return 6, 2

    def initial_memory(self, state: State) -> tuple[State, ...]:
        """The present state twice; the first steps do not use it."""
        return (state, state)

    def weights(self, step, dt) -> list:
        """a1, a2, dt, b0 dt, b1 and b2 of a step."""
        a1, a2, b0, b1, b2 = table_row(self.table, step, dt)
        return [a1, a2, dt, b0 * dt, b1, b2]

    def middle_state(self, carry: Carry, weights) -> State:
        """The state x* in the middle of the step."""
        states = zip(carry.state, *carry.memory, strict=True)
        return type(carry.state)._make(blend_three(*fields, *weights[:2]) for fields in states)

    def combine(self, tendency: Callable[..., State], carry: Carry, weights) -> Carry:
        """The next Carry; the tendency also takes ForwardBackwardInputs."""
        a1, a2, dt, b0_dt, b1, b2 = weights
        now, (previous, older) = carry.state, carry.memory

        middle = self.middle_state(carry, weights)
        gfb_inputs = ForwardBackwardInputs(blend_three(now.h, previous.h, older.h, b1, b2), b0_dt, now, dt)
        F = tendency(middle, Instant(carry.step, 0.5), gfb_inputs)
        return Carry(type(now)._make(x + dt * f for x, f in zip(now, F, strict=True)), (now, previous), carry.step + 1)


Method: TypeAlias = Multistep | RungeKutta | Leapfrog | ForwardBackward


def step(method: Method, tendency: Callable[..., State], carry: Carry, dt) -> Carry:
    """Advance a Carry by a step of length dt, s, an array () in the precision of the run."""
    return method.combine(tendency, carry, method.weights(carry.step, dt))


def table_row(table, step, dt) -> list:
    """The row of a table that serves a step, in the precision of dt."""
    xp = dt.__array_namespace__()
    # Comparisons select the row, because XLA would repeat an indexed lookup in every cell and not vectorise the loop.
    weights, *later_rows = [[xp.asarray(number, dtype=dt.dtype) for number in row] for row in table]
    for number, row in enumerate(later_rows):
        weights = [xp.where(step <= number, *pair) for pair in zip(weights, row, strict=True)]
    return weights


def weighted_sum(weights, terms):
    """sum_k weights[k] terms[k] from left to right, without the terms whose weight is the number 0."""
    products = [w * x for w, x in zip(weights, terms, strict=True) if not (isinstance(w, float) and w == 0.0)]
    return sum(products[1:], start=products[0])


def methods(ab2_epsilon: float = 0.1, robert_asselin: float = 0.05) -> dict[str, Method]:
    """The time steppers by name (docs/numerics.md).

    `ab2_epsilon` and `robert_asselin`, the strength of the filter, damp the computational modes of ab2 and leapfrog.
    """
    return {
        "ab2": Multistep(((1.0, 0.0), (1.5 + ab2_epsilon, -0.5 - ab2_epsilon))),
        "ab3": Multistep(((1.0, 0.0, 0.0), (1.5, -0.5, 0.0), (23 / 12, -16 / 12, 5 / 12))),
        "rk3": RungeKutta(((1.0,), (1 / 4, 1 / 4), (1 / 6, 1 / 6, 2 / 3))),
        "rk4": RungeKutta(((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))),
        "leapfrog": Leapfrog(robert_asselin),
        "gfb": ForwardBackward(
            (
                (0.0, 0.0, 1.0, 0.0, 0.0),
                (0.0, 0.0, 13 / 12, 1 / 12, 0.0),
                (-1.06221, 0.281105, 0.614, 0.088, 0.013),
            )
        ),
    }


def method_of(name: str, ab2_epsilon: float = 0.1, robert_asselin: float = 0.05) -> Method:
    return methods(ab2_epsilon, robert_asselin)[name]


#: The names of the time steppers.
STEPPERS = tuple(methods())
