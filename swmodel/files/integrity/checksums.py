"""Checksums in a NetCDF file: one for each variable in each record, and one for each constant variable.

A checksum is zlib's CRC-32 of the values, in their order and type in the file:
`zlib.crc32(file["h"][record].tobytes())`. The variable `crc32` has a row for each record. Its attribute `variables`
names the columns; the last column is the checksum of the row itself. A variable without time has an attribute `crc32`.

The global attribute `header_crc32` is the checksum of the names, types and dimensions of these variables, and of the
attributes that the model reads. Other programs may add attributes and variables.

A CRC of the values detects chunks missing in the index of the file, which read as fill values. HDF5's checksum of a
chunk (fletcher32) does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

VARIABLE, DIMENSION, NAMES_ATTRIBUTE = "crc32", "checked", "variables"
ATTRIBUTE, HEADER_ATTRIBUTE = "crc32", "header_crc32"

#: Attributes that the header's checksum covers: those of the file, and those of each variable with a checksum.
HEADER_FILE_ATTRIBUTES = ("configuration", "configuration_sha256", "seed")
TEXT_ATTRIBUTES = ("units", "calendar", "standard_name", "long_name", "location", "cell_methods")
HEADER_VARIABLE_ATTRIBUTES = (*TEXT_ATTRIBUTES, "_FillValue", ATTRIBUTE, NAMES_ATTRIBUTE)

#: The start of HDF5's name of a dimension without a variable.
DIMENSION_ONLY_PREFIX = "This is a netCDF dimension but not a netCDF variable"

#: The entry, in lists of damaged parts [name, number of the record], for changed names, attributes or their checksum.
DAMAGED_HEADER = ["header", None]

BYTES_PER_READ = 4 << 20


def crc32(values, start: int = 0) -> int:
    """The checksum of values; `start`: the checksum of values that precede them."""
    from isal import isal_zlib  # 24 GB/s; zlib reaches 2 GB/s

    values = np.ascontiguousarray(values)
    return isal_zlib.crc32(values.astype(bytes) if values.dtype == object else values, start)


def checksum_row(sums: Sequence[int]) -> np.ndarray:
    """The row of a record in the variable `crc32`: the checksums of its variables, and the checksum of these."""
    values = np.array(sums, np.uint32)
    return np.append(values, np.uint32(crc32(values)))


def checksummed_variables(file) -> list[str]:
    """The names of the variables with a checksum in each record; empty for a file without checksums."""
    return to_text(file[VARIABLE].attrs[NAMES_ATTRIBUTE]).split() if VARIABLE in file else []


def header_checksum(file) -> int:
    """The checksum of names, types, dimensions and attributes of a file opened with h5py."""
    names = {*checksummed_variables(file), VARIABLE}
    variables = [(name, file[name]) for name in sorted(file)]
    variables = [(name, variable) for name, variable in variables if name in names or ATTRIBUTE in variable.attrs]
    lines = [
        [name, describe_variable(file, variable), *attribute_lines(variable.attrs, HEADER_VARIABLE_ATTRIBUTES)]
        for name, variable in variables
    ]
    return crc32("\n".join(sum(lines, [*attribute_lines(file.attrs, HEADER_FILE_ATTRIBUTES)])).encode())


def describe_variable(file, variable) -> str:
    """Type, shape (without the number of records) and dimensions of a variable, as text."""
    dimensions = [file[scales[0]].name for scales in variable.attrs.get("DIMENSION_LIST", ()) if len(scales)]
    has_time = variable.name == "/time" or dimensions[:1] == ["/time"]
    return f"{variable.dtype} {variable.shape[has_time:]} {dimensions}"


def attribute_lines(attrs, names: tuple[str, ...]) -> Iterator[str]:
    """The attributes with these names as lines of text, without values of NaN, because xarray adds such fill values."""
    values = ((name, to_text(attrs[name])) for name in names if name in attrs)
    return (f"{name} {value}" for name, value in values if value != "nan")


def write_static_checksums(file, sums: dict[str, int]) -> None:
    """Write the checksums of constant variables, from `sums`, {name: checksum}, or else computed, and of the header."""
    for name in list(file):
        variable = file[name]
        if to_text(variable.attrs.get("NAME", "")).startswith(DIMENSION_ONLY_PREFIX):
            continue
        if not variable.maxshape or variable.maxshape[0] is not None:
            variable.attrs[ATTRIBUTE] = np.uint32(sums[name] if name in sums else checksum_of_values(variable))
    write_header_checksum(file)


def write_header_checksum(file) -> None:
    file.attrs[HEADER_ATTRIBUTE] = np.uint32(header_checksum(file))


def checksum_of_values(variable, leading_indices: tuple[int, ...] = ()) -> int:
    """The checksum of a variable, or of its part at `leading_indices`, read some rows at a time."""
    total, shape = 0, variable.shape[len(leading_indices) :]
    for indices in np.ndindex(shape[:-2]):
        index = (*leading_indices, *indices)
        if len(shape) < 2:
            return crc32(variable[index])
        rows_per_read = items_per_read(shape[-1] * variable.dtype.itemsize)
        for first in range(0, shape[-2], rows_per_read):
            total = crc32(variable[(*index, slice(first, first + rows_per_read))], total)
    return total


def items_per_read(nbytes: int) -> int:
    """How many items of `nbytes` are read at a time: at most BYTES_PER_READ, but at least one item."""
    return max(1, BYTES_PER_READ // max(1, nbytes))


def to_text(attribute) -> str:
    """An attribute as text, also if it is bytes, empty or an array of one element; invalid UTF-8 is replaced."""
    has_no_shape = getattr(attribute, "shape", ()) is None  # h5py.Empty
    values: list | np.ndarray = [] if has_no_shape else np.ravel(attribute)
    value = values[0] if len(values) else ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()  # h5py reads invalid UTF-8 as surrogates


def to_int(attribute) -> int:
    """An attribute as an integer, also if it is an array of one element; -1 for anything else."""
    try:
        return int(np.ravel(attribute)[0])
    except (IndexError, TypeError, ValueError):
        return -1
