"""Compare transforms of fields in blocks with those on one process: bits and derivatives."""

from functools import lru_cache, partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.fourier import SERIES_KINDS, Fourier
from swmodel.parallel.transport.halo import zero_beyond
from swmodel.parallel.transport.serial import SerialTransport

#: All pairs of kinds of series, along y and along x.
PAIRS = tuple(product(SERIES_KINDS, repeat=2))
#: A pair for which the blocks exchange complex lines, and one with real lines.
PERIODIC_AND_WALLS = (("periodic", "periodic"), ("cosine", "sine"))
#: These pairs, and pairs with walls in one direction.
FOUR_KIND_PAIRS = (*PERIODIC_AND_WALLS, ("sine", "periodic"), ("periodic", "cosine"))


@lru_cache
def random_arrays(ny, nx, dtype, number=2, seed=1):
    return np.random.default_rng(seed).standard_normal((number, ny, nx)).astype(dtype)


def scatter(transport, whole):
    return transport.make_arrays(lambda part: whole[..., *block_slices(part)])


def block_slices(part):
    return slice(part.y.start, part.y.stop), slice(part.x.start, part.x.stop)


def forward_and_backward(transport, pairs, field):
    """For use in a jitted program: (coefficients, their inverse transform) for each pair of kinds.

    Values beyond the rows and columns of a short block are NaN.
    """
    field = jnp.where(zero_beyond(jnp.ones_like(field), transport.extent()) == 1, field, jnp.nan)
    found = []
    for pair in pairs:
        fourier = Fourier(transport, *pair)
        coefficients = fourier.forward(field)
        found.append((coefficients, fourier.backward(coefficients)))
    return found


def transforms_of_blocks(transport, whole, pairs):
    """Coefficients and inverse transforms as NumPy arrays, for each pair of kinds and each block of the process."""
    found = transport.jit(partial(forward_and_backward, transport, pairs))(scatter(transport, whole))
    spectral = (Fourier(transport, *pair).get_blocks(each) for pair, (each, _) in zip(pairs, found, strict=True))
    fields = (transport.get_blocks(back) for _, back in found)
    return [list(zip(*both, strict=True)) for both in zip(spectral, fields, strict=True)]


@lru_cache
def transforms_on_one_process(ny, nx, dtype, pairs):
    serial = SerialTransport(block_of_rank(0, (1, 1), ny, nx))
    return [blocks[0] for blocks in transforms_of_blocks(serial, random_arrays(ny, nx, dtype), pairs)]


def pairs_with_other_bits(transport, dtype, pairs):
    """The pairs of kinds whose bits differ, on any process, from those on one process."""
    ny, nx = transport.block.y.axis_size, transport.block.x.axis_size
    mine, others = transforms_of_blocks(transport, random_arrays(ny, nx, dtype), pairs), []
    alone = transforms_on_one_process(ny, nx, dtype, pairs)
    for pair, blocks, (coefficients, back) in zip(pairs, mine, alone, strict=True):
        same = True
        for part, columns, found in zip(transport.blocks, Fourier(transport, *pair).kx_ranges, blocks, strict=True):
            truth = coefficients[..., columns.start : columns.stop], back[..., *block_slices(part)]
            same &= all(a.tobytes() == b.tobytes() and a.size for a, b in zip(found, truth, strict=True))
        if transport.any(not same):
            others.append(pair)
    return others


def derivatives(transport, pairs, state, direction, weight):
    """For use in a jitted program: first and second derivatives, along one direction and along two at once."""

    def smoothed(fourier, field):
        coefficients = fourier.forward(field)
        ky, kx = fourier.wavenumbers(1.0, 1.0)
        damping = 1 / (1 + ky[:, None] ** 2 + fourier.block_part(kx)[None] ** 2)
        return fourier.backward(coefficients * damping.astype(coefficients.dtype))

    found = []
    for pair in pairs:
        smooth = partial(smoothed, Fourier(transport, *pair))

        def share(field, smooth=smooth):
            """The contribution of the block to a nonlinear number."""
            return jnp.vdot(weight, smooth(field) ** 3)

        directions = jnp.stack([direction, weight])
        found += list(jax.vmap(lambda d, smooth=smooth: jax.jvp(smooth, (state,), (d,))[1])(directions))
        found += jax.jvp(jax.grad(share), (state,), (direction,))
    return found + list(jax.vmap(jax.grad(share))(directions))


def derivatives_of_blocks(transport, pairs, cells):
    """`derivatives` as NumPy arrays, for each block of the process."""
    state, direction, weight = (scatter(transport, field) for field in random_arrays(*cells, "float64", 3, seed=2))
    found = transport.jit(partial(derivatives, transport, pairs))(state, direction, weight)
    return [transport.get_blocks(each) for each in found]


@lru_cache
def derivatives_on_one_process(pairs, cells):
    return [each[0] for each in derivatives_of_blocks(SerialTransport(block_of_rank(0, (1, 1), *cells)), pairs, cells)]


def error_of_derivatives(transport, pairs=PERIODIC_AND_WALLS):
    """Largest difference of derivatives from those on one process, relative to the largest value of each."""
    cells, worst = (transport.block.y.axis_size, transport.block.x.axis_size), 0.0
    mine, alone = derivatives_of_blocks(transport, pairs, cells), derivatives_on_one_process(pairs, cells)
    for blocks, truth in zip(mine, alone, strict=True):
        for part, found in zip(transport.blocks, blocks, strict=True):
            worst = max(worst, np.abs(found - truth[block_slices(part)]).max() / np.abs(truth).max())
    return float(transport.reduce(np.asarray(worst), "max"))
