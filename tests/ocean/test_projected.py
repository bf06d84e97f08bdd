"""Projected grids: positions, f, directions, files in any projection, reliefs, output for GDAL, and gauges."""

import netCDF4
import numpy as np
import pyproj
import pytest
import rasterio
from scipy.interpolate import RegularGridInterpolator
from support.command import invoke_swmodel
from support.netcdf import lon_lat_axes, write_netcdf

from swmodel import ConfigError, Simulation, load
from swmodel.files.relief import GridRequest, ReliefError, make_grid
from swmodel.ocean.coordinates import points
from swmodel.ocean.table import EASTWARD_NAMES, variable_of
from swmodel.plotting.export import export
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError
from swmodel.setup.positions.gauges import make_gauges
from swmodel.setup.setup import coriolis, setup_of

WEST, SOUTH, STEP, NY, NX = 4e5, 5.4e6, 500.0, 10, 20
GRID = {"grid.crs": "EPSG:32633", "grid.easting": WEST, "grid.northing": SOUTH, "grid.nx": NX, "grid.ny": NY,
        "grid.dx": STEP, "grid.dy": STEP, "grid.periodic_x": False}  # fmt: skip
ROWS, COLUMNS = np.arange(NY), np.arange(NX)
X, Y = WEST + STEP * (COLUMNS + 0.5), SOUTH + STEP * (ROWS[:, None] + 0.5)
TO_LON_LAT = pyproj.Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True)


def make_config(case="rest", **changes):
    return load(case, GRID | changes, environ={})


def evaluate(config, name="depth"):
    """A field of a configuration on the whole grid."""
    return fields.evaluate(config, name, ROWS, COLUMNS)


def lon_lat(x, y):
    """Longitudes and latitudes by pyproj, [y, x], at eastings and northings that broadcast."""
    return TO_LON_LAT.transform(*np.broadcast_arrays(x, y))


def height(x, y):
    """A sloping sea floor, m, above sea level, at eastings and northings of EPSG:32633."""
    return -200 + 1e-3 * (x - WEST) + 2e-3 * (y - SOUTH)


def write_sea_floor(path, crs="EPSG:32633", west=WEST - 5e3, north=SOUTH + 25e3, step=100.0, cells=400, sign=1):
    """A raster of `height`, with pixels in any projection."""
    x, y = np.meshgrid(west + step * (np.arange(cells) + 0.5), north - step * (np.arange(cells) + 0.5))
    profile = {"driver": "GTiff", "count": 1, "dtype": "float64", "height": cells, "width": cells, "crs": crs}
    with rasterio.open(path, "w", transform=rasterio.Affine(step, 0, west, 0, -step, north), **profile) as raster:
        raster.write(sign * height(*in_utm(crs, x, y)), 1)
    return str(path)


def in_utm(crs, x, y):
    return pyproj.Transformer.from_crs(crs, "EPSG:32633", always_xy=True).transform(*np.broadcast_arrays(x, y))


def write_wind(path, angle=0.0):
    """Options for a file with a wind stress of 0.1 Pa towards an angle from east, rad, on longitudes and latitudes."""
    variables = lon_lat_axes(np.arange(13.0, 15.0, 0.1), np.arange(48.0, 50.0, 0.1))
    for name, component in (("east", np.cos(angle)), ("north", np.sin(angle))):
        variables[name] = ("lat lon", np.full((20, 20), 0.1 * component), {"units": "Pa"})
    file = write_netcdf(path, variables)
    return {"input.wind_x": f"{file}:east", "input.wind_y": f"{file}:north"}


def angle_of_x_axis(location):
    """The angle from eastward to the x axis, degrees, by a geodesic from each point to another 50 m along x."""
    at = points(make_config().grid, location, ROWS, COLUMNS)
    here, there = lon_lat(at.x, at.y), lon_lat(at.x + 50.0, at.y)
    return 90.0 - pyproj.Geod(ellps="WGS84").inv(*here, *there)[0]


