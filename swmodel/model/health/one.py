"""The view that Health has of a Simulation's run."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...ocean.grid import as_patches
from ...ocean.operators import slope_x, slope_y
from ...ocean.records import names_of
from ...parallel.transport.programs import jitted
from .outside import brought


class Forces(NamedTuple):
    """The forces on runs, and the power they get, on a process's part of them.

    Attributes:
        stress: that of the wind, Pa, [runs].
        acceleration: that by all other forces, m s-2, [runs].
        power: that which water outside open sides brings, over density, m5 s-3, [runs].
    """

    stress: np.ndarray
    acceleration: float
    power: float


class One:
    """The run of a Simulation; see `verdict.Runs`."""

    remedy = " or more friction"
    remedy_at_start = ""

    def __init__(self, simulation):
        self.simulation = self.domain = simulation
        self.config, self.transport = simulation.config, simulation.transport
        self.params = simulation.params

    def forces(self) -> Forces:
        """The largest Forces so far on this process's part of its runs."""
        stress, steepest, power = self.simulation.strongest()
        return Forces(np.array([stress]), largest_acceleration(self.domain) + steepest, power)

    def compile(self, make, *parts):
        """The function make(*parts) of State and Static on a block, jitted, for `measure`."""
        return jitted(make, *parts)

    def measure(self, program, static) -> np.ndarray:
        """What the program measures in the blocks of this process, [runs here, blocks, Measures]."""
        return np.stack(self.transport.pieces(program(self.simulation.carry.state, static)))[None]


def blocks_of(domain):
    """For each block of this process: Grid and Params, NumPy arrays in Patches, and its shape."""
    margin = domain.scheme.margin
    pieces = domain.transport.pieces((domain.grid, domain.params), margin)
    for fields, block in zip(pieces, domain.transport.blocks, strict=True):
        yield *(as_patches(each, margin) for each in fields), block.shape


def strongest(domain) -> np.ndarray:
    """The largest stress, Pa, and acceleration by potentials, m s-2, and `fed`, on the blocks of this process."""
    stress = max(largest_stress(domain.scheme, params, shape) for _, params, shape in blocks_of(domain))
    return np.array([stress, steepest(domain), fed(domain)])


def fed(domain) -> float:
    """The most power that the water outside open sides brings into the blocks of this process, over density, m5 s-3."""
    blocks = blocks_of(domain) if "open_sides" in domain.scheme.terms else ()
    return sum((brought(domain.scheme, *each) for each in blocks), 0.0)


def largest_stress(scheme, params, shape: tuple[int, int]) -> float:
    """The largest stress on the surface of a block of this shape, Pa, by Params in Patches.

    Of a coefficient that varies the record that is larger in size counts.

    Args:
        scheme: the terms that are switched on.
    """
    acting = [term for term in scheme.acting if term.stress]

    def values(name):
        if name not in scheme.varying:
            return params[name].on(shape)
        before, after = (params[part].on(shape) for part in names_of(name)[:2])
        return np.maximum(np.abs(before), np.abs(after))

    found = {row.name: values(row.name) for term in acting for row in (*term.coefficients, *term.fields)}
    return sum(float(term.stress(found).max()) for term in acting)


def largest_acceleration(domain) -> float:
    """The largest acceleration by forces of a configuration, m s-2, other than those of `steepest`."""
    return sum(acceleration_by(term, domain.config) for term in domain.scheme.acting if not term.potential)


def steepest(domain) -> float:
    """The largest acceleration by terms with a potential on the blocks of this process, m s-2."""
    terms = [term for term in domain.scheme.acting if term.potential]
    blocks = blocks_of(domain) if terms else ()
    return max((sum(slope_of(term, domain.scheme, *each) for term in terms) for each in blocks), default=0.0)


def slope_of(term, scheme, grid, params, shape: tuple[int, int]) -> float:
    """The largest slope of a term's potential on a block of this shape, m s-2; if it varies, at either record."""
    ends = {0, 1} if {row.name for row in term.coefficients} & set(scheme.varying) else {0}

    def slopes(end):
        varying = {row.name: params[names_of(row.name)[end]] for row in term.coefficients if row.name in scheme.varying}
        P = term.potential(params | varying)
        across = ((grid.open_u, slope_x(P, grid)), (grid.open_v, slope_y(P, grid)))
        return np.hypot(*(float(np.abs((open_ * slope).on(shape)).max()) for open_, slope in across))

    return max(slopes(end) for end in ends)


def acceleration_by(term, config) -> float:
    """The largest acceleration by a term, m s-2: infinite if it may add energy without a known bound."""
    if term.acceleration:
        return term.acceleration(config)
    return math.inf if term.energy > 0 and not term.stress else 0.0
