"""Coefficients that vary in time, exchanged where a run reaches the next of their records."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

import numpy as np

from ..config.build import build_varying
from ..config.fields.varying import Records
from ..parallel.worker import Worker

#: Seconds after which a signal is heeded that comes while the thread is waited for.
HEED = 0.5

_READER = Worker("records")


class Forcing:
    """The coefficients of a model that vary, as they hold from one step until another.

    Args:
        config: resolved.
        scheme, transport: of the model.

    Attributes:
        first, last: the steps from and until which those taken last hold.
    """

    def __init__(self, config, scheme, transport):
        self.scheme, self.transport, self.dtype = scheme, transport, np.dtype(config.run.dtype)
        self.first = self.last = 0
        self._records, self._ahead = Records(config, scheme.varying, self.dtype), 0

    def holds(self, step: int) -> bool:
        """Whether what was taken last holds at a step."""
        return not self.scheme.varying or self.first <= step < self.last

    def until(self, step: int) -> int:
        """The step until which what was taken last holds, at most the one given."""
        return min(step, self.last) if self.scheme.varying else step

    def cuts(self, steps: int) -> list[int]:
        """The steps at which they are exchanged in a run of so many steps, with its first and its last one."""
        found = [0]
        while found[-1] < steps:
            found.append(min(steps, self._records.until(found[-1])))
        return found

    def take(self, step: int, margin: int | None = None) -> dict:
        """Those that hold from a step on, among the Params of this process's blocks as `transport.make` gives them.

        Args:
            margin: cells around the blocks; None: those of the model.

        Raises:
            InputError: a record cannot be read, or there is none.
        """
        margin, last = margin or self.scheme.width + 1, self._records.until(step)
        taken = self.transport.make(lambda block: self.of(block, margin, step), margin)
        self.first, self.last = step, last
        return taken

    def of(self, block, margin: int, step: int | None = None) -> dict:
        """Those of a block with a margin that hold from a step on, NumPy arrays; None: those that were taken last."""
        return build_varying(self._records, block, self.dtype, margin, self.first if step is None else step)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Within it a thread reads what will be taken next, while this one computes steps and uses no files.

        netCDF4 must not be used by two threads at once: where the context ends, the thread has read. What it fails to
        read is left to `take`, which says what is wrong when the step is there.
        """
        reading = None
        if self.scheme.varying and self._ahead != self.last:
            self._ahead = self.last
            reading = _READER.submit(self._records.read_ahead, self.last)
        try:
            yield
        finally:
            while reading and wait([reading], HEED).not_done:
                pass
