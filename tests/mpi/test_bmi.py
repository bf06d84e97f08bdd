"""A BMI component gives the same bits on several processes, each of which holds a block, as on one."""

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
    """Set the wind stress and add water through the interface; returns the final whole fields on rank 0, else Nones."""
    model = bmi.Model(["wind_x"])
    model.initialize(str(path))
    block, grid = model.simulation.block, model.simulation.config.grid
    block_slices = np.s_[block.y.start : block.y.stop, block.x.start : block.x.stop]
    stress_fields = np.random.default_rng(1).normal(0, 0.2, (4, grid.ny, grid.nx))
    added_thickness = np.zeros((grid.ny, grid.nx))
    added_thickness[2, 3] = 0.05
    thickness = model.get_value_ptr(THICKNESS_NAME)
    for stress in stress_fields:
        model.set_value(STRESS_NAME, stress[block_slices])
        thickness += added_thickness[block_slices].ravel()
        model.update_until(model.get_current_time() + 3 * model.get_time_step())
    np.testing.assert_array_equal(thickness, model.simulation.state.h.ravel())
    return [model.simulation.transport.gather_rows(np.asarray(field), 0, grid.ny) for field in model.simulation.state]


@pytest.mark.promise("the Basic Model Interface gives the values of the model")
@pytest.mark.parametrize("layout", [(2, 1), *night_params(((1, 2),))])
def test_component_on_ranks_has_bits_of_one_process(ranks, tmp_path, layout):
    results = []
    for block_layout in ((1, 1), layout):
        path = tmp_path / "{}x{}.toml".format(*block_layout)
        path.write_text(CONFIG_TEXT.replace("LAYOUT", path.stem))
        results.append(ranks(block_layout, coupled_run, path)[0])
    serial, parallel = results
    assert np.ptp(serial[1]) > 0
    np.testing.assert_array_equal(parallel, serial)
