"""The arrays of a store and their metadata.

The same functions define the contents of NetCDF files and of stores: those of `files.output`, of a netCDF4.Dataset. For
a store they define one in memory, which is translated. The files of arrays, zarr.json and chunks, appear whole. The
zarr.json of the store has the metadata of all arrays (consolidated). It is written last, and shows a new record in
all of them at once.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import os
import shutil
import struct
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from ...parallel.worker import NETCDF
from ..draft import WRITING
from ..gather import CHUNK_BYTES

#: The file of metadata of a store or an array.
METADATA = "zarr.json"

#: Records of a chunk of a variable without cells.
RECORDS = 1024

#: The ending of files that zarr has not finished.
PARTIAL = ".partial"

#: The attribute with the checksum of the metadata.
HEADER = "header_crc32"

#: Chunks of fill values are written, too: a missing file is a damage.
WRITE_ALL = {"write_empty_chunks": True}

#: More records than any store has.
ENDLESS = 2**40


def create(path: Path, define: Callable, shape: tuple[int, int]) -> tuple[dict, list[str]]:
    """Make the arrays of a store from a function that defines them in a netCDF4.Dataset, with the values it has there.

    `shape`: rows and columns of a file of a field. Returns the global attributes and the names of the arrays.
    """
    import netCDF4

    with NETCDF, netCDF4.Dataset("store", "w", diskless=True, persist=False) as dataset:
        define(dataset)
        dataset.set_auto_mask(False)
        for name, variable in dataset.variables.items():
            array = make(path / name, variable, shape).with_config(WRITE_ALL)
            if not (on_grid(variable.dimensions) or moves(variable.dimensions)):
                array[...] = variable[...]
        return {name: plain(dataset.getncattr(name)) for name in dataset.ncattrs()}, list(dataset.variables)


def make(path: Path, variable, shape: tuple[int, int]):
    """Make one array from a netCDF4.Variable."""
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec

    size, chunk, shards, packed = list(variable.shape), [max(1, n) for n in variable.shape], None, []
    if moves(variable.dimensions):
        size[0], chunk[0] = 0, RECORDS
    if on_grid(variable.dimensions):
        file = [1] * (len(size) - 2) + list(shape)
        chunk = [*file[:-2], dividing_rows(shape, variable.dtype.itemsize), shape[1]]
        shards = tuple(file) if file != chunk else None
        packed = [BloscCodec(typesize=variable.dtype.itemsize, cname="lz4", clevel=5, shuffle="shuffle")]
    about = {name: variable.getncattr(name) for name in variable.ncattrs()}
    fill = about.get("_FillValue")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts have no place in the specification yet
        return zarr.create_array(
            path,
            shape=tuple(size),
            chunks=tuple(chunk),
            shards=shards,
            dtype=variable.dtype,
            compressors=[*packed, Crc32cCodec()],
            fill_value="" if variable.dtype is str else 0 if fill is None else fill,
            dimension_names=variable.dimensions,
            attributes={
                name: encoded(value) if name == "_FillValue" else plain(value) for name, value in about.items()
            },
        )


def dividing_rows(shape: tuple[int, int], itemsize: int) -> int:
    """Rows of a chunk: the divisor of the rows of a file with which a chunk is nearest to CHUNK_BYTES."""
    divisors = (n for n in range(1, shape[0] + 1) if shape[0] % n == 0)
    return min(divisors, key=lambda n: abs(math.log(n * shape[1] * itemsize / CHUNK_BYTES)))


def on_grid(dimensions: tuple[str, ...]) -> bool:
    """Whether a variable is a field on the grid."""
    return [name[:2] for name in dimensions[-2:]] == ["y_", "x_"]


def dimensions_of(document: dict) -> tuple[str, ...]:
    """The dimensions of an array, from its metadata."""
    return tuple(document.get("dimension_names") or ())


def moves(dimensions: tuple[str, ...]) -> bool:
    """Whether a variable has records."""
    return dimensions[:1] == ("time",)


def plain(value):
    """An attribute of NetCDF as a value of JSON."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def encoded(fill) -> str | int:
    """A fill value as xarray writes the attribute `_FillValue` in Zarr."""
    if np.asarray(fill).dtype.kind == "f":
        return base64.standard_b64encode(struct.pack("<d", float(fill))).decode()
    return int(fill)


def decoded(value, dtype: np.dtype):
    """The inverse of `encoded`."""
    if dtype.kind == "f":
        return dtype.type(struct.unpack("<d", base64.standard_b64decode(value))[0])
    return dtype.type(value)


