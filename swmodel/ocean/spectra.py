"""Spectra of a sea without land: the mean of a field's square, by wavenumber.

Fields are periodic along an axis, or between walls series of cosines (points beside the walls) or sines (points on the
walls). Rings have the wavenumbers 0, K1, 2 K1, ..., where K1 is the larger of the smallest wavenumbers along x and y.
A wave (k, l) belongs to the ring nearest to sqrt(k² + l²), the larger one of two equally near. By Parseval's theorem
the sum over all rings is the mean over the domain, and so are the sums over k and over l.

All computations are in double precision. Transforms are of whole lines and sums are of integers, so a spectrum has the
same bits on any layout.

Reference: docs/numerics.md, "Spectra".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from ..parallel.fixed_point import FixedPoint
from ..parallel.fourier import Fourier
from ..parallel.transport.programs import jitted
from .diagnostics import in_double_precision
from .elliptic import require_rectangle
from .squares import ALONG, Scale, axes_of, ring_of, squares_of


class Waves(NamedTuple):
    """The waves of a block: the bin of each wave for each of ALONG, and its weight in the mean of a square."""

    bins: dict[str, np.ndarray]
    weights: np.ndarray


class Sea(NamedTuple):
    """A domain without land: section [grid] of its configuration, and the transport of its blocks."""

    grid: Any
    transport: Any

    def fourier(self, location: str) -> Fourier:
        """The transforms of fields at a location."""
        return Fourier.of(self.transport, location, (self.grid.periodic_y, self.grid.periodic_x))

    def waves(self, location: str) -> list[Waves]:
        """The Waves of each of the transport's blocks."""
        fourier, axes = self.fourier(location), axes_of(self.grid)
        y, x = fourier.spectra
        n, m = np.abs(y.modes), np.abs(x.modes)
        squares = (n * axes["_y"].step) ** 2, (m * axes["_x"].step) ** 2
        found = []
        for span in fourier.columns:
            some = slice(span.start, span.stop)
            ring = ring_of(np.sqrt(squares[0][:, None] + squares[1][some]) / axes[""].step)
            bins = np.broadcast_to(m[some], ring.shape), np.broadcast_to(n[:, None], ring.shape)
            weights = y.weights[:, None] * x.weights[some] / (self.grid.ny * self.grid.nx)
            found.append(Waves(dict(zip(ALONG, (ring, *bins), strict=True)), weights))
        return found

    def coefficients(self, location: str, fields: list[np.ndarray]) -> list[np.ndarray]:
        """The coefficients [fields, ky, kx] of fields [fields, y, x], float64, of each of the transport's blocks."""
        fourier, of_block = self.fourier(location), dict(zip(self.transport.blocks, fields, strict=True))
        with jax.enable_x64(True):
            program = jitted(make_forward, fourier, self.transport)
            return fourier.pieces(program(self.transport.make(of_block.__getitem__)))

    def sums(self, location: str, fields: list[np.ndarray]) -> dict[str, np.ndarray]:
        """{ALONG: mean square of the first field, and its changes by the others, [fields, count]}."""
        found, waves = [], self.waves(location)
        for A, each in zip(self.coefficients(location, fields), waves, strict=True):
            power = each.weights * (A[0].conj() * A).real
            power[1:] *= 2
            found.append(power)
        return {
            along: sums_in_bins(found, [each.bins[along] for each in waves], axis.count, self.transport)
            for along, axis in axes_of(self.grid).items()
        }


def make_forward(fourier: Fourier, transport):
    """The program of a transform."""
    return fourier.forward


