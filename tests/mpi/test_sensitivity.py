"""Sensitivities on two blocks equal those on one."""

import netCDF4
import numpy as np
import pytest
from support.rank_commands import run_on_ranks

pytestmark = [pytest.mark.mpi, pytest.mark.night]

SETTINGS = ("grid.nx=13", "grid.ny=11", "grid.dx=100e3", "grid.dy=200e3", "physics.viscosity=1e4")
SIZE_OPTIONS = [word for setting in SETTINGS for word in ("-s", setting)]
SIZE_OPTIONS += ["-s", 'output.sections=[{name="slant", start=[3e5, 4e5], end=[10e5, 18e5]}]']
CONTROLS = ("eta", "u", "v", "depth", "wind_x", "linear_drag", "viscosity")


def contents(path):
    with netCDF4.Dataset(path) as data:
        data.set_auto_mask(False)
        return {name: (data[name][...], str(data[name].__dict__)) for name in data.variables}


@pytest.mark.parametrize(
    ("of", "nproc", "where"),
    [
        (["transport:slant", "--mean"], 2, ["--layout", "1x2"]),
        (["sea_level:6e5,1.1e6"], 1, ["--layout", "2x1", "--transport", "sharded", "--devices", "2"]),
    ],
)
def test_two_blocks_give_sensitivity_of_one(ranks, tmp_path, of, nproc, where):
    """For a section across both blocks and for a gauge; on ranks, and on devices of one process."""
    options = *SIZE_OPTIONS, *(f"--to={name}" for name in CONTROLS), "--steps=30", "--dtype=float64"
    line = ["sensitivity", "double_gyre", *options]
    line += ["--of", *of]
    run_on_ranks(ranks, 1, *line, "--output", tmp_path / "one")
    run_on_ranks(ranks, nproc, *line, *where, "--output", tmp_path / "two")
    one, two = (contents(tmp_path / name / "sensitivity.nc") for name in ("one", "two"))
    assert two.keys() == one.keys()
    for name, (values, attributes) in one.items():
        tolerance = 1e-12 * np.abs(values[values < 9e36]).max(initial=0)
        np.testing.assert_allclose(two[name][0], values, rtol=1e-12, atol=tolerance, err_msg=name)
        assert two[name][1] == attributes
    assert (tmp_path / "two" / "sensitivity.png").exists()
