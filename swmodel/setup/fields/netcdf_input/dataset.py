"""Variables and coordinates of a NetCDF file, a Zarr store or a DataArray.

xarray opens and decodes them, cf_xarray finds axes by attributes. Values are read window by window.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....extras import missing_package_reason
from ....ocean import projection
from ....parallel.worker import NETCDF_LOCK
from .errors import InputError, log_once
from .units import axis_of_degree_units, conversion_factor

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

#: Axes by the criteria of cf_xarray; the first criterion that applies counts.
AXIS_OF_CRITERION = {"X": "x", "Y": "y", "Z": "z", "T": "t", "longitude": "x", "latitude": "y"}

#: Axes of coordinates without attributes, by their names in lower case.
AXIS_OF_NAME = {
    "x": "x", "x_c": "x", "x_f": "x", "lon": "x", "longitude": "x", "nav_lon": "x",
    "y": "y", "y_c": "y", "y_f": "y", "lat": "y", "latitude": "y", "nav_lat": "y",
    "time": "t",
}  # fmt: skip

#: Attributes that are converted to texts.
TEXT_ATTRIBUTES = {"units", "standard_name", "axis", "positive", "calendar", "grid_mapping"}

#: Attributes of packed values.
PACKING_ATTRIBUTES = {"scale_factor", "add_offset"}

#: Attributes of a grid mapping.
PROJECTION_ATTRIBUTES = {"crs_wkt", "spatial_ref", "grid_mapping_name"}

#: Attributes of the grid mapping of a raster that names no coordinate system.
RASTER_POSITION_ATTRIBUTES = {"GeoTransform"}

#: Words with which the lines of the header of an ASCII grid begin.
ASCII_GRID_KEYS = {"ncols", "nrows", "xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize", "dx", "dy"}
ASCII_GRID_KEYS |= {"nodata_value"}
#: Endings of the names of raster files: Esri ASCII, GeoTIFF and other formats of GDAL.
RASTER_ENDINGS = (".asc", ".tif", ".tiff", ".vrt", ".img", ".hgt", ".bil", ".flt")

#: Metadata files of a Zarr group and of its arrays.
ZARR_GROUP_FILES, ZARR_ARRAY_FILES = ("zarr.json", ".zgroup"), ("zarr.json", ".zarray", ".zattrs")

#: The first bytes of files that people mistake for NetCDF, and what such a file is.
FOREIGN_BEGINNINGS = {
    b"PK": "it is a ZIP archive; unpack it",
    b"\x1f\x8b": "it is packed with gzip; unpack it",
    b"GRIB": "it is GRIB; download it as NetCDF, or convert it",
}

#: Errors of xarray, netCDF4, zarr and codecs for a damaged file or store.
READ_ERRORS = (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError)


class UnreadableFileError(OSError):
    """A part of a file or a store cannot be read."""


class CFDataset(NamedTuple):
    """Variables of a Dataset, read when they are used.

    Attributes:
        axis_by_name: {name of a coordinate: x, y, z or t}.
        axes_cache: the VariableAxes that `axes.axes_of_variable` has found.
    """

    data: Dataset
    axis_by_name: dict[Hashable, str]
    context: str
    axes_cache: dict[Any, Any]

    def coordinates_along(self, dimension: str) -> list[DataArray]:
        """The coordinates along a dimension, all of one kind, best first.

        If none has a known kind, the variable with the name of the dimension counts.
        """
        candidates = self.variables_best_first({dimension}, {dimension}, dimension)
        coordinates = [one for one in candidates if one.name == dimension or self.axis_of(one)]
        return [one for one in coordinates if self.axis_of(one) == self.axis_of(coordinates[0])]

    def two_dimensional_coordinates(self, field: DataArray, dimensions, axis: str) -> list[DataArray]:
        """The coordinates of y or x that vary along two dimensions of a field, best first: latitude(y, x)."""
        candidates = self.variables_best_first({*dimensions}, {*field.dims})
        return [one for one in candidates if one.name != field.name and self.axis_of(one) == axis]

    def variables_best_first(self, required: set, allowed: set, preferred: str = "") -> list[DataArray]:
        """The variables with numbers that have all dimensions of `required`, and none besides `allowed`, best first.

        Variables of a known kind (x, y, z or t) come before others. Within both groups, those in units of length come
        first, those in degrees last; among equals, the variable with the name `preferred` comes first.
        """
        variables = self.data.variables.items()
        return sorted(
            (self.data[key] for key, one in variables if required <= {*one.dims} <= allowed and is_numeric(one)),
            key=lambda v: (
                not self.axis_of(v),
                conversion_factor(v.attrs.get("units", ""), "m") is None,
                is_in_degrees(v),
                v.name != preferred,
            ),
        )

    def projection_of(self, field: DataArray) -> str:
        """The projected coordinate reference system of a field, as WKT; "" for none.

        InputError: its grid mapping is not known, or pyproj is missing.
        """
        name = str(field.attrs.get("grid_mapping", field.encoding.get("grid_mapping", ""))).split(":")[0]
        mappings = [one.attrs for one in self.data.variables.values() if one.attrs.keys() & PROJECTION_ATTRIBUTES]
        if name in self.data.variables:
            mappings = [self.data.variables[name].attrs]
            if not mappings[0].keys() - RASTER_POSITION_ATTRIBUTES:
                return ""
        if len(mappings) != 1:
            return ""
        if reason := missing_package_reason(self.context, "pyproj"):
            raise InputError(reason)
        try:
            return projection.crs_of_attributes(mappings[0])
        except ValueError as error:
            raise InputError(
                f"{self.context}: the projection of {field.name} is not known: {error}; give its grid_mapping crs_wkt"
            ) from None

    def axis_of(self, coordinate: DataArray) -> str:
        """The kind of a coordinate: x, y, z or t; empty if unknown."""
        return self.axis_by_name.get(coordinate.name, "")

    def values_along(self, coordinate: DataArray, dimension: str) -> np.ndarray:
        """Values along a dimension, at the middle of others, float64, NaN where missing; longitudes have no jumps."""
        middle = {name: size // 2 for name, size in coordinate.sizes.items() if name != dimension}
        values = np.asarray(read_values(coordinate, middle), np.float64)
        is_longitude = is_in_degrees(coordinate) and self.axis_of(coordinate) == "x"
        return np.unwrap(values, period=360.0) if is_longitude else values


def is_numeric(variable) -> bool:
    return variable.dtype.kind in "biuf"


def is_in_degrees(coordinate) -> bool:
    return axis_of_degree_units(coordinate.attrs.get("units", "")) is not None


def cf_dataset(data: Dataset, context: str) -> CFDataset:
    """The CFDataset of a Dataset that is decoded except for times."""
    for variable in data.variables.values():
        variable.attrs |= {text: str(variable.attrs[text]) for text in variable.attrs if text in TEXT_ATTRIBUTES}
    kinds = {name: identify_axis(str(name), one.attrs) for name, one in data.variables.items()}
    return CFDataset(data, {name: kind for name, kind in kinds.items() if kind}, context, {})


def identify_axis(name: str, attributes) -> str:
    """The kind of a variable as a coordinate: x, y, z or t; empty if neither CF nor its name defines it."""
    from cf_xarray.criteria import coordinate_criteria  # its accessor fails at unusual SGRID attributes

    for key, kind in AXIS_OF_CRITERION.items():
        if any(str(attributes.get(text)) in known for text, known in coordinate_criteria[key].items()):
            return kind
    return axis_of_degree_units(attributes.get("units", "")) or AXIS_OF_NAME.get(name.lower(), "")


@contextmanager
def open_file(path: str, context: str = "", error_class: type[InputError] = InputError) -> Iterator[CFDataset]:
    """The open variables of a file or a store, for one thread at a time.

    `error_class`, whose message begins with `context`: the file is missing, cannot be read or needs another package.
    """
    is_folder = os.path.isdir(path)
    if not is_folder and not os.path.isfile(path):
        raise error_class(f"{context}there is no file {path}")
    if is_folder and not any(os.path.isfile(os.path.join(path, name)) for name in ZARR_GROUP_FILES):
        raise error_class(f"{context}{path} is a folder, but not a Zarr store: it has neither zarr.json nor .zgroup")
    package = "zarr" if is_folder else "rioxarray" if path.lower().endswith(RASTER_ENDINGS) else ""
    if package and (line := missing_package_reason(path, package)):
        raise error_class(f"{context}{line}")
    try:
        with NETCDF_LOCK:
            dataset, close = open_cached(path, file_stamp(path))
            try:
                yield dataset
            finally:
                close()
    except UnreadableFileError as error:
        format_name = {"zarr": "Zarr", "rioxarray": "a raster"}.get(package, "NetCDF")
        raise error_class(
            f"{context}{path} cannot be read as {format_name} ({describe_foreign_file(path) or error})"
        ) from None


def describe_foreign_file(path: str) -> str:
    """The format of a file in FOREIGN_BEGINNINGS, in words; empty for other files, and for folders."""
    try:
        with open(path, "rb") as file:
            first_bytes = file.read(4)
    except OSError:
        return ""
    return next((words for start, words in FOREIGN_BEGINNINGS.items() if first_bytes.startswith(start)), "")


def file_stamp(path: str) -> tuple:
    """Times and sizes that identify a version of a file or a store."""
    files = [path]
    if os.path.isdir(path):
        array_files = (os.path.join(each, name) for each in sorted(os.listdir(path)) for name in ZARR_ARRAY_FILES)
        files = [os.path.join(path, name) for name in (*ZARR_GROUP_FILES, *array_files)]
    stats = (os.stat(file) for file in files if os.path.isfile(file))
    return tuple((each.st_mtime_ns, each.st_size) for each in stats)


@lru_cache(maxsize=64)
def open_cached(path: str, stamp: tuple):
    """The variables of a file or a store, and the function that closes it; reading a variable opens it again.

    `stamp` identifies its version in the cache.
    """
    import xarray

    is_folder = os.path.isdir(path)
    with warnings.catch_warnings(), translate_read_errors():
        warnings.simplefilter("ignore")
        if path.lower().endswith(RASTER_ENDINGS):
            data = open_raster(path)
            return cf_dataset(data, path), data.close
        if is_folder:
            store = xarray.backends.ZarrStore.open_group(path, mode="r", consolidated=False)
        else:
            store = xarray.backends.NetCDF4DataStore.open(path)
        with closing(store):
            raw = xarray.open_dataset(store, decode_cf=False, cache=False)
            for variable in raw.variables.values():
                complete_attributes(variable, has_default_fill=not is_folder)
            data = xarray.decode_cf(raw, decode_times=False, decode_timedelta=False, decode_coords=False)
            return cf_dataset(data, path), store.close


def open_raster(path: str) -> Dataset:
    """The bands of a raster that GDAL reads, `band_1` and so on, NaN where it has no data.

    If it has no coordinate system, x and y within the ranges of longitude and latitude are taken as such, in degrees.
    UnreadableFileError: the rasters have different sizes, are rotated, or are not in degrees or metres.
    """
    import rioxarray
    import xarray

    if path.lower().endswith(".asc"):
        check_ascii_grid(path)
    data = rioxarray.open_rasterio(path, band_as_variable=True, mask_and_scale=True, cache=False)
    if not isinstance(data, xarray.Dataset):
        raise UnreadableFileError("it holds several rasters of different sizes; extract one with gdal_translate")
    if not {"x", "y"} <= {*data.coords}:
        raise UnreadableFileError("it is rotated against x and y; straighten it with gdalwarp")
    crs, may_be_degrees = data.rio.crs, float(abs(data.x).max()) <= 360 and float(abs(data.y).max()) <= 90
    if crs is None and may_be_degrees:
        log_once(f"{path} names no coordinate system: x and y are taken as longitude and latitude")
    if may_be_degrees if crs is None else crs.is_geographic:
        data["x"].attrs |= {"standard_name": "longitude", "units": "degrees_east"}
        data["y"].attrs |= {"standard_name": "latitude", "units": "degrees_north"}
    elif crs is not None and crs.is_projected:
        unit, metres = crs.linear_units_factor
        if metres != 1:
            raise UnreadableFileError(
                f"its x and y are in {unit}; convert it to a system in metres with gdalwarp -t_srs"
            )
        for axis in "xy":
            data[axis].attrs["units"] = "m"
    return data


def check_ascii_grid(path: str) -> None:
    """Raise UnreadableFileError unless the values of an Esri ASCII grid are numbers, as many as its header says.

    GDAL would shift the values. A row may continue on further lines.
    """
    header, counts_by_line = {}, {}
    with open(path, encoding="latin-1") as file:
        for number, line in enumerate(file, 1):
            words = line.replace(",", ".").split()
            if len(words) == 2 and words[0].lower() in ASCII_GRID_KEYS:
                header[words[0].lower()] = words[1]
                continue
            try:
                counts_by_line[number] = np.array(words, np.float64).size
            except ValueError as error:
                if "ncols" not in header:
                    return  # another layout, which GDAL may know
                raise UnreadableFileError(f"line {number}: {error}") from None
    if not {"ncols", "nrows"} <= header.keys():
        return
    n_columns, n_rows = (int(header[name]) for name in ("ncols", "nrows"))
    counts_by_line = {number: count for number, count in counts_by_line.items() if count}
    if len(counts_by_line) == n_rows:
        for number, count in counts_by_line.items():
            if count != n_columns:
                raise UnreadableFileError(f"line {number} has {count} values, but ncols is {n_columns}")
    if (n_values := sum(counts_by_line.values())) != n_columns * n_rows:
        raise UnreadableFileError(f"it has {n_values} values, but ncols x nrows is {n_columns} x {n_rows}")


def complete_attributes(variable, has_default_fill: bool) -> None:
    """Add the attributes that xarray needs to decode all values correctly.

    Where a NetCDF file names no `_FillValue`, the default of NetCDF marks values that were not written
    (`has_default_fill`). Packed integers of 32 bits and more, which float32 would round, and those with an integer as
    factor or offset become float64.
    """
    import netCDF4

    kind, size, attributes = variable.dtype.kind, variable.dtype.itemsize, variable.attrs
    if has_default_fill and kind in "iuf" and size > 1 and "_FillValue" not in attributes:
        attributes["_FillValue"] = variable.dtype.type(netCDF4.default_fillvals[variable.dtype.str[1:]])
    for name in sorted(PACKING_ATTRIBUTES & {*attributes}) if kind in "iu" else ():
        if size > 2 or np.asarray(attributes[name]).dtype.kind in "iu":
            attributes[name] = np.float64(attributes[name])


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """A context in which the errors of a damaged file become UnreadableFileError, with their first line."""
    try:
        yield
    except READ_ERRORS as error:
        reason = getattr(error, "strerror", None) or str(error.__cause__ or error) or type(error).__name__
        raise UnreadableFileError(reason.splitlines()[0]) from error


def read_values(variable: DataArray, index: Any = ()) -> np.ndarray:
    """Values of a variable at an index, in the precision of the file; integers as float64; NaN beyond valid limits."""
    with translate_read_errors():
        values = np.asarray(variable.variable[index].values)
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
        attributes, packing = variable.attrs, variable.encoding
        if not attributes.keys() & {"valid_min", "valid_max", "valid_range"}:
            return values
        limits = attributes.get("valid_range", (attributes.get("valid_min"), attributes.get("valid_max")))
        low, high = np.sort(
            [unpack_limit(end, packing, other) for end, other in zip(limits, (-np.inf, np.inf), strict=True)]
        )
        return np.where((values < low) | (values > high), np.nan, values)


def unpack_limit(limit: Any, packing: Mapping, default: float) -> float:
    """A limit of a valid range, unpacked if it is an integer and the variable is packed; `default` if it is None."""
    if limit is None:
        return default
    limit = np.asarray(limit)
    if limit.dtype.kind not in "iu" or not packing.keys() & PACKING_ATTRIBUTES:
        return float(limit)
    if str(packing.get("_Unsigned", "")).lower() == "true":
        limit = limit.astype(f"i{limit.dtype.itemsize}").view(f"u{limit.dtype.itemsize}")
    return float(limit) * packing.get("scale_factor", 1.0) + packing.get("add_offset", 0.0)
