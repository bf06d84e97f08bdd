"""Who computes a block, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..ocean.grid import Grid
from ..ocean.state import Carry, State
from .native.executor import Native
from .reference.executor import NumpyReference
from .xla import Xla


class Executor(Protocol):
    """What computes a block, made from (config, transport, grid, params).

    Fields are given as `transport.make` gives them, Grid and Params with a margin of width + 1 cells. Further arguments
    are options on which no result depends.

    Attributes:
        name: as in `run.executor`.
    """

    name: str

    def start(self, state: State) -> Carry:
        """The carry before the first step."""

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file, as the executor keeps it."""

    def exchange(self, params: dict, of: Callable) -> None:
        """Go on with Params like those that it was made from, the coefficients that hold from a step on.

        Args:
            of: function (block, margin) of those of them that vary, NumPy arrays.
        """

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later, when it is there. The carry given is used up; the first call compiles."""


class BlockExecutor(Executor, Protocol):
    """An Executor that computes a block in a jitted program, which others, as ensembles do, may call in theirs.

    Attributes:
        dt: time step, s, an array in the precision of the run.
        loop: (make, *parts), hashable; make(*parts, transport) is the function loop(carry, static, dt, n) of one block
            to the carry n steps later.
    """

    dt: Any
    loop: tuple

    def static_of(self, grid: Grid, params: dict):
        """What of the Grid and the Params of a block `static` is, a tree of arrays."""

    def watch(self, carry: Carry, n: int, look: tuple, seen: Any, given: Any) -> tuple[Carry, Any]:
        """The carry n steps later, and what was seen of every step on the way; what is given of both is used up.

        Args:
            look: (make, *parts), hashable; make(*parts, transport) is a function (seen, given, State, step) -> seen
                after this step as well, of one block, to be traced.
            seen, given: trees of arrays as `transport.make` gives them; the latter stay as they are.
        """


#: What computes a block in a jitted program, by name.
COMPILED: dict[str, type[BlockExecutor]] = {executor.name: executor for executor in (Xla, Native)}

EXECUTORS: dict[str, Callable[..., Executor]] = COMPILED | {NumpyReference.name: NumpyReference}
