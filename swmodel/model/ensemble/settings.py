"""Checks of the section [ensemble] of the configuration, and the random factors of members, computed without JAX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...config import Config, ConfigError, load
from ...ocean.coordinates import domain_size, max_cell_size
from ...ocean.noise import normal_numbers
from ...ocean.terms import TERMS
from ...parallel.environment import total_memory
from ...setup.checks.extremes import survey
from ...setup.checks.stability import max_stable_dt
from ...setup.fields import has_field_source
from ...setup.setup import Setup, setup_of
from .. import validate

#: Default perturbation of the initial eta: standard deviation relative to the depth, and correlation length relative to
#: the shorter side of the domain, at least MIN_LENGTH_CELLS.
DEFAULT_ETA_FRACTION, DEFAULT_LENGTH_FRACTION = 1e-4, 0.1

#: Shortest correlation length that the grid resolves, cells.
MIN_LENGTH_CELLS = 3

#: Largest standard deviation of the logarithm of a factor; with it, a sixth of the factors exceed 20 000.
MAX_LOG_DEVIATION = 10

#: Options of [output] that have no effect on an ensemble, and the values with which they are switched off.
UNUSED_OUTPUT_OPTIONS: dict[str, Any] = dict.fromkeys(
    ("means", "maxima", "stations", "sections", "harmonics", "drifters"), ()
)
UNUSED_OUTPUT_OPTIONS |= {"inundation": False} | dict.fromkeys(
    ("diagnostics_every_steps", "spectra", "spectra_every_steps", "arrival", "drifters_every", "drifters_every_steps")
)

#: Default number of members whose fields are written.
DEFAULT_WRITTEN_MEMBERS = 4


def member_config(config: Config) -> Config:
    """The configuration of one member: the whole grid on one device of one process."""
    one_process = {"nproc": 1, "devices": 1, "layout": "", "transport": "serial"}
    member = config.model_copy(update={"run": config.run.model_copy(update=one_process)})
    member._is_checked = config._is_checked  # `check_ensemble` has checked this configuration of a member
    return member


def check_ensemble(config: Config) -> Config:
    """The resolved configuration of an ensemble, whose run.nproc and run.devices distribute members.

    ConfigError: all problems.
    """
    config = with_default_perturbation(config)
    problems_found = list(problems(setup_of(config)))
    config = config.model_copy(update={"output": config.output.model_copy(update=UNUSED_OUTPUT_OPTIONS)})
    try:
        setup = validate.check_setup(setup_of(member_config(config)), unattended=True)
    except ConfigError as error:
        raise ConfigError([*problems_found, *error.problems]) from None
    problems_found = problems_found or [*memory_problems(setup, config.run.nproc)] or [*friction_problems(setup)]
    if problems_found:
        raise ConfigError(problems_found)
    distribution = {"nproc": config.run.nproc, "devices": config.run.devices, "layout": "", "transport": "auto"}
    return setup.config.model_copy(update={"run": setup.config.run.model_copy(update=distribution)})


def with_default_perturbation(config: Config) -> Config:
    """The configuration, with the default perturbation of the initial eta if it has no perturbation at all."""
    if config.ensemble.initial_eta or config.ensemble.wind or config.ensemble.viscosity:
        return config
    cell, (shorter, longer) = max_cell_size(config.grid), sorted(domain_size(config.grid))
    length = min(max(DEFAULT_LENGTH_FRACTION * shorter, MIN_LENGTH_CELLS * cell), longer)
    perturbation = {"initial_eta": DEFAULT_ETA_FRACTION * config.physics.depth, "initial_eta_length": length}
    return config.model_copy(update={"ensemble": config.ensemble.model_copy(update=perturbation)})


def problems(setup: Setup) -> Iterator[str]:
    """A message about each problem of processes and devices, perturbations and output."""
    config = setup.config
    run, options, members = config.run, config.ensemble, config.ensemble.members
    if run.layout not in ("", "1x1") or run.transport not in ("auto", "serial"):
        key = "layout" if run.layout not in ("", "1x1") else "transport"
        yield (
            f"run.{key}: {getattr(run, key)} divides the grid into blocks, but a member of an ensemble has the whole "
            "grid on one device; distribute members over processes (--nproc) or devices (--devices)"
        )
    if run.nproc > 1 and run.devices > 1:
        yield f"run.devices: distribute members over processes or devices, not both; set 1 with run.nproc = {run.nproc}"
    for key, what in (("nproc", "processes"), ("devices", "devices")):
        if getattr(run, key) > members:
            yield f"run.{key}: {getattr(run, key)} {what} are too many for {members} members; at most {members}"
    if run.executor == "reference":
        yield "run.executor: the reference cannot compute ensembles; choose native or xla"
    if config.time.max_substeps > 1:
        yield "time.max_substeps: all members need equal time steps; set it to 1"
    if config.output.format != "netcdf":
        yield 'output.format: an ensemble is written as NetCDF; set "netcdf"'
    longest_side = max(domain_size(config.grid))
    if options.initial_eta > 0 and options.initial_eta_length == 0:
        yield (
            "ensemble.initial_eta_length: must be above 0 m; give the correlation length of the perturbation of eta "
            "(--perturb initial.eta=SIZE,LENGTH)"
        )
    for key in ("initial_eta", "wind"):
        length = getattr(options, f"{key}_length")
        if length > 0 and getattr(options, key) == 0:
            yield f"ensemble.{key}: must be above 0 if a correlation length is given"
        if length > longest_side:
            yield f"ensemble.{key}_length: {length:g} m is longer than the domain; at most {longest_side:g} m"
    if options.wind > 0 and not any(has_field_source(config, name) for name in ("wind_x", "wind_y")):
        yield "ensemble.wind: the run has no wind to perturb"
    if options.viscosity > 0 and "viscosity" not in setup.scheme.term_names:
        yield "ensemble.viscosity: the run has no viscosity to perturb; physics.viscosity is 0 m2 s-1"
    if options.viscosity > MAX_LOG_DEVIATION:
        yield (
            f"ensemble.viscosity: {options.viscosity:g} is the standard deviation of the logarithm of a factor, not a "
            f"viscosity in m2 s-1; at most {MAX_LOG_DEVIATION}"
        )
    for member in options.write:
        if not 0 <= member < members:
            yield f"ensemble.write: no member {member}; they are numbered 0 to {members - 1}"
    case_output = load(config.case, environ={}).output
    for key, unused in UNUSED_OUTPUT_OPTIONS.items():
        if getattr(config.output, key) not in (unused, getattr(case_output, key)):
            yield f"output.{key}: has no effect on an ensemble; leave it out"


def unresolved_lengths(config: Config) -> Iterator[str]:
    """A warning about each correlation length that is allowed but too short for the grid."""
    min_length = MIN_LENGTH_CELLS * max_cell_size(config.grid)
    for key in ("initial_eta_length", "wind_length"):
        if 0 < (length := getattr(config.ensemble, key)) < min_length:
            yield f"ensemble.{key}: {length:g} m is less than three cells, which perturbations cannot resolve"


def fields_per_member(setup: Setup) -> int:
    """How many fields a process holds at least for each of its members: states of the stepper and perturbed winds."""
    n_states = 1 + setup.method.weight_and_state_counts[1]
    n_winds = 2 if setup.config.ensemble.wind and setup.config.ensemble.wind_length else 0
    return n_states * len(setup.scheme.state_type._fields) + n_winds


def memory_problems(setup: Setup, nproc: int) -> Iterator[str]:
    """A message if the members of one of `nproc` processes do not fit into this machine's memory."""
    members_per_process, gigabytes_present = math.ceil(setup.config.ensemble.members / nproc), total_memory() / 1e9
    nbytes = math.prod(setup.shape) * fields_per_member(setup) * setup.dtype.itemsize
    gigabytes_needed = members_per_process * nbytes / 1e9
    if gigabytes_needed > gigabytes_present:
        yield (
            f"ensemble.members: {members_per_process} members on a process need at least {gigabytes_needed:.3g} GB; "
            f"this machine has {gigabytes_present:.3g} GB; use fewer, or more processes on more machines"
        )


