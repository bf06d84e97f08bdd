"""Spectra of a sea without land: the mean of a field's square, by wavenumber.

Along a periodic axis, fields are Fourier series; between walls they are series of cosines (points half a cell from the
walls) or sines (points on the walls). The bins of the total wavenumber are 0, K1, 2 K1, ..., where K1 is the larger of
the smallest wavenumbers along x and y. A wave (k, l) belongs to the bin nearest to sqrt(k² + l²), the larger one of two
equally near. By Parseval's theorem the sum over all bins is the mean over the domain, and so are those over k and l.

A spectrum has the same bits on any layout, because transforms are of whole lines and sums are of integers. All
computations are in double precision.

Reference: docs/numerics-spectral.md, "Spectra".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from ..parallel.fixed_point import FixedPoint
from ..parallel.fourier import Fourier
from ..parallel.transport.programs import cached_jit
from ..parallel.transport.transport import Transport
from .diagnostics import to_double_precision
from .elliptic import require_rectangle
from .spectral_quantities import SPECTRUM_AXES, RestingLayer, radial_bin, spectral_quantities_of, wavenumber_axes

if TYPE_CHECKING:
    from ..config.options.grid import GridOptions


class WaveBins(NamedTuple):
    """The waves of a block: the bin of each wave for each of SPECTRUM_AXES, and its weight in the mean square."""

    bins: dict[str, np.ndarray]
    weights: np.ndarray


class SpectralDomain(NamedTuple):
    """A domain without land: section [grid] of its configuration, and the transport of its blocks."""

    grid: GridOptions
    transport: Transport

    def fourier(self, location: str) -> Fourier:
        return Fourier.for_location(self.transport, location, (self.grid.periodic_y, self.grid.periodic_x))

    def wave_bins(self, location: str) -> list[WaveBins]:
        fourier, axes = self.fourier(location), wavenumber_axes(self.grid)
        y, x = fourier.axes
        n, m = np.abs(y.modes), np.abs(x.modes)
        squares = (n * axes["_y"].spacing) ** 2, (m * axes["_x"].spacing) ** 2
        bins_of_blocks = []
        for span in fourier.kx_ranges:
            columns = slice(span.start, span.stop)
            radial_bins = radial_bin(np.sqrt(squares[0][:, None] + squares[1][columns]) / axes[""].spacing)
            bins = np.broadcast_to(m[columns], radial_bins.shape), np.broadcast_to(n[:, None], radial_bins.shape)
            weights = y.weights[:, None] * x.weights[columns] / (self.grid.ny * self.grid.nx)
            bins_of_blocks.append(WaveBins(dict(zip(SPECTRUM_AXES, (radial_bins, *bins), strict=True)), weights))
        return bins_of_blocks

    def coefficients(self, location: str, fields: list[np.ndarray]) -> list[np.ndarray]:
        """The Fourier coefficients [fields, ky, kx] of fields [fields, y, x], float64, on each block."""
        fourier, fields_by_block = self.fourier(location), dict(zip(self.transport.blocks, fields, strict=True))
        with jax.enable_x64(True):
            program = cached_jit(make_transform, fourier, self.transport)
            return fourier.get_blocks(program(self.transport.make_arrays(fields_by_block.__getitem__)))

    def squares_and_rates(self, location: str, fields: list[np.ndarray]) -> dict[str, np.ndarray]:
        """For each of SPECTRUM_AXES, the spectrum of the first field, and its rates of change, [fields, bins].

        The further `fields` [fields, y, x] are rates of change of the first one, by parts of the tendency.
        """
        power_of_blocks, waves = [], self.wave_bins(location)
        for A, each in zip(self.coefficients(location, fields), waves, strict=True):
            power = each.weights * (A[0].conj() * A).real
            power[1:] *= 2
            power_of_blocks.append(power)
        sums = {}
        for ending, axis in wavenumber_axes(self.grid).items():
            bins = [each.bins[ending] for each in waves]
            sums[ending] = sums_in_bins(power_of_blocks, bins, axis.n_wavenumbers, self.transport)
        return sums


def make_transform(fourier: Fourier, transport: Transport):
    return fourier.forward


def compute_spectra(blocks, gravity: float, sea: SpectralDomain, names=None, rates=None) -> dict[str, np.ndarray]:
    """The spectra of a state, and their rates of change; all processes call it together.

    Args:
        blocks: (state, grid, shape) of each block of this process, with Patches of NumPy arrays, including a halo.
        names: quantities of `spectral_quantities_of`; None: all.
        rates: {part of the tendency: State of Patches, its d/dt} of each block; None: no rates of change.

    Returns:
        {name: array}, the same on every process. With `axis` one of SPECTRUM_AXES, name + axis is the density of a
        quantity, in its units times m; name + "_by_" + part + axis is the change of this density by a part of the
        tendency, per second. name + "_flux" is the flux by the current across the upper edge of each bin to larger
        wavenumbers, in the units of the quantity per second.
    """
    require_rectangle("spectra are", blocks, sea.transport)
    depths = [np.broadcast_to(grid.depth.block_values(shape), shape).astype(np.float64) for _, grid, shape in blocks]
    volume = sums_in_bins([d[None] for d in depths], [np.zeros(d.shape, np.intp) for d in depths], 1, sea.transport)
    layer = RestingLayer(gravity, float(volume[0, 0]) / (sea.grid.ny * sea.grid.nx))
    blocks = [(to_double_precision(state, grid), grid, shape) for state, grid, shape in blocks]
    rates = rates or [{}] * len(blocks)
    spectra: dict[str, np.ndarray] = {}
    quantities = spectral_quantities_of(blocks[0][0]._fields)
    for name, quantity in ((name, quantities[name]) for name in names or quantities):
        joined_rates = [add_continuity(rates_by_part, quantity) for rates_by_part in rates]
        fields = [
            fields_and_rates(quantity, state, grid, shape, layer, parts)
            for (state, grid, shape), parts in zip(blocks, joined_rates, strict=True)
        ]
        spectra_by_location = [
            sea.squares_and_rates(location, [fields_of_block[location] for fields_of_block in fields])
            for location in fields[0]
        ]
        for ending, axis in wavenumber_axes(sea.grid).items():
            density: Any = sum(each[ending] for each in spectra_by_location) / axis.spacing
            row_names = [name, *(f"{name}_by_{part}" for part in joined_rates[0])]
            spectra |= {each + ending: row for each, row in zip(row_names, density, strict=True)}
        if quantity.transfer_part in joined_rates[0]:
            transfer = np.cumsum(spectra[f"{name}_by_{quantity.transfer_part}"])
            spectra[f"{name}_flux"] = -wavenumber_axes(sea.grid)[""].spacing * transfer
    return spectra


def add_continuity(rates: dict, quantity) -> dict:
    """The rates by part, with continuity added to the part that transfers the quantity, if that includes it."""
    if not (rates and quantity.includes_continuity):
        return rates
    continuity_and_transfer = zip(rates["continuity"], rates[quantity.transfer_part], strict=True)
    others = {part: each for part, each in rates.items() if part != "continuity"}
    return others | {quantity.transfer_part: rates["continuity"]._make(a + b for a, b in continuity_and_transfer)}


def fields_and_rates(quantity, state, grid, shape, layer: RestingLayer, rates: dict) -> dict[str, np.ndarray]:
    """A quantity's field and its changes on a block, [1 + parts, y, x], by location."""
    with np.errstate(all="ignore"):  # beyond walls there may be no water
        fields = quantity.fields(state, grid, layer)
        changes = [quantity.rates(state, each, grid, layer) for each in rates.values()]
    return {
        location: np.stack([np.broadcast_to(each[location].block_values(shape), shape) for each in (fields, *changes)])
        for location in fields
    }


