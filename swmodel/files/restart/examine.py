"""Read what a restart file contains, and compare it with its checksums."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path

import numpy as np

from ..integrity.checksums import DAMAGED_HEADER, items_per_read, to_text
from ..store import arrays
from ..store import examine as store

#: Attribute of a field: SHA-256 of the bytes of its values, little-endian and row by row.
CHECKSUM_ATTRIBUTE = "sha256"

#: Attribute of the file: SHA-256 of its HEADER_ATTRIBUTES and of the names and checksums of its fields.
HEADER_CHECKSUM_ATTRIBUTE = "header_sha256"
HEADER_ATTRIBUTES = ("step", "seconds", "mean_steps", "configuration_sha256", "substeps")


def header_checksum(attributes: dict, checksums: dict[str, str]) -> str:
    """The checksum of the HEADER_ATTRIBUTES that a file has, and of its fields' `checksums`, {field: checksum}."""
    header_values = [to_text(attributes[name]) for name in HEADER_ATTRIBUTES if name in attributes]
    return hashlib.sha256(
        "\n".join([*header_values, *(f"{field} {checksum}" for field, checksum in sorted(checksums.items()))]).encode()
    ).hexdigest()


def field_checksum(variable) -> str:
    """The SHA-256 of a field's values, of which only `items_per_read` rows or members are in memory at a time."""
    digest = hashlib.sha256()
    rows_per_read = items_per_read(math.prod(variable.shape[1:]) * variable.dtype.itemsize)
    for first_row in range(0, variable.shape[0], rows_per_read):
        digest.update(np.ascontiguousarray(variable[first_row : first_row + rows_per_read]).data)
    return digest.hexdigest()


def examine(path, before_read=lambda nbytes: None) -> dict:
    """The facts that a restart file holds about its run; they are reliable only if the list "damaged" is empty.

    Each entry of "damaged" is [name of a field, None] or DAMAGED_HEADER. The function raises an error of any type if
    the file cannot be read or is not a restart file. Before it reads fields, it calls `before_read` with the number of
    bytes that it may read.
    """
    if os.path.isdir(path):
        return examine_store(path, before_read)
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        attributes = {name: to_text(value) for name, value in file.attrs.items()}
        fields = sorted(name for name in list(file) if CHECKSUM_ATTRIBUTE in file[name].attrs)
        checksums = {name: to_text(file[name].attrs[CHECKSUM_ATTRIBUTE]) for name in fields}
        before_read(file.id.get_filesize())  # the values are not compressed, so all these bytes will be read
        n_members = max((len(file[name]) for name in fields if file[name].ndim > 2), default=1)
        damaged = [[name, None] for name in fields if field_checksum(file[name]) != checksums[name]]
    if (
        not is_configuration_intact(attributes)
        or header_checksum(attributes, checksums) != attributes[HEADER_CHECKSUM_ATTRIBUTE]
    ):
        damaged.insert(0, DAMAGED_HEADER)
    return facts_from_attributes(attributes, fields, n_members, damaged)


def examine_store(path, before_read) -> dict:
    """Like `examine`, for a Zarr store, which has checksums of its chunks and its metadata."""
    damaged = store.examine(path, before_read=before_read)["damaged"]
    attributes, documents = arrays.read_store_metadata(Path(path))
    attributes = {name: to_text(value) for name, value in attributes.items()}
    fields = attributes["fields"].split()
    n_members = max((documents[name]["shape"][0] for name in fields if len(documents[name]["shape"]) > 2), default=1)
    if not is_configuration_intact(attributes) and DAMAGED_HEADER not in damaged:
        damaged.insert(0, DAMAGED_HEADER)
    return facts_from_attributes(attributes, sorted(fields), n_members, damaged)


def is_configuration_intact(attributes: dict) -> bool:
    return hashlib.sha256(attributes["configuration"].encode()).hexdigest() == attributes["configuration_sha256"]


def facts_from_attributes(attributes: dict[str, str], fields: list[str], n_members: int, damaged: list) -> dict:
    return {
        "step": int(attributes["step"]),
        "seconds": float(attributes["seconds"]),
        "mean_steps": int(attributes["mean_steps"]),
        "substeps": int(attributes.get("substeps", 1)),
        "written": attributes["written"],
        "configuration": attributes["configuration"],
        "case_file": attributes.get("case_file", ""),
        "records": attributes.get("records", ""),
        "fields": fields,
        "members": n_members,
        "damaged": damaged,
    }
