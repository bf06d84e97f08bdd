"""What is recorded after every step of a run: values at points, running maxima."""

from __future__ import annotations

from typing import Any, Protocol

from ..executors.registry import COMPILED
from ..parallel.transport.programs import jitted


class Watcher(Protocol):
    """One that looks at the state after each step, within the loop over steps.

    Attributes:
        look: (make, *parts), hashable; make(*parts, transport) is a function (seen, given, State, step) -> seen, of one
            block, to be traced.
        seen: what has been seen so far, a tree of arrays on the devices.
    """

    look: tuple
    seen: Any

    def given(self) -> Any:
        """What `look` is given besides, a tree of arrays that holds for the next steps."""

    def most(self, step: int) -> int:
        """How many steps may be taken after `step` before the host must have asked for what was seen."""


def make_looks(looks: tuple, transport):
    """The function that looks for several Watchers."""
    functions = [make(*parts, transport) for make, *parts in looks]

    def look(seen, given, state, step):
        return tuple(each(*mine, state, step) for each, *mine in zip(functions, seen, given, strict=True))

    return look


class Watching:
    """Watchers of a simulation, and the steps that they look at.

    Args:
        watchers: at least one.
    """

    def __init__(self, simulation, watchers):
        self.simulation, self.watchers = simulation, watchers
        self._look = make_looks, tuple(each.look for each in watchers)

    def most(self, step: int) -> int:
        """See `Watcher.most`."""
        return min(each.most(step) for each in self.watchers)

    def advance(self, executor, carry, steps: int):
        """The executor's carry `steps` later, each of which was looked at."""
        seen, given = tuple(each.seen for each in self.watchers), tuple(each.given() for each in self.watchers)
        if executor.name in COMPILED:
            carry, seen = executor.watch(carry, steps, self._look, seen, given)
        else:
            look = jitted(*self._look, self.simulation.transport)
            for _ in range(steps):
                carry = executor.advance(carry, 1)
                seen = look(seen, given, carry.state, carry.step)
        for each, found in zip(self.watchers, seen, strict=True):
            each.seen = found
        return carry
