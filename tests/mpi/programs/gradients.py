"""Derivatives of a run over MPI, as numbers that do not depend on the layout: gradients.py PYxPX EXECUTOR."""

import json
import sys

import numpy as np
from support.random_case import configuration, random_fields

from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of

NY, NX = 7, 10
layout, executor = sys.argv[1:]
nproc = int(np.prod([int(n) for n in layout.split("x")]))
fields = random_fields(NY, NX, seed=3, land=0.15, amplitude=0.3)
run = {"run__steps": 6, "run__executor": executor, "run__layout": layout, "run__nproc": nproc}
config = configuration(NY, NX, fields, grid__periodic_x=False, physics__slip="no", **run)
problem = Problem(config, controls_of(config), lambda view, k: view.state, every=3)
checks = Checks(problem)


def whole(x):
    """Each control on the whole grid, on rank 0."""
    gather = problem.transport.gather_rows
    fields = {name: gather(np.asarray(a), 0, NY) if np.ndim(a) else np.asarray(a) for name, a in x.items()}
    return {name: None if field is None else field.tolist() for name, field in fields.items()}


results = {
    "taylor_slope": checks.taylor_slope(),
    "dot_product_error": checks.dot_product_error(),
    "hessian_symmetry": checks.hessian_symmetry(),
    "dtype": "float64",
    "value": checks.value,
    "gradient": whole(checks.gradient),
    "hessian-vector": whole(problem.hessian_vector(checks.x, checks.d, *checks.loss)),
}
if problem.transport.rank == 0:
    print(json.dumps(results))
