"""A script with fields, terms and functions on several processes: what each is told, by rank, as JSON.

The argument is a folder to work in. Ranks make mistakes that the others do not make.
"""

import json
import sys
from pathlib import Path

import jax
import numpy as np
from mpi4py import MPI
from support.own_run import WIND, drag, gradient_of_energy, nudge, simulation
from support.stormy_sea import sea
from support.unchecked import unchecked

import swmodel
from swmodel.errors import exit_code

SMALL = {"grid.nx": 23, "grid.ny": 11, "run.steps": 6, "output.every_steps": 3, "run.executor": "native"}
STORMY = {"run__executor": "native", "run__nproc": 2, "output__every_steps": 7}
FOLDER, RANK = Path(sys.argv[1]), MPI.COMM_WORLD.rank
told = {}


def attempt(name, function):
    """Note how function() ends on all processes."""
    try:
        function()
        end = ["done", 0]
    except Exception as error:
        end = [str(error), exit_code(error)]
    told[name] = MPI.COMM_WORLD.allgather(end)


def failing(model):
    if RANK == 1 and model.step == 4:
        raise ValueError("only here")


model = simulation()
block = model.block
here = slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)
model = simulation(wind_x=swmodel.local(WIND[here]))
model.every("3 steps", nudge)
attempt("run", lambda: model.run(FOLDER / "run"))
told["dataset"] = MPI.COMM_WORLD.allgather([*model.dataset("eta").eta.shape, *block.shape])
stopped = simulation()
stopped.every("2 steps", failing)
attempt("failing", lambda: stopped.run(FOLDER / "stopped"))
again = swmodel.Simulation.resume(FOLDER / "stopped", terms=[drag])
again.every("2 steps", failing)
attempt("goes on", lambda: again.run(FOLDER / "stopped"))
one, some = simulation(), simulation()
if RANK == 0:
    one.every("2 steps", nudge)
some.every("2 steps", lambda model: RANK or some.every("5 steps", nudge))
attempt("called by one", lambda: one.advance(4))
attempt("asked for by one", lambda: some.advance(4))
attempt("differs", lambda: simulation(eta=lambda at: 0.01 * RANK + 0 * at.x))
attempt("shape", lambda: simulation(eta=np.zeros((3, 3)) if RANK == 1 else 0.0))
attempt("raises", lambda: simulation(eta=lambda at: [0.0][RANK]))
attempt("part", lambda: simulation(eta=swmodel.local(np.zeros((3, 3)))))
attempt("part of one", lambda: simulation(eta=swmodel.local(np.zeros(block.shape)) if RANK == 1 else 0.0))
attempt("options", lambda: swmodel.Simulation("rest", {"grid.nx": 20, "grid.ny": 10, "time.dt": 1.0 + RANK}))
attempt("set differs", lambda: stopped.set(eta=0.01 * RANK))
told["gradient"] = MPI.COMM_WORLD.allgather(gradient_of_energy().tolist())
attempt("checkpoint", lambda: gradient_of_energy(jax.checkpoint))
plain = swmodel.Simulation(swmodel.load("jet", SMALL, environ={}))
plain.run(FOLDER / "plain", lambda event: None)
attempt("overwriting", lambda: plain.run(FOLDER / "plain"))
attempt("at its end", lambda: swmodel.Simulation.from_restart(FOLDER / "plain").run(FOLDER / "plain"))
longer = swmodel.load("jet", SMALL | {"run.steps": 9}, environ={})
restart = FOLDER / "plain/restart/step-0000000006.nc"
attempt("longer", lambda: swmodel.Simulation(longer, restart=restart).run(FOLDER / "plain"))
options = SMALL | {"time.dt": 4000.0, "run.nproc": 2}
attempt("unstable", lambda: swmodel.Simulation(unchecked(swmodel.load("jet", options, environ={}))).advance(60))
attempt("weather", lambda: swmodel.Simulation(sea("recorded", FOLDER, **STORMY)).run(FOLDER / "weather"))
if RANK == 0:
    print(json.dumps(told))
