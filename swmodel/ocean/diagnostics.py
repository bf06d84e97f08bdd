"""What is computed from the state: derived fields, and numbers for the whole domain.

The numbers of a state have the same bits on any layout: each cell's contribution is computed in float64, and the sum
over cells and processes is one of integers, which has no order (`FixedPoint`).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..parallel.environment import share_of_cores
from .dynamics import corner_thickness, kinetic_energy, potential_vorticity, relative_vorticity
from .patch import Patch, east, north, south, west
from .state import State
from .terms import TERMS


def elevation(state: State, grid, physics) -> Patch:
    """eta = h - H at centres, m: sea level, or where gravity is reduced the displacement of the interface."""
    return state.h - grid.depth


def sea_level(state: State, grid, physics) -> Patch:
    """eta; where gravity is reduced, eta g'/g: the deep layer rests where sea level balances the interface. m."""
    eta = elevation(state, grid, physics)
    return (physics.gravity / physics.full_gravity) * eta if physics.reduced_gravity else eta


def vorticity(state: State, grid, physics) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1."""
    return relative_vorticity(grid.open_u * state.u, grid.open_v * state.v, grid)


def potential_vorticity_of_layer(state: State, grid, physics) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return potential_vorticity(state.h, grid.open_u * state.u, grid.open_v * state.v, grid)


def speed(state: State, grid, physics) -> Patch:
    """sqrt((u²)^x + (v²)^y) at centres, m s-1."""
    return (2.0 * kinetic_energy(grid.open_u * state.u, grid.open_v * state.v, grid)).map(lambda square: square**0.5)


#: Functions of a padded State of Patches, a Grid of Patches, NumPy or JAX, and `config.physics` to each field's Patch.
DERIVED = {
    "h": lambda state, grid, physics: state.h,
    "u": lambda state, grid, physics: state.u,
    "v": lambda state, grid, physics: state.v,
    "eta": elevation,
    "sea_level": sea_level,
    "zeta": vorticity,
    "q": potential_vorticity_of_layer,
    "speed": speed,
} | {name: function for term in TERMS.values() for name, function in term.derived.items()}


def known(names, scheme) -> list[str]:
    """The names of fields of a run with this Scheme, of which one may be given by itself.

    Raises:
        UsageError: there are no such fields.
    """
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    absent = {name for term in TERMS.values() if term.name not in scheme.terms for name in term.derived}
    if unknown := [name for name in names if name not in DERIVED or name in absent]:
        raise UsageError(f"no field {', '.join(unknown)}; there are {', '.join(n for n in DERIVED if n not in absent)}")
    return names


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

#: Cells worked on at a time: few enough for the cache, and for threads to be worth while enough.
STRIP_CELLS = 1 << 17


def diagnose(blocks, config, transport) -> dict[str, float]:
    """The QUANTITIES of the whole domain, on every process the same; not a number where the state is not finite.

    Args:
        blocks: of this process: (state, grid, shape) of each, a State of Patches of NumPy arrays that cover the block
            and a halo, and a Grid of Patches.
        config: resolved configuration, for the constants.
        transport: called by all processes together.

    Potential enstrophy is not a number either where thickness is not positive.

    Reference: docs/numerics.md, "Diagnostics".
    """
    g, dx, dy = config.physics.gravity, config.grid.dx, config.grid.dy
    strips = [strip for fields in blocks for strip in cut_strips(*fields)]
    most = bounds_of(strips, transport)
    (h, energy, enstrophy), fastest = sums_and_speed(strips, most.largest(g, dx, dy), g, transport)
    return {
        "mass": config.physics.density * dx * dy * h,
        "energy": config.physics.density * dx * dy * energy,
        "potential_enstrophy": dx * dy * enstrophy,
        "max_speed": fastest,
        "min_h": most.least_h,
        "cfl": config.time.dt * (fastest + math.sqrt(g * most.h)) * math.hypot(1 / dx, 1 / dy),
    }


def cut_strips(padded: State, grid, shape):
    """The block in strips of rows, as views: State, Grid and shape of each."""
    rows = max(1, STRIP_CELLS // shape[1])
    for first in range(0, shape[0], rows):
        last = min(first + rows, shape[0])
        yield *(rows_of(fields, first - 1, last + 1) for fields in (padded, grid)), (last - first, shape[1])


def in_double_precision(state: State, grid) -> State:
    """The state in float64, its velocities zero on closed faces."""
    h, u, v = (field.map(lambda a: a.astype(np.float64)) for field in state[:3])
    return State(h, grid.open_u * u, grid.open_v * v)


def on_all_cores(function, strips) -> list:
    """The results of function(state, grid, shape) for all strips, in their order, without NumPy's warnings."""

    def quietly(strip):
        with np.errstate(all="ignore"):
            return function(*strip)

    with ThreadPoolExecutor(share_of_cores()) as threads:
        return list(threads.map(quietly, strips))


def rows_of(field, first: int, last: int):
    """Rows first to last of a Patch, or of each in a tuple, numbered anew so that row first + 1 is row 0."""
    if isinstance(field, tuple):
        return field._make(rows_of(each, first, last) for each in field)
    if field.values.shape[-2] == 1:
        return Patch(field.values, (-1, field.start[1]))
    offset = field.start[0]
    return Patch(field.values[..., first - offset : last - offset, :], (-1, field.start[1]))


