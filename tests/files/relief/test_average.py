"""Volume and area of the sea are those of the relief for any order of its axes; unusable reliefs are refused."""

from contextlib import ExitStack
from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
from support.netcdf import lon_lat_axes, write_netcdf

from swmodel.files.relief import GridRequest, ReliefError
from swmodel.files.relief.average import average_over_cells, interpolate, overlap_weights
from swmodel.files.relief.crests import lowest_crossing
from swmodel.files.relief.make import make_grid, make_grid_section
from swmodel.files.relief.source import ReliefAxis, open_relief
from swmodel.ocean.coordinates import metrics, points
from swmodel.ocean.rotated_pole import unit_vectors
from swmodel.setup.fields.netcdf_input import InputError

LON, LAT = np.arange(-179.0, 180, 2), np.arange(-89.0, 90, 2)
#: Regions (west, east, south, north).
ENGLAND, ATLANTIC = (0, 3, 50, 53), (-20, 31, -33, 40)


def write_relief(folder, values, name="z", lon=LON, lat=LAT, dimensions="lat lon", fields=None, **attributes):
    """The path of a relief on these axes; `fields`: {name: values} of other fields, such as the fraction of sea."""
    relief = {name: (dimensions, np.ma.masked_invalid(values), {"units": "m"} | attributes)}
    variables = {each: (dimensions, field, {"units": "1"}) for each, field in (fields or {}).items()}
    return write_netcdf(folder / "relief.nc", lon_lat_axes(lon, lat) | relief | variables)


def make_averages(path, region, resolution, **options):
    """Depth, sea fraction and area of the cells, the grid, and height of the land."""
    grid = make_grid_section(GridRequest(region, resolution, **options))
    with ExitStack() as stack:
        depth, sea_fraction, height = average_over_cells(open_relief(path, stack), grid)
    return depth, sea_fraction, np.broadcast_to(metrics(grid, range(grid.ny))["area"].centre, depth.shape), grid, height


@pytest.mark.fault("a raster of heights is refused because it has no units, names or land")
@pytest.mark.parametrize("name", ["relief.asc", "relief.tif"])
def test_raster_is_read_as_netcdf(tmp_path, caplog, name):
    """The raster and the NetCDF file are surveys of the sea floor, in which missing depths are land."""
    rasterio = pytest.importorskip("rasterio")
    lon, lat = np.arange(-0.95, 4, 0.1), np.arange(49.05, 54, 0.1)
    z = np.where(lon > 2.5, np.nan, -50.0 - lon) * np.ones((len(lat), 1))
    expected = make_averages(write_relief(tmp_path, z, name="Band1", lon=lon, lat=lat), ENGLAND, 0.5)[:3]
    meta = {"driver": "AAIGrid"} if name.endswith("asc") else {"driver": "GTiff", "crs": "EPSG:4326"}
    meta |= {"transform": rasterio.Affine(0.1, 0, -1, 0, -0.1, lat[-1] + 0.05), "nodata": -9999.0, "dtype": "float64"}
    with rasterio.open(tmp_path / name, "w", count=1, height=len(lat), width=len(lon), **meta) as raster:
        raster.write(np.nan_to_num(z[::-1], nan=-9999.0), 1)
    depth, *others = make_averages(tmp_path / name, ENGLAND, 0.5)
    assert (depth[:, -1] == 0).all()
    assert [name in record.message for record in caplog.records if "count as land" in record.message] == [False, True]
    for ours, theirs in zip((depth, *others), expected, strict=False):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.fault("a raster is shifted by half a pixel")
