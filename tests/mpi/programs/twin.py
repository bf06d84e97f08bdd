"""A small twin experiment: twin.py FOLDER writes truth.nc, and prints what is observed and the sums of the states."""

import json
import sys
from pathlib import Path

import numpy as np
from support.small_twin import Row, small

from swmodel import Simulation
from swmodel.assimilation import twin

config = small(**{"run.reproducible": True})
states = twin.spin_up(config)
simulation = Simulation(config)
operator = Row(simulation.block, config.grid.nx)
twin.start(simulation, states.truth)
steps = twin.window_and_forecast(simulation.config)
values = twin.observed(simulation, operator, steps, Path(sys.argv[1]) / "truth.nc")
twin.follow(twin.start(simulation, states.guess), steps, Path(sys.argv[1]) / "background.nc")
if simulation.transport.rank == 0:
    print(json.dumps(np.asarray(values, np.float64).tolist()))
