"""Checks of a run before any process starts, which report all problems together. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..config import Config, ConfigError
from ..errors import UsageError
from ..executors import availability, cuda
from ..executors.cuda import library
from ..extras import lacking
from ..ocean.coordinates import on_sphere
from ..ocean.derived import POTENTIALS
from ..ocean.evaluation import derived
from ..ocean.table import FORCING
from ..ocean.terms import TERMS, tracer
from ..ocean.terms.tide import repeated
from ..parallel import environment
from ..setup import tidal_analysis
from ..setup.checks import outside
from ..setup.checks.extremes import Extremes, in_hectopascals, survey
from ..setup.checks.stability import WAVES, automatic_dt, largest_dt, rates
from ..setup.fields import bands, stored
from ..setup.fields.field import fields_of, formulas
from ..setup.fields.formula import position_problems
from ..setup.fields.kinds import field_of, file_of
from ..setup.fields.netcdf_input import InputError
from ..setup.fields.varying import record
from ..setup.positions import crossings, drifters, gauges
from ..setup.setup import Setup, setup_of
from .resolve import layout_of, resolved

#: Least number of states in the memory of a process: its state, the time stepper's memory, a padded copy, tendencies.
STATES = 4

#: Most values of records in time that are read before a run, in about two seconds.
EXAMINED = 10**8

#: Why a run has no floods.
NO_DRYING = "without drying.active no ground floods or falls dry"

#: The steppers without memory, or whose memory can be interpolated: states of two earlier steps.
HALVED = "gfb", "rk3", "rk4"

#: Most steps of a carry, whose step is an int32.
MOST_STEPS = 2**31 - 1


def check_config(config: Config) -> Config:
    """The resolved and checked configuration of a complete run, for all commands. ConfigError: all problems."""
    return check(setup_of(config), to_the_end=True).config


def check(setup: Setup, to_the_end: bool) -> Setup:
    """The resolved and checked Setup. ConfigError: all problems.

    Args:
        to_the_end: whether the run goes to its end unattended: then it needs a length, and values of records in time
            are read now.
    """
    config = setup.config
    problems = [*check_processes(setup), *check_options(config), *check_terms(setup.scheme)]
    problems += [*check_length(config), *check_calls(config)] if to_the_end else []
    problems += check_output(setup)
    obstacles, found = [*check_files(setup), *check_memory(setup)], None
    problems += obstacles
    if not obstacles:
        found, wrong = values_of(setup)
        problems += wrong or [*check_places(config), *check_transforms(config, found), *check_dt(config, found)]
    if not problems:
        setup = resolved(setup, found)
        problems = list(check_records(setup, to_the_end))
    if problems:
        raise ConfigError(problems)
    return setup


def check_processes(setup: Setup) -> Iterator[str]:
    """Problems of the number of processes with the grid, the executor and the transport."""
    run = setup.config.run
    try:
        layout_of(setup)
    except ConfigError as error:
        yield from error.problems
    if run.executor == "reference":
        if run.nproc > 1:
            yield f"run.executor: the reference runs on one process, not on {run.nproc}; use xla"
        if run.devices > 1 or run.transport == "sharded":
            yield "run.executor: the reference runs in NumPy, not on devices of JAX; use xla"
    if run.executor in availability.GENERATED and (reason := availability.unsupported_reason(run.executor, setup)):
        yield f"run.executor: {run.executor} cannot be used: {reason}; use auto or xla"
    if run.transport in ("serial", "mpi") and run.devices > 1:
        yield f"run.devices: {run.transport} has one device in a process, not {run.devices}; use sharded"
    if run.transport == "serial" and run.nproc > 1:
        yield f"run.transport: serial connects one process, not {run.nproc}; use mpi"


def check_memory(setup: Setup) -> Iterator[str]:
    """A line if the fields of a process or a GPU do not fit into its memory, on a machine like this one."""
    run = setup.config.run
    if run.executor != "reference" and environment.has_gpu() and not cuda.machine_unsupported_reason():
        part, place, parts, present = "GPU", "GPU", run.nproc * run.devices, library.memory() / 1e9
    else:
        part, place, parts, present = "process", "machine", run.nproc, environment.total_memory() / 1e9
    cells = math.prod(setup.shape) / parts
    wanted = cells * STATES * len(setup.scheme.state._fields) * setup.dtype.itemsize / 1e9
    if wanted > present:
        yield (
            f"grid.nx, grid.ny: the {cells:.3g} cells of a {part} need at least {wanted:.3g} GB; "
            f"this {place} has {present:.3g} GB; use fewer cells, or more {place}s"
        )


def check_options(config: Config) -> Iterator[str]:
    """Options that contradict each other, of the equations and of the harmonic analysis."""
    physics = config.physics
    if config.grid.periodic_y and physics.beta != 0:
        yield "physics.beta: must be 0 m-1 s-1 where grid.periodic_y is true: f would jump where the ring closes"
    full = physics.full_gravity
    if physics.reduced_gravity and physics.gravity >= full:
        yield (
            f"physics.gravity: must be below physics.full_gravity, {full:g} m s-2, not {physics.gravity:g} m s-2, "
            "where physics.reduced_gravity is true; set it to false for water over a sea floor"
        )
    if not physics.reduced_gravity and full != type(physics).model_fields["full_gravity"].default:
        yield f"physics.full_gravity: {full:g} m s-2 has no effect unless physics.reduced_gravity is true"
    if config.drying.active and config.time.stepper != "gfb":
        yield f'time.stepper: must be "gfb" where drying.active is true, not "{config.time.stepper}"'
    if config.time.halvings and config.time.stepper not in HALVED:
        yield f'time.halvings: needs time.stepper = {", ".join(HALVED)}, not "{config.time.stepper}"'
    if config.drying.thickness is not None and not config.drying.active:
        yield "drying.thickness: has no effect unless drying.active is true"
    for term in TERMS.values():
        yield from term.problems(config) if term.problems else ()
    yield from tracer.problems(config)
    yield from tidal_analysis.problems(config)


def check_terms(scheme) -> Iterator[str]:
    """Terms that need others."""
    yield from (line for term in scheme.acting if term.unsupported_reason and (line := term.unsupported_reason(scheme)))


def check_length(config: Config) -> Iterator[str]:
    """A line if the run has no valid length."""
    if config.run.steps is None and config.run.days is None:
        yield "run.days: the run has no length; give run.steps or run.days"
    most = MOST_STEPS // 2**config.time.halvings
    if config.run.steps is not None and config.run.steps > most:
        yield f"run.steps: must be at most {most} steps, not {config.run.steps}"


def check_calls(config: Config) -> Iterator[str]:
    """A line if the recorded run called functions from Python, which are missing now."""
    if calls := config.python.calls:
        yield (
            f"python.calls: {', '.join(calls)} was called from Python; continue the run there, as "
            "model = swmodel.Simulation.resume(DIR), model.every(...), model.run(DIR), or without it by python.calls=[]"
        )


def check_output(setup: Setup) -> Iterator[str]:
    """Output fields that are listed twice, or that the run does not have."""
    output, there = setup.config.output, derived(setup.scheme)
    for name in sorted({*FORCING} - {*setup.scheme.forcing}):
        if name in output.fields:
            yield f"output.fields: this run has no {name}: neither the case nor [input] gives any"
    for table, options in {"output": output, "restart": setup.config.restart}.items():
        if options.format == "zarr" and (line := lacking(f'{table}.format: "zarr"', "zarr")):
            yield line
    if output.inundation and not setup.scheme.drying:
        yield f"output.inundation: {NO_DRYING}"
    for key in ("fields", "means"):
        for name in (each for each in getattr(output, key) if each not in (*there, *FORCING)):
            yield f"output.{key}: this run has no {name}: {NO_DRYING if name == 'wet' else 'its term is off'}"
    for key in ("fields", "means", "maxima"):
        yield from repeated(f"output.{key}", getattr(output, key))


def check_files(setup: Setup) -> Iterator[str]:
    """Whether each input file holds its field on this grid."""
    config = setup.config
    if config.input.state:
        yield from stored.problems(config, setup.scheme.state._fields)
    for name in fields_of(config):
        if file_of(config, name):
            try:
                field_of(config, name).check()
            except InputError as error:
                yield str(error)


def check_records(setup: Setup, values: bool) -> Iterator[str]:
    """Records of varying coefficients that do not cover the run, or lack values on water.

    Many records are represented by the first and the last one; without `values` only the first air pressure is read.
    """
    config, (ny, nx) = setup.config, setup.shape
    for name in setup.scheme.varying:
        try:
            of = field_of(config, name)
            first, last = (of.at(step)[0] for step in (0, max(0, (config.run.steps or 0) - 1)))
            numbers = range(first, last + 2)
            some = numbers if len(numbers) * ny * nx <= EXAMINED else (numbers[0], numbers[-1])
            if not values:
                some = numbers[:1] if name == "air_pressure" else ()
            for number in some:
                found = (record(config, name, number, rows, np.arange(nx), of) for rows in bands(config.grid))
                least, largest = zip(*((values.min(), values.max()) for values in found), strict=True)
                if line := in_hectopascals(name, min(least), max(largest)):
                    raise InputError(f"{line}; at {of.date(number)}")
        except InputError as error:
            yield str(error)


def check_places(config: Config) -> Iterator[str]:
    """Stations, sections and drifters without water."""
    try:
        yield from gauges.problems(config)
        yield from crossings.problems(config)
        yield from drifters.problems(config)
    except InputError as error:
        yield str(error)


def values_of(setup: Setup) -> tuple[Extremes | None, list[str]]:
    """The extremes of the fields, and their problems, one line each."""
    config = setup.config
    if problems := list(position_problems(config, formulas(config))):
        return None, problems
    try:
        found = survey(setup)
    except InputError as error:
        return None, [str(error)]
    of_water = [line for name, line in found.problems.items() if not name.startswith("outside_")]
    return found, of_water or list(outside.problems(config)) or list(found.problems.values())


def check_transforms(config: Config, extremes: Extremes) -> Iterator[str]:
    """Spectra and potentials that land, a sphere or the number of blocks makes impossible."""
    output = config.output
    wanted = {f"output.{key}": "spectra are" for key in ("spectra", "spectra_every_steps") if getattr(output, key)}
    for key in ("fields", "means"):
        wanted |= {f"output.{key}": f"{name} is" for name in getattr(output, key) if name in POTENTIALS}
    lines = lines_of(config.grid)
    for key, words in wanted.items():
        if on_sphere(config.grid):
            yield f"{key}: {words} available on planes only, but this grid is on a sphere; leave it out"
        if extremes.ranges["mask"][0] == 0:
            yield f"{key}: {words} available in seas without land only, but this one has some; leave it out"
        if config.run.blocks > lines:
            yield f"{key}: {config.run.blocks} blocks cannot share {lines} lines of a transform; use fewer"


def lines_of(grid) -> int:
    """The lines of a transform of the grid that blocks share: the smaller number along x or y."""
    return min(grid.ny, grid.nx // 2 + 1 if grid.periodic_x else grid.nx)


def check_dt(config: Config, extremes: Extremes) -> Iterator[str]:
    """A line about an unstable time step, or too many steps."""
    time, rate = config.time, rates(config, extremes)
    if time.stepper == "leapfrog" and time.robert_asselin == 0 and rate.friction + rate.drag > 0:
        yield (
            "time.robert_asselin: must be above 0 with leapfrog and friction, drag or a sponge: "
            "leapfrog without its filter is unstable with damping"
        )
        return
    largest, process = largest_dt(config, extremes)
    stepper = time.stepper + (f" with ab2_epsilon = {time.ab2_epsilon:g}" if time.stepper == "ab2" else "")
    if largest == 0:
        yield f"time.stepper: no time step of {stepper} is stable ({process})"
        return
    key, dt = "time.dt", time.dt
    if dt is None:
        key, dt = f"time.cfl: {time.cfl} gives a time step that is too long", automatic_dt(config, extremes)
        stepped = config.model_copy(update={"time": time.model_copy(update={"dt": dt})})
        yield from (line for line in check_options(stepped) if line not in set(check_options(config)))
    if not math.isfinite(dt):
        yield "time.dt: must be given, in s, as the domain is dry at the start"
    elif dt / 2**time.halvings > largest:
        if process == WAVES and extremes.uneven:
            process = f"{process}, at {extremes.fastest}"
        dt = dt / 2**time.halvings
        yield f"{key}: {dt:.6g} s is above the largest stable time step of {stepper}, {floor(largest)} s ({process})"
    elif config.run.days is not None and config.run.days * 86400.0 / dt > MOST_STEPS:
        yield f"run.days: {config.run.days:g} days are more than {MOST_STEPS} steps of {dt:.6g} s"


def floor(value: float) -> str:
    """A positive number rounded down to four digits."""
    place = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.floor(value / place) * place:.4g}"


def require_length(config: Config) -> None:
    """Raise ConfigError if a run has no length."""
    if problems := list(check_length(config)):
        raise ConfigError(problems)


def require_derivatives(config: Config) -> None:
    """Raise UsageError if the executor of a configuration has no derivatives."""
    if config.run.executor == "reference":
        raise UsageError("executor reference: it has no derivatives; choose native or xla")
    require_equal_steps(config)


def require_equal_steps(config: Config) -> None:
    """Raise UsageError if the steps of a configuration may be halved."""
    if config.time.halvings:
        raise UsageError("time.halvings: pure steps and derivatives need steps of one length; set it to 0")
