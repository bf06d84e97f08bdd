"""Fields of a run for geographic information systems: GeoTIFF, and the extent of a flood as polygons."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import netCDF4
import numpy as np

from ..extras import require_package
from ..ocean import projection
from ..ocean.table import ARRIVAL_SUFFIX, INUNDATION, MAXIMUM_SUFFIX
from .dataset import PlotError, field_names, find_data_file, find_record, member_label, open_data
from .derived import check_field, read_or_derive
from .field_map import FieldMap, read_grid_north_pole, read_map
from .files import write_output
from .ground import read_wet_thickness

log = logging.getLogger(__name__)
#: {ending of the file: GDAL driver} of the formats for polygons.
POLYGON_DRIVERS = {".gpkg": "GPKG", ".kml": "KML", ".geojson": "GeoJSON"}
#: The formats for polygons whose positions are always longitudes and latitudes.
GEOGRAPHIC_FORMATS = (".kml", ".geojson")
#: The name of the flood hazard rating, and the fields from which it is computed.
HAZARD, HAZARD_SOURCES = "hazard", (f"h{MAXIMUM_SUFFIX}", f"speed{MAXIMUM_SUFFIX}")
#: The velocity that is added in the hazard rating, m s-1.
HAZARD_SPEED = 0.5


def export(
    path,
    target,
    names: Sequence[str] = (),
    record: int = -1,
    time: float | None = None,
    crs: str = "",
    member: int | None = None,
) -> Path:
    """Write fields of a run into a GeoTIFF, or the extent of its flood into a GeoPackage, KML or GeoJSON file.

    Args:
        path: run folder, or its file of fields.
        target: the file to write: .tif, .gpkg, .kml or .geojson.
        names: fields at the centres of cells, each a band of the GeoTIFF. Default: all largest values and arrivals, and
            the flood hazard rating (`hazard_map`) if a run with drying has the largest h and speed.
        record, time: number or model time, s, of the record.
        crs: coordinate reference system of a grid on a plane without grid.crs, as "EPSG:32633".
        member: member of an ensemble; None: the first in the file.

    Raises:
        PlotError: the file lacks the fields, the grid has a rotated pole or no coordinate reference system, or an
            argument is invalid.
        FilesError: the file cannot be written.
        ModuleNotFoundError: an optional package is missing.
    """
    target, file = Path(target), find_data_file(path)
    if target.suffix.lower() not in (".tif", ".tiff", *POLYGON_DRIVERS):
        raise PlotError(f"{target}: must end with .tif or {', '.join(POLYGON_DRIVERS)}")
    with open_data(file) as data:
        if read_grid_north_pole(data):
            raise PlotError("a rotated-pole grid has no rows along parallels and cannot be exported")
        record = find_record(data, record, time)
        if target.suffix.lower() in POLYGON_DRIVERS:
            if names:
                raise PlotError(f"{target}: polygons show the extent of the flood; fields go into a .tif")
            write_extent(target, *flooded_cells(data, record, member), crs)
        else:
            maps = [read_export_map(data, name, record, member) for name in names or default_names(data)]
            write_geotiff(target, maps, crs)
            has_members = any("member" in data[name].dimensions for name in names if name in data.variables)
            if has_members and member is None:
                log.warning("%s shows%s; --member chooses another", target, member_label(data, None)[1:])
    return target


def default_names(data: netCDF4.Dataset) -> list[str]:
    """The names of the largest values and arrivals of a run, and of the hazard rating if it can be computed.

    Raises a PlotError if the run has neither largest values nor arrivals.
    """
    names = [name for name in field_names(data) if name.endswith((MAXIMUM_SUFFIX, ARRIVAL_SUFFIX))]
    if not names:
        raise PlotError(
            f"{data.filepath()} holds no largest values; run with output.maxima, or name fields with --field"
        )
    has_hazard = {*HAZARD_SOURCES} <= {*names} and read_wet_thickness(data) is not None
    return [*names, HAZARD] if has_hazard else names


def read_export_map(data: netCDF4.Dataset, name: str, record: int, member: int | None) -> FieldMap:
    """One record of a field; raises a PlotError if the field is not at the centres of cells."""
    if name == HAZARD:
        return hazard_map(data, record, member)
    check_field(data, name)
    field = read_or_derive(data, name, record, member)
    if field.location != "face":
        raise PlotError(f"{name} is on faces or corners, but a raster has values at centres; use speed for currents")
    return field


def hazard_map(data: netCDF4.Dataset, record: int, member: int | None) -> FieldMap:
    """The flood hazard rating h (speed + 0.5 m/s), m2 s-1, of the largest h and speed of flooded land.

    There is no debris factor. The largest h and the largest speed may occur at different times, so the product is an
    upper bound of the rating at any time.

    Source: Defra and Environment Agency (2006), Flood risks to people, FD2321/TR1.
    """
    missing = [name for name in HAZARD_SOURCES if name not in field_names(data)]
    if missing:
        raise PlotError(f"{data.filepath()} holds no {', '.join(missing)}; the hazard needs output.maxima=h,speed")
    thickness, speed = (read_map(data, name, record, member) for name in HAZARD_SOURCES)
    is_flooded = flooded_cells(data, record, member)[1]
    rating = np.ma.masked_where(~is_flooded, thickness.values * (speed.values + HAZARD_SPEED))
    return replace(thickness, name=HAZARD, long_name="flood hazard rating", units="m2 s-1", values=rating)


def flooded_cells(data: netCDF4.Dataset, record: int, member: int | None) -> tuple[FieldMap, np.ndarray]:
    """A map on the grid, and whether each cell [y, x] was dry land at the start and has had water up to a record.

    In a file without INUNDATION, ground above the resting level (negative depth) counts as dry at the start.
    """
    if INUNDATION in field_names(data):
        arrival = read_map(data, INUNDATION, record, member)
        return arrival, ~np.ma.getmaskarray(arrival.values)
    wet_thickness = read_wet_thickness(data)
    if wet_thickness is None or HAZARD_SOURCES[0] not in field_names(data):
        raise PlotError(
            f"{data.filepath()} does not show where land was flooded; run with drying.active and output.inundation"
        )
    thickness, depth = (read_map(data, name, record, member) for name in (HAZARD_SOURCES[0], "depth"))
    return thickness, np.ma.filled((thickness.values > wet_thickness) & (depth.values < 0), False)


def reference_system(field: FieldMap, crs: str):
    """The coordinate reference system of a map, or else `crs`; a PlotError if there is none or `crs` is unsuitable."""
    from rasterio.crs import CRS

    if field.is_geographic:
        if crs:
            raise PlotError(f"--crs: the grid is in longitudes and latitudes, {projection.GEOGRAPHIC_CRS}")
        return CRS.from_user_input(projection.GEOGRAPHIC_CRS)
    if field.crs:
        if crs:
            raise PlotError("--crs: the grid has a coordinate reference system, grid.crs; leave out --crs")
        return CRS.from_user_input(field.crs)
    if not crs:
        raise PlotError("the grid is on a plane: give the coordinate reference system of x and y, as --crs EPSG:32633")
    if problem := projection.find_problem(crs):
        raise PlotError(f"--crs: {problem}")
    return CRS.from_user_input(crs)


def transform_of(field: FieldMap):
    """The affine transform of a raster whose first row is the northernmost, and whose first column is the westernmost.

    Longitudes are shifted by multiples of 360 degrees so that the middle of the domain lies in -180 to 180.
    """
    from rasterio.transform import from_bounds

    west, east, south, north = field.domain
    if field.is_geographic:
        shift = 360.0 * np.rint((west + east) / 720.0)
        west, east = west - shift, east - shift
    return from_bounds(west, south, east, north, field.values.shape[1], field.values.shape[0])


def write_geotiff(target: Path, maps: Sequence[FieldMap], crs: str) -> None:
    """Write maps of the same grid as the bands of a cloud-optimised GeoTIFF; masked points are nodata, NaN."""
    require_package(f"{target}: a GeoTIFF", "rasterio")
    import rasterio.io
    import rasterio.shutil

    first, dtype = maps[0], np.result_type(np.float32, *(each.values for each in maps))
    profile = {
        "driver": "GTiff", "dtype": dtype.name, "count": len(maps), "nodata": np.nan,
        "height": first.values.shape[0], "width": first.values.shape[1],
        "crs": reference_system(first, crs), "transform": transform_of(first),
    }  # fmt: skip
    with write_output(target) as draft, rasterio.io.MemoryFile() as memory:
        with memory.open(**profile) as raster:
            for band, field in enumerate(maps, 1):
                raster.write(np.ma.filled(field.values.astype(dtype), np.nan)[::-1], band)
                raster.set_band_description(band, field.name)
                raster.set_band_unit(band, field.units)
                raster.update_tags(band, long_name=field.long_name)
        with memory.open() as raster:
            rasterio.shutil.copy(raster, draft, driver="COG", compress="deflate")


def write_extent(target: Path, field: FieldMap, is_flooded: np.ndarray, crs: str) -> None:
    """Write the flooded cells as one multipolygon, whose edges follow the edges of cells."""
    for name in ("pyogrio", "rasterio"):
        require_package(f"{target}: a file of polygons", name)
    import pyogrio.raw
    import rasterio.features
    import rasterio.warp
    import shapely

    raster = is_flooded[::-1].astype(np.uint8)
    shapes = rasterio.features.shapes(raster, mask=raster > 0, transform=transform_of(field))
    system, polygons = reference_system(field, crs), [shape for shape, _ in shapes]
    if target.suffix.lower() in GEOGRAPHIC_FORMATS:
        polygons = [rasterio.warp.transform_geom(system, projection.GEOGRAPHIC_CRS, shape) for shape in polygons]
        system = projection.GEOGRAPHIC_CRS
    area = shapely.MultiPolygon([shapely.geometry.shape(shape) for shape in polygons])
    with write_output(target) as draft:
        draft.unlink()
        pyogrio.raw.write(
            draft, np.array([shapely.to_wkb(area)], object), [np.array(["flooded"], object)], ["name"],
            driver=POLYGON_DRIVERS[target.suffix.lower()], geometry_type="MultiPolygon",
            crs=str(system), layer="extent",
        )  # fmt: skip
