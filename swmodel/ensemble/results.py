"""What an ensemble writes besides restarts: ensemble.nc, each record when it is due."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files.output.continuation import require_intact
from ..files.run_folder import ENSEMBLE
from ..model.results import keepers, schedules
from .records import Records


@contextmanager
def opened(members, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of an ensemble, as `swmodel.model.results.opened` of a run."""
    path, keep = Path(directory) / ENSEMBLE, keepers(members)[0] if resume else None
    if resume:
        require_intact({path: keep}, members.transport)
    with Records(path, members.config, members.transport, command_line, keep) as records:
        yield Results(members, records)


class Results:
    """What an ensemble writes besides restarts, each record when it is due; see `swmodel.model.results.Results`."""

    means = None

    def __init__(self, members, records):
        self.members, self.records, self.first = members, records, members.step
        self.snapshots, self.numbers = schedules(members.config)[0], {}
        self.advance, self.next, self.flush = members.advance, self.snapshots.next, records.flush

    def write(self) -> None:
        """Write the record that is due at the present step, as it is at the first.

        Raises:
            FilesError: a record could not be written, on all processes.
        """
        if self.snapshots.due(self.members.step) or self.members.step == self.first:
            found = self.records.write(self.members)
            self.numbers = {"cfl": found["cfl"].max(), "energy": found["energy"].mean()}
