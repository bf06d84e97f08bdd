"""Checksums in a NetCDF file: of each variable in each record, and of constant variables.

A checksum is the CRC-32 of zlib of the values in their order and type in the file:
`zlib.crc32(file["h"][record].tobytes())`. The variable `crc32` has a row for each record. Its attribute `variables`
names the columns; the last column is the checksum of the row itself. A variable without time has an attribute `crc32`.

The global attribute `header_crc32` is the checksum of the names, types and dimensions of these variables, and of the
attributes that the model reads. Other programs may add attributes and variables.

A CRC of the values detects chunks missing in the index of the file, which read as fill values. HDF5's checksum of a
chunk (fletcher32) does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

VARIABLE, DIMENSION, COLUMNS = "crc32", "checked", "variables"
ATTRIBUTE, HEADER = "crc32", "header_crc32"

#: Attributes in the header's checksum: of the file, and of each variable with a checksum.
OF_FILE = ("configuration", "configuration_sha256", "seed")
TEXTS = ("units", "calendar", "standard_name", "long_name", "location", "cell_methods")
OF_VARIABLE = (*TEXTS, "_FillValue", ATTRIBUTE, COLUMNS)

#: The begin of HDF5's name of a dimension without a variable.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"

#: Bytes of values read at a time.
READ_BYTES = 4 << 20


def crc(values, start: int = 0) -> int:
    """The checksum of values, or of earlier values with the checksum `start` and these."""
    from isal import isal_zlib  # 24 GB/s, zlib 2

    values = np.ascontiguousarray(values)
    return isal_zlib.crc32(values.astype(bytes) if values.dtype == object else values, start)


def row(sums: list[int]) -> np.ndarray:
    """The row of a record: the checksums of its variables, and the checksum of these."""
    found = np.array(sums, np.uint32)
    return np.append(found, np.uint32(crc(found)))


def columns(file) -> list[str]:
    """The names of the variables with a checksum in each record; empty for a file without checksums."""
    return text(file[VARIABLE].attrs[COLUMNS]).split() if VARIABLE in file else []


def header(file) -> int:
    """The checksum of names, types, dimensions and attributes of a file opened with h5py."""
    known = {*columns(file), VARIABLE}
    variables = [(name, file[name]) for name in sorted(file)]
    variables = [(name, each) for name, each in variables if name in known or ATTRIBUTE in each.attrs]
    lines = [[name, about(file, each), *attributes(each.attrs, OF_VARIABLE)] for name, each in variables]
    return crc("\n".join(sum(lines, [*attributes(file.attrs, OF_FILE)])).encode())


def about(file, variable) -> str:
    """Type, shape without the number of records, and dimensions of a variable."""
    dimensions = [file[scales[0]].name for scales in variable.attrs.get("DIMENSION_LIST", ()) if len(scales)]
    moves = variable.name == "/time" or dimensions[:1] == ["/time"]
    return f"{variable.dtype} {variable.shape[moves:]} {dimensions}"


def attributes(attrs, names: tuple[str, ...]) -> Iterator[str]:
    """The attributes of these names, if present, as lines of text, except a fill value of NaN, which xarray adds."""
    values = ((name, text(attrs[name])) for name in names if name in attrs)
    return (f"{name} {value}" for name, value in values if value != "nan")


def seal(file, sums: dict[str, int]) -> None:
    """Write the checksums of constant variables: those in `sums`, and computed ones."""
    for name in list(file):
        variable = file[name]
        if text(variable.attrs.get("NAME", "")).startswith(NO_VARIABLE):
            continue
        if not variable.maxshape or variable.maxshape[0] is not None:
            variable.attrs[ATTRIBUTE] = np.uint32(sums[name] if name in sums else of_values(variable))
    seal_header(file)


def seal_header(file) -> None:
    """Update the checksum of names, types, dimensions and attributes."""
    file.attrs[HEADER] = np.uint32(header(file))


def of_values(variable, lead: tuple[int, ...] = ()) -> int:
    """The checksum of a variable, or of the part with these first indices, read in blocks."""
    total, shape = 0, variable.shape[len(lead) :]
    for place in np.ndindex(shape[:-2]):
        where = (*lead, *place)
        if len(shape) < 2:
            return crc(variable[where])
        height = block_of(shape[-1] * variable.dtype.itemsize)
        for first in range(0, shape[-2], height):
            total = crc(variable[(*where, slice(first, first + height))], total)
    return total


def block_of(nbytes: int) -> int:
    """The number of pieces of `nbytes` to read at a time."""
    return max(1, READ_BYTES // max(1, nbytes))


def text(attribute) -> str:
    """An attribute, also an array of one element, bytes or empty, as text; replaces invalid UTF-8."""
    values = () if getattr(attribute, "shape", ()) is None else np.ravel(attribute)  # h5py.Empty has no shape
    value = values[0] if len(values) else ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()  # h5py reads invalid UTF-8 as surrogates


def number(attribute) -> int:
    """An attribute as a number, also an array of one element; -1 for others."""
    try:
        return int(np.ravel(attribute)[0])
    except (IndexError, TypeError, ValueError):
        return -1
