"""Grids with a pole of their own: places, directions, f, and what is given eastward and northward."""

import netCDF4
import numpy as np
import pytest
import xarray
from support.cf_checker import checked
from support.made_cases import case_of

import swmodel
from swmodel import Case, load
from swmodel.config import ConfigError
from swmodel.ocean.coordinates import axes, points
from swmodel.ocean.rotated import from_earth, to_earth, turn
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError
from swmodel.setup.fields.varying import record
from swmodel.setup.setup import coriolis

pytestmark = pytest.mark.slow

POLE = (-42.0, 76.0)
GLOBE = {"grid.kind": "latlon", "grid.nx": 24, "grid.ny": 16, "grid.west": -180.0, "grid.south": -80.0,
         "grid.north": 80.0, "grid.pole": POLE}  # fmt: skip
ALL = np.arange(16), np.arange(24)
RNG = np.random.default_rng(6)
PLACES = 360 * RNG.random(50) - 180, 178 * RNG.random(50) - 89


def config_of(source=Case, **changes):
    return load(source, GLOBE | changes, environ={})


def eastward_flow(at):
    """A smooth vector field of the sphere, that of solid rotation about a slanted axis: eastward and northward, m/s."""
    lon, lat = np.radians(at.lon), np.radians(at.lat)
    return 3 * np.cos(lat) + 2 * np.sin(lat) * np.cos(lon), -2 * np.sin(lon) + 0 * lat


@pytest.mark.fault("the description of meridian 0 of a grid with its own pole is wrong")
def test_places_come_back_and_the_pole_is_the_pole():
    back = to_earth(POLE, *from_earth(POLE, *PLACES))
    np.testing.assert_allclose(back, PLACES, atol=1e-9)
    assert from_earth(POLE, *POLE)[1] == pytest.approx(90)
    np.testing.assert_allclose(to_earth(POLE, 0.0, 0.0), (138.0, 14.0), atol=1e-12)
    lon, lat = from_earth(POLE, 0.0, [90.0, -90.0])  # the meridian 0 runs over the north pole of the Earth
    np.testing.assert_allclose(lat, [POLE[1], -POLE[1]])
    np.testing.assert_allclose(np.cos(np.radians(lon)), [1, -1])


@pytest.mark.parametrize("pole", [POLE, (100.0, -20.0)])
def test_the_x_axis_is_turned_from_east_as_places_along_it_move(pole):
    lon, lat, step = PLACES[0], 0.8 * PLACES[1], 1e-4
    (west_lon, west_lat), (east_lon, east_lat) = (to_earth(pole, lon + way * step, lat) for way in (-1, 1))
    along = (east_lon - west_lon + 180) % 360 - 180
    east, north = along * np.cos(np.radians(to_earth(pole, lon, lat)[1])), east_lat - west_lat
    size = np.hypot(east, north)
    np.testing.assert_allclose(turn(pole, lon, lat), (east / size, north / size), atol=1e-6)
    np.testing.assert_allclose(size, 2 * step * np.cos(np.radians(lat)), rtol=1e-5)


def test_f_is_that_of_the_true_latitude_of_each_corner():
    config = config_of()
    at = points(config.grid, "corner", *ALL)
    lat = np.broadcast_to(at.lat, (16, 24))
    assert np.ptp(lat, axis=1).min() > 15
    np.testing.assert_allclose(coriolis(config, *ALL), 2 * 7.292115e-5 * np.sin(np.radians(lat)), rtol=1e-12)


class Flowing(Case):
    """`eastward_flow` inside and outside; the current outside grows in time."""

    def u(self, config, at):
        return eastward_flow(at)[0]

    def v(self, config, at):
        return eastward_flow(at)[1]

    def outside_transport_x(self, config, at):
        return self.u(config, at)

    def outside_transport_y(self, config, at):
        return self.v(config, at)

    def outside_current_x(self, config, at, t):
        return (1 + t / 1e4) * self.u(config, at)

    def outside_current_y(self, config, at, t):
        return (1 + t / 1e4) * self.v(config, at)


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize("how", ["functions", "file"])
def test_eastward_and_northward_components_are_turned_to_the_axes(how, tmp_path):
    """Solid rotation about the pole of the grid is along x alone, whatever it is called on the Earth."""
    up = np.radians(POLE[0]), np.radians(POLE[1])

    def u(at):
        lon, lat = np.radians(at.lon), np.radians(at.lat)
        return np.sin(up[1]) * np.cos(lat) - np.cos(up[1]) * np.sin(lat) * np.cos(lon - up[0])

    def v(at):
        return np.cos(up[1]) * np.sin(np.radians(at.lon) - up[0]) + 0 * at.lat

    config, near = load(Case, GLOBE, environ={}, fields={"u": u, "v": v}), 1e-12
    if how == "file":
        on_degrees(tmp_path / "flow.nc", u=u, v=v)
        config, near = config_of(**{f"input.{name}": f"{tmp_path / 'flow.nc'}:{name}" for name in "uv"}), 2e-3
    zonal = np.cos(np.radians(axes(config.grid).y.first + 10 * ALL[0][:, None]))
    ours, across = (fields.evaluate(config, name, *ALL) for name in "uv")
    np.testing.assert_allclose(ours, np.broadcast_to(zonal, ours.shape), rtol=0, atol=near)
    np.testing.assert_allclose(across, np.zeros((16, 24)), rtol=0, atol=near)


