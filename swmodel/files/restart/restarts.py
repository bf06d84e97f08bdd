"""The schedule of a run's restart files, of which two are kept."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from ...errors import WriteError
from ..schedule import EventSchedule
from . import folder
from .write import contents_of, write


class RestartWriter:
    """Writes restart/ in a run folder, at the intervals of `model.config.restart`.

    `config`: the recorded configuration; `newest_step`: step of the newest file in the folder, -1: none.
    """

    def __init__(self, model, config, directory, command_line: str = "", newest_step: int = -1):
        self.model, self.config, self.directory = model, config, Path(directory)
        self.command_line, self.newest_step = command_line, newest_step
        self.options = model.config.restart
        self._schedule = EventSchedule(model.dt, model.config.run.steps, self.options.every_steps, self.options.every)
        self._last_write_time = time.monotonic()

    def is_due(self, step: int) -> bool:
        """Whether a restart file is due after `step` steps: by the interval, or as the last one."""
        return step == self._schedule.last_step or (step > 0 and self._schedule.is_regular(step))

    def next(self, step: int) -> int:
        return self._schedule.next(step)

    def is_overdue(self) -> bool:
        """Whether a restart file is due by the clock of this rank."""
        every = self.options.every_wall
        return every is not None and time.monotonic() - self._last_write_time >= every

    def write(self, accumulator_fields: dict) -> float:
        """Write the file of the current step unless it exists; all ranks call it. Returns the seconds that it took."""
        start, step = time.monotonic(), self.model.step
        if step != self.newest_step:
            path = folder.restart_path(self.directory, step, self.options.format)
            write_restart(path, self.model, self.config, accumulator_fields, self.command_line)
            if self.model.transport.rank == 0:
                with contextlib.suppress(OSError):  # old files do no harm
                    folder.remove_old_files(self.directory, step)
        self.newest_step, self._last_write_time = step, time.monotonic()
        return self._last_write_time - start


def write_restart(path, model, config, accumulator_fields: dict, command_line: str = "") -> None:
    """Write a model as a restart file, with fields of its accumulators and the recorded configuration."""
    if not Path(path).name:
        raise WriteError(f"{Path(path)} cannot be written: it is a folder")
    records, substeps = model.restart_notes(), model.substeps
    contents = contents_of(model.carry, model.step, model.time, accumulator_fields, records, substeps)
    write(path, contents, config, model.transport, command_line, model.get)
