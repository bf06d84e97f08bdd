"""Checks of the section [ensemble] of the configuration, and its random numbers. No JAX."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...config import Config, ConfigError, load
from ...ocean.coordinates import largest_cell, sides
from ...ocean.noise import white_number
from ...ocean.terms import TERMS
from ...parallel.environment import total_memory
from ...setup.checks.extremes import survey
from ...setup.checks.stability import largest_dt
from ...setup.fields import given
from ...setup.setup import Setup, setup_of
from .. import validate

#: Default perturbation of the initial eta: standard deviation relative to the depth, and length relative to the shorter
#: side of the domain, at least CELLS.
SIZE, LENGTH = 1e-4, 0.1

#: Cells in the shortest correlation length that the grid resolves.
CELLS = 3

#: Largest standard deviation of the logarithm of a factor, where a sixth of the members exceeds a factor of 20 000.
LARGEST = 10

#: Options of [output] without use for an ensemble, and their values then.
UNUSED = {"means": (), "diagnostics_every_steps": None, "spectra": None, "spectra_every_steps": None}
UNUSED |= {"maxima": (), "arrival": None, "stations": (), "sections": (), "harmonics": (), "drifters": ()}
UNUSED |= {"drifters_every": None, "drifters_every_steps": None}

#: Default number of members whose fields are written.
WRITTEN = 4

#: States in the memory of a member, by time stepper.
STATES = {"rk3": 1, "rk4": 1, "ab2": 2, "leapfrog": 2, "ab3": 3, "gfb": 3}


def whole(config: Config) -> Config:
    """The configuration of one member: the whole grid on one device of one process."""
    alone = {"nproc": 1, "devices": 1, "layout": "", "transport": "serial"}
    member = config.model_copy(update={"run": config.run.model_copy(update=alone)})
    member._checked = config._checked  # `check_ensemble` checks that of a member
    return member


def check_ensemble(config: Config) -> Config:
    """The resolved configuration; run.nproc and run.devices distribute the members, without a layout."""
    config = perturbed(config)
    found = list(problems(setup_of(config)))
    config = config.model_copy(update={"output": config.output.model_copy(update=UNUSED)})
    try:
        setup = validate.check(setup_of(whole(config)), to_the_end=True)
    except ConfigError as error:
        raise ConfigError([*found, *error.problems]) from None
    found = found or [*memory(setup, config.run.nproc)] or [*friction(setup)]
    if found:
        raise ConfigError(found)
    spread = {"nproc": config.run.nproc, "devices": config.run.devices, "layout": "", "transport": "auto"}
    return setup.config.model_copy(update={"run": setup.config.run.model_copy(update=spread)})


def perturbed(config: Config) -> Config:
    """The configuration, with the default perturbation of the initial eta if it has none."""
    if config.ensemble.initial_eta or config.ensemble.wind or config.ensemble.viscosity:
        return config
    cell, (shorter, longer) = largest_cell(config.grid), sorted(sides(config.grid))
    length = min(max(LENGTH * shorter, CELLS * cell), longer)
    default = {"initial_eta": SIZE * config.physics.depth, "initial_eta_length": length}
    return config.model_copy(update={"ensemble": config.ensemble.model_copy(update=default)})


def problems(setup: Setup) -> Iterator[str]:
    """The problems of processes and devices, perturbations and output, one line each."""
    config = setup.config
    run, options, members = config.run, config.ensemble, config.ensemble.members
    if run.layout not in ("", "1x1") or run.transport not in ("auto", "serial"):
        key = "layout" if run.layout not in ("", "1x1") else "transport"
        yield (
            f"run.{key}: {getattr(run, key)} cuts the grid into blocks, but a member of an ensemble has the whole grid "
            "on one device; distribute members over processes (--nproc) or devices (--devices)"
        )
    if run.nproc > 1 and run.devices > 1:
        yield f"run.devices: distribute members over processes or devices; give 1 with run.nproc = {run.nproc}"
    for key, what in (("nproc", "processes"), ("devices", "devices")):
        if getattr(run, key) > members:
            yield f"run.{key}: {getattr(run, key)} {what} are too many for {members} members; at most {members}"
    if run.executor == "reference":
        yield "run.executor: the reference computes one run; choose native or xla"
    if config.time.halvings:
        yield "time.halvings: members take steps of one length; set it to 0"
    if config.output.format != "netcdf":
        yield 'output.format: an ensemble is written as NetCDF; leave it "netcdf"'
    longest = max(sides(config.grid))
    if options.initial_eta > 0 and options.initial_eta_length == 0:
        yield (
            "ensemble.initial_eta_length: must be above 0 m; give the correlation length of the perturbation of eta "
            "(--perturb initial.eta=SIZE,LENGTH)"
        )
    for key in ("initial_eta", "wind"):
        length = getattr(options, f"{key}_length")
        if length > 0 and getattr(options, key) == 0:
            yield f"ensemble.{key}: must be above 0 for a perturbation with a correlation length"
        if length > longest:
            yield f"ensemble.{key}_length: {length:g} m is longer than the domain; at most {longest:g} m"
    if options.wind > 0 and not any(given(config, name) for name in ("wind_x", "wind_y")):
        yield "ensemble.wind: the run has no wind to perturb"
    if options.viscosity > 0 and "viscosity" not in setup.scheme.terms:
        yield "ensemble.viscosity: the run has no viscosity to perturb; physics.viscosity is 0 m2 s-1"
    if options.viscosity > LARGEST:
        yield (
            f"ensemble.viscosity: {options.viscosity:g} is the standard deviation of the logarithm of a factor, not of "
            f"a viscosity in m2 s-1; at most {LARGEST}"
        )
    for member in options.write:
        if not 0 <= member < members:
            yield f"ensemble.write: no member {member}; they are 0 to {members - 1}"
    of_case = load(config.case, environ={}).output
    for key, unused in UNUSED.items():
        if getattr(config.output, key) not in (unused, getattr(of_case, key)):
            yield f"output.{key}: has no effect on an ensemble; leave it out"


def unresolved(config: Config) -> Iterator[str]:
    """Correlation lengths that are allowed but unusual, one line each."""
    shortest = CELLS * largest_cell(config.grid)
    for key in ("initial_eta_length", "wind_length"):
        if 0 < (length := getattr(config.ensemble, key)) < shortest:
            yield f"ensemble.{key}: {length:g} m is less than three cells, which perturbations cannot resolve"


def memory(setup: Setup, nproc: int) -> Iterator[str]:
    """A line if the members of one of `nproc` processes do not fit into this machine's memory."""
    here, present = math.ceil(setup.config.ensemble.members / nproc), total_memory() / 1e9
    fields = STATES[setup.config.time.stepper] * len(setup.scheme.state._fields)
    wanted = here * math.prod(setup.shape) * fields * setup.dtype.itemsize / 1e9
    if wanted > present:
        yield (
            f"ensemble.members: {here} members in a process need at least {wanted:.3g} GB; this machine has "
            f"{present:.3g} GB; use fewer, or more processes on more machines"
        )


