"""The parts of a run before its state: scheme, transport, and static fields of this process's block.

Processes of a Python script check together that all can start, and have the same inputs.
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
from ..config.loading.decisive import PYTHON, decisive
from ..config.loading.load import is_source
from ..config.loading.own_terms import with_fresh_terms
from ..config.loading.python_inputs import unhashed
from ..errors import SetupError, UsageError
from ..ocean.grid import Grid
from ..ocean.scheme import Scheme
from ..parallel.decomposition import parse_layout
from ..parallel.environment import RANK, World, world
from ..parallel.transport import Transport, connect
from ..parallel.transport.join import mpi_world
from ..setup.fields.field import Local, table, with_python
from ..setup.setup import Setup, setup_of
from .resolve import for_processes, layout_of, resolved, transport_for
from .validate import check


class Domain(NamedTuple):
    """A Setup with this process's part of the grid.

    Attributes:
        setup: the Setup of the resolved configuration.
        transport: the connection to other processes; `transport.block` is this process's part.
        grid, params: static fields and coefficients on its devices, with the margin of the Setup.
    """

    setup: Setup
    transport: Transport
    grid: Grid
    params: dict[str, Any]

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        return self.setup.config

    @property
    def scheme(self) -> Scheme:
        """The terms of the tendency."""
        return self.setup.scheme


def domain(config, scheme: Callable[[Setup], Scheme] | None = None, alone=False) -> Domain:
    """The Domain of a configuration, a case, or the name of a case or file; all processes call it together.

    Args:
        config: one of these, or a function that returns a configuration.
        scheme: function of the Setup to another Scheme; None: that of the Setup.
        alone: whether this process has the whole grid, despite other processes.

    UsageError, ConfigError, SetupError: see `Simulation`.
    """
    place = None if alone else world()
    allgather = gather_of(place)
    config = assembled(on_all(allgather, lambda: loaded(config, place)), allgather)
    chosen, setup = config.run.executor != "auto", on_all(allgather, lambda: made(config))
    if setup.dtype == np.float64:
        jax.config.update("jax_enable_x64", True)
    if scheme:
        setup = replace(setup, scheme=scheme(setup))
    run, (ny, nx) = setup.config.run, setup.shape
    layout = parse_layout(run.layout, run.blocks, ny, nx, setup.scheme.width)
    transport = connect(run.transport, layout, ny, nx, run.devices, exchange=run.exchange)
    see_that_same(setup.config, transport)
    if not chosen and transport.any(run.executor == "xla"):  # some machine has no native step
        setup = setup.with_config(setup.config.model_copy(update={"run": run.model_copy(update={"executor": "xla"})}))
    return Domain(setup, transport, *transport.make(setup.static, setup.margin))


def loaded(config, place) -> Config:
    """The configuration, for the present number of processes; see `domain`."""
    config = load(config) if is_source(config) else config() if callable(config) else config
    if not isinstance(config, Config):
        raise UsageError(f"{config!r:.60}: needs a Config (swmodel.load), a case, or the name of a case or file")
    return config if place is None else for_processes(config, place.size)


def made(config: Config) -> Setup:
    """The Setup of the resolved configuration, which is checked unless a command has done so."""
    setup = with_fresh_terms(setup_of(unhashed(config)))
    return resolved(setup) if config._checked else check(setup, to_the_end=False)


def gather_of(place: World | None) -> Callable:
    """The allgather of the processes that mpiexec or srun started; `place` is None for one process alone."""
    if place is None or RANK in os.environ or jax.distributed.is_initialized() or find_spec("mpi4py") is None:
        return lambda value: [value]
    return mpi_world(place).allgather


def on_all(allgather: Callable, function: Callable) -> Any:
    """The result of function(). An error of a process is raised there, and as a UsageError on all others."""
    result = problem = None
    try:
        result = function()
    except Exception as error:
        problem = error
    words = allgather(None if problem is None else str(problem) or type(problem).__name__)
    if problem is not None:
        raise problem
    for rank, text in enumerate(words):
        if text is not None:
            raise UsageError(f"rank {rank}: {text}")
    return result


def assembled(config, allgather: Callable):
    """The configuration with gathered `local` parts of fields; all processes call it together."""
    parts = {name: source for name, source in config.python._sources.items() if isinstance(source, Local)}
    for rank, names in enumerate(everyone := allgather(sorted(parts))):
        if wrong := sorted({*names} ^ {*everyone[0]}):
            raise SetupError(
                f"fields: {wrong[0]} must be local on all processes; it differs between ranks 0 and {rank}"
            )
    if not parts:
        return config
    run, python, shape = config.run, config.python, (config.grid.ny, config.grid.nx)
    transport = connect(transport_for(run), layout_of(setup_of(config)), *shape, run.devices, exchange=run.exchange)
    tables = {name: table(whole(part.values, f"fields: {name}", transport)) for name, part in parts.items()}
    return with_python(config, python.fields, python.terms, python._sources | tables, python._terms)


def whole(values: np.ndarray, place: str, transport) -> np.ndarray:
    """The field [ny, nx] from each process's part. ConfigError: a part has another shape."""
    block = transport.block

    def fit():
        if values.shape != block.shape:
            part = f"rows {block.y.start} to {block.y.stop - 1} and columns {block.x.start} to {block.x.stop - 1}"
            raise ConfigError(
                [f"{place} has shape {values.shape}, but the part of this process {block.shape}: {part} of the grid"]
            )

    on_all(transport.allgather, fit)
    found = np.empty((block.y.size, block.x.size))
    for y, x, part in transport.allgather((block.y, block.x, values)):
        found[y.start : y.stop, x.start : x.stop] = part
    return found


def see_that_same(config, transport) -> None:
    """Raise SetupError on all processes unless all have the same configuration, fields and terms from Python."""
    if transport.size == 1:
        return
    everyone = transport.allgather(decisive(to_toml(config)))
    keys = sorted({key for each in everyone for key in each}, key=lambda key: not key.startswith(f"{PYTHON}."))
    for key in keys:
        first = everyone[0].get(key, "not there")
        for rank, each in enumerate(everyone):
            if (other := each.get(key, "not there")) != first:
                what = key.replace(f"{PYTHON}.", "the input from Python ")
                raise SetupError(
                    f"the processes differ: {what} is {first} on rank 0 and {other} on rank {rank}; give all "
                    "processes the same, and random numbers a seed"
                )
