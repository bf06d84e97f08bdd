"""Find the records and the damaged parts of a file of a run; `main` is the program that `guard` starts."""

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

#: Limit of the CPU time for a file without reading its values, s, and minimum speed of reading values, bytes/s.
BASE_CPU_SECONDS, MIN_BYTES_PER_SECOND = 10.0, 2e7

#: Largest ratio of uncompressed to compressed bytes that deflate can reach.
MAX_DEFLATE_RATIO = 1032


def main(files_json: str) -> None:
    """Print facts about each file (`files_json`: [path, kind] of each, see `guard.FileToExamine`) as lines of JSON."""
    end_with_parent()
    for path, kind in json.loads(files_json):
        limit_cpu_time(0)
        print(json.dumps(examine_safely(path, kind, limit_cpu_time)), flush=True)


def limit_cpu_time(nbytes: int) -> None:
    """Limit the further CPU time of this process to what a file with `nbytes` of values may need."""
    used_seconds = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    with contextlib.suppress(ValueError, OSError):  # the system allows less, or has no limits
        limit_seconds = int(used_seconds + BASE_CPU_SECONDS + nbytes / MIN_BYTES_PER_SECOND) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit_seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def examine_safely(path, kind: str, before_read=lambda nbytes: None) -> dict:
    """Facts about a file, or {"problem": why it cannot be read}; `kind`: see `guard.FileToExamine`.

    `before_read` is called with the number of bytes before values are read.
    """
    try:
        if not os.path.exists(path):
            return {"problem": "there is no such file"}
        if kind == "restart":
            return examine_restart(path, before_read)
        return (examine_store if os.path.isdir(path) else examine)(path, kind == "whole", before_read)
    except MemoryError:
        return {"problem": "cannot be read: it takes too much memory"}
    except Exception as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        return {"problem": f"cannot be read: {reason or type(error).__name__}"}


def examine(path, full: bool = True, before_read=lambda nbytes: None) -> dict:
    """Facts about a file of records or maps.

    The file is read with h5py and with netCDF4, whose HDF5 libraries may differ; if both can read it, other processes
    can read it safely.

    Args:
        full: whether to verify all values; False: skip those of variables with two or more axes, which take long.

    Returns:
        checksums: whether the file has checksums of its records.
        steps: the steps of its records, [] if it has none.
        damaged: pairs of the name of a damaged part and the number of its record, or None.
    """
    import h5py

    if not h5py.is_hdf5(path):  # an older NetCDF format, which has no checksums
        read_with_netcdf4(path)
        return {"checksums": False, "steps": [], "damaged": []}
    with h5py.File(path, "r", locking=False) as file:
        file_size = file.id.get_filesize()
        variables = {name: file[name] for name in list(file) if isinstance(file[name], h5py.Dataset)}
        sizes = {name: require_within_file(name, variable, file_size) for name, variable in variables.items()}
        variables_to_verify = {name: variable for name, variable in variables.items() if full or variable.ndim < 2}
        before_read(sum(sizes[name] for name in variables_to_verify))
        if checksums.VARIABLE in variables:
            damaged = [*static_damage(file, variables_to_verify), *record_damage(file, variables_to_verify)]
        elif checksums.HEADER_ATTRIBUTE in file.attrs:  # the variable crc32 was lost, as the header's checksum shows
            damaged = static_damage(file, variables_to_verify)
        else:
            non_empty = {name: variable for name, variable in variables_to_verify.items() if variable.shape is not None}
            damaged = [[name, None] for name, variable in non_empty.items() if checksum_or_none(variable) is None]
        steps = variables["step"][:].tolist() if "step" in variables and variables["step"].ndim == 1 else []
    read_with_netcdf4(path)
    return {"checksums": checksums.VARIABLE in variables, "steps": steps, "damaged": damaged}


