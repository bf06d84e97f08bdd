"""Rotated-pole grids: positions, rotation of eastward and northward vectors, output, and input about other poles."""

import netCDF4
import numpy as np
import pytest
import xarray
from support.cf_checker import assert_satisfies_cf
from support.field_cases import case_with_fields

import swmodel
from swmodel import Case, ConfigError, load
from swmodel.ocean.coordinates import axes, points
from swmodel.ocean.rotated_pole import from_earth, to_earth
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError
from swmodel.setup.fields.varying import read_record

POLE = (-42.0, 76.0)
GLOBE = {"grid.kind": "latlon", "grid.nx": 24, "grid.ny": 16, "grid.west": -180.0, "grid.south": -80.0,
         "grid.north": 80.0, "grid.pole": POLE}  # fmt: skip
REFERENCE_OPTIONS = {"run.executor": "reference", "run.dtype": "float64"}
CELLS = np.arange(16), np.arange(24)
RNG = np.random.default_rng(6)
RANDOM_POSITIONS = 360 * RNG.random(50) - 180, 178 * RNG.random(50) - 89


def make_config(source=Case, **changes):
    return load(source, GLOBE | changes, environ={})


def solid_rotation(at):
    """Eastward and northward velocity of a solid rotation about a tilted axis, m/s."""
    lon, lat = np.radians(at.lon), np.radians(at.lat)
    return 3 * np.cos(lat) + 2 * np.sin(lat) * np.cos(lon), -2 * np.sin(lon) + 0 * lat


@pytest.mark.fault("the description of meridian 0 of a rotated-pole grid is wrong")
def test_rotation_of_positions_is_inverted():
    positions = to_earth(POLE, *from_earth(POLE, *RANDOM_POSITIONS))
    np.testing.assert_allclose(positions, RANDOM_POSITIONS, atol=1e-9)
    assert from_earth(POLE, *POLE)[1] == pytest.approx(90)
    np.testing.assert_allclose(to_earth(POLE, 0.0, 0.0), (138.0, 14.0), atol=1e-12)
    lon, lat = from_earth(POLE, 0.0, [90.0, -90.0])  # the meridian 0 runs over the north pole of the Earth
    np.testing.assert_allclose(lat, [POLE[1], -POLE[1]])
    np.testing.assert_allclose(np.cos(np.radians(lon)), [1, -1])


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
def test_vector_components_are_rotated_to_the_axes():
    """Solid rotation about the pole of the grid is along x alone, whatever its direction on the Earth."""
    pole_lon, pole_lat = np.radians(POLE[0]), np.radians(POLE[1])

    def u(at):
        lon, lat = np.radians(at.lon), np.radians(at.lat)
        return np.sin(pole_lat) * np.cos(lat) - np.cos(pole_lat) * np.sin(lat) * np.cos(lon - pole_lon)

    def v(at):
        return np.cos(pole_lat) * np.sin(np.radians(at.lon) - pole_lon) + 0 * at.lat

    config = load(Case, GLOBE, environ={}, fields={"u": u, "v": v})
    zonal = np.cos(np.radians(axes(config.grid).y.first + 10 * CELLS[0][:, None]))
    u_on_grid, v_on_grid = (fields.evaluate(config, name, *CELLS) for name in "uv")
    np.testing.assert_allclose(u_on_grid, np.broadcast_to(zonal, u_on_grid.shape), rtol=0, atol=1e-12)
    np.testing.assert_allclose(v_on_grid, np.zeros((16, 24)), rtol=0, atol=1e-12)


@pytest.mark.fault("components of a vector given in two ways; the output of another run on the same grid")
@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
def test_arrays_and_numbers_are_neither_rotated_nor_mixed_with_functions():
    array = RNG.random((16, 24))
    config = load(Case, GLOBE, environ={}, fields={"u": array})
    np.testing.assert_array_equal(fields.evaluate(config, "u", *CELLS), array)
    assert not fields.evaluate(config, "v", *CELLS).any()
    mixed = {"u": array, "v": lambda at: at.lat}
    number = {"open_boundaries.sides": ["north"], "open_boundaries.current_y": 0.3}
    for options, given in ({}, mixed), (number, {"boundary_current_x": mixed["v"]}):
        with pytest.raises(InputError, match="u and v: |boundary_current_x and "):
            fields.evaluate(load(Case, GLOBE | options, environ={}, fields=given), next(iter(given)), *CELLS)


@pytest.mark.fault("boundary currents are not rotated with the grid")
@pytest.mark.fault("records of boundary data are not rotated on a rotated-pole grid")
def test_boundary_current_is_rotated_like_current_inside():
    """Both steady fields and records in time are rotated."""
    formulas = {}
    for number, (name, axis) in enumerate((("u", "x"), ("v", "y"))):
        formulas[name] = formulas[f"boundary_transport_{axis}"] = lambda at, n=number: solid_rotation(at)[n]
        formulas[f"boundary_current_{axis}"] = lambda at, t, n=number: (1 + t / 1e4) * solid_rotation(at)[n]
    config = load(Case, GLOBE | {"forcing.every": 1e4, "time.dt": 100.0}, environ={}, fields=formulas)
    for name, axis in (("u", "x"), ("v", "y")):
        inside = fields.evaluate(config, name, *CELLS)
        np.testing.assert_array_equal(fields.evaluate(config, f"boundary_transport_{axis}", *CELLS), inside)
        current = read_record(config, f"boundary_current_{axis}", 1, *CELLS)
        np.testing.assert_allclose(current, 2 * inside, rtol=1e-12)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a run of random fields, and the run's last state."""
    random = {"eta": RNG.random((16, 24)), "u": RNG.random((16, 24)), "mask": (RNG.random((16, 24)) > 0.1) * 1.0}
    options = {"run.steps": 3, "time.dt": 60.0} | REFERENCE_OPTIONS
    folder = tmp_path_factory.mktemp("rotated") / "run"
    simulation = swmodel.Simulation(make_config(case_with_fields(random), **options))
    simulation.run(folder)
    return folder, simulation


