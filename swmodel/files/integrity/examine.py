"""The contents of a file of a run, and its damaged parts; also the program that `guard` starts."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource

from ...parallel.spawn import end_with_parent
from ..restart.examine import examine as examine_restart
from ..store.examine import examine as examine_store
from . import checksums

#: Limit of CPU time for a file without reading of values, s, and least speed of reading, bytes/s.
SECONDS, SLOWEST = 10.0, 2e7

#: The largest compression ratio of deflate.
DEFLATED = 1032

#: The damaged part if names, attributes or their checksum have changed.
HEADER = ["header", None]


def main(jobs: str) -> None:
    """Print the facts about each file of `jobs` (JSON, see `guard.Job`), as JSON, within limits of CPU time."""
    end_with_parent()
    for path, kind in json.loads(jobs):
        allow_time(0)
        print(json.dumps(facts(path, kind, allow_time)), flush=True)


def allow_time(nbytes: int) -> None:
    """Limit the further CPU time of this process to that for a file with `nbytes` of values."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    with contextlib.suppress(ValueError, OSError):  # the system allows less, or has no limits
        most = int(used + SECONDS + nbytes / SLOWEST) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def facts(path, kind: str, allow=lambda nbytes: None) -> dict:
    """The facts about a file (`guard.Job`), or its "problem"; calls `allow` before it reads values."""
    try:
        if not os.path.exists(path):
            return {"problem": "there is no such file"}
        if kind == "restart":
            return examine_restart(path, allow)
        return (examine_store if os.path.isdir(path) else examine)(path, kind == "whole", allow)
    except MemoryError:
        return {"problem": "cannot be read: it takes too much memory"}
    except Exception as error:
        words = " ".join(str(getattr(error, "strerror", None) or error).split())
        return {"problem": f"cannot be read: {words or type(error).__name__}"}


def examine(path, full: bool = True, allow=lambda nbytes: None) -> dict:
    """Facts about a file of records or maps, which this process can read safely afterwards.

    Args:
        full: whether to verify all values. Else skip fields [..., y, x], which take long. netCDF4, which has its own
            HDF5, opens the file in any case.

    Returns:
        checksums: whether the file has any.
        steps: the steps of its records.
        damaged: pairs of the name of a damaged variable or part, and the number of the record or None.
    """
    import h5py

    if not h5py.is_hdf5(path):  # another format
        open_as_netcdf(path)
        return {"checksums": False, "steps": [], "damaged": []}
    with h5py.File(path, "r", locking=False) as file:
        size = file.id.get_filesize()
        variables = {name: file[name] for name in list(file) if isinstance(file[name], h5py.Dataset)}
        sizes = {name: require_within(name, variable, size) for name, variable in variables.items()}
        looked_at = {name: variable for name, variable in variables.items() if full or variable.ndim < 2}
        allow(sum(sizes[name] for name in looked_at))
        if checksums.VARIABLE in variables:
            damaged = [*static_damage(file, looked_at), *record_damage(file, looked_at)]
        elif checksums.HEADER in file.attrs:  # the header names the variables with checksums
            damaged = static_damage(file, looked_at)
        else:
            readable = {name: variable for name, variable in looked_at.items() if variable.shape is not None}
            damaged = [[name, None] for name, variable in readable.items() if of_values(variable) is None]
        steps = variables["step"][:].tolist() if "step" in variables and variables["step"].ndim == 1 else []
    open_as_netcdf(path)
    return {"checksums": checksums.VARIABLE in variables, "steps": steps, "damaged": damaged}


def require_within(name: str, variable, size: int) -> int:
    """Uncompressed size of a variable's values, bytes. ValueError: chunks of its index are not in the file."""
    ends, unpacked = [], 0
    if variable.chunks is not None:
        variable.id.chunk_iter(lambda chunk: ends.append(chunk.byte_offset + chunk.size))
        if len(set(ends)) < len(ends):
            raise ValueError(f"chunks of {name} overlap")
        unpacked = len(ends) * math.prod(variable.chunks) * variable.dtype.itemsize
    elif variable.id.get_offset() is not None:
        unpacked = variable.id.get_storage_size()
        ends.append(variable.id.get_offset() + unpacked)
    if max(ends, default=0) > size:
        raise ValueError(f"{name} reaches beyond the end of the file")
    return min(unpacked, DEFLATED * size)


def static_damage(file, variables: dict) -> list:
    """The damaged constant parts. A file whose writer was killed before the first record has no seal."""
    if checksums.HEADER not in file.attrs:
        return [HEADER] if len(file["time"]) else []
    found = [HEADER] if checksums.number(file.attrs[checksums.HEADER]) != checksums.header(file) else []
    sealed = {name: each for name, each in variables.items() if checksums.ATTRIBUTE in each.attrs}
    stored = {name: checksums.number(each.attrs[checksums.ATTRIBUTE]) for name, each in sealed.items()}
    return found + [[name, None] for name, each in sealed.items() if of_values(each) != stored[name]]


def record_damage(file, variables: dict) -> list:
    """The variables and records whose values have changed since they were written."""
    rows, names = file[checksums.VARIABLE], checksums.columns(file)
    records, kept = len(file["time"]), rows[:]
    if rows.shape != (records, len(names) + 1):
        return [[checksums.VARIABLE, None]]
    good = [checksums.row(row[:-1]).tolist() == row.tolist() for row in kept]
    found = [[checksums.VARIABLE, record] for record in range(records) if not good[record]]
    for name, column in zip(names, kept.T.tolist(), strict=False):
        if name in variables and len(variables[name]) != records:
            found.append([name, None])
        elif name in variables:
            sums = zip(of_records(variables[name]), column, good, strict=True)
            found += [[name, record] for record, (ours, theirs, ok) in enumerate(sums) if ok and ours != theirs]
    return found


def of_values(variable, lead: tuple[int, ...] = ()) -> int | None:
    """The checksum of a variable, or of the part with these first indices; None if it cannot be read."""
    try:
        return checksums.of_values(variable, lead)
    except (OSError, RuntimeError):
        return None


def of_records(variable) -> list[int | None]:
    """The checksum of each record of a variable, with small ones read together; None for an unreadable record."""
    found, count = [], checksums.block_of(math.prod(variable.shape[1:]) * variable.dtype.itemsize)
    for first in range(0, len(variable), count):
        records = range(first, min(first + count, len(variable)))
        with contextlib.suppress(OSError, RuntimeError):
            found += map(checksums.crc, variable[first : records.stop] if count > 1 else ())
        found += [of_values(variable, (record,)) for record in records[len(found) - first :]]
    return found


def open_as_netcdf(path) -> None:
    """Read all metadata of the file with netCDF4, with series and checksums."""
    import netCDF4

    with netCDF4.Dataset(path) as data:
        for each in (data, *data.variables.values()):
            for name in each.ncattrs():
                each.getncattr(name)
        for variable in data.variables.values():
            if variable.ndim < 2 or variable.name == checksums.VARIABLE:
                variable[...]