def friction(setup: Setup) -> Iterator[str]:
    """A line if the time step is unstable with the largest viscosity of all members."""
    config = setup.config
    factors = viscosity_factors(config)
    member = int(np.argmax(factors))
    if factors[member] <= 1:
        return
    extremes = survey(setup)
    viscosity = extremes.largest("viscosity") * factors[member]
    added = {"viscosity": viscosity - extremes.largest("viscosity")}
    added = TERMS["viscosity"].rate(added, *(extremes.ranges[name][0] for name in ("dx", "dy")))
    extremes.ranges["friction_rate"] = (0.0, extremes.largest("friction_rate") + added)
    largest, _ = largest_dt(config, extremes)
    if config.time.dt > largest:
        yield (
            f"ensemble.viscosity: member {member} has {viscosity:.4g} m2 s-1, with which the time step of "
            f"{config.time.dt:.4g} s is above the largest stable one, {validate.floor(largest)} s"
        )


def numbers_of(name: str, options) -> np.ndarray:
    """A standard normal number for each member; 0 for member 0."""
    return np.array([0.0, *(white_number(options.seed, name, member) for member in range(1, options.members))])


def viscosity_factors(config: Config) -> np.ndarray:
    """The factors of the viscosity of all members, exp(size x) of standard normal x; 1 for member 0."""
    return np.exp(config.ensemble.viscosity * numbers_of("viscosity", config.ensemble))


def wind_factors(config: Config) -> np.ndarray:
    """The factors of the wind stress of all members, 1 + size x, if each is one number for the whole domain."""
    options = config.ensemble
    return 1 + options.wind * numbers_of("wind", options) * (options.wind_length == 0)


def written(config: Config) -> tuple[int, ...]:
    """The members whose fields are written, in rising order."""
    options = config.ensemble
    return tuple(sorted(set(options.write))) or tuple(range(min(WRITTEN, options.members)))
