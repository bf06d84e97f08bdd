"""What is computed from the state: derived fields, and numbers for the whole domain.

The numbers of a state have the same bits on any layout: each cell's contribution is computed in float64, and the sum
over cells and processes is one of integers, which has no order (`FixedPoint`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .dynamics import corner_thickness, kinetic_energy, potential_vorticity, relative_vorticity
from .operators import Patch, mx_c, mx_f, my_c, my_f
from .state import State


def sea_level(state: State, grid) -> Patch:
    """eta = h - H at centres, m."""
    return state.h - grid.depth


def vorticity(state: State, grid) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1."""
    return relative_vorticity(grid.open_u * state.u, grid.open_v * state.v, grid)


def potential_vorticity_of_layer(state: State, grid) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return potential_vorticity(state.h, grid.open_u * state.u, grid.open_v * state.v, grid)


def speed(state: State, grid) -> Patch:
    """sqrt((u²)^x + (v²)^y) at centres, m s-1."""
    return (2.0 * kinetic_energy(grid.open_u * state.u, grid.open_v * state.v)).map(lambda square: square**0.5)


#: Functions of a padded State of Patches and a Grid of Patches, NumPy or JAX, to the Patch of each field.
DERIVED = {
    "h": lambda state, grid: state.h,
    "u": lambda state, grid: state.u,
    "v": lambda state, grid: state.v,
    "eta": sea_level,
    "zeta": vorticity,
    "q": potential_vorticity_of_layer,
    "speed": speed,
}


class Quantity(NamedTuple):
    """Units and description of a number for the whole domain."""

    units: str
    long_name: str


QUANTITIES = {
    "mass": Quantity("kg", "mass of the layer"),
    "energy": Quantity("J", "kinetic and available potential energy"),
    "potential_enstrophy": Quantity("m s-2", "potential enstrophy"),
    "max_speed": Quantity("m s-1", "largest speed"),
    "min_h": Quantity("m", "least thickness of the layer"),
    "cfl": Quantity("1", "CFL number of the current and of gravity waves"),
}

#: Cells worked on at a time: their intermediate results stay in cache.
STRIP_CELLS = 1 << 15


def diagnose(padded: State, grid, config, transport) -> dict[str, float]:
    """The QUANTITIES of the whole domain, on every process the same; not a number where the state is not finite.

    Args:
        padded: State of Patches of NumPy arrays that cover this process's block and a halo.
        grid: Grid of Patches.
        config: resolved configuration, for the constants.
        transport: called by all processes together.

    Potential enstrophy is not a number either where thickness is not positive.

    Reference: docs/numerics.md, "Diagnostics".
    """
    shape = transport.block.shape
    g, dx, dy = config.physics.gravity, config.grid.dx, config.grid.dy
    with np.errstate(all="ignore"):
        most = extremes(cut_strips(padded, grid, shape), transport)
        sums = exact_sums(cut_strips(padded, grid, shape), most.bounds(g, dx, dy), g, transport)
    h, energy, enstrophy = sums
    fastest = math.sqrt(most.speed_squared)
    return {
        "mass": config.physics.density * dx * dy * h,
        "energy": config.physics.density * dx * dy * energy,
        "potential_enstrophy": dx * dy * enstrophy,
        "max_speed": fastest,
        "min_h": most.least_h,
        "cfl": config.time.dt * (fastest + math.sqrt(g * abs(most.h))) * math.hypot(1 / dx, 1 / dy),
    }


