"""Transforms of fields: those of scipy.fft, on one process and on devices; on ranks: tests/mpi/test_layouts.py."""

import jax
import numpy as np
import pytest
import scipy.fft
from support.compiling import collectives
from support.fourier_numbers import PAIRS, TWO, energies, error_of_derivatives, fields, other_bits, placed
from support.marks import at_night

from swmodel.errors import UsageError
from swmodel.parallel.decomposition import block
from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport.mpi import Mpi
from swmodel.parallel.transport.serial import Serial
from swmodel.parallel.transport.sharded import Sharded

pytestmark = pytest.mark.slow

ROUNDING = {"float64": 1e-14, "float32": 1e-6}
#: Of even and odd lines, and the smallest that has all kinds.
SIZES = ((12, 16), (13, 17), (2, 2))


def one_process(ny, nx):
    return Serial(block(0, (1, 1), ny, nx))


def between_walls(array, kind, axis):
    """A cosine or sine series along an axis by scipy.fft, with zero where a sine has its number 0."""
    if kind == "cosine":
        return scipy.fft.dct(array, axis=axis)
    inside = np.delete(array, -1, axis)
    return np.concatenate([0 * np.take(array, [0], axis), scipy.fft.dst(inside, type=1, axis=axis)], axis)


def of_scipy(array, y, x):
    """The coefficients of a field."""
    if x == "periodic":
        numbers = scipy.fft.rfft(array)
        return scipy.fft.fft(numbers, axis=-2) if y == "periodic" else between_walls(numbers, y, -2)
    numbers = between_walls(array, x, -1)
    return scipy.fft.rfft(numbers, axis=-2) if y == "periodic" else between_walls(numbers, y, -2)


def off_walls(array, y, x):
    """The field with zero on the walls that go through its faces."""
    field = array.copy()
    field[..., -1:, :] *= y != "sine"
    field[..., -1:] *= x != "sine"
    return field


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_transforms_are_those_of_scipy_and_come_back(size, dtype):
    field = fields(*size, dtype)

    def both(field):
        found = [Fourier(one_process(*size), *pair) for pair in PAIRS]
        found = [(fourier, fourier.forward(field)) for fourier in found]
        return [(numbers, fourier.backward(numbers)) for fourier, numbers in found]

    for pair, (numbers, back) in zip(PAIRS, jax.jit(both)(field), strict=True):
        truth = of_scipy(field, *pair)
        assert numbers.dtype == truth.dtype
        assert numbers.shape[1:] == Fourier(one_process(*size), *pair).size
        np.testing.assert_allclose(
            numbers, truth, rtol=0, atol=ROUNDING[dtype] * np.abs(truth).max(), err_msg=str(pair)
        )
        np.testing.assert_allclose(back, off_walls(field, *pair), rtol=0, atol=4 * ROUNDING[dtype], err_msg=str(pair))


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.night
@pytest.mark.parametrize("dtype", ROUNDING)
def test_transform_of_line_does_not_depend_on_other_lines(dtype):
    """Also where a processor's vectors take several lines together and some are left over."""
    given, transforms = [], []
    for n in (16, 304, 512, 1000):
        lines = fields(3, n, dtype, 5)
        given += [lines, np.swapaxes(lines, -1, -2)]
        transforms += [Fourier(one_process(3, n)), Fourier(one_process(n, 3))]

    def all_of(given):
        found = [(fourier, fourier.forward(field)) for fourier, field in zip(transforms, given, strict=True)]
        return [(numbers, fourier.backward(numbers)) for fourier, numbers in found]

    together = jax.jit(all_of)(given)
    for number in (0, 4):
        alone = jax.jit(all_of)([field[number] for field in given])
        same = jax.tree.map(lambda one, all_five, number=number: bool((one == all_five[number]).all()), alone, together)
        assert jax.tree.leaves(same) == [True] * 2 * len(given)


@pytest.mark.fault("more blocks than lines to transform")
@pytest.mark.night
@pytest.mark.parametrize(
    ("layout", "cells", "pair", "most"),
    [((3, 2), (12, 8), ("periodic", "periodic"), 5), ((3, 3), (8, 16), ("sine", "cosine"), 8)],
)
def test_more_blocks_than_lines_are_refused(layout, cells, pair, most):
    with pytest.raises(UsageError, match=f"at most {most} blocks can share them"):
        Fourier(Mpi(block(0, layout, *cells), rank=0, size=9), *pair)


def on_devices(layout, pairs, long):
    """What is found on the layout of devices of one process."""
    even, uneven = (Sharded(layout, *cells, 4) for cells in ((12, 16), (13, 17)))
    programs = [of_program(layout, pair, forward) for pair in TWO for forward in (True, False)]
    other = [*other_bits(uneven, "float64", pairs), *other_bits(even, "float32", TWO)]
    if long:  # for so many cells the bits of a complex FFT depend on the place of a line
        other += other_bits(Sharded(layout, 304, 10, 4), "float32", TWO[:1])
    return other, energies(uneven), energies(one_process(13, 17)), error_of_derivatives(uneven, TWO[:1]), programs


def of_program(layout, pair, forward):
    """Messages of a compiled transform, and its memory on a device divided by that of a field."""
    ny, nx = 256, 250
    transport = Sharded(layout, ny, nx, 4)
    fourier, given = Fourier(transport, *pair), placed(transport, fields(ny, nx, "float64", 1))
    if not forward:
        given = transport.jit(fourier.forward)(given)
    compiled = transport.jit(fourier.forward if forward else fourier.backward).lower(given).compile()
    memory = compiled.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return collectives(compiled.as_text()), held / (8 * ny * nx)


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("layout", "pairs", "long", "messages"),
    [
        ((2, 2), TWO, False, 3),
        *at_night(((2, 2), PAIRS, False, 3), ((4, 1), TWO, True, 1), ((1, 4), TWO, True, 2)),
    ],
)
def test_transforms_on_devices_equal_those_of_one(ranks, layout, pairs, long, messages):
    """Bits, and derivatives to round-off. Devices send all-to-alls alone and hold a block each.

    That is a quarter of the 4 or 6 fields that one process holds: given, found and temporary arrays.
    """
    ((other, spectrum, truth, error, programs),) = ranks(1, on_devices, layout, pairs, long)
    assert other == []
    assert spectrum == truth
    assert error < 1e-13
    assert [sent for sent, _ in programs] == [{"all-to-all": messages}] * 4
    memory = [held for _, held in programs]
    assert max(memory[:2]) < 1.25
    assert max(memory[2:]) < 1.6
