"""SHA-256 of fields from Python: a run records them, and processes compare them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ...errors import ConfigError
from .kinds import FieldSource, InTime, PythonField, field_in_python
from .netcdf_input import InputError

#: What a run says of a field in time between its name and its SHA-256.
IN_TIME = "in-time"

#: Cells that are evaluated at a time where the whole field is looked at.
CELLS = 2**17


def digest(config: Any, name: str, given: PythonField) -> str:
    """SHA-256 of a field's values on the whole grid, as hexadecimal digits; in time of its first two records."""
    if given.recorded:
        return given.recorded
    field = field_in_python(config, name, given)
    if not field.in_time:
        return digest_of(config, field)
    try:
        times = []
        if isinstance(field, InTime):
            times = [np.ascontiguousarray(field.records.seconds, "<f8").tobytes().hex()]
        parts = times + [digest_of(config, field, record) for record in (0, 1)]
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    except InputError as error:
        raise ConfigError([str(error)]) from None


def digest_of(config: Any, field: FieldSource, record: int = 0) -> str:
    """SHA-256 of the values of a field as it is given; no more of it is held at a time than a band of rows."""
    ny, nx = config.grid.ny, config.grid.nx
    found, step = hashlib.sha256(), max(1, CELLS // nx)
    for first in range(0, ny, step):
        rows = np.arange(first, min(first + step, ny))
        values = np.broadcast_to(field.read(rows, np.arange(nx), record), (len(rows), nx))
        found.update(np.ascontiguousarray(values, "<f8").data)
    return found.hexdigest()