def endless(path: Path, document: dict):
    """An array for writing; one with records takes them at any place, without a change of its metadata."""
    if moves(dimensions_of(document)):
        document = document | {"shape": [ENDLESS, *document["shape"][1:]]}
    return as_shown(path, document, read_only=False).with_config(WRITE_ALL)


def as_shown(path: Path, document: dict, read_only: bool = True):
    """An array with the records that its metadata in the store shows."""
    import zarr
    from zarr.storage import LocalStore, StorePath

    store = StorePath(LocalStore(path.parent, read_only=read_only), path.name)
    return zarr.Array.from_dict(store, dict(document))


def chunk_files(path: Path, document: dict, records: Iterable[int] | None = None) -> Iterator[Path]:
    """The files of an array, of these records or all."""
    counts = [math.ceil(n / size) for n, size in zip(document["shape"], file_size(document), strict=True)]
    ranges = [range(count) for count in counts]
    if records is not None:
        ranges[0] = records
    return (path.joinpath("c", *map(str, place)) for place in itertools.product(*ranges))


def read(path: Path) -> dict:
    """The metadata in the folder of a store or an array."""
    return json.loads((path / METADATA).read_text())


def values(path: Path, document: dict, name: str) -> list:
    """All values of an array of a store."""
    return as_shown(path / name, document)[...].tolist()


def documents(path: Path) -> dict[str, dict]:
    """The metadata of the arrays in a folder, by name: those of the store, or before these are written, of each."""
    if (path / METADATA).is_file():
        return contents(path)[1]
    return {file.parent.name: read(file.parent) for file in sorted(path.glob(f"*/{METADATA}"))}


def contents(path: Path) -> tuple[dict, dict[str, dict]]:
    """The global attributes of a store, and the metadata of its arrays by name. ValueError: no run has written it."""
    found = read(path)
    try:
        return found["attributes"], found["consolidated_metadata"]["metadata"]
    except (KeyError, TypeError):
        raise ValueError(f"{METADATA} lacks the consolidated metadata that a run writes") from None


def remove_beyond(path: Path, document: dict, records: int) -> None:
    """Remove the files of an array that belong to records beyond these, or that a killed writer has left."""
    if not moves(dimensions_of(document)) or not (path / "c").is_dir():
        return
    for each in (path / "c").iterdir():
        if not on_grid(dimensions_of(document)):
            if each.suffix == PARTIAL:
                each.unlink()
        elif int(each.name) >= records:
            shutil.rmtree(each)


def series_files(path: Path, arrays: dict[str, dict], record: int) -> list[Path]:
    """The files of a record's numbers, such as its time."""
    dimensions = {name: dimensions_of(one) for name, one in arrays.items()}
    series = [name for name, each in dimensions.items() if moves(each) and not on_grid(each)]
    return [path.joinpath(name, "c", str(record // RECORDS), *["0"] * (len(dimensions[name]) - 1)) for name in series]


def published(path: Path, attributes: dict, arrays: dict[str, dict], records: int) -> Path:
    """Show this number of records to readers of a store; returns the file, which is the old or the new one."""
    for one in arrays.values():
        if moves(dimensions_of(one)):
            one["shape"][0] = records
    about = attributes | {HEADER: checksum(attributes, arrays)}
    inline = {"kind": "inline", "must_understand": False, "metadata": arrays}
    whole = {"attributes": about, "zarr_format": 3, "consolidated_metadata": inline, "node_type": "group"}
    return write(path / METADATA, whole)


def repeated(path: Path, arrays: dict[str, dict]) -> None:
    """Write the metadata of arrays with records for readers of single arrays, those of time last."""
    moving = sorted((name for name, one in arrays.items() if moves(dimensions_of(one))), key="time".__eq__)
    for name in moving:
        write(path / name / METADATA, arrays[name])


def checksum(attributes: dict, arrays: dict[str, dict]) -> int:
    """The CRC-32 of the metadata of a store."""
    attributes = {name: value for name, value in attributes.items() if name != HEADER}
    return zlib.crc32(json.dumps([attributes, arrays], sort_keys=True).encode())


def write(path: Path, document: dict) -> Path:
    """Write a file of metadata, which appears whole; returns its path."""
    draft = path.with_name(path.name + WRITING)
    with draft.open("w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    return draft.replace(path)


def files_of(path: Path, name: str, lead: tuple[int, ...], places: Iterable[tuple[int, int]]) -> list[Path]:
    """The files of a field in the folder of a store, at the indices `lead` before those of the grid."""
    folder = path.joinpath(name, "c", *map(str, lead))
    return [folder / str(row) / str(column) for row, column in places]


def file_size(document: dict) -> tuple[int, ...]:
    """The shape of a file of an array, from its metadata."""
    return tuple(document["chunk_grid"]["configuration"]["chunk_shape"])
