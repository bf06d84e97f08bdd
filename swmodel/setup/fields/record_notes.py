"""Checksums of fields that are not part of the configuration, so that a run does not continue with other fields.

A field from Python is recorded by the SHA-256 of its values, which the processes also compare. For records in files, a
restart file contains a checksum of the dates up to the last step, and checksums of the two records around this step.
Only these two records are read again and compared, so that users may add later records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConfigError
from . import row_bands
from .field_sources import FieldSource, PythonField, RecordsSource, source_in_python, source_of
from .netcdf_input import InputError
from .varying import read_record

if TYPE_CHECKING:
    from ...config.options.model import Config

#: The text between the name and the SHA-256 of a field that varies in time.
IN_TIME_LABEL = "in-time"


def field_checksum(config: Config, name: str, python_field: PythonField) -> str:
    """SHA-256 of a field's values on the whole grid, as hexadecimal digits.

    For a field that varies in time it is that of its first two records and, if they have dates, the times of all.
    """
    if python_field.checksum:
        return python_field.checksum
    source = source_in_python(config, name, python_field)
    if not source.varies_in_time:
        return source_checksum(config.grid, source)
    try:
        seconds = source.records.seconds if isinstance(source, RecordsSource) else ()
        times = np.ascontiguousarray(seconds, "<f8").tobytes().hex()
        return sha256(times + "".join(source_checksum(config.grid, source, number) for number in (0, 1)))
    except InputError as error:
        raise ConfigError([str(error)]) from None


def source_checksum(grid, source: FieldSource, number: int = 0) -> str:
    """SHA-256 of the values of a source, read band by band."""
    sha = hashlib.sha256()
    for rows in row_bands(grid):
        values = np.broadcast_to(source.read(rows, np.arange(grid.nx), number), (len(rows), grid.nx))
        sha.update(np.ascontiguousarray(values, "<f8").data)
    return sha.hexdigest()


def sha256(text: str) -> str:
    """SHA-256 of a text, as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def note_records(config: Config, varying: Iterable[str], step: int, checksum: Callable[[str, int], int]) -> str:
    """A note about the records in files that varying coefficients use up to a step, as JSON; "" without such records.

    `checksum`: function of (coefficient, number of a record) that returns the checksum of the record.
    """
    notes = {}
    for name in varying:
        source = source_of(config, name)
        if isinstance(source, RecordsSource) and name not in config.python.names:
            first, number = (min(source.record_at(at)[0], source.last_record - 1) for at in (0, max(0, step - 1)))
            dates = source.records.dates[first : number + 2]
            checksums = [f"{checksum(name, number + offset):016x}" for offset in (0, 1)]
            notes[name] = {"records": len(dates), "dates": sha256("\n".join(dates)), "checksums": checksums}
    return json.dumps(notes) if notes else ""


def changed_records(config: Config, text: str) -> Iterator[str]:
    """Messages about records that differ from the noted ones, one for each coefficient."""
    for name, note in json.loads(text or "{}").items():
        try:
            source = source_of(config, name)
            if not isinstance(source, RecordsSource):
                yield f"{source.label}: has no records in time, but the run used records"
                continue
            first, count = source.record_at(0)[0], note["records"]
            dates = source.records.dates[first : first + count]
            if sha256("\n".join(dates)) != note["dates"]:
                yield f"{source.label}: the first {count} records, which the run used, now have other dates"
                continue
            for records_back, checksum in zip((2, 1), note["checksums"], strict=True):
                if f"{record_checksum(config, name, first + count - records_back, source):016x}" != checksum:
                    yield (
                        f"{source.label}: the values of the record of {dates[-records_back]} differ from those that "
                        "the run used"
                    )
                    break
        except InputError as error:
            yield str(error)


def record_checksum(config: Config, name: str, number: int, source) -> int:
    """The checksum of a record on the whole grid, read band by band."""
    total, columns = 0, np.arange(config.grid.nx)
    for rows in row_bands(config.grid):
        values = read_record(config, name, number, rows, columns, source).astype(config.run.dtype)
        total += additive_checksum(values, rows, columns, config.grid.nx)
    return total % 2**64


def additive_checksum(values: np.ndarray, rows, columns, nx: int) -> int:
    """The sum over cells of a hash of value and position, modulo 2^64; sums of parts of a grid of nx columns add up."""
    cell_numbers = np.asarray(rows)[:, None].astype(np.uint64) * np.uint64(nx) + np.asarray(columns).astype(np.uint64)
    values = values + 0.0  # -0.0 becomes 0.0
    bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(np.uint64)
    return int(hash_bits(bits ^ hash_bits(cell_numbers)).sum(dtype=np.uint64))


def hash_bits(bits: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each element, the last steps of SplitMix64.

    Reference: Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators, OOPSLA.
    """
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
