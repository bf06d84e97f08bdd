"""Transforms of fields equal those of scipy.fft, and on devices they have the same bits as on one process."""

from functools import partial

import jax
import numpy as np
import pytest
import scipy.fft
from support import transform_comparison as transforms
from support.quick_compilation import count_collectives
from support.transform_comparison import PERIODIC_AND_WALLS, SERIES_PAIRS, pairs_with_different_bits

from swmodel.errors import UsageError
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport.mpi import MpiTransport
from swmodel.parallel.transport.serial import SerialTransport
from swmodel.parallel.transport.sharded import ShardedTransport

pytestmark = pytest.mark.slow

MAX_ROUNDING_ERROR = {"float64": 1e-14, "float32": 1e-6}
#: Grids with lines of even and odd lengths, and the smallest one that allows all kinds of series.
SIZES = ((12, 16), (13, 17), (2, 2))


def series_by_scipy(array, kind, axis):
    """A cosine or sine series along an axis by scipy.fft, with zero as coefficient 0 of sines."""
    if kind == "cosine":
        return scipy.fft.dct(array, axis=axis)
    interior = np.delete(array, -1, axis)
    return np.concatenate([0 * np.take(array, [0], axis), scipy.fft.dst(interior, type=1, axis=axis)], axis)


def coefficients_by_scipy(array, y, x):
    if x == "periodic":
        coefficients = scipy.fft.rfft(array)
        return scipy.fft.fft(coefficients, axis=-2) if y == "periodic" else series_by_scipy(coefficients, y, -2)
    coefficients = series_by_scipy(array, x, -1)
    return scipy.fft.rfft(coefficients, axis=-2) if y == "periodic" else series_by_scipy(coefficients, y, -2)


def zero_on_walls(array, y, x):
    """The field with zeros on those walls on which it has values."""
    field = array.copy()
    field[..., -1:, :] *= y != "sine"
    field[..., -1:] *= x != "sine"
    return field


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.parametrize("dtype", MAX_ROUNDING_ERROR)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_transforms_agree_with_scipy_and_are_inverted(size, dtype):
    field, transport = transforms.random_arrays(*size, dtype), SerialTransport(block_of_rank(0, (1, 1), *size))
    results = jax.jit(partial(transforms.forward_and_backward, transport, SERIES_PAIRS))(field)
    for pair, (spectrum, inverse) in zip(SERIES_PAIRS, results, strict=True):
        expected = coefficients_by_scipy(field, *pair)
        assert spectrum.dtype == expected.dtype
        assert spectrum.shape[1:] == Fourier(transport, *pair).spectral_shape
        error = MAX_ROUNDING_ERROR[dtype]
        np.testing.assert_allclose(spectrum, expected, rtol=0, atol=error * np.abs(expected).max(), err_msg=str(pair))
        np.testing.assert_allclose(inverse, zero_on_walls(field, *pair), rtol=0, atol=4 * error, err_msg=str(pair))


@pytest.mark.fault("more blocks than lines to transform")
@pytest.mark.night
@pytest.mark.parametrize(
    ("layout", "cells", "pair", "max_blocks"),
    [((3, 2), (12, 8), ("periodic", "periodic"), 5), ((3, 3), (8, 16), ("sine", "cosine"), 8)],
)
def test_more_blocks_than_lines_are_refused(layout, cells, pair, max_blocks):
    with pytest.raises(UsageError, match=f"at most {max_blocks} blocks can share them"):
        Fourier(MpiTransport(block_of_rank(0, layout, *cells), rank=0, size=9), *pair)


def results_on_devices(layout, pairs, with_long_lines):
    even, uneven = (ShardedTransport(layout, *cells, 4) for cells in ((12, 16), (13, 17)))
    programs = [messages_and_memory(layout, pair, forward) for pair in PERIODIC_AND_WALLS for forward in (True, False)]
    different_pairs = pairs_with_different_bits(uneven, "float64", pairs)
    different_pairs += pairs_with_different_bits(even, "float32", PERIODIC_AND_WALLS)
    if with_long_lines:  # with so many cells the bits of a complex FFT depend on the position of a line
        transport = ShardedTransport(layout, 304, 10, 4)
        different_pairs += pairs_with_different_bits(transport, "float32", PERIODIC_AND_WALLS[:1])
    return different_pairs, transforms.error_of_derivatives(uneven, PERIODIC_AND_WALLS[:1]), programs


def messages_and_memory(layout, pair, forward):
    """The messages of a compiled transform, and its memory on a device, as a multiple of that of a field."""
    ny, nx = 256, 250
    transport = ShardedTransport(layout, ny, nx, 4)
    array = transforms.scatter(transport, transforms.random_arrays(ny, nx, "float64", 1))
    fourier = Fourier(transport, *pair)
    if not forward:
        array = transport.jit(fourier.forward)(array)
    compiled = transport.jit(fourier.forward if forward else fourier.backward).lower(array).compile()
    memory = compiled.memory_analysis()
    n_bytes = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return count_collectives(compiled.as_text()), n_bytes / (8 * ny * nx)


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.mpi
@pytest.mark.night
@pytest.mark.parametrize(
    ("layout", "pairs", "with_long_lines", "messages"),
    [((4, 1), PERIODIC_AND_WALLS, True, 1), ((2, 2), SERIES_PAIRS, False, 3), ((1, 4), PERIODIC_AND_WALLS, True, 2)],
)
def test_transforms_on_devices_equal_those_of_one(ranks, layout, pairs, with_long_lines, messages):
    """Bits are equal, derivatives to round-off. Devices send only all-to-alls and hold one block each.

    Each needs a quarter of the memory of one process, which holds 4 or 6 fields: input, output and temporary arrays.
    """
    ((different_pairs, error, programs),) = ranks(1, results_on_devices, layout, pairs, with_long_lines)
    assert different_pairs == []
    assert error < 1e-13
    assert [messages_sent for messages_sent, _ in programs] == [{"all-to-all": messages}] * 4
    memory = [multiple for _, multiple in programs]
    assert max(memory[:2]) < 1.25
    assert max(memory[2:]) < 1.6