def friction_problems(setup: Setup) -> Iterator[str]:
    """A message if the time step is unstable with the largest viscosity of all members."""
    config = setup.config
    factors = viscosity_factors(config)
    member = int(np.argmax(factors))
    if factors[member] <= 1:
        return
    extremes = survey(setup)
    viscosity = extremes.max_abs("viscosity") * factors[member]
    added_viscosity = {"viscosity": viscosity - extremes.max_abs("viscosity")}
    rate = TERMS["viscosity"].rate
    assert rate is not None  # viscosity always has a rate
    added_rate = rate(added_viscosity, *(extremes.ranges[name][0] for name in ("dx", "dy")))
    extremes.ranges["friction_rate"] = (0.0, extremes.max_abs("friction_rate") + added_rate)
    largest_dt, _ = max_stable_dt(config, extremes)
    if config.time.dt > largest_dt:
        yield (
            f"ensemble.viscosity: member {member} has {viscosity:.4g} m2 s-1, with which the time step of "
            f"{config.time.dt:.4g} s is above the largest stable one, {validate.format_rounded_down(largest_dt)} s"
        )


def standard_normals(name: str, options) -> np.ndarray:
    """A standard normal random number for each member; 0 for member 0."""
    return np.array([0.0, *(normal_numbers(options.seed, name, member) for member in range(1, options.members))])


def viscosity_factors(config: Config) -> np.ndarray:
    """The factors of the viscosity of all members, exp(size e) with standard normal e; 1 for member 0."""
    return np.exp(config.ensemble.viscosity * standard_normals("viscosity", config.ensemble))


def wind_factors(config: Config) -> np.ndarray:
    """The factors of the wind stress of all members, 1 + size e; all are 1 if the wind is perturbed by fields."""
    options = config.ensemble
    return 1 + options.wind * standard_normals("wind", options) * (options.wind_length == 0)


def written_members(config: Config) -> tuple[int, ...]:
    options = config.ensemble
    return tuple(sorted(set(options.write))) or tuple(range(min(DEFAULT_WRITTEN_MEMBERS, options.members)))
