"""Records along the unlimited dimension time of a file opened with h5py."""

from __future__ import annotations

#: Room for the metadata that a record adds to the file, and for the journal.
RECORD_METADATA_BYTES = 1 << 16


def set_length(file, records: int) -> None:
    """Give every variable with time so many records; new ones hold the fill value."""
    for variable in with_time(file):
        variable.resize(records, axis=0)


def begin(file) -> None:
    """Add a record of fill values."""
    set_length(file, len(file["time"]) + 1)


def complete(file, step: int, seconds: float) -> None:
    """Write step and time of the last record, and with means the time that they cover: since the record before."""
    last = len(file["time"]) - 1
    file["step"][last] = step
    if "time_bounds" in file:
        file["time_bounds"][last] = file["time"][last - 1] if last else 0.0, seconds
    file["time"][last] = seconds


def select(file, keep) -> None:
    """Leave the records for whose number of steps `keep` is true, in their order."""
    kept = [record for record, step in enumerate(file["step"][:].tolist()) if keep(step)]
    for place, record in enumerate(kept):
        if place != record:
            for variable in with_time(file):
                variable[place] = variable[record]
    set_length(file, len(kept))


def with_time(file) -> list:
    """The variables with the unlimited dimension, which is the first of theirs."""
    return [variable for variable in file.values() if variable.maxshape[:1] == (None,)]
