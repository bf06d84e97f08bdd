"""Who computes a block, by name."""

from __future__ import annotations

from typing import Protocol

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

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later, when it is there. The carry given is used up; the first call compiles."""


EXECUTORS: dict[str, type[Executor]] = {executor.name: executor for executor in (Xla, Native, NumpyReference)}
