"""A callback in which only rank 0 computes a sum over all processes, so that the others never send their part."""

from mpi4py import MPI

import swmodel

SMALL = {"grid.nx": 23, "grid.ny": 11, "run.steps": 6, "run.executor": "native", "run.watchdog": 2.0}


def sum_on_rank_0(model):
    if MPI.COMM_WORLD.rank == 0:
        model.diagnostics()


model = swmodel.Simulation(swmodel.load("jet", SMALL, environ={}))
model.every("2 steps", sum_on_rank_0)
model.advance(4)
