"""Derivatives of a run: numbers that do not depend on the layout."""

import numpy as np
from support.random_case import TIDE, configuration, random_fields

from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of

NY, NX = 12, 10
#: Two sides with a tide outside; on a sphere the tide inside and weather, too. All of it are controls then.
OPEN = {"open_sides__sides": ("west", "north"), "open_sides__constituents": ("M2",), "open_sides__amplitude": (0.3,)}
EARTH = OPEN | {"sphere": True, "in_time": True, "open_sides__pressure": 50.0} | TIDE
EDDIES = {"scheme__vorticity_flux": "weno5", "physics__leith": 1.0, "time__stepper": "gfb"}
#: The executor of each sea, and its options.
SEAS = {"open": ("xla", OPEN), "earth": ("native", EARTH), "eddies": ("native", EDDIES)}
#: In which seas derivatives are checked in some layouts.
CHECKED = {(1, 1): SEAS, (3, 1): ("open", "eddies"), (1, 2): ("eddies",), (2, 2): ("earth", "eddies")}
PHASES = (((1, 1), (3, 1)), ((1, 2),), ((2, 2),))


def whole(x, transport):
    """Each control on the whole grid, on the first rank."""
    gather = transport.gather_rows
    fields = {name: gather(np.asarray(a), 0, NY) if np.ndim(a) else np.asarray(a) for name, a in x.items()}
    return {name: None if field is None else field.tolist() for name, field in fields.items()}


def configured(layout, **run):
    """A flow between walls and around islands, of six steps."""
    where = {"run__layout": "{}x{}".format(*layout), "run__nproc": layout[0] * layout[1]}
    fields = random_fields(NY, NX, seed=3, land=0.15, amplitude=0.3)
    options = {"grid__periodic_x": False, "physics__slip": "no", "run__steps": 6, **where}
    return configuration(NY, NX, fields, **options, **run)


def checked(layout, sea, dtype):
    """The checks of a problem in a sea, with all that drives the water as controls."""
    executor, options = SEAS[sea]
    config = configured(layout, run__executor=executor, run__dtype=dtype, **options)
    return Checks(Problem(config, controls_of(config), lambda view, k: view.state, every=3))


def numbers(checks):
    """What says that derivatives are exact, and the derivatives."""
    problem = checks.problem
    return {
        **checks.taylor(),
        "dot_product_error": checks.dot_product_error(),
        "hessian_symmetry": checks.hessian_symmetry(),
        "dtype": "float64",
        "value": checks.value,
        "gradient": whole(checks.gradient, problem.transport),
        "hessian-vector": whole(problem.hessian_vector(checks.x, checks.d, *checks.loss), problem.transport),
    }


def results(layout):
    """The numbers by sea."""
    return {sea: numbers(checked(layout, sea, "float64")) for sea in CHECKED[layout]}