@pytest.mark.parametrize("kind", ["xllcorner", "xllcenter", "Area", "Point"])
def test_pixels_are_areas_or_points_as_the_file_says(tmp_path, kind):
    """A plane of depths is given by its corner or first centre in an ASCII grid, or as areas or points in a GeoTIFF."""
    rasterio = pytest.importorskip("rasterio")
    lon, lat = np.arange(-0.95, 4, 0.1), np.arange(53.95, 49, -0.1)
    z, is_point = -500.0 + 10 * lon + 3 * lat[:, None], kind in ("xllcenter", "Point")
    west, north = (-0.95, 53.95) if is_point else (-1.0, 54.0)
    path = tmp_path / ("relief.asc" if kind.startswith("x") else "relief.tif")
    if kind.startswith("x"):
        south = f"{north - 4.9 if is_point else north - 5.0:.2f}"
        header = f"ncols 50\nnrows 50\n{kind} {west}\n{kind.replace('x', 'y')} {south}\ncellsize 0.1\n"
        path.write_text(header + "\n".join(" ".join(f"{value:.6f}" for value in row) for row in z))
    else:
        meta = {"count": 1, "height": 50, "width": 50, "crs": "EPSG:4326", "dtype": "float64"}
        meta |= {"transform": rasterio.Affine(0.1, 0, west, 0, -0.1, north)}
        with rasterio.Env(GTIFF_POINT_GEO_IGNORE=True), rasterio.open(path, "w", driver="GTiff", **meta) as raster:
            raster.update_tags(AREA_OR_POINT=kind)  # GDAL writes the corner of the pixels as it is
            raster.write(z, 1)
    depth, _, _, grid, _ = make_averages(path, ENGLAND, 0.1)
    at = points(grid, "centre", range(grid.ny), range(grid.nx))
    np.testing.assert_allclose(depth, 500.0 - 10 * at.lon - 3 * at.lat, rtol=0, atol=1e-4)


ASCII_HEADER = "ncols 3\nnrows 3\nxllcorner 400000\nyllcorner 5000000\ncellsize 1000\n"


@pytest.mark.fault("an ASCII grid has other values than its header says")
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["1 2 3", "4 5 6 7", "8 9"], "line 7 has 4 values, but ncols is 3"),
        (["1 2 3", "4 5 6", "7 8 9", "10"], "10 values, but ncols x nrows is 3 x 3"),
        (["1 2 3", "4 x5 6", "7 8 9"], "line 7: .*x5"),
    ],
)
def test_ascii_grid_that_contradicts_its_header_is_refused(tmp_path, rows, words):
    pytest.importorskip("rasterio")
    (tmp_path / "relief.asc").write_text(ASCII_HEADER + "\n".join(rows))
    with pytest.raises(ReliefError, match=words):
        make_averages(tmp_path / "relief.asc", ENGLAND, 0.5)


def test_raster_without_a_coordinate_system_has_that_of_the_grid(tmp_path, caplog):
    pytest.importorskip("rasterio")
    (tmp_path / "relief.asc").write_text(ASCII_HEADER + "-7 -8\n-9 -1 -2\n-3\n-4 -5 -6\n")
    request = GridRequest((4e5, 4.03e5, 5e6, 5.003e6), 1000.0, crs="EPSG:32633", min_depth=0.0)
    grid = make_grid(tmp_path / "grid.nc", request, tmp_path / "relief.asc")
    np.testing.assert_allclose(grid.depth, [[4, 5, 6], [1, 2, 3], [7, 8, 9]], rtol=1e-9)
    assert "taken as those of EPSG:32633" in caplog.text
    (tmp_path / "flat.asc").write_text(ASCII_HEADER + 3 * "-5 -5 -5\n")
    lon_lat = lon_lat_axes(13.74 + 0.002 * np.arange(4), 45.15 + 0.002 * np.arange(4))
    missing_values = {"z": ("lat lon", np.full((4, 4), np.nan), {"units": "m"})}
    finer = write_netcdf(tmp_path / "finer.nc", lon_lat | missing_values)
    np.testing.assert_allclose(
        make_grid(tmp_path / "b.nc", request, [finer, tmp_path / "flat.asc"]).depth, 5, rtol=1e-9
    )


