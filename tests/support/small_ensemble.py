"""A small ensemble with every perturbation."""

import numpy as np

import swmodel
from swmodel.model.ensemble import settings

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


def configuration(**changes):
    """The checked configuration of the ensemble; `changes` are section__key=value."""
    more = {name.replace("__", "."): value for name, value in changes.items()}
    return settings.check_ensemble(swmodel.load("double_gyre", SMALL | PERTURBATION_OPTIONS | more))


def command_options(**changes):
    more = {name.replace("__", "."): value for name, value in changes.items()}
    return [word for key, value in (SMALL | PERTURBATION_OPTIONS | more).items() for word in ("-s", f"{key}={value}")]


def perturbations(config):
    """The Perturbations of an ensemble, without its jitted program."""
    from swmodel.model.domain import make_domain
    from swmodel.model.ensemble.perturbations import Perturbations

    return Perturbations(make_domain(settings.member_config(config)))


def states_of_single_runs(config, numbers, steps: int):
    """The State of each member after some steps, computed by a Simulation as in a single run."""
    member_perturbations, simulation, found = (
        perturbations(config),
        swmodel.Simulation(settings.member_config(config)),
        [],
    )
    executor, put = simulation._executor, simulation.transport.put
    for member in numbers:
        state, params = member_perturbations.draw(member)
        executor.static = put(executor.static_of(member_perturbations.grid, params))
        simulation.carry = executor.start(put(state))
        simulation.advance(steps)
        found.append(simulation.state)
    return found


def field_of_members(members, name):
    return np.stack(
        [
            members.evaluate(number, [name])[0][name]
            for number in range(members.local_members.start, members.local_members.stop)
        ]
    )
