"""A BMI component on several processes, each of which holds a block, has the bits of one process."""

import numpy as np
import pytest
from support.marks import night_params

bmi = pytest.importorskip("swmodel.bmi", reason='needs bmipy: pip install ".[bmi]"')

pytestmark = pytest.mark.mpi

THICKNESS_NAME, STRESS_NAME = "sea_water__depth", "sea_surface_air_flow__x_component_of_shear_stress"
CONFIG_TEXT = """
case.name = "rest"
grid = {nx = 23, ny = 11}
time.dt = 15.0
run = {executor = "native", dtype = "float32", layout = "LAYOUT"}
"""


def coupled_run(layout, path):
    """Set stress and add water through the interface; returns the final whole fields, on the first rank."""
    model = bmi.Model(["wind_x"])
    model.initialize(str(path))
    block, grid = model.simulation.block, model.simulation.config.grid
    here = np.s_[block.y.start : block.y.stop, block.x.start : block.x.stop]
    stress = np.random.default_rng(1).normal(0, 0.2, (4, grid.ny, grid.nx))
    mouth = np.zeros((grid.ny, grid.nx))
    mouth[2, 3] = 0.05
    depth = model.get_value_ptr(THICKNESS_NAME)
    for each in stress:
        model.set_value(STRESS_NAME, each[here])
        depth += mouth[here].ravel()
        model.update_until(model.get_current_time() + 3 * model.get_time_step())
    np.testing.assert_array_equal(depth, model.simulation.state.h.ravel())
    return [model.simulation.transport.gather_rows(np.asarray(field), 0, grid.ny) for field in model.simulation.state]


@pytest.mark.promise("the Basic Model Interface is the model")
@pytest.mark.parametrize("layout", [(2, 1), *night_params(((1, 2),))])
def test_component_on_ranks_has_bits_of_one_process(ranks, tmp_path, layout):
    found = []
    for each in ((1, 1), layout):
        path = tmp_path / "{}x{}.toml".format(*each)
        path.write_text(CONFIG_TEXT.replace("LAYOUT", path.stem))
        found.append(ranks(each, coupled_run, path)[0])
    one, divided = found
    assert np.ptp(one[1]) > 0
    np.testing.assert_array_equal(divided, one)
