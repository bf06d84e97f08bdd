"""output.nc holds what users' tools expect, on a plane and on a sphere: CF, SGRID, xgcm."""

import cf_xarray  # noqa: F401  gives Datasets the attribute cf
import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.cf_checker import assert_satisfies_cf
from support.field_cases import case_with_fields
from support.marks import night_params
from support.snapshots import NX, RANDOM_FIELDS, make_config, random_field, write_records
from xgcm import Grid

from swmodel import Simulation, load
from swmodel.gradients.quantities import parse_quantity
from swmodel.ocean.coordinates import metrics
from swmodel.ocean.table import VARIABLES
from swmodel.setup.positions.cross_sections import straight_section
from swmodel.setup.positions.gauges import station

DIMENSIONS_OF_LOCATION = {"centre": ("y_c", "x_c"), "u": ("y_c", "x_f"), "v": ("y_f", "x_c"), "corner": ("y_f", "x_f")}
FIELDS = ("h", "u", "v", "eta", "sea_level", "zeta", "q", "speed")
STEPS = (0, 7, 10)
OUTPUT_OPTIONS = {"output__fields": FIELDS, "output__means": ("eta", "u"), "output__institution": "Institute of Waves"}
CONFIG = make_config(physics__beta=2e-11, **OUTPUT_OPTIONS)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("output") / "output.nc"
    write_records(path, CONFIG, STEPS, layout=(2, 1))
    return path


@pytest.fixture
def data(path):
    with xr.open_dataset(path) as data:
        yield data


def land_masks():
    """{location: points without adjacent water}; the domain ends at walls in the south and in the north."""
    wet = np.pad(RANDOM_FIELDS["mask"], 1)
    wet[:, -1] = wet[:, 1]
    centre, east, north, corner = wet[1:-1, 1:-1], wet[1:-1, 2:], wet[2:, 1:-1], wet[2:, 2:]
    n_wet = {"centre": centre, "u": centre + east, "v": centre + north, "corner": centre + east + north + corner}
    return {location: number == 0 for location, number in n_wet.items()}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["plane", *night_params("reduced gravity", "sphere")])
def test_output_satisfies_cf_checker(path, tmp_path, request, case):
    if case == "reduced gravity":
        path = tmp_path / "output.nc"
        write_records(path, make_config(physics__reduced_gravity=True, **OUTPUT_OPTIONS), STEPS)
    assert_satisfies_cf(request.getfixturevalue("sphere") if case == "sphere" else path, case == "sphere")


def test_fields_means_and_times_are_read_as_written(data):
    start, dry = np.datetime64("2000-01-01"), land_masks()
    assert list((data.time.values - start) / np.timedelta64(1, "s")) == [20.0 * step for step in STEPS]
    assert list(data.step.values) == list(STEPS)
    assert ((data.time_bounds.values - start) / np.timedelta64(1, "s")).tolist() == [[0, 0], [0, 140], [140, 200]]
    for name in (*FIELDS, "eta_mean", "u_mean"):
        location, mean = VARIABLES[name.removesuffix("_mean")].location, name.endswith("_mean")
        assert (data[name].dims, data[name].dtype) == (("time", *DIMENSIONS_OF_LOCATION[location]), "float32")
        assert data[name].attrs["cell_methods"] == ("time: mean" if mean else "time: point")
        for record, step in enumerate(STEPS):
            missing = dry[location] | (mean and step == 0)
            expected = np.where(missing, np.nan, random_field(CONFIG, name, step))
            np.testing.assert_array_equal(data[name][record], expected)
    axes = {name: set(coordinates) for name, coordinates in data.cf.axes.items()}
    assert axes == {"X": {"x_c", "x_f"}, "Y": {"y_c", "y_f"}, "T": {"time"}}


def test_constant_fields_are_read_as_written(data):
    land = land_masks()["centre"]
    np.testing.assert_array_equal(data.mask, ~land)
    for name in ("depth", "wind_x", "wind_y"):
        np.testing.assert_array_equal(data[name], np.where(land, np.nan, RANDOM_FIELDS[name]))
    f = CONFIG.physics.f0 + 2e-11 * data.y_f.values[:, None] + np.zeros(NX)
    np.testing.assert_array_equal(data.f, f)


@pytest.mark.fault("the displacement of an interface is mistaken for sea level, or the reverse")
@pytest.mark.parametrize("reduced_gravity", [False, True])
def test_eta_is_sea_level_or_with_reduced_gravity_the_interface(tmp_path, reduced_gravity):
    options = {"physics__reduced_gravity": reduced_gravity, "output__means": ("eta", "sea_level")}
    write_records(tmp_path / "output.nc", make_config(**options), ())
    with netCDF4.Dataset(tmp_path / "output.nc") as data:
        assert data["sea_level_mean"].standard_name == "sea_surface_height_above_geoid"
        assert ("interface" in data["eta_mean"].long_name) == reduced_gravity
        assert ("thickness" in data["depth"].long_name) == reduced_gravity
        for name in ("eta_mean", "depth"):
            assert ("standard_name" in data[name].ncattrs()) != reduced_gravity


