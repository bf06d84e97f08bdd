"""The schedule of an event at regular intervals of steps or of model time."""

from __future__ import annotations

import math
from typing import NamedTuple


class EventSchedule(NamedTuple):
    """The steps at which an event is due: step 0, the last step and, with an interval, steps in between.

    Attributes:
        dt: time step, s.
        last_step: last step of the run.
        every_steps: interval in steps, or None.
        every_seconds: interval of model time, s, or None; the event is due at the first step at or after each multiple.
    """

    dt: float
    last_step: int
    every_steps: int | None = None
    every_seconds: float | None = None

    def is_due(self, step: int) -> bool:
        return step == self.last_step or step == self.next(step - 1) or step == 0

    def is_regular(self, step: int) -> bool:
        """Whether the event is due at `step` in a run of any length: at step 0, or because of the interval."""
        return step == 0 or self._replace(last_step=step + 1).next(step - 1) == step

    def next(self, step: int) -> int:
        """The first step after `step` at which the event is due; at most the last step."""
        if step < 0:
            return 0
        if self.every_steps:
            next_step = (step // self.every_steps + 1) * self.every_steps
        elif self.every_seconds and self.every_seconds > self.dt:
            next_step = self._step_of_event(self._n_events_until(step, self.every_seconds) + 1, self.every_seconds)
        else:
            next_step = step + 1 if self.every_seconds else self.last_step
        return min(max(next_step, step + 1), self.last_step)

    def _step_of_event(self, event_number: int, every_seconds: float) -> int:
        # The tolerance prevents round-off in seconds / dt from moving an event to the next step.
        return math.ceil(event_number * every_seconds / self.dt - 1e-6)

    def _n_events_until(self, step: int, every_seconds: float) -> int:
        n_events = int(step * self.dt / every_seconds)
        while self._step_of_event(n_events + 1, every_seconds) <= step:
            n_events += 1
        return n_events
