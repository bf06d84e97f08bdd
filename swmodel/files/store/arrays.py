"""The arrays of a store and their metadata.

The functions of `files.output` define the contents of a NetCDF file or of a store in a netCDF4.Dataset. For a store,
this dataset exists only in memory, and its variables are translated to arrays. The files of arrays (zarr.json and
chunks) are written atomically. The zarr.json of the store contains the consolidated metadata of all arrays. It is
written last, so that a new record becomes visible in all arrays at once. A "document" is the content of a zarr.json.
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

from ...parallel.worker import NETCDF_LOCK
from ..draft import DRAFT_SUFFIX
from ..gather import CHUNK_BYTES

METADATA_FILE = "zarr.json"

#: Records per chunk of a variable that is not on the grid.
RECORDS_PER_CHUNK = 1024

#: The suffix that zarr gives to a file while it writes the file.
PARTIAL_SUFFIX = ".partial"

#: Global attribute: CRC-32 of the metadata.
CHECKSUM_ATTRIBUTE = "header_crc32"

#: Chunks of fill values are also written, because a missing file counts as damage.
WRITE_ALL_CHUNKS = {"write_empty_chunks": True}

#: A number of records that no store reaches.
MAX_RECORDS = 2**40


def create_arrays(path: Path, define: Callable, file_shape: tuple[int, int]) -> tuple[dict, list[str]]:
    """Create the arrays of a store, as `define` defines them in a netCDF4.Dataset; returns attributes and array names.

    Also writes the values of arrays without records, except fields. `file_shape`: rows and columns of a field's files.
    """
    import netCDF4

    with NETCDF_LOCK, netCDF4.Dataset("store", "w", diskless=True, persist=False) as dataset:
        define(dataset)
        dataset.set_auto_mask(False)
        for name, variable in dataset.variables.items():
            array = create_array(path / name, variable, file_shape).with_config(WRITE_ALL_CHUNKS)
            if not (is_on_grid(variable.dimensions) or has_records(variable.dimensions)):
                array[...] = variable[...]
        return {name: to_json_value(dataset.getncattr(name)) for name in dataset.ncattrs()}, list(dataset.variables)


def create_array(path: Path, variable, file_shape: tuple[int, int]):
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec

    array_shape, chunk_shape = list(variable.shape), [max(1, n) for n in variable.shape]
    shard_shape, compression = None, []
    if has_records(variable.dimensions):
        array_shape[0], chunk_shape[0] = 0, RECORDS_PER_CHUNK
    if is_on_grid(variable.dimensions):
        whole_file_shape = [1] * (len(array_shape) - 2) + list(file_shape)
        chunk_shape = [*whole_file_shape[:-2], rows_per_chunk(file_shape, variable.dtype.itemsize), file_shape[1]]
        shard_shape = tuple(whole_file_shape) if whole_file_shape != chunk_shape else None
        compression = [BloscCodec(typesize=variable.dtype.itemsize, cname="lz4", clevel=5, shuffle="shuffle")]
    attrs = {name: variable.getncattr(name) for name in variable.ncattrs()}
    fill_value = attrs.get("_FillValue")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns that its specification does not define strings yet
        return zarr.create_array(
            path,
            shape=tuple(array_shape),
            chunks=tuple(chunk_shape),
            shards=shard_shape,
            dtype=variable.dtype,
            compressors=[*compression, Crc32cCodec()],
            fill_value="" if variable.dtype is str else 0 if fill_value is None else fill_value,
            dimension_names=variable.dimensions,
            attributes={
                name: encode_fill_value(value) if name == "_FillValue" else to_json_value(value)
                for name, value in attrs.items()
            },
        )


def rows_per_chunk(file_shape: tuple[int, int], itemsize: int) -> int:
    """Rows per chunk of a file: the divisor of the rows of the file for which chunks are closest to CHUNK_BYTES."""
    divisors = (n for n in range(1, file_shape[0] + 1) if file_shape[0] % n == 0)
    return min(divisors, key=lambda n: abs(math.log(n * file_shape[1] * itemsize / CHUNK_BYTES)))


def is_on_grid(dimensions: tuple[str, ...]) -> bool:
    return [name[:2] for name in dimensions[-2:]] == ["y_", "x_"]


def dimensions_of(document: dict) -> tuple[str, ...]:
    return tuple(document.get("dimension_names") or ())


def has_records(dimensions: tuple[str, ...]) -> bool:
    return dimensions[:1] == ("time",)


def to_json_value(value):
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def encode_fill_value(fill) -> str | int:
    """A fill value as xarray encodes the attribute `_FillValue` in Zarr."""
    if np.asarray(fill).dtype.kind == "f":
        return base64.standard_b64encode(struct.pack("<d", float(fill))).decode()
    return int(fill)


def decode_fill_value(value, dtype: np.dtype):
    if dtype.kind == "f":
        return dtype.type(struct.unpack("<d", base64.standard_b64decode(value))[0])
    return dtype.type(value)


def open_for_writing(path: Path, document: dict):
    """Open an array for writing. Records can be written at any index without changing the metadata on the disk."""
    if has_records(dimensions_of(document)):
        document = document | {"shape": [MAX_RECORDS, *document["shape"][1:]]}
    return open_array(path, document, read_only=False).with_config(WRITE_ALL_CHUNKS)


def open_array(path: Path, document: dict, read_only: bool = True):
    """Open an array with the number of records that `document`, its metadata, contains."""
    import zarr
    from zarr.storage import LocalStore, StorePath

    store = StorePath(LocalStore(path.parent, read_only=read_only), path.name)
    return zarr.Array.from_dict(store, dict(document))


def chunk_files(path: Path, document: dict, records: Iterable[int] | None = None) -> Iterator[Path]:
    """The files of an array; with `records`, which only fields allow, those that hold these records."""
    files_per_axis = [math.ceil(n / size) for n, size in zip(document["shape"], shape_of_files(document), strict=True)]
    ranges: list[Iterable[int]] = [range(count) for count in files_per_axis]
    if records is not None:
        ranges[0] = records
    return (path.joinpath("c", *map(str, file_index)) for file_index in itertools.product(*ranges))


def read_document(path: Path) -> dict:
    return json.loads((path / METADATA_FILE).read_text())


def read_values(path: Path, document: dict) -> list:
    return open_array(path, document)[...].tolist()


def read_documents(path: Path) -> dict[str, dict]:
    """{array: metadata}, from the store's metadata or, before they are written, from the metadata of each array."""
    if (path / METADATA_FILE).is_file():
        return read_store_metadata(path)[1]
    return {file.parent.name: read_document(file.parent) for file in sorted(path.glob(f"*/{METADATA_FILE}"))}


