"""What a NetCDF file of a run holds, and which parts of it are damaged."""

from __future__ import annotations

import math

from . import checksums
from .guard import HEADER as IN_HEADER

#: The largest compression ratio of deflate.
DEFLATED = 1032


def examine(path, full: bool = True, netcdf: bool = False, allow=lambda nbytes: None) -> dict:
    """Facts about a file; if there is no "problem", this process can read the file safely afterwards.

    Args:
        full: verify all values; else all but fields [..., y, x], which take long.
        netcdf: open it with netCDF4 as well, which has an HDF5 of its own.
        allow: function called with the size of the values, uncompressed, before they are read.

    Returns:
        checksums: whether the file has any; steps: those of its records; damaged: pairs of the name of a variable, or
        of another damaged part, and the number of the record, None for what does not change.
    """
    import h5py

    if netcdf and not h5py.is_hdf5(path):  # NetCDF in another format, or no NetCDF
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
            damaged = unreadable(looked_at)
        steps = variables["step"][:].tolist() if "step" in variables and variables["step"].ndim == 1 else []
    if netcdf:
        open_as_netcdf(path)
    return {"checksums": checksums.VARIABLE in variables, "steps": steps, "damaged": damaged}


def require_within(name: str, variable, size: int) -> int:
    """Walk through the index of a variable's chunks; returns the size of their values, uncompressed, bytes.

    ValueError: the file does not hold all the chunks in its index.
    """
    ends, unpacked = [], 0
    if variable.chunks is not None:
        variable.id.chunk_iter(lambda chunk: ends.append(chunk.byte_offset + chunk.size))
        if len(set(ends)) < len(ends):
            raise ValueError(f"chunks of {name} lie on each other")
        unpacked = len(ends) * math.prod(variable.chunks) * variable.dtype.itemsize
    elif variable.id.get_offset() is not None:
        unpacked = variable.id.get_storage_size()
        ends.append(variable.id.get_offset() + unpacked)
    if max(ends, default=0) > size:
        raise ValueError(f"{name} reaches beyond the end of the file")
    return min(unpacked, DEFLATED * size)


def static_damage(file, variables: dict) -> list:
    """The damaged parts of what does not change. A file whose writer was killed before the first record has no seal."""
    if checksums.HEADER not in file.attrs:
        return [IN_HEADER] if len(file["time"]) else []
    found = [IN_HEADER] if checksums.number(file.attrs[checksums.HEADER]) != checksums.header(file) else []
    for name, variable in variables.items():
        if checksums.ATTRIBUTE in variable.attrs:
            try:
                intact = checksums.of_values(variable) == checksums.number(variable.attrs[checksums.ATTRIBUTE])
            except (OSError, RuntimeError):
                intact = False
            found += [] if intact else [[name, None]]
    return found


def record_damage(file, variables: dict) -> list:
    """The variables and records whose values have changed since they were written."""
    rows, names = file[checksums.VARIABLE], checksums.columns(file)
    records, found = len(file["time"]), []
    kept = rows[:]
    good = [checksums.row(row[:-1]).tolist() == row.tolist() for row in kept]
    if rows.shape != (records, len(names) + 1):
        return [[checksums.VARIABLE, None]]
    found += [[checksums.VARIABLE, record] for record in range(records) if not good[record]]
    for column, name in enumerate(names):
        if name in variables:
            if len(variables[name]) != records:
                found.append([name, None])
                continue
            sums = zip(checksums.of_records(variables[name]), kept[:, column].tolist(), good, strict=True)
            found += [[name, record] for record, (ours, theirs, ok) in enumerate(sums) if ok and ours != theirs]
    return found


def unreadable(variables: dict) -> list:
    """The variables of a file without checksums that cannot be read."""
    found = []
    for name, variable in variables.items():
        try:
            if variable.shape is not None:
                checksums.of_values(variable)
        except (OSError, RuntimeError):
            found.append([name, None])
    return found


def open_as_netcdf(path) -> None:
    """Read all that netCDF4 tells of the file."""
    import netCDF4

    with netCDF4.Dataset(path) as data:
        for each in (data, *data.variables.values()):
            for name in each.ncattrs():
                each.getncattr(name)
        for variable in data.variables.values():
            if variable.ndim < 2:
                variable[...]
