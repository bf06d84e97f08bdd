"""A small ensemble with every perturbation."""

import swmodel
from support.command import option_words
from swmodel.model.ensemble import settings

SMALL_RUN_OPTIONS = {
    "time.stepper": "ab2", "grid.nx": 12, "grid.ny": 16, "grid.dx": 8e4, "grid.dy": 8e4, "run.steps": 12,
    "output.every_steps": 6,
}  # fmt: skip
PERTURBATION_OPTIONS = {
    "ensemble.members": 5, "ensemble.initial_eta": 0.5, "ensemble.initial_eta_length": 2e5,
    "ensemble.wind": 0.2, "ensemble.wind_length": 3e5, "ensemble.viscosity": 0.3,
}  # fmt: skip


def options_with(overrides):
    return SMALL_RUN_OPTIONS | PERTURBATION_OPTIONS | {key.replace("__", "."): v for key, v in overrides.items()}


def configuration(**overrides):
    """The checked configuration of the ensemble; overrides are written section__key=value."""
    return settings.check_ensemble(swmodel.load("double_gyre", options_with(overrides)))


def command_options(**overrides):
    """The options of `swmodel ensemble` for this ensemble; overrides are written section__key=value."""
    return option_words(options_with(overrides))
