"""Derivatives by a network over MPI and over devices, and those of members of which each process has some; JSON."""

import json

import jax
from mpi4py import MPI

if MPI.COMM_WORLD.rank == 0:
    jax.config.update("jax_num_cpu_devices", 4)  # for the devices at the end

import jax.numpy as jnp
import numpy as np
from support.groups import of_layouts
from support.network import stress, weights
from support.random_case import configuration, random_fields

from swmodel import Parametric, load
from swmodel.gradients import Problem

NY, NX = 11, 13
PHASES = (((1, 1), (3, 1)), ((2, 2),))


def problem_of(alone=False, eta=1.0, **run):
    """A flow between walls and around islands, of four steps."""
    fields = random_fields(NY, NX, seed=3, land=0.15, amplitude=0.3)
    fields["eta"] = eta * fields["eta"]
    options = {"grid__periodic_x": False, "run__steps": 4, "run__executor": "xla"} | run
    config = load(configuration(NY, NX, fields, **options), terms=[Parametric(stress, weights())])
    return Problem(config, ["stress"], lambda view, k: view.state, alone=alone)


def flat(parameters):
    return np.concatenate([np.ravel(parameters[name]) for name in ("in", "bias", "out")])


def derivatives(problem, curvature=True):
    """Value, gradient, and the Hessian along a direction."""

    def energy(series):
        return problem.transport.sum(sum(jnp.sum(field[-1] ** 2) for field in series))

    x, d = problem.first_guess(), {"stress": weights(1)}
    value, gradient = problem.value_and_gradient(x, energy)
    found = {"value": float(value), "gradient": flat(gradient["stress"]).tolist()}
    if curvature:
        found["hessian-vector"] = flat(problem.hessian_vector(x, d, energy)["stress"]).tolist()
    return found


def of_layout(layout):
    return derivatives(problem_of(run__layout="{}x{}".format(*layout), run__nproc=layout[0] * layout[1]))


found = of_layouts(PHASES, of_layout)
world = MPI.COMM_WORLD
member = derivatives(problem_of(alone=True, eta=1.0 - 0.1 * world.rank), curvature=False)
members = {name: world.allreduce(np.array(member[name])).tolist() for name in member}
if world.rank == 0:
    one_by_one = [derivatives(problem_of(alone=True, eta=1.0 - 0.1 * rank), curvature=False) for rank in range(4)]
    results = {"x".join(map(str, layout)): each for layout, each in found.items()}
    results["devices"] = derivatives(problem_of(run__devices=4, run__layout="2x2"))
    results["members"] = members
    results["one by one"] = {name: np.sum([each[name] for each in one_by_one], axis=0).tolist() for name in member}
    print(json.dumps(results))
