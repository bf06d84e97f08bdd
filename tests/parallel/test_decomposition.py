"""Blocks tile the grid evenly, neighbours agree, each block is built separately; impossible layouts are refused."""

import itertools
import tracemalloc

import numpy as np
import pytest

import swmodel
from swmodel import cases
from swmodel.parallel.decomposition import (
    LayoutError,
    block_of_rank,
    blocks_of_layout,
    choose_layout,
    parse_layout,
    split_evenly,
)
from swmodel.setup.setup import setup_of


@pytest.mark.parametrize("size", [1, 7, 23])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_spans_cover_the_axis_and_differ_by_at_most_one(size, parts):
    spans = split_evenly(size, parts)
    assert [cell for span in spans for cell in range(span.start, span.stop)] == list(range(size))
    assert max(s.length for s in spans) - min(s.length for s in spans) <= 1


@pytest.mark.parametrize(("layout", "members", "shares"), [((1, 1), 5, 2), ((1, 1), 3, 3), ((2, 1), 5, 2)])
def test_every_row_of_every_member_is_on_one_rank(layout, members, shares):
    everyone = blocks_of_layout(layout, 6, 4, members, shares)
    assert [each.rank for each in everyone] == list(range(shares * layout[0] * layout[1]))
    for member, row in itertools.product(range(members), range(6)):
        assert sum(each.overlapping_rows(row, row + 1, member) == (row, row + 1) for each in everyone) == layout[1]
    for here, axis in itertools.product(everyone, (0, 1)):
        assert everyone[here.neighbour(axis, 1)].members == here.members
        assert here.blocks_of_all_ranks() == everyone


def test_chosen_layout_has_shortest_halos_and_longest_rows():
    assert [choose_layout(nproc, 40, 80) for nproc in (1, 2, 4, 6, 8)] == [(1, 1), (1, 2), (1, 4), (1, 6), (2, 4)]


@pytest.mark.fault("more ranks than cells")
@pytest.mark.fault("absurd numbers of processes")
@pytest.mark.parametrize("nproc", [5, 7, 10**10])
def test_too_many_processes_name_largest_number_that_fits(nproc):
    """The answer is immediate, as only possible numbers of rows are tried."""
    with pytest.raises(LayoutError, match="number is 6"):
        choose_layout(nproc, 2, 3)


@pytest.mark.fault("a layout for another number of ranks")
@pytest.mark.parametrize(("layout", "width", "words"), [("2x3", 1, "6 blocks"), ("4x1", 2, "at least 2 each way")])
def test_layout_of_wrong_size_or_of_narrow_blocks_is_refused(layout, width, words):
    with pytest.raises(LayoutError, match=words):
        parse_layout(layout, 4, 7, 9, width)


#: Numbers of cells in each direction, and of blocks; a field of the whole grid takes 1.6 GB in single precision.
CELLS, BLOCKS, MARGIN = 20_000, 64, 3


@pytest.mark.parametrize("name", cases.names())
def test_case_builds_block_without_whole_grid(name):
    config = swmodel.load(name, {"grid.nx": CELLS, "grid.ny": CELLS, "time.dt": 1.0}, environ={})
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
