"""Fourier transforms of fields on blocks: those of scipy.fft, with the same bits on any layout.

    fourier = Fourier.of(transport, "u", periodic=(False, True))    # a channel: walls in y, a ring in x
    program = transport.jit(lambda u: fourier.backward(fourier.forward(u)))

Whole lines are transformed: along x, then along y. All-to-alls turn blocks into lines and back (`lines.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import UsageError
from ..decomposition import Span, split
from ..transport import Transport
from . import series
from .lines import Lines, turned

#: The kinds of series along an axis: periodic, or between two walls cosines (values at centres of cells) or sines
#: (values on faces, the last one on the wall).
KINDS = ("periodic", "cosine", "sine")
#: For each location of the C-grid, whether its values lie on the faces of walls in y, and of walls in x.
ON_FACES = {"centre": (False, False), "u": (False, True), "v": (True, False), "corner": (True, True)}


class Spectrum(NamedTuple):
    """One axis of the whole array of coefficients: NumPy vectors."""

    modes: np.ndarray  # whole numbers m; the wavenumber is 2 π m/L where the axis is periodic, else π m/L
    turns: int  # the factor of π, 2 or 1
    weights: np.ndarray  # weights of |c|² in sums over cells


@dataclass(frozen=True)
class Fourier:
    """The transforms of the fields of one grid, and the layout of their coefficients.

    A field [..., y, x] of a block, float32 or float64, becomes coefficients [..., ky, kx]. As in scipy.fft, the factor
    is 1 forward, and 1/n backward. With NY by NX cells the coefficients are:

    | y, x | | ky | kx | |
    | --- | --- | --- | --- | --- |
    | periodic, periodic | rfft2 | NY | NX//2 + 1 | complex |
    | walls, periodic | rfft along x, dct or dst along y | NY | NX//2 + 1 | complex |
    | periodic, walls | dct or dst along x, rfft along y | NY//2 + 1 | NX | complex |
    | walls, walls | dct or dst along both | NY | NX | real |

    "cosine" is the dct of type 2. "sine" is the dst of type 1 of the NX - 1 faces between the walls. Its coefficient of
    sin(π m x/L) has index m = 1 to NX - 1, as with cosines; index 0 is zero. The last value, on the wall, is ignored
    forward and zero backward.

    Each block has all ky of a few kx: of P blocks, block r = row * PX + column of the layout has the kx of
    `decomposition.split(NX_k, P)[r]`. In a jitted program the arrays have ceil(NX_k / P) columns in all blocks; columns
    beyond these kx are zero, and are ignored.

    Attributes:
        y, x: the kind of series along each axis, of KINDS.
    """

    transport: Transport
    y: str = "periodic"
    x: str = "periodic"

    def __post_init__(self):
        (py, px), (ny, _), (_, kx) = self.transport.layout, self.cells, self.size
        if py * px > min(ny, kx):
            raise UsageError(
                f"a layout of {py}x{px} has more blocks than lines of a transform: {ny} along x, {kx} along y; "
                f"at most {min(ny, kx)} blocks can share them"
            )

    @classmethod
    def of(cls, transport: Transport, location: str, periodic: tuple[bool, bool]) -> Fourier:
        """The Fourier of fields at a location of the C-grid, "centre", "u", "v" or "corner"; `periodic`: in y, in x.

        At walls, the normal velocity and values on the wall are zero; other fields have no normal gradient.
        """
        places = zip(periodic, ON_FACES[location], strict=True)
        return cls(transport, *("periodic" if ring else "sine" if on_faces else "cosine" for ring, on_faces in places))

    @property
    def cells(self) -> tuple[int, int]:
        """Rows and columns of the grid."""
        return self.transport.block.y.size, self.transport.block.x.size

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of ky and kx in all blocks together."""
        (ny, nx), (y, x) = self.cells, self._periodic
        return (ny // 2 + 1 if y and not x else ny), (nx // 2 + 1 if x else nx)

    @property
    def shape(self) -> tuple[int, int]:
        """(ky, kx) of the coefficients in a jitted program, the same in all blocks."""
        return self.size[0], -(-self.size[1] // self._blocks)

    @property
    def columns(self) -> list[Span]:
        """The range of kx of each of `transport.blocks`."""
        parts, px = split(self.size[1], self._blocks), self.transport.layout[1]
        return [parts[row * px + column] for row, column in (block.place for block in self.transport.blocks)]

    @property
    def spectra(self) -> tuple[Spectrum, Spectrum]:
        """The axes ky and kx of all coefficients: modes and weights.

        Sum over cells of a b = sum over ky, kx of weight_y weight_x Re(A* B), A and B their coefficients.
        """
        (ny, nx), (y, x) = self.cells, self._periodic
        return spectrum(ny, self.y, halved=y and not x), spectrum(nx, self.x, halved=x)

    def wavenumbers(self, dy: float, dx: float) -> tuple[np.ndarray, np.ndarray]:
        """ky and kx of all coefficients, rad per unit of dy and dx: float64 vectors."""
        axes = zip(self.spectra, self.cells, (dy, dx), strict=True)
        return tuple(axis.turns * np.pi * axis.modes / (n * spacing) for axis, n, spacing in axes)

    def part(self, vector):
        """The block's part of a NumPy array [..., NX_k], zero beyond its kx, in a jitted program."""
        row, column = self.transport.place()
        parts = np.zeros((self._blocks, *vector.shape[:-1], self.shape[1]), vector.dtype)
        for part, span in zip(parts, split(self.size[1], self._blocks), strict=True):
            part[..., : span.length] = vector[..., span.start : span.stop]
        return jnp.asarray(parts)[row * self.transport.layout[1] + column]

    def pieces(self, coefficients) -> list[np.ndarray]:
        """Coefficients of a jitted program for each of `transport.blocks`: NumPy arrays [..., ky, kx of `columns`]."""
        found = self.transport.pieces(coefficients, margin=None)
        return [array[..., : span.length] for array, span in zip(found, self.columns, strict=True)]

    def forward(self, fields):
        """The coefficients of the fields of a block, in a jitted program."""
        lines = self._lines.along_y(FORWARD[self.x](self._lines.along_x(fields)))
        return series.full(lines) if all(self._periodic) else turned(self._along_y(FORWARD, lines), -1, -2)

    def backward(self, coefficients):
        """The fields of a block with these coefficients, zero beyond its rows and columns, in a jitted program."""
        ny, nx = self.cells
        if all(self._periodic):
            lines = series.from_full(coefficients, ny)
        else:
            lines = self._along_y(BACKWARD, turned(coefficients, -1, -2), ny)
        return self._lines.blocks(BACKWARD[self.x](self._lines.back_from_y(lines), nx))

    def _along_y(self, transforms, lines, *length):
        """A transform of real lines, applied along y to lines that are complex if x is periodic."""
        if not self._periodic[1]:
            return transforms[self.y](lines, *length)
        return jax.lax.complex(*transforms[self.y](series.parts(lines), *length))

    @property
    def _periodic(self) -> tuple[bool, bool]:
        return self.y == "periodic", self.x == "periodic"

    @property
    def _blocks(self) -> int:
        return self.transport.layout[0] * self.transport.layout[1]

    @property
    def _lines(self) -> Lines:
        return Lines(self.transport, *self.cells, self.size[1])


#: Transforms of whole lines by kind: forward, a function of real lines; back, of coefficients and the number of cells.
FORWARD = {"periodic": jnp.fft.rfft, "cosine": series.cosine, "sine": series.sine}
BACKWARD = {"periodic": jnp.fft.irfft, "cosine": series.from_cosine, "sine": series.from_sine}


def spectrum(n: int, kind: str, halved: bool) -> Spectrum:
    """The axis of the coefficients of lines of n cells; if `halved`, only the half from 0 on if periodic."""
    modes = np.arange(n // 2 + 1 if halved else n)
    if kind == "periodic":
        if not halved:
            return Spectrum(np.where(modes > (n - 1) // 2, modes - n, modes), 2, np.full(n, 1 / n))
        return Spectrum(modes, 2, np.where((modes == 0) | (2 * modes == n), 1 / n, 2 / n))
    first = 1 / (4 * n) if kind == "cosine" else 0.0
    return Spectrum(modes, 1, np.where(modes == 0, first, 1 / (2 * n)))