def test_message_about_an_unusable_raster_names_its_remedy(tmp_path):
    rasterio, path = pytest.importorskip("rasterio"), tmp_path / "relief.tif"
    straight, rotated = rasterio.Affine(0.1, 0, -1, 0, -0.1, 54), rasterio.Affine(0.1, 0.02, -1, 0.02, -0.1, 54)
    for change, words in (
        ({"transform": straight, "units": "ft"}, "gdal_calc.py"), ({"transform": rotated}, "gdalwarp"),
        ({"transform": straight * straight.scale(1e4), "crs": "EPSG:2227"}, "gdalwarp"),
        ({"transform": straight * straight.scale(1e4), "crs": None}, "in a projection that it names.*gdalwarp"),
        ({"transform": straight}, ""),
    ):  # fmt: skip
        meta = {"driver": "GTiff", "crs": "EPSG:4326", "dtype": "float32", "count": 1} | change
        units = meta.pop("units", "")
        with rasterio.open(path, "w", height=50, width=50, **meta) as raster:
            raster.write(np.full((1, 50, 50), 40.0, "float32"))
            raster.units = (units,)
        if words:
            with pytest.raises(ReliefError, match=words):
                make_averages(path, ENGLAND, 0.5)
    np.testing.assert_allclose(make_averages(f"{path}:-band_1", ENGLAND, 0.5)[0], 40, rtol=1e-12)
    with pytest.raises(ReliefError, match=f"is all land; .* name it as {path}:-band_1"):
        make_grid(tmp_path / "g.nc", GridRequest(ENGLAND, 0.5), path)


@pytest.mark.parametrize("step", [1 / 240, 0.1, 0.01])
def test_edges_of_cells_on_edges_of_the_relief_give_whole_areas(step):
    for west in np.arange(-170.0, 164.0):
        axis = ReliefAxis(west + (np.arange(round(4 / step)) + 0.5) * step, np.arange(round(4 / step)))
        cell_edges = np.linspace(west + 0.2 * (west % 3), west + 3.7, round((3.7 - 0.2 * (west % 3)) / 0.1) + 1)
        overlaps, _ = overlap_weights(SimpleNamespace(x=axis, path="relief.nc"), "x", cell_edges)
        np.testing.assert_allclose(overlaps.sum(axis=1), np.diff(cell_edges), rtol=1e-9)


ROUGH_HEIGHTS = 1500 * np.random.default_rng(3).standard_normal((len(LAT), len(LON)))


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize(("resolution", "west"), [(2.0, -180.0), (7.5, 12.1)])
def test_volume_and_area_of_the_sea_are_those_of_the_relief(tmp_path, resolution, west):
    """Edges of cells may lie between those of the relief, except at 60 degrees, where the region ends."""
    path, region = write_relief(tmp_path, ROUGH_HEIGHTS), (west, west + 360, -60, 60)
    depth, sea_fraction, area, _, height = make_averages(path, region, resolution)
    inside = np.abs(LAT) < 60
    relief_area = 6371e3**2 * np.radians(2) * np.diff(np.sin(np.radians(np.arange(-90, 91, 2))))[inside, None]
    z, is_sea = ROUGH_HEIGHTS[inside], ROUGH_HEIGHTS[inside] < 0
    assert (area * sea_fraction).sum() == pytest.approx((relief_area * is_sea).sum(), rel=1e-12)
    assert (area * sea_fraction * depth).sum() == pytest.approx((relief_area * is_sea * -z).sum(), rel=1e-12)
    assert (area * (1 - sea_fraction) * height).sum() == pytest.approx((relief_area * ~is_sea * z).sum(), rel=1e-9)


RELIEF_VARIANTS = {
    "lat": {"values": ROUGH_HEIGHTS[::-1], "lat": LAT[::-1]},
    "lon": {"values": ROUGH_HEIGHTS[:, ::-1], "lon": LON[::-1]},
    "axes": {"values": ROUGH_HEIGHTS.T, "dimensions": "lon lat"},
    "from 0 to 360": {"values": np.roll(ROUGH_HEIGHTS, 90, axis=1), "lon": np.roll(LON, 90) % 360},
    "depth": {"values": -ROUGH_HEIGHTS, "name": "sea_floor", "standard_name": "sea_floor_depth_below_geoid"},
    "topobathy": {"values": ROUGH_HEIGHTS, "name": "topobathy"},
    "kilometres": {"values": ROUGH_HEIGHTS / 1000, "units": "km"},
    "ETOPO without units": {"values": ROUGH_HEIGHTS, "units": ""},
}


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize("variant", RELIEF_VARIANTS)
def test_axes_names_and_units_of_a_relief_may_vary(tmp_path, variant):
    expected = make_averages(write_relief(tmp_path, ROUGH_HEIGHTS), ATLANTIC, 4.3)[:2]
    averages = make_averages(write_relief(tmp_path, **RELIEF_VARIANTS[variant]), ATLANTIC, 4.3)[:2]
    np.testing.assert_allclose(averages, expected, rtol=1e-9, atol=1e-9)


