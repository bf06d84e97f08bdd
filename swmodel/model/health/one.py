"""The run of a Simulation as Health looks at it."""

from __future__ import annotations

import math

import numpy as np

from ...ocean.grid import as_patches
from ...parallel.transport.programs import jitted


class One:
    """The run of a Simulation; see `verdict.Runs`."""

    remedy = " or more friction"
    remedy_at_start = ""

    def __init__(self, simulation):
        self.simulation = self.domain = simulation
        self.config, self.transport = simulation.config, simulation.transport
        self.params = simulation.params

    def stress(self) -> np.ndarray:
        """The largest wind stress on this process's part of its runs, Pa, [runs here]."""
        terms = self.domain.scheme.acting
        return np.array([max(largest_stress(terms, params, shape) for _, params, shape in blocks_of(self.domain))])

    def acceleration(self) -> float:
        """The largest acceleration by forces that act on all water alike, m s-2."""
        return largest_acceleration(self.domain)

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


def largest_stress(terms, params, shape: tuple[int, int]) -> float:
    """The largest stress on the surface by Params in Patches on a block of this shape, Pa.

    Args:
        terms: those that are switched on.
    """
    acting = [term for term in terms if term.stress]
    values = {row.name: params[row.name].on(shape) for term in acting for row in term.coefficients}
    return sum(float(term.stress(values).max()) for term in acting)


def largest_acceleration(domain) -> float:
    """See `One.acceleration`."""
    return sum(acceleration_by(term, domain.config) for term in domain.scheme.acting)


def acceleration_by(term, config) -> float:
    """The largest acceleration by a term, m s-2: infinite where it may give energy, and nobody knows how much."""
    if term.acceleration:
        return term.acceleration(config)
    return math.inf if term.energy > 0 and not term.stress else 0.0
