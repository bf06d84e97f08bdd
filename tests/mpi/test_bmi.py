"""A component on several processes has the bits of one: each holds its block."""

import re

import numpy as np
import pytest

pytestmark = [pytest.mark.mpi, pytest.mark.night]

pytest.importorskip("bmipy", reason='needs bmipy: pip install ".[bmi]"')

SEA = """
case.name = "rest"
grid = {nx = 23, ny = 11}
time.dt = 15.0
run = {executor = "native", dtype = "float32", layout = "LAYOUT"}
"""


def fields(mpiexec, folder, layout):
    """The state at the end of the program on a layout, {name: [y, x]}."""
    folder.mkdir()
    (folder / "sea.toml").write_text(SEA.replace("LAYOUT", layout))
    rows, columns = map(int, layout.split("x"))
    mpiexec("coupled.py", rows * columns, folder / "sea.toml", folder)
    blocks = {tuple(map(int, re.findall(r"\d+", path.stem))): np.load(path) for path in folder.glob("*.npz")}
    ys, xs = (sorted({place[axis] for place in blocks}) for axis in (0, 1))
    return {name: np.block([[blocks[y, x][name] for x in xs] for y in ys]) for name in "huv"}


@pytest.mark.promise("the Basic Model Interface is the model")
@pytest.mark.parametrize("layout", ["2x1", "1x2"])
def test_two_processes_have_the_bits_of_one(mpiexec, tmp_path, layout):
    alone, divided = fields(mpiexec, tmp_path / "one", "1x1"), fields(mpiexec, tmp_path / "two", layout)
    assert np.ptp(alone["u"]) > 0
    for name, values in alone.items():
        np.testing.assert_array_equal(divided[name], values)
