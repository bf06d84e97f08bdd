"""Checks of the section [assimilation] of a configuration before the start, and parameters derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..config import ConfigError
from ..config.options.assimilation import sigma_key
from ..errors import UsageError, join_names
from ..gradients.quantities import parse_quantity
from ..model.ensemble.settings import UNUSED_OUTPUT_OPTIONS, check_ensemble
from ..model.validate import check_setup, n_transform_lines, require_derivatives
from ..ocean.coordinates import domain_size, is_spherical, max_cell_size
from ..ocean.table import CONTROLS, CORRECTIONS, INITIAL_FIELDS
from ..ocean.terms.tide import repetition_problems
from ..setup.checks.extremes import survey
from ..setup.setup import setup_of
from .observations import read_observations
from .synthetic import DAY, is_spun_up_twin, is_twin, make_network

if TYPE_CHECKING:
    from ..config.options.model import Config


def correlation_length(options, name: str) -> float | None:
    """The correlation length of the errors of a control, m; None for numbers and records of numbers."""
    if not CONTROLS[name].control_location:
        return None
    return (name in CORRECTIONS and options.correction_length) or options.length


def check_assimilation(config: Config) -> None:
    """Check that an assimilation can start with a resolved configuration and its observation file.

    ConfigError, UsageError, InputError: it cannot.
    """
    require_derivatives(config)
    if config.run.transport == "sharded":
        raise UsageError("an assimilation runs on one process or with MPI: set run.nproc instead of run.devices")
    messages = list(problems(config))
    if config.assimilation.method == "letkf" and not messages:
        ensemble_config(prior_config(config))
    if config.assimilation.impact:
        parse_quantity(config.assimilation.impact, config, "assimilation.impact")
        check_setup(setup_of(config_until_impact(config)), unattended=True)
    if config.assimilation.observations:
        try:
            read_observations(config.assimilation.observations, config)
        except ConfigError as error:
            messages += error.problems
    if messages:
        raise ConfigError(messages)


def config_until_impact(config: Config):
    """The configuration of a run until `impact_days` after the window, when the quantity `impact` is evaluated."""
    steps = config.run.steps + round(config.assimilation.impact_days * DAY / config.time.dt)
    return config.model_copy(update={"run": config.run.model_copy(update={"steps": steps})})


def prior_config(config: Config):
    """The configuration of the first guess: from the case's `prior_config`, or unchanged."""
    return config.case.prior_config(config) if hasattr(config.case, "prior_config") else config


def ensemble_config(config: Config):
    """The configuration of the members of `letkf`. ConfigError: it is invalid.

    It does not perturb the initial sea level, because `EnsembleFilter` draws the members' initial states.
    """
    run = config.run.model_copy(update={"layout": "", "transport": "auto"})
    output = config.output.model_copy(update=UNUSED_OUTPUT_OPTIONS | {"format": "netcdf"})
    checked = check_ensemble(config.model_copy(update={"run": run, "output": output}))
    return checked.model_copy(update={"ensemble": checked.ensemble.model_copy(update={"initial_eta": 0.0})})


def template_values(config: Config) -> dict:
    """{key: value} of [assimilation] that suit a configuration as a first choice, not tuned to observations."""
    steps, cell_size, shorter_side = config.run.steps, max_cell_size(config.grid), min(domain_size(config.grid))
    every = next((n for n in range(min(20, steps), 1, -1) if steps % n == 0), 1)
    length = max(3 * cell_size, 0.1 * shorter_side)
    return {
        "sigma_eta": 1e-3 * config.physics.depth,
        "length": length,
        "localisation": 4 * length,
        "every_steps": every,
    }


def problems(config: Config) -> Iterator[str]:
    """The problems of the section [assimilation], one line each, without those of the observation file."""
    options = config.assimilation
    if not options.controls:
        yield f"assimilation.controls: give at least one of {join_names(CONTROLS)}"
    yield from repetition_problems("assimilation.controls", options.controls)
    for key in dict.fromkeys(map(sigma_key, options.controls)):
        if getattr(options, key) == 0:
            names = dict.fromkeys(name for name in options.controls if sigma_key(name) == key)
            yield f"assimilation.{key}: must be above 0: the standard deviation of errors of {' and '.join(names)}"
    fields = [name for name in options.controls if correlation_length(options, name) == 0]
    if fields:
        yield f"assimilation.length: must be above 0 m: the correlation length of errors of {', '.join(fields)}"
    if options.correlation == "spectrum":
        for is_unsupported, words in (
            (is_spherical(config.grid), "needs a grid on a plane, but this one is on a sphere; choose diffusion"),
            (
                survey(setup_of(config)).ranges["mask"][0] == 0,
                "needs a sea without land, but there is land; choose diffusion",
            ),
            (
                config.run.blocks > n_transform_lines(config.grid),
                f"has {n_transform_lines(config.grid)} lines, too few for {config.run.blocks} blocks; use fewer "
                "blocks, or choose diffusion",
            ),
        ):
            if is_unsupported:
                yield f"assimilation.correlation: spectrum {words}"
    window, every = config.run.steps * config.time.dt, options.correction_every
    if CORRECTIONS.keys() & {*options.controls} and not config.time.dt <= every <= max(window, config.time.dt):
        yield (
            f"assimilation.correction_every: must be between a time step, {config.time.dt:g} s, and the window, "
            f"{window:g} s, not {every:g} s"
        )
    if options.balanced and not {"eta", "u", "v"} <= set(options.controls):
        yield "assimilation.balanced: needs eta, u and v among assimilation.controls"
    if config.run.steps == 0:
        yield "run.days: the window of an assimilation must have at least one step"
    elif config.run.steps % options.every_steps:
        yield f"assimilation.every_steps: {options.every_steps} does not divide the {config.run.steps} steps of the run"
    if options.method == "letkf":
        yield from letkf_problems(config)
    if not options.observations:
        yield from network_problems(config)


def network_problems(config: Config) -> Iterator[str]:
    """Why a configuration without an observation file has no synthetic observations."""
    if not is_twin(config):
        yield "assimilation.observations: give an observation file; only twin experiments make their own"
    elif missing := [name for name in ("eta_error", "seed") if not hasattr(config.case, name)]:
        yield f"case: a twin experiment needs the options eta_error and seed; this case has no {join_names(missing)}"
    elif not make_network(config).size:
        if is_spun_up_twin(config):
            yield "case: no observation in the window: no altimeter track crosses the domain, and there are no moorings"
        else:
            yield "output.stations: this twin experiment observes the sea level at its stations, but there are none"


def letkf_problems(config: Config) -> Iterator[str]:
    options, steps = config.assimilation, config.run.steps
    if unsupported := [name for name in options.controls if name not in (*INITIAL_FIELDS, *CORRECTIONS)]:
        yield (
            "assimilation.controls: letkf changes eta, u, v and corrections; "
            f"{join_names(unsupported)} needs method 4dvar"
        )
    if options.localisation == 0:
        yield "assimilation.localisation: must be above 0 m for letkf; try 4 times assimilation.length"
    if options.cycle_steps and (steps % options.cycle_steps or options.cycle_steps % options.every_steps):
        yield (
            f"assimilation.cycle_steps: {options.cycle_steps} must divide the {steps} steps of the run and be a "
            f"multiple of every_steps, {options.every_steps}"
        )
    if options.impact:
        yield "assimilation.impact: needs the derivatives of method 4dvar; leave it out"
    if config.ensemble.initial_eta:
        yield "ensemble.initial_eta: letkf ignores it: its members start from assimilation.sigma_eta; leave it out"
