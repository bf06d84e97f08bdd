"""The schedule of a run's restart files, of which two are kept."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from ..schedule import Schedule
from . import folder
from .write import contents_of, write


class Restarts:
    """Writes restart/ in a run folder, at the intervals of `model.config.restart`.

    `config`: the recorded configuration; `written`: step of the newest file in the folder, -1: none.
    """

    def __init__(self, model, config, directory, command_line: str = "", written: int = -1):
        self.model, self.config, self.directory = model, config, Path(directory)
        self.command_line, self.written = command_line, written
        self.options = model.config.restart
        self._schedule = Schedule(model.dt, model.config.run.steps, self.options.every_steps, self.options.every)
        self._begun = time.monotonic()

    def due(self, step: int) -> bool:
        """Whether a restart file is due after `step` steps: by the interval, or as the last one."""
        return step == self._schedule.last or (step > 0 and self._schedule.regular(step))

    def next(self, step: int) -> int:
        """The first step after `step` at which a restart file is due."""
        return self._schedule.next(step)

    def overdue(self) -> bool:
        """Whether a restart file is due by the clock of this rank."""
        every = self.options.every_wall
        return every is not None and time.monotonic() - self._begun >= every

    def write(self, kept: dict) -> float:
        """Write the file of the present step, unless it exists, by all ranks; returns the seconds.

        `kept`: fields of accumulators, by name in the file.
        """
        begin, step = time.monotonic(), self.model.step
        if step != self.written:
            path = folder.path_of(self.directory, step, self.options.format)
            write_restart(path, self.model, self.config, kept, self.command_line)
            if self.model.transport.rank == 0:
                with contextlib.suppress(OSError):  # old files do no harm
                    folder.tidy(self.directory, step)
        self.written, self._begun = step, time.monotonic()
        return self._begun - begin


def write_restart(path, model, config, kept: dict, command_line: str = "") -> None:
    """Write a model as a restart file, with fields of its accumulators and the recorded configuration."""
    contents = contents_of(model.carry, model.step, model.time, kept)
    contents = contents._replace(records=model.noted(), substeps=model.substeps)
    write(path, contents, config, model.transport, command_line, model.get)