class Bounds(NamedTuple):
    """Largest and least values over the whole domain; all not a number if one is not finite."""

    h: float  # m, largest size on water
    u: float  # m s-1, largest size
    v: float  # m s-1, largest size
    depth: float  # m, largest size
    f: float  # s-1, largest size
    least_h: float  # m, on water

    def largest(self, g: float, dx: float, dy: float) -> tuple[float, float, float]:
        """Upper bounds of a cell's contribution to the sums of thickness, energy and potential enstrophy."""
        zeta = 2 * (2 * self.v / dx + 2 * self.u / dy)
        least = self.least_h if self.least_h > 0 else math.nan
        thickness, absolute = self.h + self.depth, self.f + zeta
        # Products, as they overflow to infinity; powers raise OverflowError.
        energy = 0.5 * (self.h * (self.u * self.u + self.v * self.v) + g * thickness * thickness)
        return self.h, energy, 0.5 * absolute * absolute / least


def bounds_of(strips, transport) -> Bounds:
    """The Bounds over all strips of all processes."""
    local = np.max(on_all_cores(bounds_of_strip, strips), axis=0)
    finite = np.isfinite(local[:-1]).all() and not np.isnan(local[-1])
    # MPI leaves open what the maximum of a number and "not a number" is, hence the flag.
    *largest, least, broken = transport.reduce(np.append(np.where(finite, local, 0), not finite), "max")
    return Bounds(*([math.nan] * len(local) if broken else [*map(float, largest), -float(least)]))


def bounds_of_strip(state: State, grid, shape) -> tuple[float, ...]:
    """The fields of Bounds for a strip, of which the last with its sign changed: all are to be maximised."""
    wet = np.broadcast_to(grid.wet.on(shape), shape) != 0
    h = state.h.on(shape) if wet.all() else state.h.on(shape)[wet]
    sizes = (state.u.on(shape), state.v.on(shape), grid.depth.on(shape), grid.f.cut((-1, -1), shape).values)
    return (
        np.abs(h).max(initial=0),
        *(max(size.max(), -size.min()) for size in sizes),
        -h.min(initial=np.inf),
    )


def sums_and_speed(strips, largest, g: float, transport) -> tuple[list[float], float]:
    """Sums over water of thickness, energy per density and area, and potential enstrophy per area; the largest speed.

    Args:
        largest: upper bounds of a cell's contribution to each sum.
    """
    scales = [FixedPoint(bound) for bound in largest]

    def of_strip(state, grid, shape):
        state = in_double_precision(state, grid)
        pieces = [
            scale.pieces(np.broadcast_to(field.on(shape), shape))
            for scale, field in zip(scales, contributions(state, grid, g), strict=True)
        ]
        return pieces, (grid.wet * kinetic_energy(state.u, state.v, grid)).on(shape).max()

    pieces, kinetic = zip(*on_all_cores(of_strip, strips), strict=True)
    pieces = transport.reduce(np.sum(pieces, axis=0, dtype=np.int64), "sum")
    most = float(transport.reduce(np.nan_to_num(np.max(kinetic)), "max")) if scales[0].valid else math.nan
    return [scale.value(row) for scale, row in zip(scales, pieces, strict=True)], math.sqrt(2 * most)


def contributions(state: State, grid, g: float) -> tuple[Patch, Patch, Patch]:
    """What each cell adds: h; energy of it and its east and north face; a quarter of its corners' (f + zeta)²/(2 h_q).

    Sums and one factor instead of means: a pass over the fields fewer for each.
    """
    h, u, v = state
    eta = h - grid.depth
    kinetic = (h + east(h)) * (u * u) + (h + north(h)) * (v * v)
    absolute = grid.f + relative_vorticity(u, v, grid)
    density = absolute * absolute / corner_thickness(h, grid)
    density = density + west(density)
    density = density + south(density)
    return grid.wet * h, 0.25 * kinetic + (0.5 * g * grid.wet) * (eta * eta), (0.125 * grid.wet) * density


class FixedPoint:
    """Sums that do not depend on order: numbers become integers in units of 2^-66 of a power of two above `bound`.

    Each number is split into two pieces of BITS bits, rounded the same way wherever it stands; the pieces are added
    without rounding. Exact for numbers larger than 2^-12 of the bound; of a smaller one at most 2^-65 of the bound is
    lost, or 2^-1027 with a bound below 2^-962. A sum too large for a float is infinite.

    Args:
        bound: no number is larger in size, but for rounding; the same on all processes.
    """

    BITS = 33
    LEAST_EXPONENT = -960  # of the power of two; with less, scaling would overflow

    def __init__(self, bound: float):
        self.valid = math.isfinite(bound)
        self.exponent = max(math.frexp(bound)[1] + 1, self.LEAST_EXPONENT) if self.valid and bound else 0

    def pieces(self, numbers: np.ndarray) -> tuple[int, int]:
        """The sums of the numbers' high and low pieces, which may be added to those of others.

        At most 2^19 numbers, so that each sum is exact in float64; 2^29 in all, for int64.
        """
        if not self.valid:
            return 0, 0
        scaled = numbers * 2.0 ** (self.BITS - self.exponent)
        high = np.rint(scaled)
        low = np.rint((scaled - high) * 2.0**self.BITS)
        return int(high.sum()), int(low.sum())

    def value(self, pieces) -> float:
        """The sum whose pieces, over all processes, are given; rounded once."""
        if not self.valid:
            return math.nan
        high, low = map(int, pieces)
        total = float((high << self.BITS) + low)
        try:
            return math.ldexp(total, self.exponent - 2 * self.BITS)
        except OverflowError:
            return math.copysign(math.inf, total)
