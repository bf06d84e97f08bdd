"""Records of fields that are not part of the configuration, so that a run does not continue with other ones.

A field from Python is recorded by the SHA-256 of its values, which processes also compare. A restart file has the dates
of records in files up to the last step, and a checksum of the two around this step. Only these two are read again and
compared. Users may add later records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ...errors import ConfigError
from . import bands
from .kinds import FieldSource, InTime, PythonField, field_in_python, field_of, file_of
from .netcdf_input import InputError
from .varying import record

#: The text between the name and the SHA-256 of a field in time.
IN_TIME = "in-time"


def digest(config, name: str, given: PythonField) -> str:
    """SHA-256 of a field's values on the whole grid, or of its first two records, as hexadecimal digits."""
    if given.recorded:
        return given.recorded
    field = field_in_python(config, name, given)
    if not field.in_time:
        return digest_of(config.grid, field)
    try:
        times = np.ascontiguousarray(field.records.seconds, "<f8").tobytes().hex() if isinstance(field, InTime) else ""
        return sha256(times + "".join(digest_of(config.grid, field, number) for number in (0, 1)))
    except InputError as error:
        raise ConfigError([str(error)]) from None


def digest_of(grid, field: FieldSource, number: int = 0) -> str:
    """SHA-256 of the values of a source, read band by band."""
    found = hashlib.sha256()
    for rows in bands(grid):
        values = np.broadcast_to(field.read(rows, np.arange(grid.nx), number), (len(rows), grid.nx))
        found.update(np.ascontiguousarray(values, "<f8").data)
    return found.hexdigest()


def sha256(text: str) -> str:
    """SHA-256 of a text, as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def noted(config, varying: Iterable[str], step: int, checksum: Callable[[str, int], int]) -> str:
    """The records of varying coefficients in use after a step, as JSON; "" without such records."""
    found = {}
    for name in varying:
        if file_of(config, name):
            of = field_of(config, name)
            first, number = (of.at(at)[0] for at in (0, max(0, step - 1)))
            dates = of.records.dates[first : number + 2]
            sums = [f"{checksum(name, number + more):016x}" for more in (0, 1)]
            found[name] = {"records": len(dates), "dates": sha256("\n".join(dates)), "checksums": sums}
    return json.dumps(found) if found else ""


def differences(config, text: str) -> Iterator[str]:
    """Differences of records from the noted ones, a line for each coefficient."""
    for name, before in json.loads(text or "{}").items():
        try:
            of = field_of(config, name)
            first, count = of.at(0)[0], before["records"]
            dates = of.records.dates[first : first + count]
            if sha256("\n".join(dates)) != before["dates"]:
                yield f"{of.what}: the first {count} records that the run used have other dates now"
                continue
            for back, checksum in zip((2, 1), before["checksums"], strict=True):
                if f"{checksum_of_whole(config, name, first + count - back, of):016x}" != checksum:
                    yield f"{of.what}: the record of {dates[-back]} has other values than those that the run used"
                    break
        except InputError as error:
            yield str(error)


def checksum_of_whole(config, name: str, number: int, of) -> int:
    """The checksum of a record on the whole grid, read band by band."""
    total, columns = 0, np.arange(config.grid.nx)
    for rows in bands(config.grid):
        values = record(config, name, number, rows, columns, of).astype(config.run.dtype)
        total += checksum_of(values, rows, columns, config.grid.nx)
    return total % 2**64


def checksum_of(values: np.ndarray, rows, columns, nx: int) -> int:
    """The sum over cells of a hash of value and place, modulo 2^64: parts of a grid of nx columns add up."""
    places = np.asarray(rows)[:, None].astype(np.uint64) * np.uint64(nx) + np.asarray(columns).astype(np.uint64)
    bits = np.ascontiguousarray(values + 0.0).view(f"u{values.dtype.itemsize}").astype(np.uint64)
    return int(mixed(bits ^ mixed(places)).sum(dtype=np.uint64))


def mixed(bits: np.ndarray) -> np.ndarray:
    """A hash of 64 bits of each element, the last steps of SplitMix64.

    Reference: Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators, OOPSLA.
    """
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
