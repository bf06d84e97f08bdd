"""A small ensemble with every perturbation."""

import numpy as np

import swmodel
from swmodel.model.domain import make_domain
from swmodel.model.ensemble import settings
from swmodel.model.ensemble.perturbations import Perturbations

SMALL = {
    "time.stepper": "ab2", "grid.nx": 12, "grid.ny": 16, "grid.dx": 8e4, "grid.dy": 8e4, "run.steps": 12,
    "output.every_steps": 6,
}  # fmt: skip
PERTURBATION_OPTIONS = {
    "ensemble.members": 5, "ensemble.initial_eta": 0.5, "ensemble.initial_eta_length": 2e5,
    "ensemble.wind": 0.2, "ensemble.wind_length": 3e5, "ensemble.viscosity": 0.3,
}  # fmt: skip
#: Changes after which only the sea level is perturbed.
ETA_PERTURBATION_ONLY = {f"ensemble__{name}": 0.0 for name in ("wind", "wind_length", "viscosity")}


def options_with(changes):
    return SMALL | PERTURBATION_OPTIONS | {name.replace("__", "."): value for name, value in changes.items()}


def configuration(**changes):
    """The checked configuration of the ensemble; `changes` are section__key=value."""
    return settings.check_ensemble(swmodel.load("double_gyre", options_with(changes)))


def command_options(**changes):
    return [word for key, value in options_with(changes).items() for word in ("-s", f"{key}={value}")]


def perturbations(config):
    """The Perturbations of an ensemble, without its jitted program."""
    return Perturbations(make_domain(settings.member_config(config)))


def states_of_single_runs(config, numbers, steps: int):
    """The State of each member after some steps, computed by a Simulation as in a single run."""
    drawn, simulation, found = perturbations(config), swmodel.Simulation(settings.member_config(config)), []
    executor, put = simulation._executor, simulation.transport.put
    for member in numbers:
        state, params = drawn.draw(member)
        executor.static = put(executor.static_of(drawn.grid, params))
        simulation.carry = executor.start(put(state))
        simulation.advance(steps)
        found.append(simulation.state)
    return found


def field_of_members(members, name):
    own = range(members.local_members.start, members.local_members.stop)
    return np.stack([members.evaluate(number, [name])[0][name] for number in own])
