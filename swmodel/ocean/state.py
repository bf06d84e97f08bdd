"""The prognostic State, and the Carry that a run passes from step to step."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple


class State(NamedTuple):
    """Thickness h (m, centres), velocity u (m s-1, east faces) and v (m s-1, north faces), each [y, x].

    A run with further prognostic fields has a State with further fields (`state_type`), after these three.
    """

    h: Any  #: m, centres
    u: Any  #: m s-1, east faces
    v: Any  #: m s-1, north faces


@cache
def state_type(names: tuple[str, ...]) -> Any:
    """The class of a State with the prognostic fields `names`: a NamedTuple, which is a pytree for JAX."""
    return State if names == State._fields else NamedTuple("State", [(name, Any) for name in names])


class Carry(NamedTuple):
    """State, the memory of the time stepper (a tuple of States) and the number of steps taken (int32)."""

    state: State  #: the present state
    memory: tuple[State, ...]  #: older states or tendencies, as the stepper needs them
    step: Any  #: number of steps taken
