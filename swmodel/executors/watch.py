"""What is observed after every step, within the compiled loop over steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Watch(NamedTuple):
    """A function that looks at the state of a block after each step, and what it has seen so far.

    Attributes:
        look: function (seen, State, step) -> seen after this step, to be traced. It may ask the transport for
            neighbours, and leaves the state as it is.
        seen: a tree of arrays.
    """

    look: Callable
    seen: Any


#: The Watch of a loop that nobody looks at.
NO_WATCH = Watch(lambda seen, state, step: seen, ())


def make_watched(loop: tuple, look: tuple, transport):
    """The function (carry, seen, given, static, dt, n) -> (carry n steps later, what was seen), of one block.

    Args:
        loop: (make, *parts) of an executor: see `executors.registry.BlockExecutor`.
        look: (make, *parts), hashable; make(*parts, transport) is the function look(seen, given, state, step) -> seen,
            where `given` are arrays that stay as they are.
    """
    loop, look = (make(*parts, transport) for make, *parts in (loop, look))

    def watched(carry, seen, given, static, dt, n):
        return loop(carry, static, dt, n, Watch(lambda seen, state, step: look(seen, given, state, step), seen))

    return watched
