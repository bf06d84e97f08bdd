"""Blocks tile the grid and are built separately; halos have the cells around; refused layouts."""

import tracemalloc

import jax.numpy as jnp
import numpy as np
import pytest

from swmodel import cases, load
from swmodel.parallel.decomposition import LayoutError, block_of_rank, choose_layout, parse_layout, split_evenly
from swmodel.parallel.transport.halo import exchange_halos
from swmodel.parallel.transport.serial import SerialTransport
from swmodel.setup.setup import setup_of


@pytest.mark.parametrize("size", [1, 7, 23])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_spans_cover_the_axis_and_differ_by_at_most_one(size, parts):
    spans = split_evenly(size, parts)
    assert [cell for span in spans for cell in range(span.start, span.stop)] == list(range(size))
    assert max(s.length for s in spans) - min(s.length for s in spans) <= 1


def test_chosen_layout_has_shortest_halos_and_longest_rows():
    assert [choose_layout(nproc, 40, 80) for nproc in (1, 2, 4, 6, 8)] == [(1, 1), (1, 2), (1, 4), (1, 6), (2, 4)]


def test_put_copies_arrays():
    given = np.zeros(72)
    for first in range(8):  # aligned or not
        ours = SerialTransport(block_of_rank(0, (1, 1), 4, 4)).put(given[first:])
        given += 1
        assert not np.any(ours - first)


@pytest.mark.fault("more ranks than cells")
@pytest.mark.fault("absurd numbers of processes")
@pytest.mark.parametrize("nproc", [5, 7, 10**10])
def test_too_many_processes_name_largest_number_that_fits(nproc):
    """The answer is immediate, as only possible numbers of rows are tried."""
    with pytest.raises(LayoutError, match="number is 6"):
        choose_layout(nproc, 2, 3)


@pytest.mark.fault("a layout for another number of ranks")
@pytest.mark.parametrize(("layout", "min_length", "words"), [("2x3", 1, "6 blocks"), ("4x1", 2, "at least 2 each way")])
def test_layout_of_wrong_size_or_of_narrow_blocks_is_refused(layout, min_length, words):
    with pytest.raises(LayoutError, match=words):
        parse_layout(layout, 4, 7, 9, min_length)


#: Numbers of cells in each direction, and of blocks; a field of the whole grid takes 1.6 GB in single precision.
CELLS, BLOCKS, MARGIN = 20_000, 64, 3


@pytest.mark.parametrize("name", cases.names())
@pytest.mark.slow
def test_case_builds_block_without_whole_grid(name):
    config = load(name, {"grid.nx": CELLS, "grid.ny": CELLS, "time.dt": 1.0}, environ={})
    part = block_of_rank(BLOCKS * 5 + 7, (BLOCKS, BLOCKS), CELLS, CELLS)
    tracemalloc.start()
    try:
        fields = [*setup_of(config).grid(part, MARGIN), *setup_of(config).params(part, MARGIN)]
        fields += setup_of(config).state(part)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < CELLS**2 // 4
    assert max(np.size(field) for field in fields if field is not None) <= (CELLS // BLOCKS + 1 + 2 * MARGIN) ** 2


class CountingTransport(SerialTransport):
    sent = 0

    def shift(self, value, axis, step):
        self.sent += 1
        return super().shift(value, axis, step)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "halo_width", "messages"), [((5, 7), 2, 4), ((5, 4), 5, 2 + 4), ((3, 2), 5, 4 + 6)])
def test_halo_equals_periodic_padding(shape, halo_width, messages):
    """This holds for any width; each direction takes one message per exchange."""
    transport = CountingTransport(block_of_rank(0, (1, 1), *shape))
    fields = np.random.default_rng(1).random((3, *shape))
    around = exchange_halos([jnp.asarray(field) for field in fields], halo_width, transport)
    for ours, field in zip(around, fields, strict=True):
        np.testing.assert_array_equal(ours, np.pad(field, halo_width, mode="wrap"))
    assert transport.sent == messages
