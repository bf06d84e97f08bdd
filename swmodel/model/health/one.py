"""The run of a Simulation as Health looks at it."""

from __future__ import annotations

import numpy as np

from ...ocean.grid import as_patches


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

    def compile(self, program):
        """A function of State and Static on a block, to be given to `measure`."""
        return self.transport.jit(program)

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
    return float(np.hypot(params.wind_x.on(shape), params.wind_y.on(shape)).max())
