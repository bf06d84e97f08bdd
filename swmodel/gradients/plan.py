"""How a trajectory is kept for its backward sweep: as much of it as fits into memory; the rest is computed again.

Steps are grouped into segments of equal length; the last one may be shorter. The backward sweep needs the carry before
each step of a segment, and keeps all of them while it is in that segment. Of the other segments it keeps only some
carries at their starts, checkpoints from which the rest is computed again. The schedule has the fewest steps possible
with so many checkpoints.

Reference: Griewank, A., and A. Walther (2000), Algorithm 799: revolve, ACM Trans. Math. Softw. 26(1), 19-45.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from checkpoint_schedules import Forward, MultistageCheckpointSchedule

from ..errors import UsageError


class Plan(NamedTuple):
    """How many carries are kept.

    Attributes:
        steps: number of steps of the trajectory.
        length: steps of a segment.
        checkpoints: number of carries kept besides those of a segment.
    """

    steps: int
    length: int
    checkpoints: int

    @property
    def segments(self) -> int:
        """Number of segments."""
        return max(1, -(-self.steps // self.length))

    def step(self, segment: int) -> int:
        """The step at which a segment begins; at most the last step."""
        return min(segment * self.length, self.steps)

    def actions(self) -> Iterator:
        """The schedule's actions on segments: Forward, Copy, Move, Reverse, EndForward, EndReverse."""
        return iter(MultistageCheckpointSchedule(self.segments, min(self.checkpoints, self.segments - 1), 0))

    def runs(self) -> float:
        """Steps forward in a backward sweep, with those of the first run, divided by the number of steps."""
        forward = [a for a in self.actions() if isinstance(a, Forward)]
        return sum(self.step(a.n1) - self.step(a.n0) for a in forward) / max(1, self.steps)


def plan(steps: int, room: int, step: float = 1.0) -> Plan:
    """The Plan with the fewest runs for a trajectory of `steps`, of which `room` carries may be kept.

    Args:
        step: memory of a step of a segment, in carries.

    Raises:
        UsageError: a checkpoint and a step do not fit.
    """
    if room >= max(1, steps * step):
        return Plan(steps, max(1, steps), 0)
    if room < least(step):
        raise UsageError("there is no room for a checkpoint and a step")
    shares = {max(least(step) - 1, min(room - 1, room * eighths // 8)) for eighths in range(1, 8)}
    plans = [Plan(steps, int(share / step), room - share) for share in shares]
    return min(plans, key=lambda p: (p.runs(), p.length))


def least(step: float) -> int:
    """Carries that a checkpoint and a step take."""
    return 1 + math.ceil(step)
