"""A sea at rest over any relief stays so to the last bit, on a grid of its own file or none."""

import numpy as np
import pytest

import swmodel
from swmodel.files.relief import Wish, make_grid
from swmodel.setup import fields

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """The file of a grid with real coasts."""
    path = tmp_path_factory.mktemp("sea") / "sea.nc"
    make_grid(path, Wish(region=(-30.0, 10.0, 30.0, 60.0), resolution=2.0))
    return path


@pytest.mark.fault("a sea over a real relief moves by itself")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sea_with_real_coasts_stays_at_rest(grid, dtype):
    options = {"grid.file": str(grid), "run.dtype": dtype, "run.executor": "reference"}
    simulation = swmodel.Simulation("sea", options)
    depth, water = (fields.evaluate(simulation.config, name, range(15), range(20)) for name in ("depth", "mask"))
    assert np.ptp(depth[water > 0]) > 4000
    assert 0.2 < water.mean() < 0.8
    simulation.advance(50)
    for name in ("eta", "u", "v"):
        assert (simulation.field(name) == 0).all(), name
