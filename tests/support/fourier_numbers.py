"""Transforms of fields in blocks beside those of one process: bits, derivatives."""

from functools import lru_cache, partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from swmodel.parallel.decomposition import block
from swmodel.parallel.fixed_point import FixedPoint
from swmodel.parallel.fourier import KINDS, Fourier
from swmodel.parallel.transport.halo import within
from swmodel.parallel.transport.serial import Serial

#: What an axis in y and one in x are.
PAIRS = tuple(product(KINDS, repeat=2))
#: Complex lines between the blocks, and real ones.
TWO = (("periodic", "periodic"), ("cosine", "sine"))
#: With them, walls in one direction.
FOUR = (*TWO, ("sine", "periodic"), ("periodic", "cosine"))


@lru_cache
def fields(ny, nx, dtype, number=2, seed=1):
    """Random fields [number, ny, nx]."""
    return np.random.default_rng(seed).standard_normal((number, ny, nx)).astype(dtype)


def placed(transport, whole):
    """Whole fields as arguments of programs."""
    return transport.make(lambda part: whole[..., *window(part)])


def window(part):
    """Where a block lies in a whole field."""
    return slice(part.y.start, part.y.stop), slice(part.x.start, part.x.stop)


def there_and_back(transport, pairs, field):
    """In a jitted program: coefficients and what comes back of them, for each pair of kinds.

    What is beyond the rows and columns of a short block is not a number.
    """
    field = jnp.where(within(jnp.ones_like(field), transport.extent()) == 1, field, jnp.nan)
    found = []
    for pair in pairs:
        fourier = Fourier(transport, *pair)
        coefficients = fourier.forward(field)
        found.append((coefficients, fourier.backward(coefficients)))
    return found


def transformed(transport, whole, pairs):
    """For each pair of kinds and each block of the process: coefficients of a field and what comes back, as NumPy."""
    found = transport.jit(partial(there_and_back, transport, pairs))(placed(transport, whole))
    return [
        list(zip(Fourier(transport, *pair).pieces(coefficients), transport.pieces(back), strict=True))
        for pair, (coefficients, back) in zip(pairs, found, strict=True)
    ]


@lru_cache
def of_one_process(ny, nx, dtype, pairs):
    """`transformed` on one process."""
    return [blocks[0] for blocks in transformed(Serial(block(0, (1, 1), ny, nx)), fields(ny, nx, dtype), pairs)]


def other_bits(transport, dtype, pairs):
    """The pairs of kinds that give other bits than on one process, on whichever one."""
    ny, nx = transport.block.y.size, transport.block.x.size
    mine, others = transformed(transport, fields(ny, nx, dtype), pairs), []
    for pair, blocks, (coefficients, back) in zip(pairs, mine, of_one_process(ny, nx, dtype, pairs), strict=True):
        same = True
        for part, columns, found in zip(transport.blocks, Fourier(transport, *pair).columns, blocks, strict=True):
            truth = coefficients[..., columns.start : columns.stop], back[..., *window(part)]
            same &= all(a.tobytes() == b.tobytes() and a.size for a, b in zip(found, truth, strict=True))
        if transport.any(not same):
            others.append(pair)
    return others


def energies(transport):
    """Mean squares of a field by whole wavenumber, added exactly: a spectrum whose bits no layout changes."""
    cells = transport.block.y.size, transport.block.x.size
    fourier = Fourier(transport)
    pieces = fourier.pieces(transport.jit(fourier.forward)(placed(transport, fields(*cells, "float64", 1))))
    ky, kx = (axis.modes for axis in fourier.spectra)
    weight_y, weight_x = (axis.weights for axis in fourier.spectra)
    numbers = np.rint(np.hypot(ky[:, None], kx)).astype(int)
    parts = [slice(columns.start, columns.stop) for columns in fourier.columns]
    squares = [
        weight_y[:, None] * weight_x[part] * (piece[0].real ** 2 + piece[0].imag ** 2) / np.prod(cells)
        for part, piece in zip(parts, pieces, strict=True)
    ]
    exact = FixedPoint(float(transport.reduce(np.asarray(max(each.max() for each in squares)), "max")))
    found = []
    for number in range(numbers.max() + 1):
        pairs = zip(parts, squares, strict=True)
        shares = [exact.pieces(square[numbers[:, part] == number]) for part, square in pairs]
        found.append(exact.value(transport.reduce(np.sum(shares, axis=0, dtype=np.int64), "sum")))
    return found


def derivatives(transport, pairs, state, direction, weight):
    """In a jitted program: fields that are derivatives of first and second order, of one state and of two at once."""

    def smoothed(fourier, field):
        coefficients = fourier.forward(field)
        ky, kx = fourier.wavenumbers(1.0, 1.0)
        damping = 1 / (1 + ky[:, None] ** 2 + fourier.part(kx)[None] ** 2)
        return fourier.backward(coefficients * damping.astype(coefficients.dtype))

    found = []
    for pair in pairs:
        smooth = partial(smoothed, Fourier(transport, *pair))

        def share(field, smooth=smooth):
            """The block's share of a number that is not linear."""
            return jnp.vdot(weight, smooth(field) ** 3)

        directions = jnp.stack([direction, weight])
        found += list(jax.vmap(lambda d, smooth=smooth: jax.jvp(smooth, (state,), (d,))[1])(directions))
        found += jax.jvp(jax.grad(share), (state,), (direction,))
    return found + list(jax.vmap(jax.grad(share))(directions))


def differentiated(transport, pairs, cells):
    """`derivatives` as NumPy arrays, for each block of the process."""
    state, direction, weight = (placed(transport, field) for field in fields(*cells, "float64", 3, seed=2))
    found = transport.jit(partial(derivatives, transport, pairs))(state, direction, weight)
    return [transport.pieces(each) for each in found]


@lru_cache
def differentiated_on_one_process(pairs, cells):
    """The same of one process."""
    return [each[0] for each in differentiated(Serial(block(0, (1, 1), *cells)), pairs, cells)]


def error_of_derivatives(transport, pairs=TWO):
    """Largest difference of derivatives from those of one process, relative to the largest number of each."""
    cells = transport.block.y.size, transport.block.x.size
    worst = 0.0
    for blocks, truth in zip(
        differentiated(transport, pairs, cells), differentiated_on_one_process(pairs, cells), strict=True
    ):
        for part, found in zip(transport.blocks, blocks, strict=True):
            worst = max(worst, np.abs(found - truth[window(part)]).max() / np.abs(truth).max())
    return float(transport.reduce(np.asarray(worst), "max"))
