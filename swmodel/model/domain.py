"""What a run is made of before it has a state: scheme, transport, and the static fields of this process's block."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from ..config import Config, load
from ..config.build import build_grid, build_params, scheme_of
from ..config.load import is_source
from ..errors import UsageError
from ..ocean.grid import Grid
from ..ocean.scheme import Scheme
from ..parallel.decomposition import parse_layout
from ..parallel.environment import world
from ..parallel.transport import connect
from .resolve import for_processes, resolve


class Domain(NamedTuple):
    """A resolved configuration with this process's part of the grid.

    Attributes:
        scheme: the terms of the tendency.
        transport: how this process reaches the others; `transport.block` is its part.
        grid, params: static fields and coefficients on its devices, as `transport.make` gives them, with a margin of
            width + 1 cells.
    """

    config: Any
    scheme: Scheme
    transport: Any
    grid: Grid
    params: dict


def domain(config, scheme=scheme_of, alone=False) -> Domain:
    """The Domain of a configuration, a case, or the name of a case or file; called by all processes together.

    Args:
        scheme: function of the resolved configuration.
        alone: whether this process has the whole grid, even where there are others.

    Raises:
        UsageError: it is neither.
        ConfigError: the configuration contradicts itself.
        SetupError: there are not as many processes or devices as it says.
    """
    config = load(config) if is_source(config) else config
    if not isinstance(config, Config):
        raise UsageError(f"{config!r:.60}: a Config (swmodel.load), a case, or the name of a case or file, is needed")
    place = world()
    if place is not None and place.size > 1 and not alone:
        config = for_processes(config, place.size)
    chosen, config = config.run.executor != "auto", resolve(config)
    if config.run.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    terms = scheme(config)
    shape, dtype = (config.grid.ny, config.grid.nx), np.dtype(config.run.dtype)
    layout = parse_layout(config.run.layout, config.run.blocks, *shape, terms.width)
    transport = connect(config.run.transport, layout, *shape, config.run.devices)
    if not chosen and transport.any(config.run.executor == "xla"):  # on some machine there is no native step
        config = config.model_copy(update={"run": config.run.model_copy(update={"executor": "xla"})})

    def static(block):
        margin = terms.width + 1
        return build_grid(config, block, dtype, margin), build_params(config, block, dtype, margin, terms)

    return Domain(config, terms, transport, *transport.make(static, terms.width + 1))
