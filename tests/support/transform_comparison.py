"""Compare transforms of fields on blocks with those on one process: bits of transforms, and errors of derivatives."""

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
SERIES_PAIRS = tuple(product(SERIES_KINDS, repeat=2))
#: A pair for which the blocks exchange complex lines, and a pair for which they exchange real lines.
PERIODIC_AND_WALLS = (("periodic", "periodic"), ("cosine", "sine"))
#: These two pairs, and two pairs with walls along one axis only.
FOUR_PAIRS = (*PERIODIC_AND_WALLS, ("sine", "periodic"), ("periodic", "cosine"))


@lru_cache
def random_arrays(ny, nx, dtype, n_arrays=2, seed=1):
    return np.random.default_rng(seed).standard_normal((n_arrays, ny, nx)).astype(dtype)


def scatter(transport, global_array):
    return transport.make_arrays(lambda block: global_array[..., *block_slices(block)])


def block_slices(block):
    return slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)


def forward_and_backward(transport, pairs, field):
    """For use in a jitted program: (coefficients, their inverse transform) for each pair of kinds.

    Cells beyond a short block are NaN, so that a transform that reads them gives a wrong result.
    """
    field = jnp.where(zero_beyond(jnp.ones_like(field), transport.extent()) == 1, field, jnp.nan)
    results = []
    for pair in pairs:
        fourier = Fourier(transport, *pair)
        coefficients = fourier.forward(field)
        results.append((coefficients, fourier.backward(coefficients)))
    return results


def transforms_of_blocks(transport, global_array, pairs):
    """Coefficients and inverse transforms as NumPy arrays, for each pair of kinds and each block of this process."""
    results = transport.jit(partial(forward_and_backward, transport, pairs))(scatter(transport, global_array))
    spectral = (Fourier(transport, *pair).get_blocks(each) for pair, (each, _) in zip(pairs, results, strict=True))
    fields = (transport.get_blocks(inverse) for _, inverse in results)
    return [list(zip(*blocks, strict=True)) for blocks in zip(spectral, fields, strict=True)]


@lru_cache
def transforms_on_one_process(ny, nx, dtype, pairs):
    serial = SerialTransport(block_of_rank(0, (1, 1), ny, nx))
    return [blocks[0] for blocks in transforms_of_blocks(serial, random_arrays(ny, nx, dtype), pairs)]


def pairs_with_different_bits(transport, dtype, pairs):
    """The pairs of kinds for which any process gets other bits than a single process."""
    ny, nx = transport.block.y.axis_size, transport.block.x.axis_size
    results, different_pairs = transforms_of_blocks(transport, random_arrays(ny, nx, dtype), pairs), []
    serial_results = transforms_on_one_process(ny, nx, dtype, pairs)
    for pair, blocks, (coefficients, inverse) in zip(pairs, results, serial_results, strict=True):
        bits_agree = True
        ranges = Fourier(transport, *pair).kx_ranges
        for block, columns, transforms in zip(transport.blocks, ranges, blocks, strict=True):
            expected = coefficients[..., columns.start : columns.stop], inverse[..., *block_slices(block)]
            bits_agree &= all(a.tobytes() == b.tobytes() and a.size for a, b in zip(transforms, expected, strict=True))
        if transport.any(not bits_agree):
            different_pairs.append(pair)
    return different_pairs


def derivatives(transport, pairs, state, direction, weight):
    """For use in a jitted program: derivatives of a smoothed field and a scalar, and of the last pair two gradients."""

    def low_pass(fourier, field):
        coefficients = fourier.forward(field)
        ky, kx = fourier.wavenumbers(1.0, 1.0)
        damping = 1 / (1 + ky[:, None] ** 2 + fourier.block_part(kx)[None] ** 2)
        return fourier.backward(coefficients * damping.astype(coefficients.dtype))

    results = []
    for pair in pairs:
        smooth = partial(low_pass, Fourier(transport, *pair))

        def block_loss(field, smooth=smooth):
            """The block's contribution to a scalar that is not linear in the field."""
            return jnp.vdot(weight, smooth(field) ** 3)

        directions = jnp.stack([direction, weight])
        results += list(jax.vmap(lambda d, smooth=smooth: jax.jvp(smooth, (state,), (d,))[1])(directions))
        results += jax.jvp(jax.grad(block_loss), (state,), (direction,))
    return results + list(jax.vmap(jax.grad(block_loss))(directions))


def derivatives_of_blocks(transport, pairs, shape):
    """`derivatives` as NumPy arrays, for each block that this process holds."""
    state, direction, weight = (scatter(transport, field) for field in random_arrays(*shape, "float64", 3, seed=2))
    results = transport.jit(partial(derivatives, transport, pairs))(state, direction, weight)
    return [transport.get_blocks(each) for each in results]


@lru_cache
def derivatives_on_one_process(pairs, shape):
    return [each[0] for each in derivatives_of_blocks(SerialTransport(block_of_rank(0, (1, 1), *shape)), pairs, shape)]


def error_of_derivatives(transport, pairs=PERIODIC_AND_WALLS):
    """The largest error of `derivatives` against one process, relative to the largest value of each derivative."""
    shape, max_error = (transport.block.y.axis_size, transport.block.x.axis_size), 0.0
    results, expected = derivatives_of_blocks(transport, pairs, shape), derivatives_on_one_process(pairs, shape)
    for blocks, whole in zip(results, expected, strict=True):
        for block, values in zip(transport.blocks, blocks, strict=True):
            max_error = max(max_error, np.abs(values - whole[block_slices(block)]).max() / np.abs(whole).max())
    return float(transport.reduce(np.asarray(max_error), "max"))
