"""What the time loop computes: a Simulation, or the Members of an ensemble."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

from ..config import Config
from ..ocean.state import Carry, State
from ..parallel.transport import Transport
from .accumulators import NO_ACCUMULATORS, Accumulators
from .forcing import Forcing
from .health import Health


class Model:
    """Base of a Simulation and of Members; made, and its methods called, by all processes together.

    Attributes:
        config: that of the run.
        transport: the one between the processes.
        carry: that of the executor, on the devices; an ensemble has an axis of members first.
        state: its fields on this process, NumPy arrays [y, x], those of an ensemble [members, y, x].
        restart: the `files.restart.read.Loaded` that the model comes from; None: it comes from its initial state.
        step: steps taken; `first_step` of them before this object was made.
        dt: time step, s.
        begun: when the construction began, on the clock time.perf_counter.
        compile_seconds: time spent on compilation.
    """

    config: Config
    transport: Transport
    carry: Carry
    state: State
    restart: Any
    first_step: int
    dt: float
    begun: float
    compile_seconds: float
    _forcing: Forcing
    _step = 0
    _loop_seconds = 0.0

    @property
    def step(self) -> int:
        """Steps taken."""
        return self._step

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._step * self.dt

    @property
    def loop_seconds(self) -> float:
        """Time spent on steps, s."""
        return self._loop_seconds

    def take_steps(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        """Compute time steps, each of which the accumulators add; the caller looks at the state afterwards."""
        begin, last = time.perf_counter(), self._step + steps
        while self._step < last:
            if not self._forcing.holds(self._step):
                self._exchange()
            some = self._forcing.until(last) - self._step
            with self._forcing.ahead():
                self._advance(some, accumulators)
            self._step += some
        self._loop_seconds += time.perf_counter() - begin

    def noted(self) -> str:
        """What a restart file notes of records in time (`setup.fields.noted`); called by all processes together."""
        return self._forcing.noted(self._step)

    def _exchange(self) -> None:
        """Take the coefficients that hold at the present step."""
        raise NotImplementedError

    def _advance(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        """Compute steps with the coefficients that hold now."""
        raise NotImplementedError

    def get(self, tree: Any) -> Any:
        """Arrays of a carry or of means, as NumPy arrays of this process."""
        raise NotImplementedError

    def results(self, directory, command_line: str = "", resume: bool = False) -> AbstractContextManager:
        """A context with the `results.Results` that write into a run folder; its end closes the files.

        Args:
            command_line: recorded in the files' history.
            resume: go on with the files of the run that wrote the restart file.
        """
        raise NotImplementedError

    def health(self, directory=None) -> Health:
        """The Health of the model; `directory` is where a blow-up leaves its state."""
        raise NotImplementedError
