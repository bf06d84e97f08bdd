"""Coefficients that vary in time, which the model replaces at their next records."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

from ..parallel.worker import Worker
from ..setup.fields.noted import checksum_of, noted
from ..setup.setup import Setup, rows_and_columns

#: Longest delay of a signal while this process waits for the thread, s.
HEED = 0.5

_READER = Worker("records")


class Forcing:
    """Coefficients of a model that vary in time; the present ones hold from step `first` until `last`."""

    def __init__(self, setup: Setup, transport):
        self.setup, self.scheme, self.transport = setup, setup.scheme, transport
        self.first = self.last = 0
        self._records, self._ahead = setup.records(), 0

    def holds(self, step: int) -> bool:
        """Whether the present coefficients hold at a step."""
        return not self.scheme.varying or self.first <= step < self.last

    def until(self, step: int) -> int:
        """The step until which the present coefficients hold, at most `step`."""
        return min(step, self.last) if self.scheme.varying else step

    def forget(self) -> None:
        """Let the next step read all records again, as functions from Python return other values now."""
        self.first = self.last = self._ahead = 0
        self._records = self.setup.records()

    def cuts(self, steps: int) -> list[int]:
        """The steps of a run of `steps` steps at which coefficients are replaced, with its first and last step."""
        found = [0]
        while found[-1] < steps:
            found.append(min(steps, self._records.until(found[-1])))
        return found

    def take(self, step: int, margin: int | None = None) -> dict:
        """The varying Params of this process's blocks from a step on, in the form of `transport.make`.

        InputError: a record is missing or cannot be read.

        Args:
            margin: cells around the blocks; None: the margin of the model.
        """
        margin = margin or self.setup.margin
        taken = self.transport.make(lambda block: self.of(block, margin, step), margin)
        self.first, self.last = step, self._records.until(step)
        return taken

    def of(self, block, margin: int, step: int | None = None) -> dict:
        """The varying Params of a block with a margin from a step on, arrays; None: the present ones."""
        return self.setup.varying(self._records, block, margin, self.first if step is None else step)

    def noted(self, step: int) -> str:
        """The notes of a restart file about records from files; all processes call it together."""
        config, transport = self.setup.config, self.transport

        def checksum(name: str, number: int) -> int:
            parts = (rows_and_columns(block, 0) for block in transport.blocks)
            mine = sum(checksum_of(self._records.values(name, number, *part), *part, config.grid.nx) for part in parts)
            return sum(transport.allgather(mine)) % 2**64

        return noted(config, self.scheme.varying, step, checksum)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """A context in which a thread reads the next records for `take`, while this one computes without files.

        Two threads in netCDF4 at once crash. So the context waits for the thread, and suspends Python's garbage
        collection, which may close a file of the user. `take` reports errors of reading.
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
