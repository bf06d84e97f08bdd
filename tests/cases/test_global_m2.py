"""The tide of all oceans: what the Moon gives, drag takes; in size it is that of the Earth."""

from contextlib import ExitStack

import netCDF4
import numpy as np
import pytest

import swmodel
from swmodel.cases import global_m2
from swmodel.cli.relief import Wish
from swmodel.cli.relief.average import averages
from swmodel.cli.relief.make import grid_of
from swmodel.cli.relief.source import open_relief
from swmodel.config import fields
from swmodel.config.build import build_grid
from swmodel.parallel.decomposition import block


@pytest.fixture(scope="module")
def tide(tmp_path_factory):
    """The configuration of a run at five degrees with so much drag that waves die soon, and its constants."""
    options = {"grid.nx": 72, "grid.ny": 34, "physics.linear_drag": 2e-5, "output.every": "5 days"}
    options |= {"output.harmonics_from": "4 days", "run.days": 6.0}
    folder = tmp_path_factory.mktemp("global_m2")
    simulation = swmodel.Simulation(swmodel.load("global_m2", options, environ={}))
    simulation.run(folder / "run")
    with netCDF4.Dataset(folder / "run" / "harmonics.nc") as data:
        data.set_auto_mask(False)
        return simulation.config, {name: data[name][...] for name in data.variables}


def test_what_the_moon_gives_drag_takes(tide):
    """Over periods of a tide that does not grow any more; to the few per cent that bays as narrow as a cell cost."""
    config, found = tide
    whole = block(0, (1, 1), config.grid.ny, config.grid.nx)
    grid = build_grid(config, whole, np.float64, 0)
    wet, area = grid.wet > 0, np.broadcast_to(grid.area.centre, grid.wet.shape)
    given = global_m2.power(config, found["eta_M2_amplitude"], found["eta_M2_phase"], found["lon"], found["lat"])
    pairs = [[np.where(wet, found[f"{name}_M2_{what}"], 0.0) for what in ("amplitude", "phase")] for name in "uv"]
    currents = [[np.where(np.abs(field) < 1e9, field, 0.0) for field in pair] for pair in pairs]  # closed faces
    taken = sum(global_m2.lost(config, grid.depth, *currents))
    given, taken = ((power * area)[wet].sum() for power in (given, taken))
    assert given > 0
    assert taken == pytest.approx(given, rel=0.1)


def test_the_shipped_relief_is_that_of_the_package_and_the_grid_has_it():
    """In whole metres, at the centres of the cells at one degree; land where it is land."""
    config = swmodel.load("global_m2", environ={})
    known, rows, columns = global_m2.relief().depths, range(config.grid.ny), range(config.grid.nx)
    assert (fields.evaluate(config, "mask", rows, columns) == (known > 0)).all()
    depth = fields.evaluate(config, "depth", rows, columns)
    np.testing.assert_allclose(depth[known > 0], known[known > 0], rtol=1e-9)
    wish = Wish(region=(-180.0, 180.0, -86.0, 86.0), resolution=1.0, pole=global_m2.POLE)
    with ExitStack() as stack:
        depths, share = averages(open_relief(None, stack), grid_of(wish))
    assert not (known > 0)[share < 0.5].any()
    np.testing.assert_array_equal(known[known > 0], np.rint(np.maximum(depths, 10.0))[known > 0])


def test_the_moon_works_where_the_tide_lags_behind_it():
    """rho g w A H / 2 at the equator where high water comes a quarter of a period after equilibrium's; 0 with it."""
    config = swmodel.load("global_m2", environ={})
    lon = np.array([0.0, 10.0])
    assert global_m2.power(config, 1.0, -2 * lon, lon, 0.0) == pytest.approx(0.0, abs=1e-12)
    expected = 1025 * 9.81 * 2 * np.pi / 44714.16 * 0.242334 * 0.693 / 2
    assert global_m2.power(config, 1.0, 90 - 2 * lon, lon, 0.0) == pytest.approx(expected, rel=1e-6)
