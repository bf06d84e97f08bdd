"""What a run has before it has a state: scheme, transport, and the static fields of this process's block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from ..config import Config, load
from ..config.loading.load import is_source
from ..config.loading.unchanged import unhashed, with_fresh_terms
from ..errors import UsageError
from ..ocean.grid import Grid
from ..ocean.scheme import Scheme
from ..parallel.decomposition import parse_layout
from ..parallel.environment import world
from ..parallel.transport import Transport, connect
from ..setup.setup import Setup, setup_of
from .agreement import assembled, gather_of, on_all, see_that_same
from .resolve import for_processes, resolved
from .validate import check


class Domain(NamedTuple):
    """A Setup with this process's part of the grid.

    Attributes:
        setup: of the resolved configuration.
        transport: how this process reaches the others; `transport.block` is its part.
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
    """The Domain of a configuration, a case, or the name of a case or file; called by all processes together.

    Args:
        config: one of these, or a function that returns a configuration.
        scheme: function of the Setup to the Scheme in its place; None: that of the Setup.
        alone: whether this process has the whole grid, even if there are other processes.

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
    transport = connect(run.transport, layout, ny, nx, run.devices)
    see_that_same(setup.config, transport)
    if not chosen and transport.any(run.executor == "xla"):  # some machine has no native step
        setup = setup.with_config(setup.config.model_copy(update={"run": run.model_copy(update={"executor": "xla"})}))
    return Domain(setup, transport, *transport.make(setup.static, setup.margin))


def loaded(config, place) -> Config:
    """The configuration, for the number of processes that there are; see `domain`."""
    config = load(config) if is_source(config) else config() if callable(config) else config
    if not isinstance(config, Config):
        raise UsageError(f"{config!r:.60}: a Config (swmodel.load), a case, or the name of a case or file, is needed")
    return config if place is None else for_processes(config, place.size)


def made(config: Config) -> Setup:
    """The Setup of the resolved configuration; one that a command has checked is not checked again."""
    setup = with_fresh_terms(setup_of(unhashed(config)))
    return resolved(setup) if config._checked else check(setup, to_the_end=False)