def on_degrees(path, **functions):
    """A file of functions of at.lon and at.lat on a true grid of two degrees."""

    class At:
        lon, lat = np.arange(-180.0, 180, 2), np.arange(-90.0, 91, 2)[:, None]

    with netCDF4.Dataset(path, "w") as data:
        for name, values, units in (("lon", At.lon, "degrees_east"), ("lat", At.lat[:, 0], "degrees_north")):
            data.createDimension(name, len(values))
            data.createVariable(name, "f8", (name,)).units = units
            data[name][:] = values
        for name, function in functions.items():
            data.createVariable(name, "f8", ("lat", "lon")).units = {"depth": "m"}.get(name, "m s-1")
            data[name][:] = function(At)


@pytest.mark.fault("components of a vector given in two ways; the output of another run on the same grid")
@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
def test_tables_lie_along_the_axes_and_are_not_turned_nor_mixed_with_what_is():
    table = RNG.random((16, 24))
    config = load(Case, GLOBE, environ={}, fields={"u": table})
    np.testing.assert_array_equal(fields.evaluate(config, "u", *ALL), table)
    assert not fields.evaluate(config, "v", *ALL).any()
    mixed = load(Case, GLOBE, environ={}, fields={"u": table, "v": lambda at: at.lat})
    with pytest.raises(InputError, match="u and v: must be turned to the pole of the grid"):
        fields.evaluate(mixed, "u", *ALL)


@pytest.mark.fault("currents outside are not turned with the grid")
@pytest.mark.fault("records outside open sides are not turned with a grid that has a pole of its own")
def test_what_flows_outside_open_sides_is_turned_as_what_flows_inside():
    """Steady, and in time."""
    config = config_of(Flowing, **{"forcing.every": 1e4, "time.dt": 100.0})
    for name, axis in (("u", "x"), ("v", "y")):
        inside = fields.evaluate(config, name, *ALL)
        np.testing.assert_array_equal(fields.evaluate(config, f"outside_transport_{axis}", *ALL), inside)
        np.testing.assert_allclose(record(config, f"outside_current_{axis}", 1, *ALL), 2 * inside, rtol=1e-12)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a run of random fields, and the run's last state."""
    random = {"eta": RNG.random((16, 24)), "u": RNG.random((16, 24)), "mask": (RNG.random((16, 24)) > 0.1) * 1.0}
    options = {"run.steps": 3, "time.dt": 60.0, "run.executor": "reference", "run.dtype": "float64"}
    folder = tmp_path_factory.mktemp("rotated") / "run"
    simulation = swmodel.Simulation(config_of(case_of(random), **options))
    simulation.run(folder)
    return folder, simulation


@pytest.mark.night
def test_the_file_of_a_run_says_where_its_cells_are_and_satisfies_the_cf_checker(run):
    errors, _ = checked(run[0] / "output.nc")
    unknown = "grid_topology is not a valid cf_role", "requires exactly one variable with standard_name"
    assert [error for error in errors if not any(words in error for words in unknown)] == []
    with netCDF4.Dataset(run[0] / "output.nc") as data:
        mapping, at = data[data["u"].grid_mapping], points(run[1].config.grid, "u", *ALL)
        assert mapping.grid_mapping_name == "rotated_latitude_longitude"
        assert (mapping.grid_north_pole_longitude, mapping.grid_north_pole_latitude) == POLE
        assert data["u"].standard_name == "sea_water_x_velocity"  # along x, not eastward
        for name, values in zip(data["u"].coordinates.split(), at.degrees, strict=True):
            np.testing.assert_allclose(data[name][:], values, atol=1e-12)
        assert data["angle"].standard_name == "angle_of_rotation_from_east_to_x"
        turned = np.arctan2(*points(run[1].config.grid, "centre", *ALL).turn[::-1])
        np.testing.assert_allclose(data["angle"][:], np.degrees(turned), atol=1e-9)


