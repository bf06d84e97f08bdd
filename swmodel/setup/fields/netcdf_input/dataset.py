"""Variables of a NetCDF file, a store of Zarr or around a DataArray, and which of them are coordinates.

xarray opens and decodes, cf_xarray knows axes by attributes. Values are read a window at a time.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....parallel.worker import NETCDF
from .errors import InputError
from .units import LENGTHS, axis_of_degrees

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

#: Axes as cf_xarray calls them; what stands first in the list wins.
AXES = {"X": "x", "Y": "y", "Z": "z", "T": "t", "longitude": "x", "latitude": "y"}

#: Names by which coordinates are known that have no attributes, in small letters.
NAMES = {
    "x": "x", "x_c": "x", "x_f": "x", "lon": "x", "longitude": "x", "nav_lon": "x",
    "y": "y", "y_c": "y", "y_f": "y", "lat": "y", "latitude": "y", "nav_lat": "y",
    "time": "t",
}  # fmt: skip

#: Attributes that are texts, whatever a file has there.
TEXTS = {"units", "standard_name", "axis", "positive", "calendar", "grid_mapping"}

#: Attributes with which values are packed.
PACKING = {"scale_factor", "add_offset"}

#: Files in which a group of Zarr says what it is, and those of its arrays.
OF_GROUP, OF_ARRAY = ("zarr.json", ".zgroup"), ("zarr.json", ".zarray", ".zattrs")

#: What xarray, netCDF4, zarr and codecs raise where a file or a store is damaged.
FAULTS = (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError)


class Unreadable(OSError):
    """A part of a file or a store cannot be read."""


class CFDataset(NamedTuple):
    """Variables of a Dataset, read when they are used, and the kind x, y, z or t of each coordinate by its name."""

    data: Dataset
    kinds: dict[str, str]
    place: str

    def along(self, dimension: str) -> list[DataArray]:
        """The coordinates along a dimension, all of a kind, best first: the variable of its name, and those known.

        What is known comes before what is not, m before cells, and these before degrees.
        """
        names = self.of_dimensions({dimension}, {dimension})
        found = self.best_first((n for n in names if n == dimension or n in self.kinds), dimension)
        return [one for one in found if self.kind(one) == self.kind(found[0])]

    def across(self, field: DataArray, dimension: str, other: str, axis: str) -> list[DataArray]:
        """The coordinates of y or x that vary along two dimensions of a field, best first: latitude(y, x)."""
        names = self.of_dimensions({dimension, other}, {*field.dims})
        return self.best_first((n for n in names if n != field.name and self.kinds.get(n) == axis), dimension)

    def of_dimensions(self, least: set, most: set) -> list[str]:
        """Names of the variables with numbers that have all dimensions of `least`, and none besides `most`."""
        found = self.data.variables.items()
        return [name for name, one in found if least <= {*one.dims} <= most and numeric(one)]

    def kind(self, coordinate: DataArray) -> str:
        """What a coordinate is: x, y, z or t; empty if that is not known."""
        return self.kinds.get(coordinate.name, "")

    def best_first(self, names, dimension: str) -> list[DataArray]:
        """The coordinates of these names in the order in which they are taken; see `along`."""
        return sorted(
            (self.data[name] for name in names),
            key=lambda v: (not self.kind(v), v.attrs.get("units") not in LENGTHS, in_degrees(v), v.name != dimension),
        )

    def values_along(self, coordinate: DataArray, dimension: str) -> np.ndarray:
        """Values along a dimension, float64, NaN where missing; along the middle of any other dimension.

        Longitudes go on beyond 360.
        """
        index = tuple(slice(None) if name == dimension else size // 2 for name, size in coordinate.sizes.items())
        values = np.asarray(values_of(coordinate, index), np.float64)
        turns = in_degrees(coordinate) and self.kind(coordinate) == "x"
        return np.unwrap(values, period=360.0) if turns else values


def numeric(variable) -> bool:
    """Whether a variable holds numbers."""
    return variable.dtype.kind in "biuf"


def in_degrees(coordinate) -> bool:
    """Whether the units of a coordinate are degrees."""
    return axis_of_degrees(coordinate.attrs.get("units", "")) is not None


def cf_dataset(data: Dataset, place: str) -> CFDataset:
    """The CFDataset of variables that are decoded except for times."""
    kinds = {}
    for name, variable in data.variables.items():
        variable.attrs |= {text: str(variable.attrs[text]) for text in TEXTS & variable.attrs.keys()}
        if kind := kind_of(str(name), variable.attrs):
            kinds[name] = kind
    return CFDataset(data, kinds, place)


def kind_of(name: str, attributes) -> str:
    """What a variable is as a coordinate: x, y, z or t; empty if neither CF nor its name says so."""
    from cf_xarray.criteria import coordinate_criteria  # its accessor stops at SGRID that it does not understand

    for key, kind in AXES.items():
        if any(str(attributes.get(text)) in known for text, known in coordinate_criteria[key].items()):
            return kind
    return axis_of_degrees(attributes.get("units", "")) or NAMES.get(name.lower(), "")


@contextmanager
def open_file(path: str, key: str = "", error: type[InputError] = InputError) -> Iterator[CFDataset]:
    """The variables of a file or a store, open inside `with`, by one thread at a time; messages begin with `key`."""
    is_folder = os.path.isdir(path)
    if not is_folder and not os.path.isfile(path):
        raise error(f"{key}there is no file {path}")
    if is_folder and not any(os.path.isfile(os.path.join(path, name)) for name in OF_GROUP):
        raise error(f"{key}{path} is a folder, and no store of Zarr: it has neither zarr.json nor .zgroup")
    try:
        with NETCDF:
            dataset, close = kept(path, stamp(path))
            try:
                yield dataset
            finally:
                close()
    except ImportError as fault:
        raise error(f'{key}{path} is a store of Zarr ({fault}): pip install "swmodel[zarr]"') from None
    except Unreadable as fault:
        raise error(f"{key}{path} cannot be read as {'Zarr' if is_folder else 'NetCDF'} ({fault})") from None


def stamp(path: str) -> tuple:
    """What tells a file or a store from a later one of its name; empty where there is none."""
    files = [path]
    if os.path.isdir(path):
        of_arrays = (os.path.join(each, name) for each in sorted(os.listdir(path)) for name in OF_ARRAY)
        files = [os.path.join(path, name) for name in (*OF_GROUP, *of_arrays)]
    found = (os.stat(file) for file in files if os.path.isfile(file))
    return tuple((each.st_mtime_ns, each.st_size) for each in found)


@lru_cache(maxsize=64)
def kept(path: str, stamp: tuple):
    """The variables of a file or a store, and what closes it again: it is opened where values are read."""
    import xarray

    if os.path.isdir(path):
        import zarr  # noqa: F401  # which xarray misses in other words
    with warnings.catch_warnings(), unreadable():
        warnings.simplefilter("ignore")
        if os.path.isdir(path):
            store = xarray.backends.ZarrStore.open_group(path, mode="r", consolidated=False)
        else:
            store = xarray.backends.NetCDF4DataStore.open(path)
        try:
            raw = xarray.open_dataset(store, decode_cf=False, cache=False)
            if not os.path.isdir(path):
                fill(raw)
            for variable in raw.variables.values():
                if variable.dtype.kind in "iu" and variable.dtype.itemsize > 2:  # float32 would round them
                    wide = {name: np.float64(variable.attrs[name]) for name in PACKING & variable.attrs.keys()}
                    variable.attrs |= wide
            data = xarray.decode_cf(raw, decode_times=False, decode_timedelta=False, decode_coords=False)
            return cf_dataset(data, path), store.close
        except BaseException:
            store.close()
            raise


def fill(data: Dataset) -> None:
    """Give variables without a `_FillValue` that of NetCDF, which stands where nothing was written."""
    import netCDF4

    for variable in data.variables.values():
        kind = variable.dtype.str[1:]
        if variable.dtype.kind in "iuf" and variable.dtype.itemsize > 1 and "_FillValue" not in variable.attrs:
            variable.attrs["_FillValue"] = variable.dtype.type(netCDF4.default_fillvals[kind])


@contextmanager
def unreadable() -> Iterator[None]:
    """A context in which whatever a damaged file raises is an Unreadable, with its first line."""
    try:
        yield
    except FAULTS as error:
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Unreadable(said.splitlines()[0]) from error


def values_of(variable: DataArray, index: tuple = ()) -> np.ndarray:
    """Values of a variable at an index, in the precision of the file, integers as float64; NaN beyond `valid_range`."""
    with unreadable():
        values = np.asarray(variable.variable[index].values)
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    low, high = valid_range(variable)
    return np.where((values < low) | (values > high), np.nan, values) if (low, high) != (-np.inf, np.inf) else values


def valid_range(variable: DataArray) -> tuple[float, float]:
    """The least and the largest value of a variable that count, unpacked as its values are."""
    attributes, packing = variable.attrs, variable.encoding
    ends = attributes.get("valid_min", -np.inf), attributes.get("valid_max", np.inf)
    try:
        low, high = np.asarray(attributes.get("valid_range", ends), np.float64)
    except (TypeError, ValueError):  # no two numbers
        return -np.inf, np.inf
    factor, offset = packing.get("scale_factor", 1.0), packing.get("add_offset", 0.0)
    return low * factor + offset, high * factor + offset
