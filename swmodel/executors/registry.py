"""The executors, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..ocean.state import Carry, State
from .cuda.executor import Cuda
from .native.executor import Native
from .reference.model import NumpyReference
from .xla import Compiled, Xla


class Executor(Protocol):
    """A back end that computes a block, made from (setup, transport, grid, params).

    Fields come from `transport.make`, Grid and Params have the margin of the Setup. Further arguments are options that
    change no result.
    """

    name: str  # as in `run.executor`

    def start(self, state: State) -> Carry:
        """The carry before the first step."""

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file, in the form of the executor."""

    def exchange(self, params: dict, of: Callable) -> None:
        """Continue with other Params of the same kinds.

        Args:
            of: function (block, margin) -> the varying Params, NumPy arrays.
        """

    def divide(self, substeps: int) -> None:
        """Take each further step in this many; then `exchange` is given Params of the shorter steps."""

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later; waits until it is computed. Donates its argument; the first call compiles."""


#: The executors that compute a block in a jitted program, by name.
COMPILED: dict[str, type[Compiled]] = {executor.name: executor for executor in (Xla, Native, Cuda)}

EXECUTORS: dict[str, Callable[..., Executor]] = COMPILED | {NumpyReference.name: NumpyReference}
