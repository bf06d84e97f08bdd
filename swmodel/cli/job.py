"""What a process is asked to compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A run to start, or to go on with from a restart file.

    Attributes:
        config: complete and checked.
        directory: the run folder.
        restart: a `restart.folder.Restart`, of which only rank 0's counts; None: from the start.
    """

    config: Any
    directory: Path
    restart: Any = None

    def prepare(self):
        """Make the run folder ready.

        Raises:
            FilesError: it cannot be made or written.
        """
        from .. import run_folder

        (run_folder.prepare if self.restart is None else run_folder.reopen)(self.directory)
