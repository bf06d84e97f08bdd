"""Who computes a block, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..ocean.grid import Grid
from ..ocean.state import Carry, State
from .native.executor import Native
from .reference.model import NumpyReference
from .xla import Xla


class Executor(Protocol):
    """What computes a block, made from (setup, transport, grid, params).

    Fields are as `transport.make` makes them, Grid and Params with the margin of the Setup. Further
    arguments are options on which no result depends.

    Attributes:
        name: as in `run.executor`.
    """

    name: str

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


class BlockExecutor(Executor, Protocol):
    """An Executor that computes a block in a jitted program. Other programs may call it, as those of ensembles do.

    Attributes:
        dt: time step, s, an array in the precision of the run.
        loop: (make, *parts), hashable; make(*parts, transport) is the function loop(carry, static, dt, n) of one block
            to the carry n steps later.
    """

    dt: Any
    loop: tuple

    def static_of(self, grid: Grid, params: dict):
        """What `static` holds of a block's Grid and Params, a tree of arrays."""

    def watch(self, carry: Carry, n: int, look: tuple, seen: Any, given: Any) -> tuple[Carry, Any]:
        """The carry n steps later, and what was seen of every step on the way; donates `carry` and `seen`.

        Args:
            look: (make, *parts), hashable; make(*parts, transport) is a function (seen, given, State, step) -> seen
                after this step as well, of one block, to be traced.
            seen, given: trees of arrays as `transport.make` makes them; `given` stays as it is.
        """


#: The executors that compute a block in a jitted program, by name.
COMPILED: dict[str, type[BlockExecutor]] = {executor.name: executor for executor in (Xla, Native)}

EXECUTORS: dict[str, Callable[..., Executor]] = COMPILED | {NumpyReference.name: NumpyReference}
