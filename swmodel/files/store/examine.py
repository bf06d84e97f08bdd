"""The check of a store of Zarr against its checksums: CRC-32C of each chunk, and a CRC-32 of the metadata."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from . import arrays


def examine(path, full: bool = True, allow=lambda nbytes: None) -> dict:
    """Facts about a store, as those of `integrity.examine`; any error: it cannot be read.

    Args:
        full: whether to verify all values; else skip fields.
        allow: receives the size of the values before they are read.
    """
    path = Path(path)
    if not (path / arrays.METADATA).is_file():
        raise OSError(f"it has no {arrays.METADATA}: it is no store of Zarr, or its writer was killed before the start")
    attributes, documents = arrays.contents(path)
    sealed = arrays.HEADER in attributes
    changed = sealed and attributes[arrays.HEADER] != arrays.checksum(attributes, documents)
    damaged: list = [["header", None]] if changed else []
    looked_at = {name: one for name, one in documents.items() if full or len(one["shape"]) < 2}
    allow(sum(math.prod(one["shape"]) * size_of(one) for one in looked_at.values()))
    for name, document in looked_at.items():
        if not alike(path / name, document):
            damaged.append([name, None])
        else:
            damaged += [[name, record] for record in bad(path / name, document)]
    steps = (
        [] if "step" not in documents or ["step", None] in damaged else arrays.values(path, documents["step"], "step")
    )
    return {"checksums": sealed, "steps": [int(step) for step in steps], "damaged": damaged}


def size_of(document: dict) -> int:
    """Bytes of a value."""
    kind = document["data_type"]
    return 1 if kind == "string" else np.dtype(kind).itemsize


def alike(path: Path, document: dict) -> bool:
    """Whether an array has its metadata, apart from the number of records, which may grow meanwhile."""
    try:
        own = arrays.read(path)
        first = arrays.moves(arrays.dimensions_of(document))
        return own["shape"][first:] == document["shape"][first:] and own | {"shape": 0} == document | {"shape": 0}
    except (OSError, LookupError, TypeError, ValueError):
        return False


def bad(path: Path, document: dict):
    """The records of an array with a damaged or missing chunk; None stands for an array without records."""
    records = range(document["shape"][0]) if arrays.moves(arrays.dimensions_of(document)) else [None]
    array = arrays.as_shown(path, document)
    grid = arrays.on_grid(arrays.dimensions_of(document))
    if records and not grid:
        files, every = arrays.chunk_files(path, document), (...,)
        return [] if all(file.is_file() for file in files) and readable(array, every) else [None]
    found = []
    for record in records:
        where = () if record is None else (record,)
        files = arrays.chunk_files(path, document, None if record is None else [record])
        if not all(file.is_file() for file in files) or not readable(array, (*where, ...)):
            found.append(record)
    return found


def readable(array, where: tuple) -> bool:
    """Whether the chunks of a part have their checksums."""
    try:
        array[where]
    except Exception:  # of the codecs
        return False
    return True
