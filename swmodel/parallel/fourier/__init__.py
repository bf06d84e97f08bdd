"""Fourier transforms of fields that are cut into blocks: those of scipy.fft, with the same bits on any layout.

    fourier = Fourier.of(transport, "u", periodic=(False, True))    # a channel: walls in y, a ring in x
    program = transport.jit(lambda u: fourier.backward(fourier.forward(u)))

Each line is transformed whole: along x, then along y. In between blocks become lines by all-to-alls (`lines.py`).
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

#: What a field does along an axis: it is periodic; or between two walls it is a series of cosines (values at centres of
#: cells), or of sines (values on faces; the last one lies on the wall).
KINDS = ("periodic", "cosine", "sine")
#: Whether the values of a location of the C-grid lie on the faces that the walls in y and in x have.
ON_FACES = {"centre": (False, False), "u": (False, True), "v": (True, False), "corner": (True, True)}


class Spectrum(NamedTuple):
    """One axis of the coefficients, of all of them: NumPy vectors.

    Attributes:
        modes: whole numbers m; the wavenumber is 2 π m/L where the axis is periodic, else π m/L.
        turns: 2 or 1, that factor of π.
        weights: of |c|² in sums over cells.
    """

    modes: np.ndarray
    turns: int
    weights: np.ndarray


@dataclass(frozen=True)
class Fourier:
    """The transforms of fields of one grid, and where their coefficients are.

    A field [..., y, x] of a block, float32 or float64, becomes coefficients [..., ky, kx]. With NY by NX cells these
    are, as scipy.fft has them, without factors forward and with 1/n backward:

    | y, x | | ky | kx | |
    | --- | --- | --- | --- | --- |
    | periodic, periodic | rfft2 | NY | NX//2 + 1 | complex |
    | walls, periodic | rfft along x, dct or dst along y | NY | NX//2 + 1 | complex |
    | periodic, walls | dct or dst along x, rfft along y | NY//2 + 1 | NX | complex |
    | walls, walls | dct or dst along both | NY | NX | real |

    "cosine" is the dct of type 2. "sine" is the dst of type 1 of the NX - 1 faces within the walls: coefficient m, for
    m = 1 to NX - 1, is that of sin(π m x/L) and lies at index m, as cosines do; index 0 is zero. The last value, on the
    wall, is not looked at and comes back as zero.

    All ky of a few kx are in one block: with P blocks block number r = row * PX + column of the layout has those of
    `decomposition.split(NX_k, P)[r]`. In a jitted program the arrays have ceil(NX_k / P) columns in all blocks; what is
    beyond a block's own is zero, and is not looked at.

    A Fourier is a value: equal, and hashed alike, where transport and kinds are.

    Attributes:
        transport: has the blocks of the grid.
        y, x: what the fields do along each axis, of KINDS.

    Raises:
        UsageError: there is no such kind, or there are more blocks than lines.
    """

    transport: Transport
    y: str = "periodic"
    x: str = "periodic"

    def __post_init__(self):
        if unknown := {self.y, self.x} - set(KINDS):
            raise UsageError(f"no kind of axis {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
        (py, px), (ny, _), (_, kx) = self.transport.layout, self.cells, self.size
        if py * px > min(ny, kx):
            raise UsageError(
                f"a layout of {py}x{px} has more blocks than lines to transform: {ny} along x, {kx} along y; "
                f"at most {min(ny, kx)} blocks can share them"
            )

    @classmethod
    def of(cls, transport: Transport, location: str, periodic: tuple[bool, bool]) -> Fourier:
        """That of fields at a location of the C-grid, "centre", "u", "v" or "corner"; whether y and x are periodic.

        Normal velocity and what lies on walls is zero there, all else has no slope there.

        Raises:
            UsageError: there is no such location, or there are more blocks than lines.
        """
        if location not in ON_FACES:
            raise UsageError(f"no location {location}; there are {', '.join(ON_FACES)}")
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
        """Which of the kx each of `transport.blocks` has."""
        parts = split(self.size[1], self._blocks)
        return [parts[block.place[0] * self.transport.layout[1] + block.place[1]] for block in self.transport.blocks]

    @property
    def spectra(self) -> tuple[Spectrum, Spectrum]:
        """The axes ky and kx of all coefficients: modes and weights.

        Sum over cells of a b = sum over ky, kx of weight_y weight_x Re(A* B), A and B their coefficients.
        """
        (ny, nx), (y, x) = self.cells, self._periodic
        return spectrum(ny, self.y, halved=y and not x), spectrum(nx, self.x, halved=x)

    def wavenumbers(self, dy: float, dx: float) -> tuple[np.ndarray, np.ndarray]:
        """ky and kx of all coefficients, rad per unit of the spacing: float64 vectors."""
        axes = zip(self.spectra, self.cells, (dy, dx), strict=True)
        return tuple(axis.turns * np.pi * axis.modes / (n * spacing) for axis, n, spacing in axes)

    def part(self, vector):
        """In a jitted program: of a NumPy array [..., NX_k] the part of the block at hand, zero beyond its own kx."""
        row, column = self.transport.place()
        parts = np.zeros((self._blocks, *vector.shape[:-1], self.shape[1]), vector.dtype)
        for part, span in zip(parts, split(self.size[1], self._blocks), strict=True):
            part[..., : span.length] = vector[..., span.start : span.stop]
        return jnp.asarray(parts)[row * self.transport.layout[1] + column]

    def pieces(self, coefficients) -> list[np.ndarray]:
        """What a jitted program gives for each of `transport.blocks`: NumPy arrays [..., ky, kx of `columns`]."""
        found = self.transport.pieces(coefficients, margin=None)
        return [array[..., : span.length] for array, span in zip(found, self.columns, strict=True)]

    def forward(self, fields):
        """In a jitted program: the coefficients of the fields of a block.

        Raises:
            UsageError: the fields are not real numbers of floating point, or not those of a block.
        """
        self._check(fields, self.transport.shape, jnp.floating, "fields", "(y, x)")
        lines = self._lines.along_y(FORWARD[self.x](self._lines.along_x(fields)))
        return series.full(lines) if all(self._periodic) else turned(self._along_y(FORWARD, lines), -1, -2)

    def backward(self, coefficients):
        """In a jitted program: the fields of a block with these coefficients, zero beyond its rows and columns.

        Raises:
            UsageError: the coefficients are not complex where they are to be, or not those of a block.
        """
        kind = jnp.complexfloating if any(self._periodic) else jnp.floating
        self._check(coefficients, self.shape, kind, "coefficients", "(ky, kx)")
        ny, nx = self.cells
        if all(self._periodic):
            lines = series.from_full(coefficients, ny)
        else:
            lines = self._along_y(BACKWARD, turned(coefficients, -1, -2), ny)
        return self._lines.blocks(BACKWARD[self.x](self._lines.back_from_y(lines), nx))

    def _along_y(self, transforms, lines, *length):
        """One of the transforms of a real line along y, of lines that are complex where x is periodic."""
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

    @staticmethod
    def _check(array, shape, kind, what: str, axes: str):
        if not jnp.issubdtype(array.dtype, kind):
            wanted = "complex" if kind is jnp.complexfloating else "real, of floating point"
            raise UsageError(f"{what} to transform are {array.dtype}; they must be {wanted}")
        if array.shape[-2:] != shape:
            raise UsageError(f"{what} to transform are {list(array.shape)}; the last axes {axes} must be {list(shape)}")


#: Of whole lines, by kind: functions of real lines; and back, of coefficients and the number of cells.
FORWARD = {"periodic": jnp.fft.rfft, "cosine": series.cosine, "sine": series.sine}
BACKWARD = {"periodic": jnp.fft.irfft, "cosine": series.from_cosine, "sine": series.from_sine}


def spectrum(n: int, kind: str, halved: bool) -> Spectrum:
    """The axis of the coefficients of lines of n cells; of a periodic one all of it, or the half from 0 on."""
    modes = np.arange(n // 2 + 1 if halved else n)
    if kind == "periodic":
        if not halved:
            return Spectrum(np.where(modes > (n - 1) // 2, modes - n, modes), 2, np.full(n, 1 / n))
        return Spectrum(modes, 2, np.where((modes == 0) | (2 * modes == n), 1 / n, 2 / n))
    first = 1 / (4 * n) if kind == "cosine" else 0.0
    return Spectrum(modes, 1, np.where(modes == 0, first, 1 / (2 * n)))


def rfft2(fields, transport: Transport):
    """In a jitted program: scipy.fft.rfft2 of the fields of a block, periodic in y and x; see `Fourier`."""
    return Fourier(transport).forward(fields)


def irfft2(coefficients, transport: Transport):
    """In a jitted program: scipy.fft.irfft2, the transform back; see `Fourier`."""
    return Fourier(transport).backward(coefficients)
