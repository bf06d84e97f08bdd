"""Derivatives of a run over MPI, in several layouts of four ranks, as numbers that do not depend on the layout."""

import json

import numpy as np
from support.groups import of_layouts
from support.random_case import configuration, random_fields

from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of

NY, NX = 7, 10
#: Layouts one after the other, the first beside the second, and who computes each.
EXECUTORS = {(1, 1): "xla", (3, 1): "xla", (2, 2): "native"}
PHASES = (((1, 1), (3, 1)), ((2, 2),))


def whole(x, transport):
    """Each control on the whole grid, on the first rank."""
    gather = transport.gather_rows
    fields = {name: gather(np.asarray(a), 0, NY) if np.ndim(a) else np.asarray(a) for name, a in x.items()}
    return {name: None if field is None else field.tolist() for name, field in fields.items()}


def results(layout):
    """What says that derivatives are exact, and the derivatives."""
    where = {"run__layout": "{}x{}".format(*layout), "run__nproc": layout[0] * layout[1]}
    run = {"run__steps": 6, "run__executor": EXECUTORS[layout], **where}
    fields = random_fields(NY, NX, seed=3, land=0.15, amplitude=0.3)
    config = configuration(NY, NX, fields, grid__periodic_x=False, physics__slip="no", **run)
    problem = Problem(config, controls_of(config), lambda view, k: view.state, every=3)
    checks = Checks(problem)
    return {
        "taylor_slope": checks.taylor_slope(),
        "dot_product_error": checks.dot_product_error(),
        "hessian_symmetry": checks.hessian_symmetry(),
        "dtype": "float64",
        "value": checks.value,
        "gradient": whole(checks.gradient, problem.transport),
        "hessian-vector": whole(problem.hessian_vector(checks.x, checks.d, *checks.loss), problem.transport),
    }


if found := of_layouts(PHASES, results):
    print(json.dumps({"x".join(map(str, layout)): each for layout, each in found.items()}))
