"""What processes of a Python script make sure of together: that all can start, and do the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np

from ..config import ConfigError, to_toml
from ..config.loading.decisive import PYTHON, decisive
from ..errors import SetupError, UsageError
from ..parallel.environment import RANK, World
from ..parallel.transport import connect
from ..parallel.transport.rendezvous import mpi_world
from ..setup.fields.field import Local, table, with_python
from ..setup.setup import setup_of
from .resolve import layout_of, transport_for


def agreed(place: World | None, function: Callable) -> Any:
    """What function() returns, where it does on all processes that mpiexec or srun started.

    The command line joins its own processes, and agrees itself. Raises the function's error; where it has none, a
    UsageError that says which process has.

    Args:
        place: of this process among several; None for one alone.
    """
    return on_all(gather_of(place), function)


def gather_of(place: World | None) -> Callable:
    """The allgather of the processes of which `agreed` speaks: function of a value that gives those of all."""
    if place is None or RANK in os.environ or jax.distributed.is_initialized() or find_spec("mpi4py") is None:
        return lambda value: [value]
    return mpi_world(place).allgather


def on_all(allgather: Callable, function: Callable) -> Any:
    """See `agreed`; `allgather`: function of a value that gives those of all processes."""
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
    """The configuration with `local` parts of fields from each process put together; called by all together."""
    parts = {name: source for name, source in config.python._sources.items() if isinstance(source, Local)}
    for rank, names in enumerate(everyone := allgather(sorted(parts))):
        if wrong := sorted({*names} ^ {*everyone[0]}):
            some, other = (rank, 0) if wrong[0] in names else (0, rank)
            raise SetupError(
                f"fields: {wrong[0]} is local on rank {some}, and not on rank {other}; it must be the same on all"
            )
    if not parts:
        return config
    run, shape = config.run, (config.grid.ny, config.grid.nx)
    transport = connect(transport_for(run), layout_of(setup_of(config)), *shape, run.devices)
    tables = {name: table(whole(part.values, f"fields: {name}", transport)) for name, part in parts.items()}
    python = config.python
    return with_python(config, python.fields, python.terms, python._sources | tables, python._terms)


def whole(values: np.ndarray, place: str, transport) -> np.ndarray:
    """The field [ny, nx] of which each process has the values of its part. ConfigError: they are of another shape."""
    block = transport.block

    def fit():
        if values.shape != block.shape:
            part = f"rows {block.y.start} to {block.y.stop - 1} and columns {block.x.start} to {block.x.stop - 1}"
            raise ConfigError(
                [f"{place} has shape {values.shape}, the part of this process {block.shape}: {part} of the grid"]
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
                what = key.replace(f"{PYTHON}.", "what Python gave as ")
                raise SetupError(
                    f"the processes differ: {what} is {first} on rank 0 and {other} on rank {rank}; a script gives all "
                    "processes the same, and random numbers a seed"
                )
