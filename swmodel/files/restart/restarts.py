"""Write restart files during a run, and keep the two newest."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import WriteError
from ..schedule import EventSchedule
from . import folder
from .write import contents_of, write

if TYPE_CHECKING:
    from ...config.options.model import Config


class RestartWriter:
    """Writes restart files into restart/ of a run folder, at the intervals of `model.config.restart`.

    `config`: the configuration to record; `newest_step`: step of the newest file in the folder, -1 if there is none.
    """

    def __init__(self, model, config: Config, directory, command_line: str = "", newest_step: int = -1):
        self.model, self.config, self.directory = model, config, Path(directory)
        self.command_line, self.newest_step = command_line, newest_step
        self.options = model.config.restart
        self._schedule = EventSchedule(model.dt, model.config.run.steps, self.options.every_steps, self.options.every)
        self._last_write_time = time.monotonic()

    def is_due(self, step: int) -> bool:
        """Whether a restart file is due after `step` steps: because of the interval, or at the end of the run."""
        return step == self._schedule.last_step or (step > 0 and self._schedule.is_regular(step))

    def next(self, step: int) -> int:
        return self._schedule.next(step)

    def is_overdue(self) -> bool:
        """Whether the interval of wall-clock time since the last restart file has passed, by the clock of this rank."""
        every = self.options.every_wall
        return every is not None and time.monotonic() - self._last_write_time >= every

    def write(self, accumulator_fields: dict) -> float:
        """Write the restart file of the current step unless it exists, and return the seconds that this took.

        All ranks must call this together.
        """
        start, step = time.monotonic(), self.model.step
        if step != self.newest_step:
            path = folder.restart_path(self.directory, step, self.options.format)
            write_restart(path, self.model, self.config, accumulator_fields, self.command_line)
            if self.model.transport.rank == 0:
                with contextlib.suppress(OSError):  # old files do no harm
                    folder.remove_old_files(self.directory, step)
        self.newest_step, self._last_write_time = step, time.monotonic()
        return self._last_write_time - start


def write_restart(path, model, config: Config, accumulator_fields: dict, command_line: str = "") -> None:
    """Write the state of a model and the fields of its accumulators to a restart file, as `write.write` does.

    `config`: the configuration to record. WriteError: `path` names no file.
    """
    if not Path(path).name:
        raise WriteError(f"{Path(path)} cannot be written: it is a folder")
    records, substeps = model.restart_notes(), model.substeps
    contents = contents_of(model.carry, model.step, model.time, accumulator_fields, records, substeps)
    write(path, contents, config, model.transport, command_line, model.get)
