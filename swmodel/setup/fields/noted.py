"""What a restart file notes of records in time that come from files, so that a run does not go on with others.

Noted are the dates of the records up to the last step, and a checksum of the two between which this step lies. They are
in memory then, and are read again to compare: nothing depends on how many records there are. Later ones may be added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from .kinds import field_of, file_of
from .netcdf_input import InputError
from .varying import record

#: Cells of a band of rows.
CELLS = 2**17


def noted(config, varying: Iterable[str], step: int, checksum: Callable[[str, int], int]) -> str:
    """The varying coefficients' records that are in use after a step, as JSON; "" without such records."""
    found = {}
    for name in varying:
        if file_of(config, name):
            of = field_of(config, name)
            first, number = (of.at(at)[0] for at in (0, max(0, step - 1)))
            dates = of.records.dates[first : number + 2]
            sums = [f"{checksum(name, number + more):016x}" for more in (0, 1)]
            found[name] = {"records": len(dates), "dates": digest(dates), "checksums": sums}
    return json.dumps(found) if found else ""


def differences(config, text: str) -> Iterator[str]:
    """What differs from what was noted, a line for each coefficient."""
    for name, before in json.loads(text or "{}").items():
        try:
            of = field_of(config, name)
            first, count = of.at(0)[0], before["records"]
            dates = of.records.dates[first : first + count]
            if digest(dates) != before["dates"]:
                yield f"{of.what}: the first {count} records that the run used have other dates now"
                continue
            for back, checksum in zip((2, 1), before["checksums"], strict=True):
                if f"{checksum_of_whole(config, name, first + count - back, of):016x}" != checksum:
                    yield f"{of.what}: the record of {dates[-back]} has other values than those that the run used"
                    break
        except InputError as error:
            yield str(error)


def checksum_of_whole(config, name: str, number: int, of) -> int:
    """The checksum of a record on the whole grid, of which no more than a band of rows is held at a time."""
    (ny, nx), total = (config.grid.ny, config.grid.nx), 0
    step = max(1, CELLS // nx)
    for first in range(0, ny, step):
        rows, columns = np.arange(first, min(ny, first + step)), np.arange(nx)
        values = record(config, name, number, rows, columns, of).astype(config.run.dtype)
        total = (total + checksum_of(values, rows, columns, nx)) % 2**64
    return total


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


def digest(dates: Sequence[str]) -> str:
    """SHA-256 of dates."""
    return hashlib.sha256("\n".join(dates).encode()).hexdigest()
