"""The executors, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..ocean.state import Carry, State
from .cuda.executor import CudaExecutor
from .native.executor import NativeExecutor
from .reference.model import ReferenceExecutor
from .xla import JaxExecutor, XlaExecutor


class Executor(Protocol):
    """A back end that computes a block, constructed from (setup, transport, grid, params).

    The fields of Grid and Params come from `transport.make_arrays`, with a halo of `Setup.static_halo` cells. Further
    arguments of the constructor are options that do not change results.
    """

    name: str  # as in `run.executor`

    def start(self, state: State) -> Carry:
        """The carry before the first step."""

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file, in the form of the executor."""

    def replace_params(self, params: dict, varying: Callable) -> None:
        """Use other Params, with the same names and shapes, in further steps.

        Args:
            varying: function (block, halo) -> those of the Params that vary in time, NumPy arrays.
        """

    def set_substeps(self, substeps: int) -> None:
        """Divide each further step into this many substeps. Afterwards call `replace_params` with Params for these."""

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later; waits until it is computed, and may reuse the memory of `carry`.

        The first call may compile a program.
        """


#: The executors that compute a block in a jitted program, by name.
JAX_EXECUTORS: dict[str, Callable[..., JaxExecutor]] = {
    executor.name: executor for executor in (XlaExecutor, NativeExecutor, CudaExecutor)
}

EXECUTORS: dict[str, Callable[..., Executor]] = {**JAX_EXECUTORS, ReferenceExecutor.name: ReferenceExecutor}
