"""What a run needs before its state: scheme, transport, and static fields of this process's block.

The processes of a parallel Python script check together that all of them can start and have the same inputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import numpy as np

from ..config import Config, ConfigError, load, to_toml
from ..config.loading.fixed_on_resume import PYTHON_SECTION, values_fixed_on_resume
from ..config.loading.load import Source, is_unloaded_source
from ..config.loading.python_inputs import without_term_checksums
from ..config.loading.user_terms import with_new_terms
from ..errors import SetupError, UsageError
from ..ocean.grid import Grid
from ..ocean.scheme import Scheme
from ..parallel.decomposition import parse_layout
from ..parallel.environment import RANK_VARIABLE, RankInfo, get_rank_info
from ..parallel.transport import Transport, connect
from ..parallel.transport.join import mpi_world
from ..setup.fields.python_fields import LocalArray, field_from_table, with_python_inputs
from ..setup.setup import Setup, setup_of
from .resolve import choose_transport, config_for_processes, find_layout, resolve_setup
from .validate import check_setup


class Domain(NamedTuple):
    """A Setup, and this process's part of the grid.

    Attributes:
        setup: the Setup of the resolved configuration.
        transport: the connection to other processes; `transport.block` is this process's part.
        grid, params: static fields and coefficients on this process's devices, with `Setup.static_halo`.
    """

    setup: Setup
    transport: Transport
    grid: Grid
    params: dict[str, Any]

    @property
    def config(self) -> Config:
        return self.setup.config

    @property
    def scheme(self) -> Scheme:
        return self.setup.scheme


def make_domain(
    config: Source | Callable[[], Any], scheme: Callable[[Setup], Scheme] | None = None, whole_grid: bool = False
) -> Domain:
    """The Domain of a run; all processes call it together.

    Args:
        config: a configuration, a case, the name of a case or file, or a function that returns a configuration.
        scheme: function of the Setup that returns another Scheme; None: the Scheme of the Setup.
        whole_grid: whether this process has the whole grid, even if there are other processes.

    UsageError, ConfigError, SetupError: see `Simulation`.
    """
    rank_info = None if whole_grid else get_rank_info()
    allgather = choose_allgather(rank_info)
    config = gather_local_fields(run_on_all(allgather, lambda: load_config(config, rank_info)), allgather)
    is_executor_chosen, setup = config.run.executor != "auto", run_on_all(allgather, lambda: make_setup(config))
    if setup.dtype == np.float64:
        jax.config.update("jax_enable_x64", True)
    if scheme:
        setup = replace(setup, scheme=scheme(setup))
    run, (ny, nx) = setup.config.run, setup.shape
    layout = parse_layout(run.layout, run.blocks, ny, nx, setup.scheme.halo_width)
    transport = connect(run.transport, layout, ny, nx, run.devices, exchange=run.exchange)
    check_same_inputs(setup.config, transport)
    if not is_executor_chosen and transport.any(run.executor == "xla"):  # one of the machines has no native step
        setup = setup.with_config(setup.config.model_copy(update={"run": run.model_copy(update={"executor": "xla"})}))
    return Domain(setup, transport, *transport.make_arrays(setup.static, setup.static_halo))


def load_config(config: Any, rank_info: RankInfo | None) -> Config:
    """The configuration for the number of processes; for `config` and errors see `make_domain`."""
    config = load(config) if is_unloaded_source(config) else config() if callable(config) else config
    if not isinstance(config, Config):
        raise UsageError(f"{config!r:.60}: give a Config (swmodel.load), a case, or the name of a case or file")
    return config if rank_info is None else config_for_processes(config, rank_info.size)


def make_setup(config: Config) -> Setup:
    """The Setup of the resolved configuration, which is checked here unless a command has already done so."""
    setup = with_new_terms(setup_of(without_term_checksums(config)))
    return resolve_setup(setup) if config._is_checked else check_setup(setup, unattended=False)


def choose_allgather(rank_info: RankInfo | None) -> Callable:
    """The allgather of MPI, or one with this process alone.

    This process is alone if `rank_info` is None, as without mpiexec and srun, if mpi4py is missing, or if JAX connects
    the processes.
    """
    uses_jax_processes = RANK_VARIABLE in os.environ or jax.distributed.is_initialized()
    if rank_info is None or uses_jax_processes or find_spec("mpi4py") is None:
        return lambda value: [value]
    return mpi_world(rank_info).allgather


def run_on_all(allgather: Callable, function: Callable) -> Any:
    """The result of function(). An error is raised unchanged on its process, and as UsageError on all others."""
    result = problem = None
    try:
        result = function()
    except Exception as error:
        problem = error
    messages = allgather(None if problem is None else str(problem) or type(problem).__name__)
    if problem is not None:
        raise problem
    for rank, text in enumerate(messages):
        if text is not None:
            raise UsageError(f"rank {rank}: {text}")
    return result


def gather_local_fields(config: Config, allgather: Callable) -> Config:
    """The configuration with whole fields in place of their `local` parts; all processes call it together.

    SetupError: a field is local on some processes only. UsageError, ConfigError: see `gather_field`.
    """
    local_parts = {name: source for name, source in config.python._sources.items() if isinstance(source, LocalArray)}
    for rank, names in enumerate(names_of_ranks := allgather(sorted(local_parts))):
        if differing := sorted({*names} ^ {*names_of_ranks[0]}):
            name = differing[0]
            raise SetupError(f"fields: {name} must be local on all processes or on none; ranks 0 and {rank} differ")
    if not local_parts:
        return config
    run, python, setup = config.run, config.python, setup_of(config)
    transport = connect(choose_transport(run), find_layout(setup), *setup.shape, run.devices, exchange=run.exchange)
    tables = {
        name: field_from_table(gather_field(part.values, f"fields: {name}", transport))
        for name, part in local_parts.items()
    }
    return with_python_inputs(config, python.fields, python.terms, python._sources | tables, python._terms)


def gather_field(values: np.ndarray, context: str, transport: Transport) -> np.ndarray:
    """The field [ny, nx], float64, assembled from the parts of all processes, which call it together.

    ConfigError, on other processes UsageError: a part does not have the shape of its process's block.
    """
    block = transport.block

    def check_shape():
        if values.shape != block.shape:
            part = f"rows {block.y.start} to {block.y.stop - 1} and columns {block.x.start} to {block.x.stop - 1}"
            raise ConfigError(
                [f"{context} has shape {values.shape}, but this process's part has {block.shape}: {part} of the grid"]
            )

    run_on_all(transport.allgather, check_shape)
    field = np.empty((block.y.axis_size, block.x.axis_size))
    for y, x, part in transport.allgather((block.y, block.x, values)):
        field[y.start : y.stop, x.start : x.stop] = part
    return field


def check_same_inputs(config: Config, transport: Transport) -> None:
    """Raise SetupError on all processes unless all have the same inputs.

    These are the equations, the length of the run, its output and restart files, and the fields and terms from Python.
    """
    if transport.size == 1:
        return
    inputs = values_fixed_on_resume(to_toml(config)) | {
        f"{section}.{key}": value
        for section, keys in (("run", ("steps", "days")), ("output", None), ("restart", None))
        for key, value in getattr(config, section).model_dump(mode="json").items()
        if keys is None or key in keys
    }
    inputs_of_ranks = transport.allgather(inputs)
    keys = {key for inputs in inputs_of_ranks for key in inputs}
    resolved_sections = ("run.", "output.", "restart.")  # run.steps follows from time.dt, which is named before it
    for key in sorted(
        keys, key=lambda key: (not key.startswith(f"{PYTHON_SECTION}."), key.startswith(resolved_sections), key)
    ):
        expected = inputs_of_ranks[0].get(key, "missing")
        for rank, inputs in enumerate(inputs_of_ranks):
            if (other := inputs.get(key, "missing")) != expected:
                description = key.replace(f"{PYTHON_SECTION}.", "the input from Python ")
                raise SetupError(
                    f"the processes differ: {description} is {expected} on rank 0 and {other} on rank {rank}; give the "
                    "same to all processes, and use a seed for random numbers"
                )
