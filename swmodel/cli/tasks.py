"""The tasks that commands start, and the specification of a task for its processes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..config.options.model import Config

#: The module of each task. Each has two functions:
#:
#: compute(config, directory, options, report, command_line, watch)
#:     writes the results into the folder. All processes of the task call it together; `report` receives progress events
#:     on rank 0. The task calls `watch` once, with a function whose value changes as long as the task makes progress.
#: summary(directory)
#:     describes the results in the folder in words; only the launcher, the only process, or rank 0 calls it.
TASK_MODULES = {
    "run": "swmodel.cli.run",
    "check-gradient": "swmodel.gradients.check",
    "sensitivity": "swmodel.gradients.sensitivity",
    "assimilate": "swmodel.assimilation.assimilate",
    "ensemble": "swmodel.model.ensemble.task",
}
#: Tasks that write records at intervals of time, and tasks that keep nothing when they are stopped.
RECORDING_TASKS = ("run", "ensemble")
NON_RESUMABLE_TASKS = ("check-gradient", "sensitivity")


class TaskSpec(NamedTuple):
    """A task to start, or to continue from a restart file."""

    config: Config  # complete and checked
    directory: Path
    restart: Any = None  # a `restart.folder.RestartFile`, of which only rank 0 needs the values; None: start at step 0
    task: str = "run"
    options: dict = {}  # noqa: RUF012  options of the task, JSON values; nothing changes this dict
    remarks: tuple[str, ...] = ()  # printed before the task starts

    @property
    def reproducible(self) -> bool:
        """Whether XLA may use only instructions that give the same bits on every layout.

        Assimilation with an executor other than xla always needs this, because XLA smooths its controls even then.
        """
        run = self.config.run
        return run.reproducible or (self.task == "assimilate" and run.executor != "xla")

    def task_module(self):
        return importlib.import_module(TASK_MODULES[self.task])
