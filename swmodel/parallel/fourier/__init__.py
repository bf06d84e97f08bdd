"""Fourier transforms of fields on blocks: those of scipy.fft, with the same bits on any layout.

    fourier = Fourier.for_location(transport, "u", periodic=(False, True))    # a channel: walls in y, periodic in x
    program = transport.jit(lambda u: fourier.backward(fourier.forward(u)))

Whole lines are transformed, first along x, then along y. All-to-alls turn blocks into lines and back (`lines.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import UsageError
from ..decomposition import IndexRange, split_evenly
from ..transport import Transport
from . import series
from .lines import LineTransposition, moveaxis_unfused

#: Series along a periodic axis; between walls, cosines for values at centres, and sines for values on faces.
SERIES_KINDS = ("periodic", "cosine", "sine")
#: For each location of the C-grid, whether its values lie on the faces of walls in y, and of walls in x.
ON_WALL_FACES = {"centre": (False, False), "u": (False, True), "v": (True, False), "corner": (True, True)}


class SpectralAxis(NamedTuple):
    """One axis of the array of all coefficients, described by NumPy vectors."""

    modes: np.ndarray  # whole numbers m; the wavenumber is 2 π m/L if the axis, of length L, is periodic, else π m/L
    pi_factor: int  # the factor of π m/L in the wavenumber, 2 or 1
    weights: np.ndarray  # weights of the squared magnitudes of coefficients in sums over cells


@dataclass(frozen=True)
class Fourier:
    """The transforms of the fields of one grid, and the layout of their coefficients.

    A field [..., y, x] of a block, float32 or float64, becomes coefficients [..., ky, kx]. As in scipy.fft, only the
    backward transform is normalised. With NY by NX cells the coefficients are:

    | y, x | | ky | kx | |
    | --- | --- | --- | --- | --- |
    | periodic, periodic | rfft2 | NY | NX//2 + 1 | complex |
    | walls, periodic | rfft along x, dct or dst along y | NY | NX//2 + 1 | complex |
    | periodic, walls | dct or dst along x, rfft along y | NY//2 + 1 | NX | complex |
    | walls, walls | dct or dst along both | NY | NX | real |

    "cosine" is the dct of type 2. "sine" is the dst of type 1 of the NX - 1 faces between the walls. Its coefficient of
    sin(π m x/L) has index m = 1 to NX - 1, as with cosines; that with index 0 is zero. The forward transform ignores
    the last value, on the wall; the backward transform sets it to zero.

    Each block has all ky for some of the NX_k kx: of P blocks, block r = row * PX + column of the layout has the kx in
    `decomposition.split_evenly(NX_k, P)[r]`. In a jitted program the arrays have ceil(NX_k / P) columns in all blocks;
    columns beyond the block's kx are zero and ignored.

    UsageError: the layout has more blocks than a transform has lines along x or y.

    Attributes:
        kind_y, kind_x: the kind of series along each axis, one of SERIES_KINDS.
    """

    transport: Transport
    kind_y: str = "periodic"
    kind_x: str = "periodic"

    def __post_init__(self):
        (py, px), (ny, _), (_, kx) = self.transport.layout, self.grid_shape, self.spectral_shape
        if py * px > min(ny, kx):
            raise UsageError(
                f"a layout of {py}x{px} has more blocks than a transform has lines: {ny} along x, {kx} along y; "
                f"at most {min(ny, kx)} blocks can share them"
            )

    @classmethod
    def for_location(cls, transport: Transport, location: str, periodic: tuple[bool, bool]) -> Fourier:
        """The transforms of fields at a location of the C-grid, "centre", "u", "v" or "corner"; `periodic`: in y, in x.

        Values on a wall, such as the normal velocity, are zero; other fields have no normal gradient there.
        """
        walls = zip(periodic, ON_WALL_FACES[location], strict=True)
        return cls(
            transport,
            *("periodic" if is_periodic else "sine" if on_faces else "cosine" for is_periodic, on_faces in walls),
        )

    @property
    def grid_shape(self) -> tuple[int, int]:
        return self.transport.block.y.axis_size, self.transport.block.x.axis_size

    @property
    def spectral_shape(self) -> tuple[int, int]:
        """The numbers of ky and kx in all blocks together."""
        (ny, nx), (y, x) = self.grid_shape, self._periodic
        return (ny // 2 + 1 if y and not x else ny), (nx // 2 + 1 if x else nx)

    @property
    def block_shape(self) -> tuple[int, int]:
        """The numbers of ky and kx in a block of a jitted program, the same in all blocks."""
        return self.spectral_shape[0], -(-self.spectral_shape[1] // self._n_blocks)

    @property
    def kx_ranges(self) -> list[IndexRange]:
        """The range of kx of each of `transport.blocks`."""
        parts, px = split_evenly(self.spectral_shape[1], self._n_blocks), self.transport.layout[1]
        return [parts[row * px + column] for row, column in (block.block_index for block in self.transport.blocks)]

    @property
    def axes(self) -> tuple[SpectralAxis, SpectralAxis]:
        """The axes ky and kx of all coefficients: modes and weights.

        Sum over cells of a b = sum over ky, kx of weight_y weight_x Re(A* B), with the coefficients A and B.
        """
        (ny, nx), (y, x) = self.grid_shape, self._periodic
        return spectral_axis(ny, self.kind_y, is_halved=y and not x), spectral_axis(nx, self.kind_x, is_halved=x)

    def wavenumbers(self, dy: float, dx: float) -> tuple[np.ndarray, np.ndarray]:
        """ky and kx of all coefficients, rad per unit of dy and dx: float64 vectors."""
        axes_and_sizes = zip(self.axes, self.grid_shape, (dy, dx), strict=True)
        ky, kx = (axis.pi_factor * np.pi * axis.modes / (n * spacing) for axis, n, spacing in axes_and_sizes)
        return ky, kx

    def block_part(self, vector):
        """In a jitted program, the block's part of a NumPy array [..., NX_k], zero beyond its kx."""
        row, column = self.transport.block_index()
        parts = np.zeros((self._n_blocks, *vector.shape[:-1], self.block_shape[1]), vector.dtype)
        for part, span in zip(parts, split_evenly(self.spectral_shape[1], self._n_blocks), strict=True):
            part[..., : span.length] = vector[..., span.start : span.stop]
        return jnp.asarray(parts)[row * self.transport.layout[1] + column]

    def get_blocks(self, coefficients) -> list[np.ndarray]:
        """The coefficients from a jitted program for each of `transport.blocks`: NumPy [..., ky, kx of `kx_ranges`]."""
        arrays = self.transport.get_blocks(coefficients, halo=None)
        return [array[..., : span.length] for array, span in zip(arrays, self.kx_ranges, strict=True)]

    def forward(self, fields):
        """In a jitted program, the coefficients of the fields of a block."""
        x_lines = FORWARD[self.kind_x](self._transposition.blocks_to_x_lines(fields))
        lines = self._transposition.x_lines_to_y_lines(x_lines)
        if all(self._periodic):
            return series.complex_fft(lines)
        return moveaxis_unfused(self._transform_along_y(FORWARD, lines), -1, -2)

    def backward(self, coefficients):
        """In a jitted program, the fields of a block with these coefficients, zero beyond its rows and columns."""
        ny, nx = self.grid_shape
        if all(self._periodic):
            lines = series.complex_ifft(coefficients, ny)
        else:
            lines = self._transform_along_y(BACKWARD, moveaxis_unfused(coefficients, -1, -2), ny)
        x_lines = BACKWARD[self.kind_x](self._transposition.y_lines_to_x_lines(lines), nx)
        return self._transposition.x_lines_to_blocks(x_lines)

    def _transform_along_y(self, transforms, lines, *length):
        """Transform real lines along y; if x is periodic, the real and imaginary parts of complex lines."""
        if not self._periodic[1]:
            return transforms[self.kind_y](lines, *length)
        return jax.lax.complex(*transforms[self.kind_y](series.real_and_imaginary(lines), *length))

    @property
    def _periodic(self) -> tuple[bool, bool]:
        return self.kind_y == "periodic", self.kind_x == "periodic"

    @property
    def _n_blocks(self) -> int:
        return self.transport.layout[0] * self.transport.layout[1]

    @property
    def _transposition(self) -> LineTransposition:
        return LineTransposition(self.transport, *self.grid_shape, self.spectral_shape[1])


#: Transforms of whole lines by kind: functions of real lines and, backward, of coefficients and the number of cells.
FORWARD: dict[str, Callable] = {"periodic": jnp.fft.rfft, "cosine": series.dct_type2, "sine": series.dst_type1}
BACKWARD: dict[str, Callable] = {"periodic": jnp.fft.irfft, "cosine": series.idct_type2, "sine": series.idst_type1}


def spectral_axis(n: int, kind: str, is_halved: bool) -> SpectralAxis:
    """The axis of the coefficients of lines of n cells; `is_halved`: it is periodic, with the modes 0 to n // 2."""
    modes = np.arange(n // 2 + 1 if is_halved else n)
    if kind == "periodic":
        if not is_halved:
            return SpectralAxis(np.where(modes > (n - 1) // 2, modes - n, modes), 2, np.full(n, 1 / n))
        return SpectralAxis(modes, 2, np.where((modes == 0) | (2 * modes == n), 1 / n, 2 / n))
    first = 1 / (4 * n) if kind == "cosine" else 0.0
    return SpectralAxis(modes, 1, np.where(modes == 0, first, 1 / (2 * n)))