@pytest.mark.parametrize("location", ["centre", "u", "v", "corner"])
def test_points_have_the_longitudes_and_latitudes_of_pyproj(location):
    at = points(make_config().grid, location, ROWS, COLUMNS)
    east, north = {"centre": (0, 0), "u": (0.5, 0), "v": (0, 0.5), "corner": (0.5, 0.5)}[location]
    np.testing.assert_allclose(at.lon_lat, lon_lat(X + east * STEP, Y + north * STEP), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.degrees(np.arctan2(*at.axis_angle[::-1])), angle_of_x_axis(location), atol=1e-6)


def test_f_follows_latitude_unless_f0_is_set():
    _, latitude = lon_lat(X + STEP / 2, Y + STEP / 2)
    expected = 2 * 7.292115e-5 * np.sin(np.radians(latitude))
    np.testing.assert_allclose(coriolis(make_config("hurricane"), ROWS, COLUMNS), expected, rtol=1e-14)
    with_f0 = make_config(**{"physics.f0": 3e-5})
    np.testing.assert_array_equal(coriolis(with_f0, ROWS, COLUMNS), np.full((NY, 1), 3e-5))


@pytest.mark.fault("a projection that no grid in metres has; a domain that is not on the Earth")
@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"crs": "EPSG:4326"}, "crs", "WGS 84"), ({"crs": "EPSG:2227"}, "crs", "US survey foot"),
        ({"crs": "EPSG:999999"}, "crs", "EPSG:999999"), ({"crs": None}, "easting", "grid.crs"),
        ({"crs": "EPSG:3857", "northing": 6e6}, "easting", "47.[0-9] %"), ({"easting": None}, "easting", "in m"),
        ({"easting": SOUTH, "northing": WEST}, "easting", "exchanged"), ({"easting": 1e9}, "easting", "1000000000"),
        ({"crs": "EPSG:5513", "easting": 5e5, "northing": 1e6}, "easting", "axes"),
        ({"periodic_x": True}, "periodic_x", "false"), ({"origin": "middle"}, "origin", "grid.crs"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_wrong_projections_are_refused(changes, key, words):
    with pytest.raises(ConfigError, match=words) as error:
        make_config(**{f"grid.{name}": value for name, value in changes.items()})
    assert any(line.startswith(f"grid.{key}: ") for line in error.value.problems)


def test_case_for_a_plane_is_refused_and_other_cases_are_named():
    with pytest.raises(ConfigError, match="grid.crs: .*jet.*chile2010.*rest"):
        make_config("jet")


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("swmodel.extras.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pyproj: pip install .*gis"):
        make_config()


@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
def test_wind_on_longitudes_and_latitudes_is_rotated_to_the_axes(tmp_path):
    """Wind from functions and from fields with eastward names is rotated, too; arrays are along the axes."""
    from_file = make_config(**write_wind(tmp_path / "wind.nc", np.radians(20.0)))
    wind = {"wind_x": 0.1 * np.cos(np.radians(20.0)), "wind_y": 0.1 * np.sin(np.radians(20.0))}
    functions = {name: lambda at, value=value: value + 0 * at.lon for name, value in wind.items()}
    attrs = {each: {"units": "Pa", "standard_name": EASTWARD_NAMES[variable_of(each).standard_name]} for each in wind}
    uniform = {each: ("y x", np.full((NY, NX), wind[each]), attrs[each]) for each in wind}
    path = write_netcdf(tmp_path / "axes.nc", uniform)
    by_name = make_config(**{f"input.{each}": f"{path}:{each}" for each in wind})
    for config in (from_file, by_name, load("rest", GRID, environ={}, fields=functions)):
        x, y = evaluate(config, "wind_x"), evaluate(config, "wind_y")
        np.testing.assert_allclose(np.hypot(x, y), 0.1, rtol=1e-12)
        np.testing.assert_allclose(np.degrees(np.arctan2(y, x)), 20.0 - angle_of_x_axis("centre"), atol=1e-6)
    from_arrays = load("rest", GRID, {}, fields={"wind_x": np.full((NY, NX), 0.1), "wind_y": np.zeros((NY, NX))})
    np.testing.assert_array_equal(evaluate(from_arrays, "wind_x"), np.full((NY, NX), 0.1))


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize(
    ("crs", "west", "north"), [("EPSG:32633", WEST - 5e3, SOUTH + 25e3), ("EPSG:32634", -45e3, 5.435e6)]
)
def test_raster_in_any_projection_is_read_at_the_positions_of_the_grid(tmp_path, crs, west, north):
    """It is also read on a grid of longitudes and latitudes."""
    path = write_sea_floor(tmp_path / "depth.tif", crs, west, north, sign=-1)
    np.testing.assert_allclose(evaluate(make_config(**{"input.depth": path})), -height(X, Y), rtol=1e-9)
    sphere = {"grid.kind": "latlon", "grid.west": 13.65, "grid.south": 48.75, "grid.dlon": 0.002, "grid.dlat": 0.002}
    sphere |= {"grid.nx": NX, "grid.ny": NY, "grid.periodic_x": False}
    config = load("rest", sphere | {"input.depth": path}, environ={})
    positions = in_utm("EPSG:4326", *points(config.grid, "centre", ROWS, COLUMNS).lon_lat)
    np.testing.assert_allclose(evaluate(config), -height(*positions), rtol=1e-9)


@pytest.mark.parametrize(
    ("crs", "tilt", "words"), [("", 0.0, ""), ("EPSG:2227", 0.0, "US survey foot"), ("EPSG:32633", 5.0, "rotated")]
)
def test_raster_without_reference_system_is_taken_to_have_that_of_the_grid(tmp_path, caplog, crs, tilt, words):
    """A raster in feet, or one that is rotated, is refused."""
    path = write_sea_floor(tmp_path / "depth.tif", sign=-1)
    with rasterio.open(path, "r+") as raster:
        raster.crs = rasterio.CRS.from_string(crs) if crs else rasterio.CRS()
        raster.transform = rasterio.Affine(100.0, tilt, WEST - 5e3, tilt, -100.0, SOUTH + 25e3)
    config = make_config(**{"input.depth": path})
    if words:
        with pytest.raises(InputError, match=f"depth.tif .* {words}"):
            evaluate(config)
    else:
        np.testing.assert_allclose(evaluate(config), -height(X, Y), rtol=1e-9)
        assert "taken as those of EPSG:32633" in caplog.text


@pytest.mark.fault("a file in metres that lies elsewhere is taken to start at the corner of the grid")
@pytest.mark.parametrize("units", ["m", "km", ""])
def test_file_in_metres_must_cover_the_grid(tmp_path, units):
    """A file that names no projection is taken to be in that of the grid."""
    metres_per_unit = {"km": 1e3}.get(units, 1.0)
    for shift, is_refused in ((0.0, False), (WEST, True)):
        x, y = WEST - shift + 250.0 * np.arange(-2, 44), SOUTH + 250.0 * np.arange(-2, 44)
        variables = {name: (name, at / metres_per_unit, {"units": units}) for name, at in (("x", x), ("y", y))}
        variables["depth"] = ("y x", -height(x + shift, y[:, None]), {"units": "m"})
        inputs = {"input.depth": write_netcdf(tmp_path / "depth.nc", variables)}
        if is_refused:
            with pytest.raises(InputError, match="does not cover the grid, which needs x = 4"):
                evaluate(make_config(**inputs))
            variables["depth"][2]["grid_mapping"] = "map"
            variables["map"] = ("", np.int32(0), {"grid_mapping_name": "no_projection"})
            write_netcdf(tmp_path / "depth.nc", variables)
            with pytest.raises(InputError, match="the projection of depth is not known"):
                evaluate(make_config(**inputs))
        else:
            np.testing.assert_allclose(evaluate(make_config(**inputs)), -height(X, Y))


@pytest.mark.slow
@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("crs", ["EPSG:32633", "EPSG:25833", "EPSG:32634"])
@pytest.mark.parametrize("resolution", [STEP, 70.0])
def test_sloping_relief_is_reproduced_at_centres(tmp_path, crs, resolution):
    """The raster is in the projection of the grid or in another one, and finer or coarser than the cells."""
    corner = (-45e3, 5.435e6) if crs == "EPSG:32634" else (WEST - 5e3, SOUTH + 25e3)
    path = write_sea_floor(tmp_path / "relief.tif", crs, *corner)
    region = (WEST, WEST + 7e3, SOUTH, SOUTH + 3500.0)
    grid = make_grid(tmp_path / "grid.nc", GridRequest(region, resolution, crs="EPSG:32633", min_depth=1.0), path)
    rows, columns = np.arange(grid.grid.ny), np.arange(grid.grid.nx)
    at = points(grid.grid, "centre", rows, columns)
    np.testing.assert_allclose(grid.depth, -height(at.x, at.y), rtol=1e-8)
    config = load("sea", {"grid.file": str(tmp_path / "grid.nc")}, environ={})
    assert (config.grid, config.physics.f0) == (grid.grid, 0.0)
    np.testing.assert_array_equal(fields.evaluate(config, "depth", rows, columns), grid.depth)


@pytest.mark.slow
def test_survey_in_a_projection_is_joined_with_a_relief_in_degrees(tmp_path):
    """The survey is 500 m deeper and ends in the middle of the grid."""
    survey = write_sea_floor(tmp_path / "survey.tif", west=WEST + STEP * NX / 2)
    with rasterio.open(survey, "r+") as raster:
        raster.write(raster.read() - 500.0)
    lon, lat = np.arange(13.0, 14.5, 0.002), np.arange(48.5, 49.1, 0.002)
    variables = lon_lat_axes(lon, lat)
    variables["z"] = ("lat lon", height(*in_utm("EPSG:4326", lon, lat[:, None])), {"units": "m"})
    relief = write_netcdf(tmp_path / "coarse.nc", variables)
    region, files = (WEST, WEST + NX * STEP, SOUTH, SOUTH + NY * STEP), [survey, relief]
    grid = make_grid(tmp_path / "grid.nc", GridRequest(region, STEP, crs="EPSG:32633"), files)
    expected = -height(X, Y) + np.where(X > WEST + STEP * NX / 2, 500.0, 0.0)
    np.testing.assert_allclose(grid.depth, expected, rtol=1e-4)
    with pytest.raises(ReliefError, match="survey.tif does not cover the region, which needs x = 400"):
        make_grid(tmp_path / "other.nc", GridRequest(region, STEP, crs="EPSG:32633"), survey)


def test_storm_and_fault_act_at_their_longitudes_and_latitudes(tmp_path):
    """Both are compared with a fine grid of longitudes and latitudes; the wind is rotated to the projection's axes."""
    track, run_options = tmp_path / "track.csv", {"run.executor": "reference", "run.steps": 1}
    track.write_text("time,lon,lat,wind,pressure,radius\n2021-01-01,10.8,48.9,50,950,30\n2021-01-02,10.9,49,50,950,30")
    fault = {"case.top_lon": 10.8, "case.top_lat": 48.8, "case.top_depth": 2e4, "case.length": 5e4, "case.width": 3e4}
    storm = {"case.track": str(track), "case.coast": 60.0}
    far_west_grid = GRID | {"grid.kind": "plane", "grid.easting": 2e5, "grid.dx": 4e3, "grid.dy": 4e3}
    fine_grid = {"grid.kind": "latlon", "grid.west": 10.0, "grid.south": 48.5, "grid.dlon": 0.01,
                 "grid.dlat": 0.01, "grid.nx": 260, "grid.ny": 110, "grid.periodic_x": False}  # fmt: skip
    results = []
    for grid in (far_west_grid, fine_grid):
        with_fault = load("chile2010", grid | run_options | fault, environ={})
        rows, columns = np.arange(with_fault.grid.ny), np.arange(with_fault.grid.nx)
        uplift = fields.evaluate(with_fault, "uplift", rows, columns)
        with_storm = Simulation("hurricane", grid | run_options | storm)
        wind = with_storm.field("u10") + 1j * with_storm.field("v10")
        results.append((points(with_fault.grid, "centre", rows, columns), uplift, wind))
    (centres, uplift, wind), (fine_centres, *expected) = results
    axes = fine_centres.lat[:, 0], fine_centres.lon[0]
    expected = [RegularGridInterpolator(axes, field)(centres.lon_lat[::-1]) for field in expected]
    np.testing.assert_allclose(uplift, expected[0], rtol=0, atol=2e-3 * np.ptp(uplift))
    cos, sin = centres.axis_angle
    np.testing.assert_allclose(wind, expected[1] * (cos - 1j * sin), rtol=0, atol=0.01 * np.abs(wind).max())
    assert np.abs(sin).max() > 0.03


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a run of the reference, four steps in two parts, and the options of the run."""
    folder = tmp_path_factory.mktemp("projected")
    options = GRID | write_wind(folder / "wind.nc", 0.5) | {"run.executor": "reference", "run.dtype": "float64"}
    options |= {"time.dt": 5.0, "output.every_steps": 2, "output.maxima": ("eta",), "physics.depth": 50.0}
    gauges = ({"name": "A", "lon": 13.7, "lat": 48.77}, {"name": "B", "x": WEST + 5e3, "y": SOUTH + 3e3})
    options["output.stations"] = gauges
    Simulation("rest", options | {"run.steps": 2}).run(folder / "run")
    done = invoke_swmodel("resume", folder / "run", "--steps", 4)
    assert done.exit_code == 0, done.output
    return folder / "run", options


@pytest.mark.promise("files of other programs are read and written as they are")
def test_gdal_reads_positions_of_output_and_export(run, tmp_path):
    export(run[0], tmp_path / "eta.tif", ["eta"])
    expected = rasterio.Affine(STEP, 0, WEST, 0, -STEP, SOUTH + NY * STEP)
    with netCDF4.Dataset(run[0] / "output.nc") as data:
        for source in (f"netcdf:{run[0] / 'output.nc'}:eta", tmp_path / "eta.tif"):
            with rasterio.open(source) as raster:
                assert (raster.crs.to_epsg(), raster.transform) == (32633, expected)
                np.testing.assert_array_equal(raster.read(raster.count)[::-1], data["eta"][-1])
        assert data[data["eta"].grid_mapping].grid_mapping_name == "transverse_mercator"
        assert pyproj.CRS.from_cf(data["crs"].__dict__).to_epsg() == 32633
        np.testing.assert_allclose([data["lon"][:], data["lat"][:]], lon_lat(X, Y))
        assert data["x_c"].standard_name == "projection_x_coordinate"
        assert data["y_c"].standard_name == "projection_y_coordinate"


def test_gauge_is_at_its_longitude_and_measures_eastward(run):
    gauges = make_gauges(setup_of(load("rest", run[1] | {"run.steps": 1}, environ={})))
    np.testing.assert_allclose(gauges.positions[:, 0], TO_LON_LAT.transform(13.7, 48.77, direction="INVERSE"))
    with netCDF4.Dataset(run[0] / "stations.nc") as series, netCDF4.Dataset(run[0] / "output.nc") as data:
        assert series["u"].standard_name == "eastward_sea_water_velocity"
        along_axes = [data["u"][-1, 5:7, 9].mean(), data["v"][-1, 5, 9:11].mean()]
        rotation = np.radians(angle_of_x_axis("corner")[5, 9])
        measured = np.array([series["u"][-1, 1], series["v"][-1, 1]])
    assert np.hypot(*measured) > 0
    assert np.arctan2(*measured[::-1]) == pytest.approx(np.arctan2(*along_axes[::-1]) + rotation, abs=1e-6)
