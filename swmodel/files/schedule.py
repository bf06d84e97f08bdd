"""The schedule of an event: after each interval of steps, or at the first step past each interval of model time."""

from __future__ import annotations

import math
from typing import NamedTuple


class Schedule(NamedTuple):
    """The steps at which an event is due, besides the first and the last; none without an interval."""

    dt: float
    last: int
    steps: int | None = None
    seconds: float | None = None

    def due(self, step: int) -> bool:
        """Whether the event is due after `step` steps."""
        return step == self.last or step == self.next(step - 1) or step == 0

    def regular(self, step: int) -> bool:
        """Whether the event is due after `step` steps in a run of any length: at the first step, or by the interval."""
        return step == 0 or self._replace(last=step + 1).next(step - 1) == step

    def next(self, step: int) -> int:
        """The first step after `step` at which the event is due; at most the last step."""
        if step < 0:
            return 0
        if self.steps:
            following = (step // self.steps + 1) * self.steps
        elif self.seconds and self.seconds > self.dt:
            following = self._at(self._count(step) + 1)
        else:
            following = step + 1 if self.seconds else self.last
        return min(max(following, step + 1), self.last)

    def _at(self, count: int) -> int:
        # The tolerance keeps rounding of seconds / dt from moving an event to the next step.
        return math.ceil(count * self.seconds / self.dt - 1e-6)

    def _count(self, step: int) -> int:
        count = int(step * self.dt / self.seconds)
        while self._at(count + 1) <= step:
            count += 1
        return count
