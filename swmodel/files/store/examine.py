"""Compare a Zarr store with its checksums: a CRC-32C of each chunk, and a CRC-32 of the metadata."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..integrity.checksums import DAMAGED_HEADER
from . import arrays


def examine(path, full: bool = True, before_read=lambda nbytes: None) -> dict:
    """Facts about a store, like those of `integrity.examine`. An error of any type means that it cannot be read.

    `full`: whether to verify all values, or only those of arrays with fewer than two axes. `before_read` is called with
    the number of bytes of the values.
    """
    path = Path(path)
    if not (path / arrays.METADATA_FILE).is_file():
        raise OSError(
            f"it has no {arrays.METADATA_FILE}: it is not a Zarr store, or its writer was killed at the start"
        )
    attributes, documents = arrays.read_store_metadata(path)
    has_checksum = arrays.CHECKSUM_ATTRIBUTE in attributes
    damaged: list = []
    if has_checksum and attributes[arrays.CHECKSUM_ATTRIBUTE] != arrays.metadata_checksum(attributes, documents):
        damaged.append(DAMAGED_HEADER)
    documents_to_verify = {name: document for name, document in documents.items() if full or len(document["shape"]) < 2}
    before_read(sum(math.prod(document["shape"]) * value_bytes(document) for document in documents_to_verify.values()))
    for name, document in documents_to_verify.items():
        if not has_published_document(path / name, document):
            damaged.append([name, None])
        else:
            damaged += [[name, record] for record in damaged_records(path / name, document)]
    has_steps = "step" in documents and ["step", None] not in damaged
    steps = arrays.read_values(path / "step", documents["step"]) if has_steps else []
    return {"checksums": has_checksum, "steps": [int(step) for step in steps], "damaged": damaged}


def value_bytes(document: dict) -> int:
    datatype = document["data_type"]
    return 1 if datatype == "string" else np.dtype(datatype).itemsize


def has_published_document(path: Path, document: dict) -> bool:
    """Whether an array's metadata are `document`, apart from the number of records, which may grow meanwhile."""
    try:
        array_document, n_ignored = arrays.read_document(path), int(arrays.has_records(arrays.dimensions_of(document)))
        published, stored = (
            metadata | {"shape": metadata["shape"][n_ignored:]} for metadata in (document, array_document)
        )
        return stored == published
    except (OSError, LookupError, TypeError, ValueError):
        return False


def damaged_records(path: Path, document: dict):
    """The records of a field in time with a damaged or missing chunk; for any other array [None] if it is damaged."""
    records = range(document["shape"][0]) if arrays.has_records(arrays.dimensions_of(document)) else [None]
    array = arrays.open_array(path, document)
    is_field = arrays.is_on_grid(arrays.dimensions_of(document))
    if records and not is_field:
        files = arrays.chunk_files(path, document)
        return [] if all(file.is_file() for file in files) and is_readable(array, (...,)) else [None]
    damaged = []
    for record in records:
        index = () if record is None else (record,)
        files = arrays.chunk_files(path, document, None if record is None else [record])
        if not all(file.is_file() for file in files) or not is_readable(array, (*index, ...)):
            damaged.append(record)
    return damaged


def is_readable(array, index: tuple) -> bool:
    """Whether the chunks at an index match their checksums."""
    try:
        array[index]
    except Exception:  # codecs raise errors of several types
        return False
    return True
