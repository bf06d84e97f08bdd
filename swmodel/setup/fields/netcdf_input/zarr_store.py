"""Stores of Zarr, formats 2 and 3, read as NetCDF files are; xarray decodes what is missing and what is packed."""

from __future__ import annotations

import os
from functools import lru_cache

from .labels import Labelled, Labels

#: Files in which a group says what it is, and those of its arrays.
OF_GROUP, OF_ARRAY = ("zarr.json", ".zgroup"), ("zarr.json", ".zarray", ".zattrs")

#: What xarray, zarr and its codecs raise where a store is damaged.
FAULTS = (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError)


class Unreadable(OSError):
    """A part of a store cannot be read."""


class Stored(Labelled):
    """An array in a store as a variable of NetCDF."""

    def __getitem__(self, index):
        try:
            return super().__getitem__(index)
        except FAULTS as error:
            raise Unreadable(in_a_line(error)) from error


def is_store(path: str) -> bool:
    """Whether a folder is a store, or a group in one."""
    return any(os.path.isfile(os.path.join(path, name)) for name in OF_GROUP)


def stamp(path: str) -> tuple:
    """What tells a store from a later one of its name: when it was last said what is in it."""
    of_arrays = (os.path.join(each, name) for each in sorted(os.listdir(path)) for name in OF_ARRAY)
    files = (os.path.join(path, name) for name in (*OF_GROUP, *of_arrays))
    return tuple(os.stat(file).st_mtime_ns for file in files if os.path.isfile(file))


def opened(path: str) -> Labels:
    """The arrays of a store as the variables of a file.

    Raises:
        ImportError: xarray or zarr is not installed.
        Unreadable: they cannot be read.
    """
    return kept(path, stamp(path))


@lru_cache(maxsize=64)
def kept(path: str, stamp: tuple) -> Labels:
    """See `opened`; values are not read before they are asked for, and not kept."""
    import xarray
    import zarr  # noqa: F401  # which xarray misses in other words

    options = {"consolidated": False, "decode_times": False, "decode_timedelta": False, "cache": False}
    try:
        arrays = xarray.open_dataset(path, engine="zarr", **options).variables
        return Labels(arrays, path, Stored)
    except FAULTS as error:
        raise Unreadable(in_a_line(error)) from error


def in_a_line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]
