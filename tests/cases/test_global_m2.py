"""The tide of all oceans: what the Moon gives, drag takes; in size it is that of the Earth."""

from contextlib import ExitStack

import netCDF4
import numpy as np
import pytest

import swmodel
from swmodel.cases import global_m2
from swmodel.files.relief import Wish
from swmodel.files.relief.average import averages
from swmodel.files.relief.make import grid_of
from swmodel.files.relief.source import open_relief
from swmodel.ocean.rotated import from_earth
from swmodel.ocean.terms.outside import LEVEL, parts_of
from swmodel.parallel.decomposition import block
from swmodel.setup import fields
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

#: So much drag that waves die soon.
STRONG = {"physics.linear_drag": 2e-5, "output.every": "5 days", "output.harmonics_from": "4 days", "run.days": 6.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The configuration and the folder of a run at five degrees."""
    folder = tmp_path_factory.mktemp("global_m2") / "run"
    config = swmodel.load("global_m2", STRONG | {"grid.nx": 72, "grid.ny": 34}, environ={})
    swmodel.Simulation(config).run(folder)
    return config, folder


@pytest.mark.night
def test_what_the_moon_gives_drag_takes(run):
    """Over periods of a tide that does not grow any more; to the few per cent that bays as narrow as a cell cost."""
    config, folder = run
    with netCDF4.Dataset(folder / "harmonics.nc") as data:
        data.set_auto_mask(False)
        found = {name: data[name][...] for name in data.variables}
    whole = block(0, (1, 1), config.grid.ny, config.grid.nx)
    grid = setup_of(config).grid(whole, 0)
    wet, area = grid.wet > 0, np.broadcast_to(grid.area.centre, grid.wet.shape)
    given = global_m2.power(config, found["eta_amplitude"][0], found["eta_phase"][0], found["lon"], found["lat"])
    pairs = [[np.where(wet, found[f"{name}_{what}"][0], 0.0) for what in ("amplitude", "phase")] for name in "uv"]
    currents = [[np.where(np.abs(field) < 1e9, field, 0.0) for field in pair] for pair in pairs]  # closed faces
    taken = sum(global_m2.lost(config, grid.depth, *currents))
    given, taken = ((power * area)[wet].sum() for power in (given, taken))
    assert given > 0
    assert taken == pytest.approx(given, rel=0.1)


def test_the_shipped_relief_is_that_of_the_package_and_the_grid_has_it():
    """In whole metres, at the centres of the cells at one degree; land where it is land."""
    config = swmodel.load("global_m2", environ={})
    known = global_m2.relief().depths
    depth, mask = (fields.evaluate(config, name, range(172), range(360)) for name in ("depth", "mask"))
    np.testing.assert_array_equal(mask, known > 0)
    np.testing.assert_allclose(depth[known > 0], known[known > 0], rtol=1e-9)
    wish = Wish(region=(-180.0, 180.0, -86.0, 86.0), resolution=1.0, pole=global_m2.POLE)
    with ExitStack() as stack:
        depths, share, _ = averages(open_relief(None, stack), grid_of(wish))
    assert not (known > 0)[share < 0.5].any()
    np.testing.assert_array_equal(known[known > 0], np.rint(np.maximum(depths, 10.0))[known > 0])


@pytest.mark.fault("the tide of one run differs from the one that drives a region on another grid")
@pytest.mark.night
@pytest.mark.parametrize("pole", [None, (-40.0, -80.0)])
def test_the_tide_drives_a_part_of_the_ocean_on_a_grid_of_its_own_by_one_key(run, tmp_path, pole):
    """The South Atlantic at 2.5 degrees, about the pole of the Earth and another one: as in the run of all oceans."""
    part = {"grid.nx": 16, "grid.ny": 16, "grid.periodic_x": False, "grid.pole": pole, "time.cfl": 0.3}
    part |= STRONG | {"output.harmonics_from": "2 days", "run.days": 4.0, "run.executor": "reference"}
    if pole:  # cells near (20 W, 20 S), which lies 60 degrees from the pole
        lon, lat = from_earth(pole, -20.0, -20.0)
        part |= {"grid.west": lon - 20.0, "grid.east": lon + 20.0, "grid.south": lat - 20.0, "grid.north": lat + 20.0}
    else:
        part |= {"grid.west": -40.0, "grid.east": 0.0, "grid.south": -40.0, "grid.north": 0.0}
    sides = {"open_sides.sides": ["west", "east", "south", "north"], "open_sides.nodal": False}
    whole = part | sides | {"open_sides.tide": str(run[1] / "harmonics.nc"), "tide.ramp": "1 day"}
    config = swmodel.load("global_m2", whole, environ={})
    swmodel.Simulation(config).run(tmp_path / "part")
    with netCDF4.Dataset(tmp_path / "part" / "harmonics.nc") as data:
        found = data["eta_amplitude"][0] * np.exp(1j * np.radians(data["eta_phase"][0]))
    there = [fields.unfilled(config, part, np.arange(16), np.arange(16)) for part in parts_of("M2", LEVEL)]
    known = np.ma.masked_invalid(there[0] + 1j * there[1])
    assert (abs(found - known) ** 2).mean() < 0.01 * (abs(known) ** 2).mean()