WHOLE_METRES, CRS = np.rint(ROUGH_HEIGHTS), {"grid_mapping_name": "latitude_longitude", "spatial_ref": "GEOGCS[]"}
AXES = {
    "lon": ("lon", LON, {"standard_name": "longitude", "units": "degrees_east", "axis": "X"}),
    "lat": ("lat", LAT, {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"}),
}
ABOVE_SEA_LEVEL = {"standard_name": "height_above_mean_sea_level", "units": "m", "grid_mapping": "crs"}
#: Variables of reliefs as they are downloaded: {name: (dimensions, values, attributes)}.
DOWNLOADED_RELIEFS = {
    "GEBCO": AXES | {"crs": ("", np.array(b"", "S1"), CRS),
                     "elevation": ("lat lon", WHOLE_METRES.astype("i2"), ABOVE_SEA_LEVEL)},
    "EMODnet": AXES | {"elevation": ("lat lon", WHOLE_METRES.astype("f4"), ABOVE_SEA_LEVEL),
                       "value_count": ("lat lon", np.ones(ROUGH_HEIGHTS.shape, "i4"), {"units": "1"})},
    "ETOPO 2022": AXES | {"crs": ("", np.int32(0), CRS),
                          "z": ("lat lon", WHOLE_METRES.astype("f4"), {"standard_name": "height", "units": "meters",
                                                                       "_FillValue": np.float32(-99999)})},
    "ETOPO1 of GMT": {"x": ("x", LON, {"long_name": "Longitude", "units": "degrees"}),
                      "y": ("y", LAT, {"long_name": "Latitude", "units": "degrees"}),
                      "z": ("y x", WHOLE_METRES.astype("i4"), {"long_name": "z", "_FillValue": np.int32(-(2**31))})},
}  # fmt: skip


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("source", DOWNLOADED_RELIEFS)
def test_relief_is_read_as_it_is_downloaded(tmp_path, source):
    expected = make_averages(write_relief(tmp_path, WHOLE_METRES), ATLANTIC, 4.3)[:2]
    averages = make_averages(write_netcdf(tmp_path / "downloaded.nc", DOWNLOADED_RELIEFS[source]), ATLANTIC, 4.3)[:2]
    np.testing.assert_allclose(averages, expected, rtol=1e-12)


def test_scalar_variable_named_height_is_no_relief(tmp_path):
    path = write_relief(tmp_path, ROUGH_HEIGHTS)
    expected, *_ = make_averages(path, ATLANTIC, 4.3)
    with netCDF4.Dataset(path, "a") as data:
        data.createVariable("height", "f8").setncatts({"standard_name": "height", "units": "m"})
    np.testing.assert_array_equal(make_averages(path, ATLANTIC, 4.3)[0], expected)


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize(("step", "tolerance"), [(0.375, 0.0), (1 / 3, 1e-15)], ids=["exact", "rounded"])
def test_depths_do_not_depend_on_the_convention_of_longitudes(tmp_path, step, tolerance):
    """Longitudes begin at -180 or 0, also with the first meridian repeated at the end; the region at 170 or -190."""
    lon = np.round(np.arange(0.0, 360.0, step), 4)
    z = np.random.default_rng(5).normal(-2000.0, 500.0, (len(LAT), len(lon)))
    first = lon.searchsorted(180.0, "right")
    from_west = {"values": np.roll(z, -first, axis=1), "lon": np.concatenate([lon[first:] - 360.0, lon[:first]])}
    repeated = {"values": np.append(z, z[:, :1], axis=1), "lon": np.append(lon, 360.0)}
    expected = make_averages(write_relief(tmp_path, z, lon=lon), (170, 190, -10, 10), 2.5)[0]
    for relief in (from_west, repeated):
        for west in (170, -190):
            depth, *_ = make_averages(write_relief(tmp_path, **relief), (west, west + 20, -10, 10), 2.5)
            np.testing.assert_allclose(depth, expected, rtol=tolerance)


def test_sea_fraction_of_a_file_decides_instead_of_the_sign(tmp_path):
    """Land may be below sea level."""
    z, sea = np.full((len(LAT), len(LON)), -50.0), np.zeros((len(LAT), len(LON)))
    sea[:, :90] = 1
    for fields in ({"sea": sea}, {"land": 1 - sea}):
        depth, sea_fraction, *_ = make_averages(write_relief(tmp_path, z, fields=fields), (-10, 10, -10, 10), 10.0)
        assert sea_fraction.tolist() == [[1, 0]] * 2
        assert depth.tolist() == [[50, 0]] * 2


@pytest.mark.parametrize("pole", [None, (-42.0, 76.0), (100.0, -10.0)])
def test_rotated_or_fine_cells_have_the_relief_at_their_positions(tmp_path, pole):
    """Errors are of order d²/8 for a relief of spacing d, and c²/24 per axis and tan(lat) c²/12 for cells of size c."""
    gradient = np.array([500.0, 300.0, -700.0])

    def height(lon, lat):
        return unit_vectors(lon, lat) @ gradient - 2000

    path, size = write_relief(tmp_path, height(LON[None, :], LAT[:, None])), 5.0 if pole else 0.8
    depth, sea_fraction, _, grid, _ = make_averages(path, (-180, 180, -60, 60), size, pole=pole)
    at = points(grid, "centre", range(grid.ny), range(grid.nx))
    assert (sea_fraction == 1).all()
    reaches_pole = np.broadcast_to(np.abs(at.lat) > 86, depth.shape)  # and thus beyond the last points of the relief
    depth = np.where(reaches_pole, -height(at.lon, at.lat), depth)
    bound = 1000 * (np.radians(2.0) ** 2 / 4 + np.radians(size) ** 2 / 4)
    np.testing.assert_allclose(-depth, height(at.lon, at.lat), rtol=0, atol=bound)


FLAT_HEIGHTS = np.full((len(LAT), len(LON)), -1000.0)


@pytest.mark.fault("a relief that does not cover the region, or has wrong units, missing values, fractions or axes")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lon": np.linspace(0, 90, 180)}, "lon = -20 degrees"), ({"lat": np.linspace(0, 60, 90)}, "lat = -30 degrees"),
        ({"name": "data"}, r"\(data\)"), ({"fields": {"elevation": 0 * FLAT_HEIGHTS}}, r"\(z, elevation\)"),
        ({"units": "feet"}, 'z is in "feet"'),
        ({"values": np.where((LON == 1) & (LAT == -1)[:, None], np.nan, FLAT_HEIGHTS)}, "lon = 1, lat = -1 degrees"),
        ({"name": "Band1", "values": np.where(LON > 90, 10.0, np.where(LON == 1, np.nan, FLAT_HEIGHTS))},
         "Band1 is missing at lon = 1, lat = -29"),
        ({"values": np.where((LON == 1) & (LAT == -1)[:, None], -9999.0, FLAT_HEIGHTS)},
         "at lon = 1, lat = -1 .*_FillValue"),
        ({"values": np.where(LON > 9, -999.0, FLAT_HEIGHTS)},
         "has .* values of -999, .* lon = 11, lat = -.*_FillValue = -999,"),
        ({"values": np.where(LON > 9, -9999.0, FLAT_HEIGHTS - 8705)}, "has .* values of -9999, .*_FillValue = -9999,"),
        ({"fields": {"sea": 0 * FLAT_HEIGHTS + 3}}, "relief.nc: sea is .* lon = -19, lat = -29"),
        ({"lon": np.append(np.arange(179.0), 0.0)}, "lon has missing values, or does not run in one direction"),
        ({"values": np.stack([FLAT_HEIGHTS] * 2), "dimensions": "time lat lon"}, "several records along time"),
    ],
    ids=lambda each: ",".join(each) if isinstance(each, dict) else "",
)  # fmt: skip
def test_relief_that_cannot_be_used_is_refused(tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        make_averages(write_relief(tmp_path, **{"values": FLAT_HEIGHTS} | change), (-20, 20, -30, 30), 5.0)


def test_number_of_a_record_of_a_relief_is_refused(tmp_path):
    with pytest.raises(ReliefError, match="z: a relief has no records; leave out @3"):
        make_averages(write_relief(tmp_path, FLAT_HEIGHTS) + "@3", (-20, 20, -30, 30), 5.0)


X, Y = np.arange(-1.15, 1.2, 0.1), np.arange(48.85, 51.2, 0.1)
#: Where walls of 10 m, narrower than cells of 0.5 degrees, stand between a sea and low ground.
WALLS = {
    "along y": (X > 0.2) & (X < 0.3) & (Y[:, None] > 0),
    "along x": (X > -9) & (Y[:, None] > 50.1) & (Y[:, None] < 50.2),
    "slanting": (np.abs(np.round((X - 0.45 * (Y[:, None] - 50.0)) * 10) - 1) < 1.1),
    "on the edge of cells": (X > -0.1) & (X < 0.1) & (Y[:, None] > 0),
}
for slope in (0.8, 0.6, -0.6):
    WALLS[f"at slope {slope}"] = np.abs(X + 0.05 - slope * (Y[:, None] - 50)) < 0.05 * (1 + abs(slope))


@pytest.mark.fault("the crest of a dike is averaged away in the cells of a grid")
@pytest.mark.parametrize("wall", WALLS)
@pytest.mark.parametrize("has_gap", [False, True])
def test_grid_keeps_crests_and_gaps_of_walls_in_the_relief(tmp_path, wall, has_gap):
    """Water crosses a wall only over its crest, and flows through a gap as if there were no wall."""
    along_x = wall == "along x"
    beyond = (Y[:, None] > 50.1) & (X > -9) if along_x else WALLS[wall].cumsum(axis=1) > 0
    z = np.where(WALLS[wall], 10.0, np.where(beyond, 1.0, -5.0))
    if has_gap:
        z[(slice(None), slice(12, 14)) if along_x else (slice(12, 14), slice(None))] = -1.0
    request = GridRequest((-1, 1, 49, 51), 0.5, land_up_to=20.0)
    grid = make_grid(tmp_path / "g.nc", request, write_relief(tmp_path, z, lon=X, lat=Y))
    bed = np.where(grid.wet | grid.floodable, -grid.depth, 100.0)
    orient = (lambda field: field.T) if along_x else np.asarray
    pass_height = lowest_crossing(orient(bed)[None])[0]
    assert pass_height == pytest.approx(10.0) if not has_gap else pass_height < 5.0


@pytest.mark.fault("a relief of the wrong sign")
@pytest.mark.parametrize(
    ("name", "z", "words"),
    [("elevation", 800.0, "elevation .*down"), ("depth", -800.0, "depth .*up"), ("data", ROUGH_HEIGHTS, "positive")],
)
def test_relief_of_a_wrong_or_unknown_sign_is_refused(tmp_path, name, z, words):
    path = write_relief(tmp_path, np.broadcast_to(z, FLAT_HEIGHTS.shape), name=name)
    with pytest.raises(ReliefError, match=words):
        make_grid(tmp_path / "grid.nc", GridRequest((0, 20, 0, 20), 5.0), f"{path}:{name}")


@pytest.mark.slow
@pytest.mark.fault("a relief of the wrong sign")
def test_relief_with_sea_on_land_of_the_earth_gives_a_warning(tmp_path, caplog):
    """Heights give a warning if their name is depth, and none if it is z."""
    with ExitStack() as stack:
        depth, sea_fraction, _ = interpolate(open_relief(None, stack), *np.meshgrid(LON, LAT))
    z = np.where(sea_fraction > 0.5, -1.0 - depth, 500.0)
    for name, n_warnings in (("z", 0), ("depth", 1)):
        make_grid(tmp_path / f"{name}.nc", GridRequest((-100, 20, -60, 60), 4.0), write_relief(tmp_path, z, name=name))
        assert len(caplog.records) == n_warnings
        assert all('positive = "up"' in record.message for record in caplog.records)