def read_store_metadata(path: Path) -> tuple[dict, dict[str, dict]]:
    """The global attributes of a store, and {array: metadata}. ValueError: the store was not written by a run."""
    document = read_document(path)
    try:
        return document["attributes"], document["consolidated_metadata"]["metadata"]
    except (KeyError, TypeError):
        raise ValueError(f"{METADATA_FILE} lacks the consolidated metadata that a run writes") from None


def remove_records_beyond(path: Path, document: dict, n_records: int) -> None:
    """Remove the records of a field from `n_records` on; of other arrays in time, files that a killed writer left."""
    if not has_records(dimensions_of(document)) or not (path / "c").is_dir():
        return
    if not is_on_grid(dimensions_of(document)):
        for file in [*(path / "c").rglob(f"*{PARTIAL_SUFFIX}")]:
            file.unlink()
        return
    for folder in (path / "c").iterdir():
        if int(folder.name) >= n_records:
            shutil.rmtree(folder)


def series_files(path: Path, documents: dict[str, dict], record: int) -> list[Path]:
    """The files with those values of a record that are not on the grid, such as its time."""
    dimensions = {name: dimensions_of(document) for name, document in documents.items()}
    series_names = [name for name, axes in dimensions.items() if has_records(axes) and not is_on_grid(axes)]
    return [
        path.joinpath(name, "c", str(record // RECORDS_PER_CHUNK), *["0"] * (len(dimensions[name]) - 1))
        for name in series_names
    ]


def publish_records(path: Path, attributes: dict, documents: dict[str, dict], n_records: int) -> Path:
    """Make the first `n_records` records visible to readers of a store, atomically; returns the metadata file."""
    for array_document in documents.values():
        if has_records(dimensions_of(array_document)):
            array_document["shape"][0] = n_records
    attrs = attributes | {CHECKSUM_ATTRIBUTE: metadata_checksum(attributes, documents)}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": documents}
    document = {"attributes": attrs, "zarr_format": 3, "consolidated_metadata": consolidated, "node_type": "group"}
    return write_document(path / METADATA_FILE, document)


def write_array_documents(path: Path, documents: dict[str, dict]) -> None:
    """Write the metadata of each array with records, for readers of single arrays; the array time is last."""
    names = [name for name, document in documents.items() if has_records(dimensions_of(document))]
    for name in sorted(names, key=lambda name: name == "time"):
        write_document(path / name / METADATA_FILE, documents[name])


def metadata_checksum(attributes: dict, documents: dict[str, dict]) -> int:
    attributes = {name: value for name, value in attributes.items() if name != CHECKSUM_ATTRIBUTE}
    return zlib.crc32(json.dumps([attributes, documents], sort_keys=True).encode())


def write_document(path: Path, document: dict) -> Path:
    """Write a metadata file atomically; returns its path."""
    draft = path.with_name(path.name + DRAFT_SUFFIX)
    with draft.open("w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    return draft.replace(path)


def field_files(
    path: Path, name: str, leading_indices: tuple[int, ...], file_indices: Iterable[tuple[int, int]]
) -> list[Path]:
    """The files of a field in the folder of a store; `leading_indices`: its indices before those of the grid."""
    folder = path.joinpath(name, "c", *map(str, leading_indices))
    return [folder / str(row) / str(column) for row, column in file_indices]


def shape_of_files(document: dict) -> tuple[int, ...]:
    return tuple(document["chunk_grid"]["configuration"]["chunk_shape"])
