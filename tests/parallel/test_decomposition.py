"""Blocks tile the grid and are built separately, halos contain the cells around them, and wrong layouts are refused."""

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
    values = np.zeros(72)
    for first in range(8):  # aligned in memory or not
        copied = SerialTransport(block_of_rank(0, (1, 1), 4, 4)).put(values[first:])
        values += 1
        assert not np.any(copied - first)


@pytest.mark.fault("more ranks than cells")
@pytest.mark.fault("absurd numbers of processes")
@pytest.mark.parametrize("nproc", [5, 7, 10**10])
def test_error_about_impossible_number_of_processes_names_largest_one(nproc):
    """The error is raised at once, because only possible numbers of rows are tried."""
    with pytest.raises(LayoutError, match="number is 6"):
        choose_layout(nproc, 2, 3)


@pytest.mark.fault("a layout for another number of ranks")
@pytest.mark.parametrize(("layout", "min_length", "words"), [("2x3", 1, "6 blocks"), ("4x1", 2, "at least 2 each way")])
def test_layout_of_wrong_size_or_of_narrow_blocks_is_refused(layout, min_length, words):
    with pytest.raises(LayoutError, match=words):
        parse_layout(layout, 4, 7, 9, min_length)


#: Cells and blocks along each axis, and cells of the halo; a field of the grid takes 1.6 GB in single precision.
CELLS, BLOCKS, HALO = 20_000, 64, 3


@pytest.mark.parametrize("name", cases.names())
@pytest.mark.slow
def test_case_builds_block_without_whole_grid(name):
    config = load(name, {"grid.nx": CELLS, "grid.ny": CELLS, "time.dt": 1.0}, environ={})
    block = block_of_rank(BLOCKS * 5 + 7, (BLOCKS, BLOCKS), CELLS, CELLS)
    tracemalloc.start()
    try:
        fields = [*setup_of(config).grid(block, HALO), *setup_of(config).params(block, HALO)]
        fields += setup_of(config).state(block)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < CELLS**2 // 4
    assert max(np.size(field) for field in fields if field is not None) <= (CELLS // BLOCKS + 1 + 2 * HALO) ** 2


class CountingTransport(SerialTransport):
    n_messages = 0

    def shift(self, value, axis, step):
        self.n_messages += 1
        return super().shift(value, axis, step)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "halo_width", "messages"), [((5, 7), 2, 4), ((5, 4), 5, 2 + 4), ((3, 2), 5, 4 + 6)])
def test_halo_equals_periodic_padding(shape, halo_width, messages):
    """This holds for any width. An exchange sends one message in each direction; wide halos need several exchanges."""
    transport = CountingTransport(block_of_rank(0, (1, 1), *shape))
    fields = np.random.default_rng(1).random((3, *shape))
    fields_with_halo = exchange_halos([jnp.asarray(field) for field in fields], halo_width, transport)
    for field_with_halo, field in zip(fields_with_halo, fields, strict=True):
        np.testing.assert_array_equal(field_with_halo, np.pad(field, halo_width, mode="wrap"))
    assert transport.n_messages == messages
