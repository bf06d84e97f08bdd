"""Coefficients that vary in time, replaced when a run reaches their next records."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

from ..parallel.worker import Worker
from ..setup.fields.noted import checksum_of, noted
from ..setup.setup import Setup, rows_and_columns

#: Seconds within which a signal is noticed while this process waits for the thread.
HEED = 0.5

_READER = Worker("records")


class Forcing:
    """Coefficients of a model that vary in time; those taken hold from step `first` until `last`."""

    def __init__(self, setup: Setup, transport):
        self.setup, self.scheme, self.transport = setup, setup.scheme, transport
        self.first = self.last = 0
        self._records, self._ahead = setup.records(), 0

    def holds(self, step: int) -> bool:
        """Whether the coefficients taken last hold at a step."""
        return not self.scheme.varying or self.first <= step < self.last

    def until(self, step: int) -> int:
        """The step until which the coefficients taken last hold, at most `step`."""
        return min(step, self.last) if self.scheme.varying else step

    def cuts(self, steps: int) -> list[int]:
        """The steps of a run of so many steps at which they are replaced, with its first and its last step."""
        found = [0]
        while found[-1] < steps:
            found.append(min(steps, self._records.until(found[-1])))
        return found

    def take(self, step: int, margin: int | None = None) -> dict:
        """The varying Params of this process's blocks that hold from a step on, as `transport.make` makes them.

        InputError: a record is missing or cannot be read.

        Args:
            margin: cells around the blocks; None: as many as the model has.
        """
        margin = margin or self.setup.margin
        taken = self.transport.make(lambda block: self.of(block, margin, step), margin)
        self.first, self.last = step, self._records.until(step)
        return taken

    def of(self, block, margin: int, step: int | None = None) -> dict:
        """The varying Params of a block with a margin that hold from a step on, arrays; None: those taken last."""
        return self.setup.varying(self._records, block, margin, self.first if step is None else step)

    def noted(self, step: int) -> str:
        """What a restart file after a step notes of records from files; called by all processes together."""
        config, transport = self.setup.config, self.transport

        def checksum(name: str, number: int) -> int:
            parts = (rows_and_columns(block, 0) for block in transport.blocks)
            mine = sum(checksum_of(self._records.values(name, number, *part), *part, config.grid.nx) for part in parts)
            return sum(transport.allgather(mine)) % 2**64

        return noted(config, self.scheme.varying, step, checksum)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """A context in which a thread reads what `take` needs next, while this one computes steps and uses no files.

        Two threads that use netCDF4 at once crash: the context ends when the thread has read, and Python collects no
        garbage before, as that may close a file of the user's. `take` says what cannot be read.
        """
        reading, collecting = None, gc.isenabled()
        if self.scheme.varying and self._ahead != self.last:
            gc.disable()
            self._ahead = self.last
            reading = _READER.submit(self._records.read_ahead, self.last)
        try:
            yield
        finally:
            while reading and wait([reading], HEED).not_done:
                pass
            if collecting:
                gc.enable()