def sums_in_bins(numbers, bins, n_bins: int, transport: Transport) -> np.ndarray:
    """The sums of numbers in each bin, in fixed point, [sums, bins]; NaN if a number of the bin is not finite.

    They have the same bits on any layout and process. All processes call it together.

    Args:
        numbers: arrays [sums, ...] of each block of this process.
        bins: arrays [...] of each block: the bin of each number, below `n_bins`.
    """
    flat = [values.reshape(len(values), -1) for values in numbers]
    flat_bins = [bins_of_block.ravel() for bins_of_block in bins]
    bounds = np.zeros((len(flat[0]), n_bins))
    for values, bins_of_block in zip(flat, flat_bins, strict=True):
        for row, bound in zip(values, bounds, strict=True):
            np.maximum.at(bound, bins_of_block, np.where(np.isfinite(row), np.abs(row), np.inf))
    scales = [[FixedPoint(bound) for bound in row] for row in transport.reduce(bounds, "max")]
    pieces = np.zeros((2, *bounds.shape), np.int64)
    for values, bins_of_block in zip(flat, flat_bins, strict=True):
        for row, (summands, scale) in enumerate(zip(values, scales, strict=True)):
            exponents = np.array([each.exponent for each in scale], np.int32)
            for first in range(0, bins_of_block.size, FixedPoint.MAX_NUMBERS):
                window = slice(first, first + FixedPoint.MAX_NUMBERS)
                pieces[:, row] += pieces_in_bins(summands[window], bins_of_block[window], exponents)
    pieces = transport.reduce(pieces, "sum")
    sums = [
        [scale.value(pieces[:, row, bin_]) for bin_, scale in enumerate(row_scales)]
        for row, row_scales in enumerate(scales)
    ]
    return np.array(sums).reshape(bounds.shape)


def pieces_in_bins(numbers, bins, exponents) -> list[np.ndarray]:
    """The sums of the numbers' high and low pieces in each bin, as in `FixedPoint.high_and_low_sums`."""
    scaled = np.ldexp(np.where(np.isfinite(numbers), numbers, 0.0), FixedPoint.BITS - exponents[bins])
    high = np.rint(scaled)
    low = np.rint((scaled - high) * 2.0**FixedPoint.BITS)
    return [np.bincount(bins, weights=each, minlength=len(exponents)).astype(np.int64) for each in (high, low)]
