"""Fields that pictures compute equal those that the model would have written, at every coast and wall.

Fields of rotated-pole grids are drawn on true longitudes and latitudes.
"""

import shutil

import netCDF4
import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.restarts import renew_header_checksum

import swmodel
from swmodel.ocean.derived import DERIVED, POTENTIALS
from swmodel.ocean.rotated_pole import to_earth
from swmodel.plotting import PlotError, derived, maps
from swmodel.plotting.dataset import open_data
from swmodel.plotting.field_map import read_map
from swmodel.plotting.rotated_pole import interpolate_to_map, make_map_points

pytestmark = pytest.mark.slow

NY, NX = 7, 9
POLE = (-42.0, 76.0)
#: All fields but the potentials, which are not defined with land.
STORED = tuple(name for name in DERIVED if name not in (*POTENTIALS, "wet"))
#: Fields that pictures compute here.
COMPUTED = ("zeta", "q", "speed", "eta", "kinetic_energy", "okubo_weiss")


def write_random_run(folder, dtype="float64", sides=()):
    """The file with the fields STORED of a random run with islands, in a channel or with open boundaries."""
    values = random_fields(NY, NX, seed=5, amplitude=0.3)
    values["mask"][6, 0] = values["mask"][2:4, 3] = 0.0
    options = {"grid__periodic_x": not sides, "grid__periodic_y": False, "physics__slip": "no"}
    options |= {"open_boundaries__sides": sides, "open_boundaries__level": 0.4 if sides else 0.0}
    options |= {"run__executor": "reference", "run__steps": 2, "run__dtype": dtype, "output__fields": STORED}
    swmodel.Simulation(configuration(NY, NX, values, **options)).run(folder)
    return folder / "output.nc"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_random_run(tmp_path_factory.mktemp("random") / "run")


def copy_without_fields(file, folder, *names):
    """A copy of a file in a folder, in which the fields `names` are renamed to old_..."""
    copy = shutil.copy(file, folder / "part.nc")
    with netCDF4.Dataset(copy, "a") as data:
        for name in names:
            data.renameVariable(name, f"old_{name}")
    renew_header_checksum(copy)
    return copy


@pytest.mark.fault("a picture shows a coast along an open boundary, or other fields than the run's")
@pytest.mark.parametrize(("dtype", "sides"), [("float32", ()), ("float64", ("west", "north"))], ids=["channel", "open"])
def test_computed_fields_are_those_the_model_writes(tmp_path, dtype, sides):
    """Maps leave out the boundary rows, because a picture would show a coast along them."""
    file = write_random_run(tmp_path / "run", dtype, sides)
    rows, columns = slice("south" in sides, NY - ("north" in sides)), slice("west" in sides, NX - ("east" in sides))
    with open_data(copy_without_fields(file, tmp_path, *COMPUTED)) as data:
        assert set(derived.derivable_fields(data)) == set(COMPUTED)
        assert derived.read_or_derive(data, "eta").domain == derived.read_or_derive(data, "u").domain
        for name in derived.derivable_fields(data):
            computed, stored = derived.read_or_derive(data, name), data[f"old_{name}"]
            values = stored[-1, rows, columns]
            np.testing.assert_array_equal(np.ma.getmaskarray(computed.values), np.ma.getmaskarray(values))
            error = np.abs(computed.values - values).max() / np.abs(values).max()
            assert error < 4 * np.finfo(dtype).eps, name
            for attribute in ("long_name", "units", "location"):
                assert getattr(computed, attribute) == getattr(stored, attribute)
            along = zip((computed.y, computed.x), stored.dimensions[-2:], (rows, columns), strict=True)
            for positions, dimension, indices in along:
                np.testing.assert_array_equal(positions, data[dimension][indices])


def test_thickness_is_computed_from_sea_level_and_depth(file, tmp_path):
    with open_data(copy_without_fields(file, tmp_path, "h", "q")) as data:
        for name in ("h", "q"):
            np.testing.assert_allclose(derived.read_or_derive(data, name).values, data[f"old_{name}"][-1], rtol=1e-12)
    for missing, name in (("u speed", "speed"), ("h eta q", "q"), ("", "streamfunction"), ("f zeta", "zeta")):
        partial_file = copy_without_fields(file, tmp_path, *missing.split())
        with open_data(partial_file) as data, pytest.raises(PlotError, match=f'"{name}"'):
            derived.read_or_derive(data, name)


def test_arrows_are_means_of_velocities_on_both_sides_of_cells(file):
    with open_data(file) as data:
        u, v = derived.read_current(data)
        faces_u, faces_v = (np.ma.filled(data[name][-1], 0.0) for name in "uv")
    west, south = np.roll(faces_u, 1, axis=1), np.vstack([np.zeros(NX), faces_v[:-1]])
    water = ~np.ma.getmaskarray(u.values)
    np.testing.assert_allclose(u.values[water], ((faces_u + west) / 2)[water])
    np.testing.assert_allclose(v.values[water], ((faces_v + south) / 2)[water])


def rotated_positions(cells, south=-80.0, west=-180.0, east=180.0):
    """Longitudes and latitudes about the pole, and geographic ones [y, x]."""
    step = 360.0 / cells
    x, y = np.arange(west + step / 2, east, step), np.arange(south + step / 2, -south, step)
    return x, y, *to_earth(POLE, x, y[:, None])


def smooth_field(lon, lat):
    return np.cos(np.radians(lat)) * np.sin(np.radians(2 * lon)) + np.sin(np.radians(lat))


def test_smooth_field_is_interpolated_to_second_order():
    errors = []
    for cells in (72, 144):
        x, y, lon, lat = rotated_positions(cells)
        map_points = make_map_points(POLE, (x, y), np.ones(lon.shape), x, y)
        interpolated = interpolate_to_map(np.ma.masked_invalid(smooth_field(lon, lat)), map_points)
        within = (map_points.rows > 0) & (map_points.rows < y.size - 1)
        errors.append(np.abs(interpolated - smooth_field(map_points.x, map_points.y[:, None]))[within].max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_arrows_on_rotated_grid_are_eastward_and_northward(tmp_path):
    grid = {"grid.pole": POLE, "grid.west": -40.0, "grid.east": 40.0, "grid.south": -30.0, "grid.north": 30.0}
    grid |= {"grid.nx": 40, "grid.ny": 30, "run.steps": 1, "output.fields": ("u", "v"), "run.executor": "reference"}
    fields = {"u": lambda at: 0.3 * np.cos(np.radians(at.lat)), "v": lambda at: 0.0 * at.lat}
    swmodel.Simulation("sea", grid, fields=fields).run(tmp_path / "run")
    with open_data(tmp_path / "run" / "output.nc") as data:
        east, north = derived.read_current(data, 0)
        middle = np.abs(east.x - east.x.mean()) < 15
        expected = 0.3 * np.cos(np.radians(east.y))[:, None] + np.zeros(east.x.size)
        np.testing.assert_allclose(east.values[30:-30, middle], expected[30:-30, middle], rtol=0.02)
        assert np.abs(north.values[30:-30, middle]).max() < 0.01
        figure = maps.draw_fields(data, ["u"], 0)
        assert figure.axes[0].get_xlabel() == "longitude"
        outside = read_map(data, "u", 0).outside_grid
    grey, white = figure.axes[0].images
    np.testing.assert_array_equal(np.ma.getmaskarray(white.get_array()), ~outside)