def measure(blocks, gravity: float, sea: Sea, names=None, rates=None) -> dict[str, np.ndarray]:
    """The spectra of a state, and their changes; all processes call it together.

    Args:
        blocks: (state, grid, shape) of each block of this process, with Patches of NumPy arrays, including a halo.
        names: quantities of `squares.SQUARES`; None: all.
        rates: {part of the tendency: State of Patches, its d/dt} of each block; None: no changes.

    Returns:
        {name: array}, the same on every process. name + along, for each of ALONG, is the density of a quantity, in its
        units times m. name + "_by_" + part + along is the change of that by a part, per second. name + "_flux" is the
        flux by the current across the upper edge of each ring to larger wavenumbers, in its units per second.
    """
    require_rectangle("spectra are", blocks, sea.transport)
    depths = [np.broadcast_to(grid.depth.on(shape), shape).astype(np.float64) for _, grid, shape in blocks]
    volume = sums_in_bins([d[None] for d in depths], [np.zeros(d.shape, np.intp) for d in depths], 1, sea.transport)
    scale = Scale(gravity, float(volume[0, 0]) / (sea.grid.ny * sea.grid.nx))
    blocks = [(in_double_precision(state, grid), grid, shape) for state, grid, shape in blocks]
    rates, found = rates or [{}] * len(blocks), {}
    squares = squares_of(blocks[0][0]._fields)
    for name, square in ((name, squares[name]) for name in names or squares):
        joined = [together(of_block, square) for of_block in rates]
        fields = [fields_of(square, *each, scale, parts) for each, parts in zip(blocks, joined, strict=True)]
        total = [sea.sums(location, [of_block[location] for of_block in fields]) for location in fields[0]]
        for along, axis in axes_of(sea.grid).items():
            density = sum(each[along] for each in total) / axis.step
            of = [name, *(f"{name}_by_{part}" for part in joined[0])]
            found |= {each + along: row for each, row in zip(of, density, strict=True)}
        if square.carried in joined[0]:
            found[f"{name}_flux"] = -axes_of(sea.grid)[""].step * np.cumsum(found[f"{name}_by_{square.carried}"])
    return found


def together(rates: dict, square) -> dict:
    """The rates by part; with continuity added to the part that carries the quantity, if it needs that."""
    if not (rates and square.with_continuity):
        return rates
    both = zip(rates["continuity"], rates[square.carried], strict=True)
    others = {part: each for part, each in rates.items() if part != "continuity"}
    return others | {square.carried: rates["continuity"]._make(a + b for a, b in both)}


def fields_of(square, state, grid, shape, scale: Scale, rates: dict) -> dict[str, np.ndarray]:
    """A quantity's field and its changes on a block, [1 + parts, y, x], by location."""
    with np.errstate(all="ignore"):  # beyond walls there may be no water
        of_state = square.fields(state, grid, scale)
        changes = [square.changes(state, each, grid, scale) for each in rates.values()]
    return {
        location: np.stack([np.broadcast_to(of[location].on(shape), shape) for of in (of_state, *changes)])
        for location in of_state
    }


#: Most numbers that are added in float64: the sum of their high pieces is then exact (FixedPoint).
TOGETHER = 1 << 19


def sums_in_bins(numbers, bins, count: int, transport) -> np.ndarray:
    """Sums in fixed point [sums, count], one for each bin; NaN if one of its numbers is not finite.

    They have the same bits on any layout and process; all processes call it together.

    Args:
        numbers: arrays [sums, ...] of each block of this process.
        bins: arrays [...] of each block: the bin of each number, below `count`.
    """
    flat = [values.reshape(len(values), -1) for values in numbers]
    places = [where.ravel() for where in bins]
    bounds = np.zeros((len(flat[0]), count))
    for values, where in zip(flat, places, strict=True):
        for row, bound in zip(values, bounds, strict=True):
            np.maximum.at(bound, where, np.where(np.isfinite(row), np.abs(row), np.inf))
    scales = [[FixedPoint(bound) for bound in row] for row in transport.reduce(bounds, "max")]
    pieces = np.zeros((2, *bounds.shape), np.int64)
    for values, where in zip(flat, places, strict=True):
        for row, (summands, scale) in enumerate(zip(values, scales, strict=True)):
            exponents = np.array([each.exponent for each in scale], np.int32)
            for first in range(0, where.size, TOGETHER):
                some = slice(first, first + TOGETHER)
                pieces[:, row] += pieces_in_bins(summands[some], where[some], exponents)
    pieces = transport.reduce(pieces, "sum")
    found = [
        [scale.value(pieces[:, row, place]) for place, scale in enumerate(of_row)] for row, of_row in enumerate(scales)
    ]
    return np.array(found).reshape(bounds.shape)


def pieces_in_bins(numbers, places, exponents) -> list[np.ndarray]:
    """The sums of the numbers' high and low pieces in each bin, as in `FixedPoint.pieces`."""
    scaled = np.ldexp(np.where(np.isfinite(numbers), numbers, 0.0), FixedPoint.BITS - exponents[places])
    high = np.rint(scaled)
    low = np.rint((scaled - high) * 2.0**FixedPoint.BITS)
    return [np.bincount(places, weights=each, minlength=len(exponents)).astype(np.int64) for each in (high, low)]
