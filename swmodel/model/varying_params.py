"""Coefficients that vary in time: the model replaces them at each record."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..parallel.worker import Worker
from ..setup.fields.record_notes import additive_checksum, note_records
from ..setup.setup import Setup, rows_and_columns

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport

#: Longest time for which a signal is not handled while this process waits for the reading thread, s.
MAX_SIGNAL_DELAY_SECONDS = 0.5

_READER = Worker("records")


class VaryingParams:
    """The coefficients of a model that vary in time.

    The coefficients that were loaded last are valid from step `valid_from` to the step before `valid_until`.
    """

    def __init__(self, setup: Setup, transport: Transport):
        self.setup, self.scheme, self.transport = setup, setup.scheme, transport
        self.valid_from = self.valid_until = 0
        self._records, self._prefetched_step = setup.varying_coefficients(), 0

    def is_valid_at(self, step: int) -> bool:
        return not self.scheme.varying or self.valid_from <= step < self.valid_until

    def next_change(self, max_step: int) -> int:
        """The step at which the present coefficients must be replaced, at most `max_step`."""
        return min(max_step, self.valid_until) if self.scheme.varying else max_step

    def clear(self) -> None:
        """Discard all records, so that the next step reads them again: functions from Python may have changed."""
        self.valid_from = self.valid_until = self._prefetched_step = 0
        self._records = self.setup.varying_coefficients()

    def change_steps(self, n_steps: int) -> list[int]:
        """See `VaryingCoefficients.change_steps`."""
        return self._records.change_steps(n_steps)

    def load(self, step: int, halo: int | None = None) -> dict:
        """The varying Params of this process's blocks at a step, in the form of `transport.make_arrays`.

        Args:
            halo: cells around the blocks; None: the `static_halo` of the model.

        Raises:
            InputError: a record is missing or cannot be read.
        """
        halo = self.setup.static_halo if halo is None else halo
        params = self.transport.make_arrays(lambda block: self.params_of_block(block, halo, step), halo)
        self.valid_from, self.valid_until = step, self._records.valid_until(step)
        return params

    def params_of_block(self, block, halo: int, step: int | None = None) -> dict:
        """The varying Params of a block with a halo, as arrays, at a step; None: the step of the last `load`."""
        return self.setup.varying_params(self._records, block, halo, self.valid_from if step is None else step)

    def restart_notes(self, step: int) -> str:
        """Notes of a restart file about records from files; all processes call it together."""
        config, transport = self.setup.config, self.transport

        def checksum(name: str, number: int) -> int:
            parts = (rows_and_columns(block, 0) for block in transport.blocks)
            local_sum = sum(
                additive_checksum(self._records.record_values(name, number, y, x), y, x, config.grid.nx)
                for y, x in parts
            )
            return sum(transport.allgather(local_sum)) % 2**64

        return note_records(config, self.scheme.varying, step, checksum)

    @contextmanager
    def prefetch(self) -> Iterator[None]:
        """A context in which another thread reads the next records for `load`, while the caller computes.

        The caller must not open or close files, because netCDF4 crashes if two threads use it at once. So the context
        suspends Python's garbage collection, which may close a file of the user, and waits for the other thread before
        it ends. `load` raises the errors of reading.
        """
        future, gc_was_enabled = None, gc.isenabled()
        if self.scheme.varying and self._prefetched_step != self.valid_until:
            gc.disable()
            self._prefetched_step = self.valid_until
            future = _READER.submit(self._records.read_ahead, self.valid_until)
        try:
            yield
        finally:
            while future and wait([future], MAX_SIGNAL_DELAY_SECONDS).not_done:
                pass
            if gc_was_enabled:
                gc.enable()
