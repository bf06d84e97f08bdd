"""The run of a Simulation as Health looks at it."""

from __future__ import annotations

import numpy as np

from ...config.extremes import damping
from ...ocean.grid import as_patches
from ...ocean.terms import TERMS
from ...parallel.transport.programs import jitted


class One:
    """The run of a Simulation; see `verdict.Runs`."""

    remedy = " or more friction"
    remedy_at_start = ""

    def __init__(self, simulation):
        self.simulation = self.domain = simulation
        self.config, self.transport = simulation.config, simulation.transport

    def stress(self) -> np.ndarray:
        """The largest wind stress on this process's part of its runs, Pa, [runs here]."""
        return np.array([max(largest_stress(params, shape) for _, params, shape in blocks_of(self.domain))])

    def acceleration(self) -> float:
        """The largest acceleration by forces that act on all water alike, m s-2."""
        return largest_acceleration(self.domain)

    def friction(self) -> float:
        """The largest rate at which the terms that smooth damp the shortest waves on this process's part, s-1."""
        return largest_friction(self.domain)

    def compile(self, make, *parts):
        """The function make(*parts) of State and Static on a block, jitted; to be given to `measure`."""
        return jitted(make, *parts)

    def measure(self, program, static) -> np.ndarray:
        """What the program finds in the blocks of this process, [runs here, blocks, Measures]."""
        return np.stack(self.transport.pieces(program(self.simulation.carry.state, static)))[None]


def blocks_of(domain):
    """For each block of this process: Grid and Params, NumPy arrays in Patches, and its shape."""
    width = domain.scheme.width
    pieces = domain.transport.pieces((domain.grid, domain.params), width + 1)
    for fields, block in zip(pieces, domain.transport.blocks, strict=True):
        yield *(as_patches(each, width) for each in fields), block.shape


def largest_stress(params, shape: tuple[int, int]) -> float:
    """The largest wind stress of Params in Patches on a block of this shape, Pa."""
    if "wind_x" not in params:
        return 0.0
    return float(np.hypot(params["wind_x"].on(shape), params["wind_y"].on(shape)).max())


def largest_acceleration(domain) -> float:
    """See `One.acceleration`."""
    found = [TERMS[name].acceleration for name in domain.scheme.terms if TERMS[name].acceleration]
    return sum(acceleration(domain.config) for acceleration in found)


def largest_friction(domain, factors=None) -> float:
    """See `One.friction`.

    Args:
        factors: {name: what a coefficient is multiplied by}.
    """
    terms, found = [TERMS[name] for name in domain.scheme.terms], 0.0
    for _, params, shape in blocks_of(domain):
        values = {name: value.on(shape) * (factors or {}).get(name, 1) for name, value in params.items()}
        found = max(found, float(np.max(damping(terms, values, domain.config.grid, smooths=True))))
    return found
