"""Choose the values that a configuration leaves to the model; the config.toml of a run records them."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache

from ..config.loading.case_file import recorded_case
from ..config.loading.python_inputs import recorded_config
from ..config.options.model import Config
from ..config.options.output import OutputOptions
from ..config.options.run import keys_to_reset
from ..errors import ConfigError
from ..executors import availability
from ..ocean.constituents import DAY_SECONDS
from ..parallel import environment
from ..parallel.decomposition import LayoutError, parse_layout
from ..setup.checks.extremes import FieldExtremes, survey
from ..setup.checks.stability import automatic_dt
from ..setup.fields.netcdf_input import InputError
from ..setup.setup import Setup, setup_of

#: The `drying.thickness` that the model chooses, relative to the largest depth, and its upper bound, m.
DRYING_THICKNESS_PER_DEPTH, MAX_DRYING_THICKNESS = 1e-3, 0.01

#: The keys whose values `resolve` may choose.
RESOLVED_KEYS = ("time.dt", "drying.thickness", "run.steps", "run.layout", "run.executor", "run.transport")

log = logging.getLogger(__name__)


def resolve(config: Config) -> Config:
    """The configuration as a run uses it, in which the model has chosen the RESOLVED_KEYS that were left to it.

    ConfigError: the grid cannot be divided among the processes, or the initial state cannot be used.
    """
    return resolve_setup(setup_of(config)).config


def resolve_setup(setup: Setup, extremes=None) -> Setup:
    """The Setup of the configuration that `resolve` returns, which also names the file of the case.

    Output fields that are the defaults of the case are extended by the fields of active terms and, with drying, `wet`.
    The time step is chosen for the initial state. The number of steps is days / dt, rounded, but at least one unless
    days is 0.

    ConfigError: the grid cannot be divided among the processes, or the initial state is needed but cannot be used.
    """
    config = setup.config
    time, run = config.time, config.run
    drying = config.drying
    if time.dt is None or (drying.active and drying.thickness is None):
        extremes = survey_or_raise(setup, extremes)
    if time.dt is None:
        time = time.model_copy(update={"dt": automatic_dt(config, extremes), "cfl": None})
    if drying.active and drying.thickness is None:
        max_depth = extremes.ranges["depth"][1]
        thickness = float(f"{min(MAX_DRYING_THICKNESS, DRYING_THICKNESS_PER_DEPTH * max_depth):.2g}")
        drying = drying.model_copy(update={"thickness": thickness})
    steps = run.steps
    if run.days is not None:
        steps = max(1 if run.days > 0 else 0, round(run.days * DAY_SECONDS / time.dt))
    layout = find_layout(setup)
    chosen = {
        "steps": steps,
        "days": None,
        "layout": "x".join(map(str, layout)),
        "executor": choose_executor(setup, layout) if run.executor == "auto" else run.executor,
        "transport": choose_transport(run),
    }
    updates = {"case": recorded_case(config.case), "python": recorded_config(setup).python, "time": time}
    updates |= {"drying": drying, "run": run.model_copy(update=chosen)}
    default_fields = config.case.defaults.get("output", {}).get("fields", OutputOptions().fields)
    if config.output.fields == tuple(default_fields):
        names = *config.output.fields, *setup.scheme.output_fields, *["wet"] * setup.scheme.drying
        updates["output"] = config.output.model_copy(update={"fields": tuple(dict.fromkeys(names))})
    return setup.with_config(config.model_copy(update=updates))


def choose_transport(run) -> str:
    """The transport of the configuration, or a default; it is not MPI on GPUs, because MPI may not support CUDA."""
    if run.transport != "auto":
        return run.transport
    if run.devices > 1 or (run.nproc > 1 and environment.has_gpu()):
        return "sharded"
    return "mpi" if run.nproc > 1 else "serial"


def find_layout(setup: Setup) -> tuple[int, int]:
    """The layout (py, px) of the configuration or, if it has none, the layout with the shortest halos.

    ConfigError: the grid is narrower than the halo, or cannot be divided among the processes.
    """
    run = setup.config.run
    if min(setup.shape) < setup.scheme.halo_width:
        raise ConfigError([narrow_grid_problem(setup)])
    key_of_number, owners = ("devices", "devices") if run.devices > 1 else ("nproc", "processes")
    try:
        return parse_layout(run.layout, run.blocks, *setup.shape, setup.scheme.halo_width, owners)
    except LayoutError as error:
        key = "layout" if run.layout else key_of_number
        raise ConfigError([f"run.{key}: {error}"]) from None


def narrow_grid_problem(setup: Setup) -> str:
    """The message about a grid with fewer rows or columns than the halo."""
    scheme, (ny, nx) = setup.scheme, setup.shape
    key, cells, unit = ("grid.ny", ny, "rows") if ny < scheme.halo_width else ("grid.nx", nx, "columns")
    is_enough_for_ab3 = replace(scheme, is_forward_backward=False).halo_width <= min(ny, nx)
    advice = "; use time.stepper = ab3" if is_enough_for_ab3 else ""
    return f"{key}: the halo needs at least {scheme.halo_width} {unit}, not {cells}{advice}"


def choose_executor(setup: Setup, layout: tuple[int, int] = (1, 1)) -> str:
    """The executor with a generated step, `cuda` on a GPU, else `native`; `xla` if this step cannot be used."""
    generated = "cuda" if environment.has_gpu() else "native"
    if reason := availability.unsupported_reason(generated, setup, layout):
        log_slower_executor(f"{generated} cannot be used: {reason}")
        return "xla"
    return generated


@cache
def log_slower_executor(reason: str) -> None:
    """Log why a slower executor is used, once and on rank 0 only."""
    if (environment.get_rank_info() or environment.RankInfo()).rank == 0:
        log.warning("run.executor: the run uses xla, which is slower than a generated step: %s", reason)


def config_for_processes(config: Config, nproc: int) -> Config:
    """The configuration for this number of processes; a layout for another number is replaced."""
    run = config.run
    if run.nproc == nproc:
        return config
    old_values, changes = run.model_dump(), {"nproc": nproc}
    changes |= {key: type(run).model_fields[key].default for key in keys_to_reset(old_values, old_values | changes)}
    return config.model_copy(update={"run": run.model_copy(update=changes)})


def survey_or_raise(setup: Setup, extremes: FieldExtremes | None) -> FieldExtremes:
    """The extremes of the initial state. ConfigError: it cannot be used."""
    try:
        extremes = extremes or survey(setup)
    except InputError as error:
        raise ConfigError([str(error)]) from None
    if extremes.problems:
        raise ConfigError(extremes.problems.values())
    return extremes