def require_within_file(name: str, variable, file_size: int) -> int:
    """Uncompressed size of a variable's values, bytes. ValueError: its chunks overlap, or the file ends before them."""
    ends, n_bytes = [], 0
    if variable.chunks is not None:
        variable.id.chunk_iter(lambda chunk: ends.append(chunk.byte_offset + chunk.size))
        if len(set(ends)) < len(ends):
            raise ValueError(f"chunks of {name} overlap")
        n_bytes = len(ends) * math.prod(variable.chunks) * variable.dtype.itemsize
    elif variable.id.get_offset() is not None:
        n_bytes = variable.id.get_storage_size()
        ends.append(variable.id.get_offset() + n_bytes)
    if max(ends, default=0) > file_size:
        raise ValueError(f"{name} reaches beyond the end of the file")
    return min(n_bytes, MAX_DEFLATE_RATIO * file_size)


def static_damage(file, variables: dict) -> list:
    """The damaged constant parts. A file whose writer was killed before the first record lacks a header checksum."""
    if checksums.HEADER_ATTRIBUTE not in file.attrs:
        return [checksums.DAMAGED_HEADER] if len(file["time"]) else []
    is_header_intact = checksums.to_int(file.attrs[checksums.HEADER_ATTRIBUTE]) == checksums.header_checksum(file)
    damaged = [] if is_header_intact else [checksums.DAMAGED_HEADER]
    with_checksum = {name: variable for name, variable in variables.items() if checksums.ATTRIBUTE in variable.attrs}
    stored = {name: checksums.to_int(variable.attrs[checksums.ATTRIBUTE]) for name, variable in with_checksum.items()}
    return damaged + [
        [name, None] for name, variable in with_checksum.items() if checksum_or_none(variable) != stored[name]
    ]


def record_damage(file, variables: dict) -> list:
    """The variables and records whose values have changed since they were written."""
    checksum_rows, names = file[checksums.VARIABLE], checksums.checksummed_variables(file)
    n_records, stored_rows = len(file["time"]), checksum_rows[:]
    if checksum_rows.shape != (n_records, len(names) + 1):
        return [[checksums.VARIABLE, None]]
    is_row_intact = [checksums.checksum_row(row[:-1]).tolist() == row.tolist() for row in stored_rows]
    damaged = [[checksums.VARIABLE, record] for record in range(n_records) if not is_row_intact[record]]
    for name, column in zip(names, stored_rows.T.tolist(), strict=False):
        if name in variables and len(variables[name]) != n_records:
            damaged.append([name, None])
        elif name in variables:
            checks = zip(record_checksums(variables[name]), column, is_row_intact, strict=True)
            damaged += [[name, record] for record, (new, old, intact) in enumerate(checks) if intact and new != old]
    return damaged


def checksum_or_none(variable, leading_indices: tuple[int, ...] = ()) -> int | None:
    """The checksum of a variable, or of its part at `leading_indices`; None if it cannot be read."""
    try:
        return checksums.checksum_of_values(variable, leading_indices)
    except (OSError, RuntimeError):
        return None


def record_checksums(variable) -> list[int | None]:
    """The checksum of each record of a variable, None if it cannot be read; small records are read together."""
    sums: list[int | None] = []
    records_per_read = checksums.items_per_read(math.prod(variable.shape[1:]) * variable.dtype.itemsize)
    for first in range(0, len(variable), records_per_read):
        records = range(first, min(first + records_per_read, len(variable)))
        with contextlib.suppress(OSError, RuntimeError):
            sums += map(checksums.crc32, variable[first : records.stop] if records_per_read > 1 else ())
        sums += [checksum_or_none(variable, (record,)) for record in records[len(sums) - first :]]
    return sums


def read_with_netcdf4(path) -> None:
    """Read all metadata, series and checksums of the file with netCDF4."""
    import netCDF4

    with netCDF4.Dataset(path) as data:
        owners: list[netCDF4.Dataset | netCDF4.Variable] = [data, *data.variables.values()]
        for owner in owners:
            for name in owner.ncattrs():
                owner.getncattr(name)
        for variable in data.variables.values():
            if variable.ndim < 2 or variable.name == checksums.VARIABLE:
                variable[...]