@pytest.mark.night
def test_output_file_has_positions_of_cells_and_satisfies_cf(run):
    assert_satisfies_cf(run[0] / "output.nc", on_sphere=True)
    grid = run[1].config.grid
    with netCDF4.Dataset(run[0] / "output.nc") as data:
        mapping = data[data["u"].grid_mapping]
        assert mapping.grid_mapping_name == "rotated_latitude_longitude"
        assert (mapping.grid_north_pole_longitude, mapping.grid_north_pole_latitude) == POLE
        for name, values in zip(data["u"].coordinates.split(), points(grid, "u", *CELLS).lon_lat, strict=True):
            np.testing.assert_allclose(data[name][:], values, atol=1e-12)
        angle = np.arctan2(*points(grid, "centre", *CELLS).axis_angle[::-1])
        np.testing.assert_allclose(data["angle"][:], np.degrees(angle), atol=1e-9)


@pytest.mark.slow
@pytest.mark.fault("components of a vector given in two ways; the output of another run on the same grid")
def test_output_on_same_grid_is_read_to_the_bit(run):
    """On a grid with another pole it is interpolated (next test)."""
    inputs = {f"input.{name}": f"{run[0] / 'output.nc'}:{name}@-1" for name in ("eta", "u", "v")}
    inputs |= {f"input.{name}": f"{run[0] / 'output.nc'}:{name}" for name in ("depth", "mask")}
    new_simulation = swmodel.Simulation(make_config(**inputs, **REFERENCE_OPTIONS))
    for name in ("u", "v"):
        np.testing.assert_array_equal(new_simulation.field(name), run[1].field(name))


@pytest.mark.fault("records of boundary data are not rotated on a rotated-pole grid")
@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
@pytest.mark.slow
@pytest.mark.parametrize("pole", [(100.0, 60.0), None])
def test_fields_on_another_pole_are_interpolated_to_second_order(tmp_path, pole):
    """The order refers to the spacing of the file; steady fields and records in time are interpolated alike."""
    errors = []
    for nx in (48, 96):
        path = tmp_path / f"run-{nx}"
        resolution = {"grid.nx": nx, "grid.ny": 2 * nx // 3, "run.steps": 1, "time.dt": 1e-3} | REFERENCE_OPTIONS
        formulas = {name: lambda at, n=n: solid_rotation(at)[n] for name, n in (("u", 0), ("v", 1), ("eta", 0))}
        swmodel.Simulation(load(Case, GLOBE | resolution, environ={}, fields=formulas)).run(path)
        target_grid = {"grid.west": 0.0, "grid.east": 60.0, "grid.south": -20.0, "grid.north": 20.0, "grid.pole": pole}
        inputs = {f"input.{name}": f"{path}/output.nc:{name}@0" for name in ("eta", "u", "v")}
        current = "boundary_current_x", "boundary_current_y"
        inputs |= {f"input.{name}": f"{path}/output.nc:{source}" for name, source in zip(current, "uv", strict=True)}
        inputs |= {"time.start": "2000-01-01", "time.dt": 1e-3}
        config = make_config(**target_grid | inputs | {"grid.periodic_x": False})
        exact = load(Case, GLOBE | target_grid | {"grid.periodic_x": False}, environ={}, fields=formulas)
        interpolated = {name: fields.evaluate(config, name, *CELLS) for name in formulas}
        for name, source in zip(current, "uv", strict=True):
            np.testing.assert_array_equal(read_record(config, name, 0, *CELLS), interpolated[source])
        errors.append(max(np.abs(interpolated[name] - fields.evaluate(exact, name, *CELLS)).max() for name in formulas))
    assert errors[0] < 0.05
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)


@pytest.mark.fault("fields or vectors about another pole do not arrive at the places and axes of the grid")
def test_arrays_of_vectors_on_geographic_coordinates_are_refused():
    """They would be taken along the axes of the grid; a scalar on geographic coordinates is accepted."""
    coordinates = {"lat": np.arange(-90.0, 91, 5), "lon": np.arange(-180.0, 180, 5)}
    values = xarray.DataArray(np.zeros((37, 72)), coordinates, ("lat", "lon"))
    values["lat"].attrs["units"], values["lon"].attrs["units"] = "degrees_north", "degrees_east"
    load(Case, GLOBE, environ={}, fields={"eta": values})
    with pytest.raises(ConfigError, match="fields: u: .*pole"):
        load(Case, GLOBE, environ={}, fields={"u": values, "v": values})
