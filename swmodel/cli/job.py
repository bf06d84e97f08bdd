"""A job: what a process is to compute."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

#: The tasks, and the module of each; all processes of a job call its functions together:
#:
#: compute(config, directory, options, report, command_line, watch)
#:     writes its results into the folder. `report` receives progress events on rank 0. The task calls `watch` once,
#:     with a function whose value changes as long as there is progress.
#: summary(directory)     the results in words, read from the folder.
TASK_MODULES = {
    "run": "swmodel.cli.run",
    "check-gradient": "swmodel.gradients.check",
    "sensitivity": "swmodel.gradients.sensitivity",
    "assimilate": "swmodel.assimilation.assimilate",
    "ensemble": "swmodel.model.ensemble.task",
}
#: Those that write records after intervals of time, and those of which nothing is kept when they are stopped.
RECORDING_TASKS = ("run", "ensemble")
NON_RESUMABLE_TASKS = ("check-gradient", "sensitivity")


class Job(NamedTuple):
    """A task to start, or a run to continue from a restart file."""

    config: Any  # complete and checked
    directory: Path
    restart: Any = None  # a `restart.folder.RestartFile`, only the one on rank 0 counts; None: from the start
    task: str = "run"
    options: dict = {}  # noqa: RUF012  of the task, JSON values; nobody changes it
    remarks: tuple[str, ...] = ()  # to the user before it starts

    @property
    def reproducible(self) -> bool:
        """Whether XLA is limited to instructions with the same bits on every layout; assimilations smooth by XLA."""
        run = self.config.run
        return run.reproducible or (self.task == "assimilate" and run.executor != "xla")

    def task_module(self):
        """The module of the task."""
        return importlib.import_module(TASK_MODULES[self.task])
