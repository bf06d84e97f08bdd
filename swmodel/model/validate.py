"""Checks of a run before its first step, which report problems together. They do not use JAX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ..config import Config, ConfigError
from ..errors import SetupError, UsageError, suggest
from ..executors import availability, cuda
from ..executors.cuda import kernel_library
from ..extras import missing_package_reason
from ..ocean.coordinates import is_spherical
from ..ocean.derived import POTENTIALS
from ..ocean.evaluation import derived_names
from ..ocean.table import FORCING, INPUT_FIELDS, VARIABLES
from ..ocean.terms import TERMS, tracer
from ..ocean.terms.tide import repetition_problems
from ..ocean.timestep import ForwardBackward, RungeKutta, methods
from ..parallel import environment
from ..setup import tidal_analysis
from ..setup.checks import boundary_data
from ..setup.checks.extremes import FieldExtremes, pressure_unit_problem, survey
from ..setup.checks.stability import WAVE_PROCESS, automatic_dt, fastest_rates, max_stable_dt
from ..setup.fields import row_bands, start_state
from ..setup.fields.field_sources import RecordsSource, input_file_of, source_of, varies_in_time
from ..setup.fields.formula import position_problems
from ..setup.fields.netcdf_input import InputError
from ..setup.fields.python_fields import field_names, formula_sources
from ..setup.fields.varying import read_record
from ..setup.positions import cross_sections, drifters, gauges, rivers
from ..setup.setup import Setup, setup_of
from .resolve import find_layout, resolve_setup

if TYPE_CHECKING:
    from ..ocean.scheme import Scheme

#: Lower bound of the number of states that a process holds: state, the stepper's memory, a padded copy and tendencies.
MIN_STATES_IN_MEMORY = 4

#: Largest number of values in a field's records for which all records are read before a run, in about two seconds.
MAX_VALUES_READ = 10**8

NO_DRYING_REASON = "without drying.active no cell floods or falls dry"

#: Steppers without memory of earlier steps, or whose memory consists of the two previous states and is interpolated.
STEPPERS_WITH_SUBSTEPS = [name for name, each in methods().items() if isinstance(each, RungeKutta | ForwardBackward)]

#: Largest step number that a Carry can hold, as an int32.
MAX_STEPS = 2**31 - 1


def check_config(config: Config) -> Config:
    """The resolved configuration of a run after all checks, for commands. For errors see `check_setup`."""
    return check_setup(setup_of(config), unattended=True).config


def check_setup(setup: Setup, unattended: bool) -> Setup:
    """The resolved Setup after all checks.

    Args:
        unattended: whether the run goes to its end without a user. It then needs a length, and the values of its
            records in time are read now, so that a bad value does not stop the run halfway.

    Raises:
        ConfigError: all problems.
        SetupError: this machine lacks what the chosen executor needs.
    """
    config = setup.config
    if problems := list(term_problems(setup.scheme)):  # most other checks need the halo, which is then unknown
        raise ConfigError([*option_problems(config), *problems])
    problems = [*process_problems(setup), *option_problems(config)]
    problems += [*length_problems(config), *call_problems(config)] if unattended else []
    problems += output_problems(setup)
    resource_problems, extremes = [*file_problems(setup), *memory_problems(setup)], None
    resource_problems = resource_problems or list(until_input_error(rivers.problems(config)))
    problems += resource_problems
    if not resource_problems:
        extremes, value_problems = survey_fields(setup)
        problems += value_problems
        if extremes is not None and not value_problems:
            problems += [
                *until_input_error(gauges.problems(config), cross_sections.problems(config), drifters.problems(config)),
                *transform_problems(config, extremes),
                *time_step_problems(config, extremes),
            ]
    if not problems:
        if reason := availability.machine_unsupported_reason(config.run.executor):
            raise SetupError(f"run.executor: {config.run.executor} cannot be used: {reason}; use auto or xla")
        setup = resolve_setup(setup, extremes)
        problems = list(record_problems(setup, unattended))
    if problems:
        raise ConfigError(problems)
    return setup


def process_problems(setup: Setup) -> Iterator[str]:
    """Processes and devices that do not suit grid, executor or transport, and an executor that cannot be used."""
    run, layout = setup.config.run, (1, 1)
    try:
        layout = find_layout(setup)
    except ConfigError as error:
        yield from error.problems
    if run.executor == "reference":
        if run.nproc > 1:
            yield f"run.executor: the reference runs on one process only, not on {run.nproc}; use xla"
        if run.devices > 1 or run.transport == "sharded":
            yield "run.executor: the reference uses NumPy, not JAX devices; use xla"
    if (
        run.executor in availability.AVAILABILITY
        and not availability.machine_unsupported_reason(run.executor)
        and (reason := availability.unsupported_reason(run.executor, setup, layout))
    ):
        yield f"run.executor: {run.executor} cannot be used: {reason}; use auto or xla"
    if run.transport in ("serial", "mpi") and run.devices > 1:
        yield f"run.devices: {run.transport} uses one device per process, not {run.devices}; use sharded"
    if run.transport == "serial" and run.nproc > 1:
        yield f"run.transport: serial connects one process, not {run.nproc}; use mpi"


def memory_problems(setup: Setup) -> Iterator[str]:
    """A message if the fields of a process or a GPU do not fit into the memory of a machine like this one."""
    run = setup.config.run
    if run.executor != "reference" and environment.has_gpu() and not cuda.machine_unsupported_reason():
        owner, machine, n_owners = "GPU", "GPU", run.nproc * run.devices
        gigabytes_present = kernel_library.gpu_memory_bytes() / 1e9
    else:
        owner, machine, n_owners = "process", "machine", run.nproc
        gigabytes_present = environment.total_memory() / 1e9
    cells = math.prod(setup.shape) / n_owners
    n_fields = MIN_STATES_IN_MEMORY * len(setup.scheme.state_type._fields)
    gigabytes_needed = cells * n_fields * setup.dtype.itemsize / 1e9
    if gigabytes_needed > gigabytes_present:
        yield (
            f"grid.nx, grid.ny: the {cells:.3g} cells of a {owner} need at least {gigabytes_needed:.3g} GB; "
            f"this {machine} has {gigabytes_present:.3g} GB; use fewer cells or more {machine}s"
        )


def option_problems(config: Config) -> Iterator[str]:
    """Contradictions between options of the equations, the time stepping, the forcing and the harmonic analysis."""
    physics = config.physics
    if config.grid.periodic_y and physics.beta != 0:
        yield "physics.beta: must be 0 m-1 s-1 where grid.periodic_y is true: f would jump at the periodic boundary"
    full_gravity = physics.full_gravity
    if physics.reduced_gravity and physics.gravity >= full_gravity:
        yield (
            f"physics.gravity: must be below physics.full_gravity, {full_gravity:g} m s-2, not {physics.gravity:g} m "
            "s-2, where physics.reduced_gravity is true; set it to false for water over a sea floor"
        )
    if not physics.reduced_gravity and full_gravity != type(physics).model_fields["full_gravity"].default:
        yield f"physics.full_gravity: {full_gravity:g} m s-2 has no effect unless physics.reduced_gravity is true"
    if config.drying.active and config.time.stepper != "gfb":
        yield f'time.stepper: must be "gfb" where drying.active is true, not "{config.time.stepper}"'
    if config.time.max_substeps > 1 and config.time.stepper not in STEPPERS_WITH_SUBSTEPS:
        steppers = ", ".join(STEPPERS_WITH_SUBSTEPS)
        yield f'time.max_substeps: needs one of {steppers} as time.stepper, not "{config.time.stepper}"'
    if config.drying.thickness is not None and not config.drying.active:
        yield "drying.thickness: has no effect unless drying.active is true"
    varying = [name for name in INPUT_FIELDS if VARIABLES[name].varies_in_time]
    for name in config.forcing.climatology:
        if name not in varying:
            yield f'forcing.climatology: no field "{name}" varies in time; {suggest(name, varying)}'
        elif not (varies_in_time(config, name) and isinstance(source_of(config, name), RecordsSource)):
            yield f'forcing.climatology: "{name}" has no records in time; give them in input.{name}'
    for term in TERMS.values():
        yield from term.problems(config) if term.problems else ()
    yield from tracer.problems(config)
    yield from tidal_analysis.problems(config)


def term_problems(scheme: Scheme) -> Iterator[str]:
    """Reasons why the scheme cannot contain some of its terms."""
    for term in scheme.active_terms:
        if term.unsupported_reason and (reason := term.unsupported_reason(scheme)):
            yield reason


def length_problems(config: Config) -> Iterator[str]:
    """A message if the run has no length, or too many steps."""
    if config.run.steps is None and config.run.days is None:
        yield "run.days: the run has no length; give run.steps or run.days"
    max_steps = MAX_STEPS // config.time.max_substeps
    if config.run.steps is not None and config.run.steps > max_steps:
        yield f"run.steps: must be at most {max_steps} steps, not {config.run.steps}"


def call_problems(config: Config) -> Iterator[str]:
    """A message if the recorded run called functions from Python, because they are missing now."""
    if calls := config.python.calls:
        yield (
            f"python.calls: {', '.join(calls)} was called from Python; continue the run there, with model = "
            "swmodel.Simulation.resume(DIR), model.every(...), model.run(DIR), or set python.calls=[] to omit the calls"
        )


def output_problems(setup: Setup) -> Iterator[str]:
    """Output fields that are listed twice or that the run lacks, and output that needs drying.

    Also formats of output and restart files that need a missing package.
    """
    output, available = setup.config.output, derived_names(setup.scheme)
    for name in sorted({*FORCING} - {*setup.scheme.forcing}):
        if name in output.fields:
            yield f"output.fields: this run has no {name}: neither the case nor [input] provides it"
    for table, file_format in {"output": output.format, "restart": setup.config.restart.format}.items():
        if file_format == "zarr" and (line := missing_package_reason(f'{table}.format: "zarr"', "zarr")):
            yield line
    if output.inundation and not setup.scheme.drying:
        yield f"output.inundation: {NO_DRYING_REASON}"
    for key in ("fields", "means"):
        for name in (name for name in getattr(output, key) if name not in (*available, *FORCING)):
            yield f"output.{key}: this run has no {name}: {NO_DRYING_REASON if name == 'wet' else 'its term is off'}"
    for key in ("fields", "means", "maxima"):
        yield from repetition_problems(f"output.{key}", getattr(output, key))


def file_problems(setup: Setup) -> Iterator[str]:
    """Input files that do not contain their field on this grid."""
    config = setup.config
    if config.input.state:
        yield from start_state.problems(config, setup.scheme.state_type._fields)
    for name in field_names(config):
        if input_file_of(config, name):
            try:
                source_of(config, name).check()
            except InputError as error:
                yield str(error)


def until_input_error(*problems: Iterable[str]) -> Iterator[str]:
    """All problems; if finding them raises an InputError, those before it, and its message as the last one."""
    try:
        yield from chain(*problems)
    except InputError as error:
        yield str(error)


def record_problems(setup: Setup, read_values: bool) -> Iterator[str]:
    """Messages about records of varying coefficients that do not cover the run, or whose values cannot be used.

    If a field has more than MAX_VALUES_READ values, only its first and last records are read. Without `read_values`, no
    record is read except the first of the air pressure, to check its unit.
    """
    config, (ny, nx) = setup.config, setup.shape
    for name in setup.scheme.varying:
        try:
            source = source_of(config, name)
            first, last = (source.record_at(step)[0] for step in (0, max(0, (config.run.steps or 0) - 1)))
            record_numbers = range(first, last + 2)
            if len(record_numbers) * ny * nx > MAX_VALUES_READ:
                record_numbers = record_numbers[:: len(record_numbers) - 1]
            if not read_values:
                record_numbers = record_numbers[:1] if name == "air_pressure" else record_numbers[:0]
            for number in record_numbers:
                rows_of_bands = row_bands(config.grid)
                bands = (read_record(config, name, number, rows, np.arange(nx), source) for rows in rows_of_bands)
                minima, maxima = zip(*((values.min(), values.max()) for values in bands), strict=True)
                if line := pressure_unit_problem(name, min(minima), max(maxima)):
                    raise InputError(f"{line}; at {source.date(number)}")
        except InputError as error:
            yield str(error)


def survey_fields(setup: Setup) -> tuple[FieldExtremes | None, list[str]]:
    """The extremes of the fields, None if they cannot be computed, and a message about each problem."""
    config = setup.config
    if problems := list(position_problems(config, formula_sources(config))):
        return None, problems
    try:
        extremes = survey(setup)
    except InputError as error:
        return None, [str(error)]
    problems_on_water = [line for name, line in extremes.problems.items() if not name.startswith("boundary_")]
    return extremes, problems_on_water or list(boundary_data.problems(config)) or list(extremes.problems.values())


def transform_problems(config: Config, extremes: FieldExtremes) -> Iterator[str]:
    """Spectra and potentials that land, open boundaries, a spherical grid or the number of blocks make impossible."""
    output = config.output
    subjects = [(key, "spectra are") for key in ("spectra", "spectra_every_steps") if getattr(output, key)]
    for key in ("fields", "means"):
        subjects += [(key, f"{name} is") for name in getattr(output, key) if name in POTENTIALS]
    n_lines = n_transform_lines(config.grid)
    for key, subject in subjects:
        remedy = f"leave {'them' if subject.endswith('are') else 'it'} out"
        if is_spherical(config.grid):
            yield f"output.{key}: {subject} available on plane grids only, but this grid is on a sphere; {remedy}"
        if extremes.ranges["mask"][0] == 0:
            yield f"output.{key}: {subject} available only in seas without land and open boundaries; {remedy}"
    for key in dict.fromkeys(key for key, _ in subjects):
        if config.run.blocks > n_lines:
            blocks_and_lines = f"{config.run.blocks} blocks cannot share {n_lines} lines of a transform"
            yield f"output.{key}: {blocks_and_lines}; use fewer blocks"


def n_transform_lines(grid) -> int:
    """The number of lines of a transform that blocks can share: the smaller one of those along x and along y."""
    return min(grid.ny, grid.nx // 2 + 1 if grid.periodic_x else grid.nx)


def time_step_problems(config: Config, extremes: FieldExtremes) -> Iterator[str]:
    """Messages about a time step that is unstable, unknown or not suited to other options, and about too many steps."""
    time, rates = config.time, fastest_rates(config, extremes)
    if time.stepper == "leapfrog" and time.robert_asselin == 0 and rates.friction + rates.drag > 0:
        yield (
            "time.robert_asselin: must be above 0 with leapfrog and friction, drag or a sponge: "
            "leapfrog without its filter is unstable with damping"
        )
        return
    largest_dt, limiting_process = max_stable_dt(config, extremes)
    stepper = time.stepper + (f" with ab2_epsilon = {time.ab2_epsilon:g}" if time.stepper == "ab2" else "")
    if largest_dt == 0:
        yield f"time.stepper: no time step of {stepper} is stable ({limiting_process})"
        return
    key, dt = "time.dt", time.dt
    if dt is None:
        key, dt = f"time.cfl: {time.cfl} gives a time step that is too long", automatic_dt(config, extremes)
        config_with_dt = config.model_copy(update={"time": time.model_copy(update={"dt": dt})})
        yield from (line for line in option_problems(config_with_dt) if line not in set(option_problems(config)))
    if not math.isfinite(dt):
        yield "time.dt: must be given, in s, because the domain is dry at the start"
    elif dt / time.max_substeps > largest_dt:
        if limiting_process == WAVE_PROCESS and extremes.has_uneven_cells:
            limiting_process = f"{limiting_process}, at {extremes.fastest_cell}"
        dt = dt / time.max_substeps
        yield (
            f"{key}: {dt:.6g} s{' per substep' if time.max_substeps > 1 else ''} is above the largest stable time step "
            f"of {stepper}, {format_rounded_down(largest_dt)} s ({limiting_process})"
        )
    elif config.run.days is not None and config.run.days * 86400.0 / dt > MAX_STEPS // time.max_substeps:
        yield f"run.days: {config.run.days:g} days are more than {MAX_STEPS // time.max_substeps} steps of {dt:.6g} s"


def format_rounded_down(value: float) -> str:
    """A positive number as text, rounded down to four significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.floor(value / unit) * unit:.4g}"


def require_length(config: Config) -> None:
    """Raise ConfigError if a run has no length, or too many steps."""
    if problems := list(length_problems(config)):
        raise ConfigError(problems)


def require_derivatives(config: Config) -> None:
    """Raise UsageError if the executor, a moving sea floor or substeps rule out derivatives of the run."""
    if config.run.executor == "reference":
        raise UsageError("executor reference has no derivatives; choose native or xla")
    if varies_in_time(config, "uplift"):
        raise UsageError("uplift: derivatives and assimilation need a sea floor that does not move in time")
    require_equal_steps(config)


def require_equal_steps(config: Config) -> None:
    """Raise UsageError if the run may divide its time steps into substeps."""
    if config.time.max_substeps > 1:
        raise UsageError("time.max_substeps: pure steps and derivatives need equal time steps; set it to 1")
