"""Who computes a block, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..ocean.state import Carry, State
from .native.executor import Native
from .reference.model import NumpyReference
from .xla import Compiled, Xla


class Executor(Protocol):
    """What computes a block, made from (setup, transport, grid, params).

    Fields are as `transport.make` makes them, Grid and Params with the margin of the Setup. Further
    arguments are options on which no result depends.
    """

    name: str  # as in `run.executor`

    def start(self, state: State) -> Carry:
        """The carry before the first step."""

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file, as the executor keeps it."""

    def exchange(self, params: dict, of: Callable) -> None:
        """Go on with other Params, of the same kinds as those that it was made from.

        Args:
            of: function (block, margin) -> the Params that vary, NumPy arrays.
        """

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later; waits until it is computed. Uses up its argument; the first call compiles."""


#: The executors that compute a block in a jitted program, by name.
COMPILED: dict[str, type[Compiled]] = {executor.name: executor for executor in (Xla, Native)}

EXECUTORS: dict[str, Callable[..., Executor]] = COMPILED | {NumpyReference.name: NumpyReference}
