"""Checksums in a NetCDF file: of each variable in each record, and of all that does not change.

A checksum is the CRC-32 (that of zlib) of the values in their order in the file, in its type:
`zlib.crc32(file["h"][record].tobytes())`. Those of a record are a row of the variable `crc32`, whose attribute
`variables` names the columns; the last column is the checksum of the row itself. A variable without time has its
checksum as attribute `crc32`.
The global attribute `header_crc32` is the checksum of the names, types and dimensions of these variables, and of the
attributes that the model reads. It covers nothing else: other programs add attributes and variables.

A CRC of the values detects what HDF5's own checksum of a chunk (fletcher32) cannot: chunks missing in the index of the
file, which are read as fill values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

VARIABLE, DIMENSION, COLUMNS = "crc32", "checked", "variables"
ATTRIBUTE, HEADER = "crc32", "header_crc32"

#: Attributes in the header's checksum: those of the file, and those of each variable with a checksum.
OF_FILE = ("configuration", "configuration_sha256", "seed")
TEXTS = ("units", "calendar", "standard_name", "long_name", "location", "cell_methods")
OF_VARIABLE = (*TEXTS, "_FillValue", ATTRIBUTE, COLUMNS)

#: How HDF5's name of a dimension without a variable begins.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"

#: Bytes of values read at a time.
READ_BYTES = 4 << 20


def crc(values, start: int = 0) -> int:
    """The checksum of values; with `start`, the checksum of earlier values, of all together."""
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
    """The checksum of what is fixed in a file opened with h5py: names, types, dimensions, and attributes."""
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
    """The attributes of these names, if present, as lines of text; not a fill value of NaN, which xarray adds."""
    values = ((name, text(attrs[name])) for name in names if name in attrs)
    return (f"{name} {value}" for name, value in values if value != "nan")


def seal(file, sums: dict[str, int]) -> None:
    """Write the checksums of variables that do not change; those in `sums` are known, the others are computed."""
    for name in list(file):
        variable = file[name]
        if text(variable.attrs.get("NAME", "")).startswith(NO_VARIABLE):
            continue
        if not variable.maxshape or variable.maxshape[0] is not None:
            variable.attrs[ATTRIBUTE] = np.uint32(sums[name] if name in sums else of_values(variable))
    seal_header(file)


def seal_header(file) -> None:
    """Write the checksum of names, types, dimensions and attributes anew."""
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
    """How many pieces of `nbytes` are read at a time."""
    return max(1, READ_BYTES // max(1, nbytes))


def text(attribute) -> str:
    """An attribute, which may be an array of one element, bytes or empty, as text; what is not UTF-8 is replaced."""
    values = () if getattr(attribute, "shape", ()) is None else np.ravel(attribute)  # h5py.Empty has no shape
    value = values[0] if len(values) else ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()  # h5py reads what is not UTF-8 as surrogates


def number(attribute) -> int:
    """An attribute as a number, also from an array of one element; -1 if it is no number."""
    try:
        return int(np.ravel(attribute)[0])
    except (IndexError, TypeError, ValueError):
        return -1
