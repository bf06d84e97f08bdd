"""Fields of grids with a pole of their own on true longitudes and latitudes."""

import numpy as np
import pytest

import swmodel
from swmodel.ocean.rotated import to_earth
from swmodel.plotting import derived, maps
from swmodel.plotting.dataset import open_data
from swmodel.plotting.earth import moved, places
from swmodel.plotting.record import read_map

pytestmark = pytest.mark.slow

POLE = (-42.0, 76.0)


def grid(cells, south=-80.0, west=-180.0, east=180.0):
    """Positions about the pole along x and y, and true longitudes and latitudes [y, x]."""
    step = 360.0 / cells
    x, y = np.arange(west + step / 2, east, step), np.arange(south + step / 2, -south, step)
    return x, y, *to_earth(POLE, x, y[:, None])


def smooth(lon, lat):
    return np.cos(np.radians(lat)) * np.sin(np.radians(2 * lon)) + np.sin(np.radians(lat))


def error(cells):
    x, y, lon, lat = grid(cells)
    to = places(POLE, (x, y), np.ones(lon.shape), x, y)
    found = moved(np.ma.masked_invalid(smooth(lon, lat)), to)
    inside = (to.rows > 0) & (to.rows < y.size - 1)
    return np.abs(found - smooth(to.x, to.y[:, None]))[inside].max()


def test_a_smooth_field_is_what_it_is_there_to_second_order():
    assert error(72) / error(144) == pytest.approx(4.0, rel=0.2)


def test_a_ring_covers_all_longitudes_and_a_region_leaves_what_lies_beyond_it():
    x, y, lon, _ = grid(72)
    ring = places(POLE, (x, y), np.ones(lon.shape), x, y)
    assert np.ptp(ring.x) == pytest.approx(360.0, abs=3.0)
    assert ring.outside is None
    x, y, lon, lat = grid(72, south=-20.0, west=-40.0, east=40.0)
    region = places(POLE, (x, y), np.ones(lon.shape), x, y)
    assert 0.1 < region.outside.mean() < 0.9
    found = moved(np.ma.masked_invalid(smooth(lon, lat)), region)
    np.testing.assert_array_equal(np.ma.getmaskarray(found), region.outside)


def test_angles_go_round_and_a_coast_takes_nothing_from_the_land():
    x, y, lon, _ = grid(72)
    to = places(POLE, (x, y), np.ones(lon.shape), x, y)
    phase = moved(np.ma.masked_invalid(np.where(np.arange(72) % 2, 359.0, 361.0) * np.ones(lon.shape)), to, True)
    assert np.abs((phase + 180.0) % 360.0 - 180.0).max() <= 1.0
    land = np.zeros(lon.shape, bool)
    land[10:14, 20:30] = True
    level = moved(np.ma.masked_where(land, np.where(land, 1e6, 1.0)), to)
    assert level.max() == level.min() == 1.0
    assert np.ma.getmaskarray(level).sum() > 0


def test_arrows_on_a_turned_grid_are_eastward_and_northward(tmp_path):
    band = {"grid.pole": POLE, "grid.west": -40.0, "grid.east": 40.0, "grid.south": -30.0, "grid.north": 30.0}
    band |= {"grid.nx": 40, "grid.ny": 30, "run.steps": 1, "output.fields": ("u", "v"), "run.executor": "reference"}
    fields = {"u": lambda at: 0.3 * np.cos(np.radians(at.lat)), "v": lambda at: 0.0 * at.lat}
    swmodel.Simulation("sea", band, fields=fields).run(tmp_path / "run")
    with open_data(tmp_path / "run" / "output.nc") as data:
        east, north = derived.current(data, 0)
        middle = np.abs(east.x - east.x.mean()) < 15
        expected = 0.3 * np.cos(np.radians(east.y))[:, None] + np.zeros(east.x.size)
        np.testing.assert_allclose(east.values[30:-30, middle], expected[30:-30, middle], rtol=0.02)
        assert np.abs(north.values[30:-30, middle]).max() < 0.01
        figure = maps.picture(data, ["u"], 0)
        assert figure.axes[0].get_xlabel() == "longitude"
        outside = read_map(data, "u", 0).outside
    grey, white = figure.axes[0].images
    np.testing.assert_array_equal(np.ma.getmaskarray(white.get_array()), ~outside)
