"""Runs from Python on several processes: what each of them is told, in the order of the ranks, as JSON on rank 0.

The argument is a folder to work in.
"""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from support.unchecked import unchecked

import swmodel
from swmodel.errors import exit_code

FOLDER = Path(sys.argv[1])
SMALL = {"grid.nx": 23, "grid.ny": 11, "run.steps": 6, "output.every_steps": 3, "run.executor": "native"}
told = []


def simulation(**options):
    return swmodel.Simulation(swmodel.load("jet", SMALL | options, environ={}))


def attempt(function):
    """Note how function() ends on all processes."""
    try:
        function()
        end = ["done", 0]
    except Exception as error:
        end = [str(error), exit_code(error)]
    told.append(MPI.COMM_WORLD.allgather(end))


first = simulation()
attempt(lambda: first.run(FOLDER / "run", lambda event: None))
attempt(lambda: first.run(FOLDER / "run"))
again = swmodel.Simulation.from_restart(FOLDER / "run")
attempt(lambda: again.run(FOLDER / "run"))
longer = swmodel.load("jet", SMALL | {"run.steps": 9}, environ={})
attempt(lambda: swmodel.Simulation(longer, restart=FOLDER / "run/restart/step-0000000006.nc").run(FOLDER / "run"))
options = SMALL | {"time.dt": 4000.0, "run.nproc": MPI.COMM_WORLD.size}
unstable = swmodel.Simulation(unchecked(swmodel.load("jet", options, environ={})))
attempt(lambda: unstable.advance(60))
attempt(lambda: unstable.advance(-1))
assert not np.isfinite(unstable.state.h).all()
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps(told))
