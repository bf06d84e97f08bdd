"""Records along the unlimited dimension time."""

from __future__ import annotations

#: Room for the metadata that a record adds to the file.
RECORD_METADATA_BYTES = 1 << 16


def begin(file, record: int) -> None:
    """Lengthen every variable with time; what is not written holds the fill value."""
    for variable in file.values():
        if variable.maxshape[:1] == (None,):
            variable.resize(record + 1, axis=0)


def complete(file, record: int, step: int, seconds: float, previous: float) -> None:
    """Write step and time of a record and bring the file on disk up to date; readers find whole records only."""
    file["step"][record] = step
    if "time_bounds" in file:
        file["time_bounds"][record] = previous, seconds
    file["time"][record] = seconds
    file.flush()