SPHERE_OPTIONS = {"grid.kind": "latlon", "grid.nx": 24, "grid.ny": 10, "grid.west": 20.0, "grid.south": 10.0}
SPHERE_OPTIONS |= {"grid.north": 60.0, "run.steps": 4, "output.every_steps": 2, "run.dtype": "float64", "time.dt": 60.0}
SPHERE_OPTIONS |= {"run.executor": "reference", "output.fields": ("h", "u", "v", "zeta", "eta"), "output.means": ("u",)}


def sphere_config():
    fields = dict(zip(("wind_x", "eta", "u"), np.random.default_rng(4).random((3, 10, 24)), strict=True))
    fields["mask"] = np.ones((10, 24))
    fields["mask"][3:6, 5:9] = 0
    return load(type(case_with_fields(fields)), SPHERE_OPTIONS, environ={})


@pytest.fixture(scope="module")
def sphere(tmp_path_factory):
    path = tmp_path_factory.mktemp("sphere") / "run"
    Simulation(sphere_config()).run(path)
    return path / "output.nc"


def test_coordinates_are_longitudes_and_latitudes(sphere):
    with xr.open_dataset(sphere, decode_coords=False) as data:
        for axis, name, units, first, step in (
            ("x", "longitude", "degrees_east", 20.0, 15.0), ("y", "latitude", "degrees_north", 10.0, 5.0),
        ):  # fmt: skip
            centres, faces = data[f"{axis}_c"], data[f"{axis}_f"]
            assert (centres.standard_name, faces.standard_name, centres.units) == (name, name, units)
            np.testing.assert_allclose(centres, first + step * (np.arange(centres.size) + 0.5))
            np.testing.assert_allclose(faces, first + step * (np.arange(faces.size) + 1))
            np.testing.assert_allclose(data[centres.bounds][:, 1], faces)
            np.testing.assert_allclose(data[faces.bounds][:, 0], centres)
        mapping = data[data.eta.grid_mapping]
        assert (mapping.grid_mapping_name, mapping.earth_radius) == ("latitude_longitude", 6371e3)
        names = {"u": "eastward_sea_water_velocity", "v": "northward_sea_water_velocity"}
        names |= {"u_mean": names["u"], "wind_x": "surface_downward_eastward_stress"}
        assert {name: data[name].standard_name for name in names} == names


def test_divergence_by_xgcm_conserves_mass(sphere):
    data, sizes = xr.open_dataset(sphere), metrics(sphere_config().grid, range(10))
    np.testing.assert_allclose(data.cell_area, np.broadcast_to(sizes["area"].centre, (10, 24)))
    np.testing.assert_allclose(data.dx_c, sizes["dx"].centre[:, 0])
    np.testing.assert_allclose(data.dx_f, sizes["dx"].v[:, 0])
    metric_names = {("X",): ["dx_c", "dx_f"], ("Y",): ["dy_c", "dy_f"], ("X", "Y"): ["cell_area"]}
    grid = Grid(data, padding={"X": "periodic", "Y": "fill"}, metrics=metric_names, autoparse_metadata=True)
    u, v, h = data.u.fillna(0), data.v.fillna(0), data.h.fillna(0)
    outflow_x = grid.diff(u * grid.interp(h, "X") * data.dy_c, "X")
    outflow_y = grid.diff(v * grid.interp(h, "Y", padding="fill") * data.dx_f, "Y")
    tendency = (-(outflow_x + outflow_y) / data.cell_area).isel(time=1).where(data.mask == 1)
    assert abs(float((tendency * data.cell_area).sum())) < 1e-9 * float((abs(tendency) * data.cell_area).sum())


def test_stations_and_sections_are_in_degrees_and_metres():
    config = sphere_config()
    gauge = station(config, (-10.0, 40.0))
    assert (gauge.x, gauge.rows.tolist(), gauge.columns.tolist()) == (350.0, [5, 5, 6, 6], [21, 22, 21, 22])
    parallel, meridian = straight_section(config, "y", 30.0, 20.0, 65.0), straight_section(config, "x", 200.0)
    assert parallel.faces.lengths.sum() == pytest.approx(6371e3 * np.cos(np.radians(30)) * np.radians(45))
    assert meridian.faces.lengths.sum() == pytest.approx(6371e3 * np.radians(50))
    assert parse_quantity("eta:-10,40", config).points == ((350.0, 40.0),)