@pytest.mark.fault("components of a vector given in two ways; the output of another run on the same grid")
def test_a_run_goes_on_from_the_output_of_another_on_the_same_grid_to_the_bit(run):
    """To the bit; about another pole it has what is interpolated (below)."""
    names = {f"input.{name}": f"{run[0] / 'output.nc'}:{name}@-1" for name in ("eta", "u", "v")}
    names |= {f"input.{name}": f"{run[0] / 'output.nc'}:{name}" for name in ("depth", "mask")}
    again = swmodel.Simulation(config_of(**names, **{"run.executor": "reference", "run.dtype": "float64"}))
    for name in ("u", "v"):
        np.testing.assert_array_equal(again.field(name), run[1].field(name))


@pytest.mark.fault("records outside open sides are not turned with a grid that has a pole of its own")
@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
@pytest.mark.parametrize("pole", [None, (100.0, 60.0)])
def test_fields_and_vectors_about_another_pole_are_taken_to_the_places_and_axes_of_the_grid(tmp_path, pole):
    """Of second order in the spacing of the file; steady, in time, and as a run's own file has them."""
    errors = []
    for nx in (48, 96):
        path = tmp_path / f"run-{nx}"
        spaced = {"grid.nx": nx, "grid.ny": 2 * nx // 3, "run.steps": 1, "time.dt": 1e-3, "run.executor": "reference"}
        given = {
            "u": lambda at: eastward_flow(at)[0],
            "v": lambda at: eastward_flow(at)[1],
            "eta": lambda at: eastward_flow(at)[0],
        }
        swmodel.Simulation(load(Case, GLOBE | spaced | {"run.dtype": "float64"}, environ={}, fields=given)).run(path)
        small = {"grid.west": 0.0, "grid.east": 60.0, "grid.south": -20.0, "grid.north": 20.0, "grid.pole": pole}
        inputs = {f"input.{name}": f"{path / 'output.nc'}:{name}@0" for name in ("eta", "u", "v")}
        current = "outside_current_x", "outside_current_y"
        inputs |= {f"input.{name}": f"{path / 'output.nc'}:{of}" for name, of in zip(current, "uv", strict=True)}
        inputs |= {"time.start": "2000-01-01", "time.dt": 1e-3}
        config = config_of(**small | inputs | {"grid.periodic_x": False})
        known = load(Case, GLOBE | small | {"grid.periodic_x": False}, environ={}, fields=given)
        found = {name: fields.evaluate(config, name, *ALL) for name in given}
        for name, of in zip(current, "uv", strict=True):
            np.testing.assert_array_equal(record(config, name, 0, *ALL), found[of])
        errors.append(max(np.abs(found[name] - fields.evaluate(known, name, *ALL)).max() for name in given))
    assert errors[0] < 0.05
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
def test_a_balanced_jet_round_the_earth_stays_to_second_order_on_a_grid_that_is_turned_against_it():
    """A zonal jet between 15 and 75 degrees north; the poles of the grid lie at 10 degrees north and south."""
    lat = np.linspace(15, 75, 20001)
    speed = 40 * np.sin(np.pi * (lat - 15) / 60) ** 2
    turned_lat = np.radians(lat)
    slope = -(2 * 7.292115e-5 * np.sin(turned_lat) + speed * np.tan(turned_lat) / 6371e3) * speed * 6371e3 / 9.81
    level = np.append(0, np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(turned_lat)))
    jet = {
        "eta": lambda at: np.interp(at.lat, lat, level),
        "u": lambda at: np.interp(at.lat, lat, speed),
        "v": lambda at: 0 * at.lat,
    }
    errors = []
    for nx in (24, 48):
        options = GLOBE | {"grid.nx": nx, "grid.ny": 2 * nx // 3, "grid.pole": (30.0, 10.0), "physics.depth": 5000.0}
        options |= {"time.stepper": "rk4", "time.cfl": 0.8, "run.executor": "reference", "run.dtype": "float64"}
        simulation = swmodel.Simulation(load(Case, options, environ={}, fields=jet))
        start = [simulation.field(name).copy() for name in "uv"]
        simulation.advance(round(0.5 * 86400 / simulation.dt))
        errors.append(sum(((simulation.field(n) - s) ** 2).mean() for n, s in zip("uv", start, strict=True)) ** 0.5)
    assert errors[1] / 40 < 0.015
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.35)


@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
def test_an_array_of_a_vector_on_true_degrees_is_refused_as_arrays_are_not_turned():
    """It was taken along the axes of the grid; a scalar on true degrees goes to its places."""
    degrees = {"lat": np.arange(-90.0, 91, 5), "lon": np.arange(-180.0, 180, 5)}
    values = xarray.DataArray(np.zeros((37, 72)), degrees, ("lat", "lon"))
    for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
        values[name].attrs["units"] = units
    load(Case, GLOBE, environ={}, fields={"eta": values})
    with pytest.raises(ConfigError, match="fields: u: .* different poles"):
        load(Case, GLOBE, environ={}, fields={"u": values, "v": values})
