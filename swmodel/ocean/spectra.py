"""Spectra of a sea without land: the mean of a square, by the wavenumbers of the waves that the field consists of.

Fields are periodic along an axis, or between walls series of cosines (at centres, and along the walls), or of sines
(across faces that lie on the walls). A wave of wavenumbers (k, l) belongs to the ring of the wavenumber nearest to
sqrt(k² + l²) among 0, K1, 2 K1, ..., of two as near to the larger; K1 is the larger of the least wavenumbers along x
and y. The sum over rings is the mean over the domain, corners of the plane of wavenumbers included: Parseval's theorem.
So are those over k and over l.

Everything is computed in double precision, whatever that of the run. Transforms go by lines of whole waves and sums by
integers, so that a spectrum has the same bits on any layout.

Reference: docs/numerics.md, "Spectra".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from ..parallel.fourier import Fourier
from ..parallel.transport.programs import jitted
from .bins import sums_in_bins
from .diagnostics import in_double_precision
from .elliptic import require_rectangle
from .squares import Scale, squares_of
from .wavenumbers import ALONG, axes_of, ring_of


class Sea(NamedTuple):
    """What spectra are of: a domain without land, and how it is cut.

    Attributes:
        grid: section of the configuration.
        transport: of the blocks of its fields.
    """

    grid: Any
    transport: Any

    def fourier(self, location: str) -> Fourier:
        """The transforms of fields at a location.

        Raises:
            UsageError: there are more blocks than lines.
        """
        return Fourier.of(self.transport, location, (self.grid.periodic_y, self.grid.periodic_x))

    def waves(self, location: str) -> list[Waves]:
        """The waves that each of the transport's blocks has."""
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
        """Those of fields of each of the transport's blocks: arrays [fields, y, x], float64, to [fields, ky, kx]."""
        fourier, of_block = self.fourier(location), dict(zip(self.transport.blocks, fields, strict=True))
        with jax.enable_x64(True):
            program = jitted(make_forward, fourier, self.transport)
            return fourier.pieces(program(self.transport.make(of_block.__getitem__)))


class Waves(NamedTuple):
    """The waves of a block: which bin each belongs to along each of ALONG, and its part in the mean of a square."""

    bins: dict[str, np.ndarray]
    weights: np.ndarray


def make_forward(fourier: Fourier, transport):
    """The program of a transform."""
    return fourier.forward


def scale_of(blocks, gravity: float, sea: Sea) -> Scale:
    """The constants of the quantities; `blocks` as `measure` has them."""
    depths = [np.broadcast_to(grid.depth.on(shape), shape).astype(np.float64) for _, grid, shape in blocks]
    total = sums_in_bins([d[None] for d in depths], [np.zeros(d.shape, np.intp) for d in depths], 1, sea.transport)
    return Scale(gravity, float(total[0, 0]) / (sea.grid.ny * sea.grid.nx))


def measure(blocks, gravity: float, sea: Sea, names=None, rates=None) -> dict[str, np.ndarray]:
    """The spectra of a state, and how they change; called by all processes together.

    Args:
        blocks: of this process: (state, grid, shape) of each, a State of Patches of NumPy arrays that cover the block
            and a halo, and a Grid of Patches.
        gravity: m s-2.
        names: of the quantities, of `squares.SQUARES`; None: all that there are.
        rates: of each block {part of the tendency: State of Patches, its d/dt}; None leaves the changes out.

    Returns:
        {name: density along each of ALONG}, the same on every process: of a quantity its name + along, units of the
        quantity times m; of its change by a part its name + "_by_" + part + along, the same per second; and its name +
        "_flux", what passes the upper edge of each ring to larger wavenumbers with the current, units of the quantity
        per second.

    Raises:
        UsageError: there is land, or there are more blocks than lines.
    """
    require_rectangle("spectra are", blocks, sea.transport)
    scale = scale_of(blocks, gravity, sea)
    blocks = [(in_double_precision(state, grid), grid, shape) for state, grid, shape in blocks]
    rates, found = rates or [{}] * len(blocks), {}
    squares = squares_of(blocks[0][0]._fields)
    for name, square in ((name, squares[name]) for name in names or squares):
        joined = [together(of_block, square) for of_block in rates]
        fields = [fields_of(square, *each, scale, parts) for each, parts in zip(blocks, joined, strict=True)]
        total = [sums(location, [of_block[location] for of_block in fields], sea) for location in fields[0]]
        for along, axis in axes_of(sea.grid).items():
            density = sum(each[along] for each in total) / axis.step
            of = [name, *(f"{name}_by_{part}" for part in joined[0])]
            found |= {each + along: row for each, row in zip(of, density, strict=True)}
        if square.carried in joined[0]:
            found[f"{name}_flux"] = -axes_of(sea.grid)[""].step * np.cumsum(found[f"{name}_by_{square.carried}"])
    return found


def together(rates: dict, square) -> dict:
    """The rates by parts, those of continuity added to those of the part that carries the quantity, if it is so."""
    if not (rates and square.with_continuity):
        return rates
    both = zip(rates["continuity"], rates[square.carried], strict=True)
    others = {part: each for part, each in rates.items() if part != "continuity"}
    return others | {square.carried: rates["continuity"]._make(a + b for a, b in both)}


def fields_of(square, state, grid, shape, scale: Scale, rates: dict) -> dict[str, np.ndarray]:
    """A quantity's field and its changes on a block, [1 + parts, y, x] by location."""
    with np.errstate(all="ignore"):  # beyond walls there may be no water
        of_state = square.fields(state, grid, scale)
        changes = [square.changes(state, each, grid, scale) for each in rates.values()]
    return {
        location: np.stack([np.broadcast_to(of[location].on(shape), shape) for of in (of_state, *changes)])
        for location in of_state
    }


def sums(location: str, fields: list[np.ndarray], sea: Sea) -> dict[str, np.ndarray]:
    """Mean of the square of the first field, and how it changes by the others: [fields, count] by ALONG.

    Args:
        fields: of each block, [fields, y, x].
    """
    found, waves = [], sea.waves(location)
    for A, each in zip(sea.coefficients(location, fields), waves, strict=True):
        power = each.weights * (A[0].conj() * A).real
        power[1:] *= 2
        found.append(power)
    return {
        along: sums_in_bins(found, [each.bins[along] for each in waves], axis.count, sea.transport)
        for along, axis in axes_of(sea.grid).items()
    }
