"""What a run has before it has a state: scheme, transport, and the static fields of this process's block."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from ..config import Config, load
from ..config.loading.load import is_source
from ..config.loading.unchanged import read_anew
from ..errors import UsageError
from ..ocean.grid import Grid
from ..ocean.scheme import Scheme
from ..parallel.decomposition import parse_layout
from ..parallel.environment import world
from ..parallel.transport import Transport, connect
from ..setup.build import build_grid, build_params, scheme_of
from .resolve import for_processes, resolve
from .together import agreed, assembled, gather_of, see_that_same
from .validate import check_config


class Domain(NamedTuple):
    """A resolved configuration with this process's part of the grid.

    Attributes:
        scheme: the terms of the tendency.
        transport: how this process reaches the others; `transport.block` is its part.
        grid, params: static fields and coefficients on its devices, as `transport.make` makes them, with a margin of
            width + 1 cells.
    """

    config: Config
    scheme: Scheme
    transport: Transport
    grid: Grid
    params: dict[str, Any]


def domain(config, scheme=scheme_of, alone=False) -> Domain:
    """The Domain of a configuration, a case, or the name of a case or file; called by all processes together.

    Args:
        config: one of these, or a function that returns a configuration.
        scheme: function of the resolved configuration.
        alone: whether this process has the whole grid, even if there are other processes.

    Raises:
        UsageError: it is none of these.
        ConfigError: the configuration cannot be run; with everything that is wrong.
        SetupError: there are not as many processes or devices as it says, or it differs between processes.
    """
    place = None if alone else world()
    config = assembled(agreed(place, lambda: loaded(config, place)), gather_of(place))
    chosen, config = config.run.executor != "auto", agreed(place, lambda: checked(config))
    if config.run.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    terms = scheme(config)
    shape, dtype = (config.grid.ny, config.grid.nx), np.dtype(config.run.dtype)
    layout = parse_layout(config.run.layout, config.run.blocks, *shape, terms.width)
    transport = connect(config.run.transport, layout, *shape, config.run.devices)
    see_that_same(config, transport)
    if not chosen and transport.any(config.run.executor == "xla"):  # some machine has no native step
        config = config.model_copy(update={"run": config.run.model_copy(update={"executor": "xla"})})

    def static(block):
        margin = terms.width + 1
        return build_grid(config, block, dtype, margin), build_params(config, block, dtype, margin, terms)

    return Domain(config, terms, transport, *transport.make(static, terms.width + 1))


def loaded(config, place) -> Config:
    """The configuration, for the number of processes that there are; see `domain`."""
    config = load(config) if is_source(config) else config() if callable(config) else config
    if not isinstance(config, Config):
        raise UsageError(f"{config!r:.60}: a Config (swmodel.load), a case, or the name of a case or file, is needed")
    config = config if place is None else for_processes(config, place.size)
    found = read_anew(config)
    found._checked = config._checked
    return found


def checked(config) -> Config:
    """The resolved configuration, as `check_config` gives it; one that a command has checked is not checked again."""
    return resolve(config) if config._checked else check_config(config, to_the_end=False)
