"""How a trajectory is kept for its backward sweep: as much of it as fits into memory, the rest computed again.

Steps are grouped into segments of equal length, the last as long as is left. The backward sweep needs what each step of
a segment starts from: all is kept while the sweep is in it. Of other segments, the carries at the starts of some are
kept, checkpoints from which the rest is computed again; the schedule is the one with the fewest steps for so many.

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
        steps: of the trajectory.
        length: steps of a segment.
        checkpoints: carries kept besides those of a segment.
    """

    steps: int
    length: int
    checkpoints: int

    @property
    def segments(self) -> int:
        """Number of segments."""
        return max(1, -(-self.steps // self.length))

    def step(self, segment: int) -> int:
        """The step at which a segment begins; the last one for the end."""
        return min(segment * self.length, self.steps)

    def actions(self) -> Iterator:
        """The schedule's actions on segments: Forward, Copy, Move, Reverse, EndForward, EndReverse."""
        return iter(MultistageCheckpointSchedule(self.segments, min(self.checkpoints, self.segments - 1), 0))

    def runs(self) -> float:
        """Steps forward in a backward sweep, the first ones included, over the number of steps."""
        forward = [a for a in self.actions() if isinstance(a, Forward)]
        return sum(self.step(a.n1) - self.step(a.n0) for a in forward) / max(1, self.steps)


def plan(steps: int, room: int, step: float = 1.0) -> Plan:
    """The Plan with the fewest runs for a trajectory of `steps` where `room` carries may be kept.

    Args:
        step: memory of a step of a segment, in carries.

    Raises:
        UsageError: there is no room for a checkpoint and a step.
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
