"""Coefficients that vary in time, exchanged where a run reaches the next of their records."""

from __future__ import annotations

import numpy as np

from ..config.build import build_varying
from ..config.varying import until


class Forcing:
    """The coefficients of a model that vary, as they hold from one step until another.

    Args:
        config: resolved.
        scheme, transport: of the model.

    Attributes:
        first, last: the steps from which and until which those hold that were taken last.
    """

    def __init__(self, config, scheme, transport):
        self.config, self.scheme, self.transport = config, scheme, transport
        self.first = self.last = 0

    def holds(self, step: int) -> bool:
        """Whether what was taken last holds at a step."""
        return not self.scheme.varying or self.first <= step < self.last

    def until(self, step: int) -> int:
        """The step until which what was taken last holds, at most the one given."""
        return min(step, self.last) if self.scheme.varying else step

    def cuts(self, steps: int) -> list[int]:
        """The steps at which they are exchanged in a run of so many, with its first and its last one."""
        found = [0]
        while found[-1] < steps:
            found.append(min(steps, until(self.config, self.scheme.varying, found[-1])))
        return found

    def take(self, step: int, margin: int | None = None) -> dict:
        """Those that hold from a step on, among the Params of this process's blocks as `transport.make` gives them.

        Args:
            margin: cells around the blocks; None: those of the model.

        Raises:
            InputError: a record cannot be read, or there is none.
        """
        margin, dtype = margin or self.scheme.width + 1, np.dtype(self.config.run.dtype)
        self.first, self.last = step, until(self.config, self.scheme.varying, step)
        return self.transport.make(
            lambda block: build_varying(self.config, block, dtype, margin, self.scheme, step), margin
        )
