"""Blocks tile the grid evenly, neighbours agree, and layouts that cannot be are refused with numbers that can."""

import itertools

import pytest

from swmodel.parallel.decomposition import LayoutError, blocks, choose_layout, parse_layout, split


@pytest.mark.parametrize("size", [1, 7, 23])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_spans_tile_and_differ_by_at_most_one(size, parts):
    spans = split(size, parts)
    assert [cell for span in spans for cell in range(span.start, span.stop)] == list(range(size))
    assert max(s.length for s in spans) - min(s.length for s in spans) <= 1


@pytest.mark.parametrize("layout", [(1, 1), (2, 3), (4, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_ring_lists_the_neighbours_in_the_order_of_their_places(layout, axis):
    everyone = blocks(layout, 9, 11, members=2, shares=2)
    for here in everyone:
        ring = here.ring(axis)
        assert ring[here.place[axis]] == here.rank
        assert [everyone[rank].place[axis] for rank in ring] == list(range(layout[axis]))
        assert [everyone[rank].neighbour(axis, 1) for rank in ring] == [*ring[1:], ring[0]]
        assert [everyone[rank].neighbour(axis, -1) for rank in ring] == [ring[-1], *ring[:-1]]


@pytest.mark.parametrize(("layout", "members", "shares"), [((1, 1), 5, 2), ((1, 1), 3, 3), ((2, 1), 5, 2)])
def test_every_row_of_every_member_is_on_one_rank_and_neighbours_have_the_same_members(layout, members, shares):
    everyone = blocks(layout, 6, 4, members, shares)
    assert [each.rank for each in everyone] == list(range(shares * layout[0] * layout[1]))
    for member, row in itertools.product(range(members), range(6)):
        assert sum(each.rows(row, row + 1, member) == (row, row + 1) for each in everyone) == layout[1]
    for here, axis in itertools.product(everyone, (0, 1)):
        assert everyone[here.neighbour(axis, 1)].members == here.members
        assert here.everyone() == everyone


def test_the_chosen_layout_has_the_shortest_halos_and_of_equals_the_longest_rows():
    assert [choose_layout(nproc, 40, 80) for nproc in (1, 2, 4, 6, 8)] == [(1, 1), (1, 2), (1, 4), (1, 6), (2, 4)]


@pytest.mark.fault("more ranks than cells")
@pytest.mark.fault("absurd numbers of processes")
@pytest.mark.parametrize("nproc", [5, 7, 10**10])
def test_too_many_processes_name_the_largest_number_that_fits(nproc):
    """At once: the numbers that are tried are those of rows."""
    with pytest.raises(LayoutError, match="largest possible number is 6"):
        choose_layout(nproc, 2, 3)


@pytest.mark.fault("a layout for another number of ranks")
@pytest.mark.parametrize(
    ("layout", "width", "words"),
    [("2x3", 1, "layout 2x3 has 6 blocks, but there are 4 processes"), ("4x1", 2, "at least 2 each way")],
)
def test_a_layout_of_another_number_of_blocks_or_of_blocks_thinner_than_the_halo_is_refused(layout, width, words):
    with pytest.raises(LayoutError, match=words):
        parse_layout(layout, 4, 7, 9, width)
