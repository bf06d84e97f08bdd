"""Derivatives by a network, and those of members of an ensemble of which each rank of the layout 1x2 has one."""

import jax.numpy as jnp
import numpy as np
from support.network import stress, weights
from support.random_case import configuration, random_fields

from swmodel import Parametric, load
from swmodel.gradients import Problem
from swmodel.parallel.transport import mpi

NY, NX = 11, 13
PHASES = (((1, 1), (3, 1)), ((2, 2),), ((1, 2),))
#: What sea level at the start is multiplied by in each member.
MEMBERS = (1.0, 0.9)


def problem_of(*more, alone=False, **run):
    """A flow between walls and around islands, of four steps, by a network and `more` controls; and its energy."""
    fields = random_fields(NY, NX, seed=3, land=0.15, amplitude=0.3)
    options = {"grid__periodic_x": False, "run__steps": 4, "run__executor": "xla"} | run
    config = load(configuration(NY, NX, fields, **options), terms=[Parametric(stress, weights())])
    problem = Problem(config, ["stress", *more], lambda view, k: view.state, alone=alone)

    def energy(series):
        return problem.transport.sum(sum(jnp.sum(field[-1] ** 2) for field in series))

    return problem, energy


def flat(parameters):
    return np.concatenate([np.ravel(parameters[name]) for name in ("in", "bias", "out")])


def first_order(problem, energy, eta=1.0):
    """Value and gradient, with another sea level at the start where it is a control."""
    x = problem.first_guess()
    value, gradient = problem.value_and_gradient(x | {name: eta * x[name] for name in x.keys() & {"eta"}}, energy)
    return {"value": float(value), "gradient": flat(gradient["stress"]).tolist()}


def derivatives(problem, energy):
    """Value, gradient, and the Hessian along a direction."""
    x = problem.first_guess()
    d = {name: jnp.zeros_like(x[name]) for name in x.keys() - {"stress"}} | {"stress": weights(1)}
    product = problem.hessian_vector(x, d, energy)
    return first_order(problem, energy) | {"hessian-vector": flat(product["stress"]).tolist()}


def total(members):
    """The sum over members."""
    return {name: np.sum([member[name] for member in members], axis=0).tolist() for name in members[0]}


def results(layout):
    """Derivatives; on one process also those on devices and of each member, on two the sum over members."""
    if layout == (1, 2):
        group = mpi.HOST_COMM
        return total(group.allgather(first_order(*problem_of("eta", alone=True), MEMBERS[group.rank])))
    if layout != (1, 1):
        return derivatives(*problem_of(run__layout="{}x{}".format(*layout), run__nproc=layout[0] * layout[1]))
    one = problem_of("eta", alone=True)
    return {
        "ranks": derivatives(*one),
        "devices": derivatives(*problem_of(run__devices=4, run__layout="2x2")),
        "members": total([first_order(*one, eta) for eta in MEMBERS]),
    }