def cut_strips(padded: State, grid, shape):
    """The block in strips of rows: (State in float64, zero velocity on closed faces; Grid; shape) of each."""
    rows = max(1, STRIP_CELLS // shape[1])
    for first in range(0, shape[0], rows):
        last = min(first + rows, shape[0])
        local = type(grid)(*(rows_of(field, first - 1, last + 1) for field in grid))
        h, u, v = (rows_of(field, first - 1, last + 1).map(lambda a: a.astype(np.float64)) for field in padded)
        yield State(h, local.open_u * u, local.open_v * v), local, (last - first, shape[1])


def rows_of(field, first: int, last: int):
    """Rows first to last of a Patch, numbered anew so that row first + 1 is row 0; what is no Patch stays."""
    if not isinstance(field, Patch):
        return field
    if field.values.shape[-2] == 1:
        return Patch(field.values, (-1, field.start[1]))
    offset = field.start[0]
    return Patch(field.values[..., first - offset : last - offset, :], (-1, field.start[1]))


class Extremes(NamedTuple):
    """Largest and least values over the whole domain, float64; all not a number if one is not finite."""

    h: float  # m, largest size on water
    u: float  # m s-1, largest size
    v: float  # m s-1, largest size
    eta: float  # m, largest size on water
    speed_squared: float  # m2 s-2
    f: float  # s-1, largest size
    least_h: float  # m, on water

    def bounds(self, g: float, dx: float, dy: float) -> tuple[float, float, float]:
        """Upper bounds of a cell's contribution to the sums of thickness, energy and potential enstrophy."""
        zeta = 2 * (2 * self.v / dx + 2 * self.u / dy)
        least = self.least_h if self.least_h > 0 else math.nan
        energy = 0.5 * (self.h * (self.u**2 + self.v**2) + g * self.eta**2)
        return self.h, energy, 0.5 * (self.f + zeta) ** 2 / least


def extremes(strips, transport) -> Extremes:
    """The Extremes over all strips of all processes."""
    local = np.zeros(len(Extremes._fields))
    local[-1] = -np.inf
    for (h, u, v), grid, shape in strips:
        wet = grid.wet.on(shape) != 0
        water = True if wet.all() else wet  # a reduction with a mask is slower
        here = (
            np.abs(h.on(shape)).max(initial=0, where=water),
            np.abs(u.on(shape)).max(),
            np.abs(v.on(shape)).max(),
            np.abs((h - grid.depth).on(shape)).max(initial=0, where=water),
            (2.0 * kinetic_energy(u, v)).on(shape).max(initial=0, where=water),
            np.abs(grid.f.cut((-1, -1), shape).values).max(),
            -h.on(shape).min(initial=np.inf, where=water),
        )
        local = np.maximum(local, here)
    finite = np.isfinite(local[:-1]).all() and not np.isnan(local[-1])
    # MPI leaves open what the maximum of a number and "not a number" is, hence the flag.
    *largest, least, broken = transport.reduce(np.append(np.where(finite, local, 0), not finite), "max")
    return Extremes(*([math.nan] * len(local) if broken else [*map(float, largest), -float(least)]))


def exact_sums(strips, bounds, g: float, transport) -> list[float]:
    """Sums over water of thickness, energy per density and area, and potential enstrophy per area."""
    sums = [FixedPoint(bound) for bound in bounds]
    for state, grid, shape in strips:
        for total, contribution in zip(sums, contributions(state, grid, g), strict=True):
            total.add(np.broadcast_to(contribution.on(shape), shape))
    limbs = transport.reduce(np.array([total.limbs for total in sums], dtype=np.int64), "sum")
    return [total.value(row) for total, row in zip(sums, limbs, strict=True)]


def contributions(state: State, grid, g: float) -> tuple[Patch, Patch, Patch]:
    """What each cell adds: h; energy on the cell, its east and its north face; a quarter of that of its corners."""
    h, u, v = state
    eta = h - grid.depth
    energy = 0.5 * (mx_f(h) * (u * u) + my_f(h) * (v * v) + g * (grid.wet * (eta * eta)))
    q = potential_vorticity(h, u, v, grid)
    enstrophy = grid.wet * my_c(mx_c(0.5 * (corner_thickness(h, grid) * (q * q))))
    return grid.wet * h, energy, enstrophy


class FixedPoint:
    """A sum that does not depend on order: numbers become integers in units of 2^-78 of a power of two above `bound`.

    Each number is split into LIMBS pieces of BITS bits, rounded the same way wherever it stands; the pieces are added
    without rounding. Exact for numbers above 2^-23 of the bound; of a smaller one at most 2^-77 of the bound is lost.

    Args:
        bound: no number is larger in size, but for rounding; the same on all processes.
    """

    LIMBS, BITS = 3, 26

    def __init__(self, bound: float):
        self.valid = math.isfinite(bound)
        self.exponent = (math.frexp(bound)[1] + 1 if bound else 0) if self.valid else 0
        self.limbs = [0] * self.LIMBS

    def add(self, numbers: np.ndarray) -> None:
        """Add the numbers, at most 2^26 of them at a time: their pieces' sum is exact in float64."""
        if not self.valid:
            return
        rest = np.ldexp(numbers, self.BITS - self.exponent)
        for limb in range(self.LIMBS):
            piece = np.rint(rest)
            self.limbs[limb] += int(piece.sum())
            rest -= piece
            rest *= 2.0**self.BITS

    def value(self, limbs) -> float:
        """The sum whose limbs, over all processes, are given; rounded once."""
        if not self.valid:
            return math.nan
        total = 0
        for limb in limbs:
            total = (total << self.BITS) + int(limb)
        return math.ldexp(float(total), self.exponent - self.BITS * self.LIMBS)
