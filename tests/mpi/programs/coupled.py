"""A component on several processes: stress and water come in by the interface; each rank saves its block.

Arguments: the configuration file, and the folder for the blocks.
"""

import sys
from pathlib import Path

import numpy as np

from swmodel import bmi

DEPTH, STRESS = "sea_water__depth", "sea_surface_air_flow__x_component_of_shear_stress"

model = bmi.Model(["wind_x"])
model.initialize(sys.argv[1])
block, grid = model.simulation.block, model.simulation.config.grid
here = np.s_[block.y.start : block.y.stop, block.x.start : block.x.stop]
stress = np.random.default_rng(1).normal(0, 0.2, (4, grid.ny, grid.nx))
mouth = np.zeros((grid.ny, grid.nx))
mouth[2, 3] = 0.05
depth = model.get_value_ptr(DEPTH)
for each in stress:
    model.set_value(STRESS, each[here])
    depth += mouth[here].ravel()
    model.update_until(model.get_current_time() + 3 * model.get_time_step())
found = {name: getattr(model.simulation.state, name) for name in "huv"}
np.testing.assert_array_equal(depth, found["h"].ravel())
np.savez(Path(sys.argv[2]) / f"{block.y.start}-{block.x.start}.npz", **found)
