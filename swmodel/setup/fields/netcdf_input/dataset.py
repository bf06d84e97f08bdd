"""Variables and coordinates of a NetCDF file, a store of Zarr or a DataArray.

xarray opens and decodes, cf_xarray finds axes by attributes. Values are read a window at a time.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....extras import lacking
from ....parallel.worker import NETCDF
from .errors import InputError, remark
from .units import axis_of_degrees, conversion

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

#: The axes of cf_xarray; the first that fits counts.
AXES = {"X": "x", "Y": "y", "Z": "z", "T": "t", "longitude": "x", "latitude": "y"}

#: Names of coordinates without attributes, in lower case.
NAMES = {
    "x": "x", "x_c": "x", "x_f": "x", "lon": "x", "longitude": "x", "nav_lon": "x",
    "y": "y", "y_c": "y", "y_f": "y", "lat": "y", "latitude": "y", "nav_lat": "y",
    "time": "t",
}  # fmt: skip

#: Attributes that are converted to texts.
TEXTS = {"units", "standard_name", "axis", "positive", "calendar", "grid_mapping"}

#: Attributes of packed values.
PACKING = {"scale_factor", "add_offset"}

#: Endings of the names of rasters: ESRI ASCII, GeoTIFF and others of GDAL.
RASTERS = (".asc", ".tif", ".tiff", ".vrt", ".img", ".hgt", ".bil", ".flt")

#: Files of a group of Zarr and of its arrays with their metadata.
OF_GROUP, OF_ARRAY = ("zarr.json", ".zgroup"), ("zarr.json", ".zarray", ".zattrs")

#: Errors of xarray, netCDF4, zarr and codecs for a damaged file or store.
FAULTS = (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError)


class Unreadable(OSError):
    """A part of a file or a store cannot be read."""


class CFDataset(NamedTuple):
    """Variables of a Dataset, read when they are used.

    Attributes:
        kinds: x, y, z or t by the name of each coordinate.
        axes: the Axes of variables that `axes.arrange` has found.
    """

    data: Dataset
    kinds: dict[str, str]
    place: str
    axes: dict[Any, Any]

    def along(self, dimension: str) -> list[DataArray]:
        """The coordinates along a dimension, all of one kind, best first, with the variable of its name."""
        every = self.best_first({dimension}, {dimension}, dimension)
        found = [one for one in every if one.name == dimension or self.kind(one)]
        return [one for one in found if self.kind(one) == self.kind(found[0])]

    def across(self, field: DataArray, dimensions, axis: str) -> list[DataArray]:
        """The coordinates of y or x that vary along two dimensions of a field, best first: latitude(y, x)."""
        every = self.best_first({*dimensions}, {*field.dims})
        return [one for one in every if one.name != field.name and self.kind(one) == axis]

    def best_first(self, least: set, most: set, name: str = "") -> list[DataArray]:
        """The variables with numbers that have all dimensions of `least`, and none besides `most`, best first.

        A known kind comes before an unknown one, m before cells, these before degrees, and the variable `name` first.
        """
        every = self.data.variables.items()
        return sorted(
            (self.data[key] for key, one in every if least <= {*one.dims} <= most and numeric(one)),
            key=lambda v: (
                not self.kind(v),
                conversion(v.attrs.get("units", ""), "m") is None,
                in_degrees(v),
                v.name != name,
            ),
        )

    def kind(self, coordinate: DataArray) -> str:
        """x, y, z or t; empty if unknown."""
        return self.kinds.get(coordinate.name, "")

    def values_along(self, coordinate: DataArray, dimension: str) -> np.ndarray:
        """Values along a dimension, float64, NaN where missing, in the middle of others; longitudes may exceed 360."""
        middle = {name: size // 2 for name, size in coordinate.sizes.items() if name != dimension}
        values = np.asarray(values_of(coordinate, middle), np.float64)
        turns = in_degrees(coordinate) and self.kind(coordinate) == "x"
        return np.unwrap(values, period=360.0) if turns else values


def numeric(variable) -> bool:
    """Whether a variable holds numbers."""
    return variable.dtype.kind in "biuf"


def in_degrees(coordinate) -> bool:
    """Whether the units of a coordinate are degrees."""
    return axis_of_degrees(coordinate.attrs.get("units", "")) is not None


def cf_dataset(data: Dataset, place: str) -> CFDataset:
    """The CFDataset of variables, decoded except for times."""
    for variable in data.variables.values():
        variable.attrs |= {text: str(variable.attrs[text]) for text in variable.attrs if text in TEXTS}
    kinds = {name: kind_of(str(name), one.attrs) for name, one in data.variables.items()}
    return CFDataset(data, {name: kind for name, kind in kinds.items() if kind}, place, {})


def kind_of(name: str, attributes) -> str:
    """The kind of a variable as a coordinate: x, y, z or t; empty if neither CF nor its name defines it."""
    from cf_xarray.criteria import coordinate_criteria  # its accessor fails at unusual SGRID attributes

    for key, kind in AXES.items():
        if any(str(attributes.get(text)) in known for text, known in coordinate_criteria[key].items()):
            return kind
    return axis_of_degrees(attributes.get("units", "")) or NAMES.get(name.lower(), "")


@contextmanager
def open_file(path: str, key: str = "", error: type[InputError] = InputError) -> Iterator[CFDataset]:
    """The open variables of a file or a store, for one thread at a time; messages begin with `key`."""
    is_folder = os.path.isdir(path)
    if not is_folder and not os.path.isfile(path):
        raise error(f"{key}there is no file {path}")
    if is_folder and not any(os.path.isfile(os.path.join(path, name)) for name in OF_GROUP):
        raise error(f"{key}{path} is a folder, but no store of Zarr: it has neither zarr.json nor .zgroup")
    package = "zarr" if is_folder else "rioxarray" if path.lower().endswith(RASTERS) else ""
    if package and (line := lacking(path, package)):
        raise error(f"{key}{line}")
    try:
        with NETCDF:
            dataset, close = kept(path, stamp(path))
            try:
                yield dataset
            finally:
                close()
    except Unreadable as fault:
        form = {"zarr": "Zarr", "rioxarray": "a raster"}.get(package, "NetCDF")
        raise error(f"{key}{path} cannot be read as {form} ({fault})") from None


def stamp(path: str) -> tuple:
    """Times and sizes that identify a version of a file or a store."""
    files = [path]
    if os.path.isdir(path):
        of_arrays = (os.path.join(each, name) for each in sorted(os.listdir(path)) for name in OF_ARRAY)
        files = [os.path.join(path, name) for name in (*OF_GROUP, *of_arrays)]
    found = (os.stat(file) for file in files if os.path.isfile(file))
    return tuple((each.st_mtime_ns, each.st_size) for each in found)


@lru_cache(maxsize=64)
def kept(path: str, stamp: tuple):
    """The variables of a file or a store, which reads open, and the function that closes it."""
    import xarray

    is_folder = os.path.isdir(path)
    with warnings.catch_warnings(), unreadable():
        warnings.simplefilter("ignore")
        if path.lower().endswith(RASTERS):
            data = raster(path)
            return cf_dataset(data, path), data.close
        if is_folder:
            store = xarray.backends.ZarrStore.open_group(path, mode="r", consolidated=False)
        else:
            store = xarray.backends.NetCDF4DataStore.open(path)
        with closing(store):
            raw = xarray.open_dataset(store, decode_cf=False, cache=False)
            for variable in raw.variables.values():
                complete(variable, filled=not is_folder)
            data = xarray.decode_cf(raw, decode_times=False, decode_timedelta=False, decode_coords=False)
            return cf_dataset(data, path), store.close


def raster(path: str) -> Dataset:
    """The bands of a raster that GDAL reads, `band_1` and so on, NaN where it has no data.

    Without a coordinate system x and y within the ranges of longitude and latitude are these, in degrees.
    """
    import rioxarray

    data = rioxarray.open_rasterio(path, band_as_variable=True, mask_and_scale=True, cache=False)
    crs, degrees = data.rio.crs, float(abs(data.x).max()) <= 360 and float(abs(data.y).max()) <= 90
    if crs is None and degrees:
        remark(f"{path} names no coordinate system: x and y are taken for longitude and latitude")
    if degrees if crs is None else crs.is_geographic:
        data["x"].attrs |= {"standard_name": "longitude", "units": "degrees_east"}
        data["y"].attrs |= {"standard_name": "latitude", "units": "degrees_north"}
    return data


def complete(variable, filled: bool) -> None:
    """Add the attributes that xarray needs to decode all values correctly.

    Where a NetCDF file names no `_FillValue`, the default of NetCDF marks values that were not written (`filled`).
    Packed integers of 32 bits and more become float64, as float32 would round them.
    """
    import netCDF4

    kind, size, attributes = variable.dtype.kind, variable.dtype.itemsize, variable.attrs
    if filled and kind in "iuf" and size > 1 and "_FillValue" not in attributes:
        attributes["_FillValue"] = variable.dtype.type(netCDF4.default_fillvals[variable.dtype.str[1:]])
    for name in sorted(PACKING & {*attributes}) if kind in "iu" else ():
        if size > 2 or np.asarray(attributes[name]).dtype.kind in "iu":
            attributes[name] = np.float64(attributes[name])


@contextmanager
def unreadable() -> Iterator[None]:
    """A context in which the errors of a damaged file become Unreadable, with their first line."""
    try:
        yield
    except FAULTS as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Unreadable(reason.splitlines()[0]) from error


def values_of(variable: DataArray, index: Any = ()) -> np.ndarray:
    """Values of a variable at an index, in the precision of the file, integers as float64; NaN beyond `valid_range`."""
    with unreadable():
        values = np.asarray(variable.variable[index].values)
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
        attributes, packing = variable.attrs, variable.encoding
        if not attributes.keys() & {"valid_min", "valid_max", "valid_range"}:
            return values
        ends = attributes.get("valid_range", (attributes.get("valid_min"), attributes.get("valid_max")))
        low, high = np.sort([unpacked(end, packing, other) for end, other in zip(ends, (-np.inf, np.inf), strict=True)])
        return np.where((values < low) | (values > high), np.nan, values)


def unpacked(end: Any, packing: Mapping, missing: float) -> float:
    """An end of a valid range as a value: packed as the variable is if it has an integer type, else a value already."""
    if end is None:
        return missing
    end = np.asarray(end)
    if end.dtype.kind not in "iu" or not packing.keys() & PACKING:
        return float(end)
    if str(packing.get("_Unsigned", "")).lower() == "true":
        end = end.astype(f"i{end.dtype.itemsize}").view(f"u{end.dtype.itemsize}")
    return float(end) * packing.get("scale_factor", 1.0) + packing.get("add_offset", 0.0)
