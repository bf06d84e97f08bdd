"""Transforms on two, three and four ranks: the bits and the derivatives of one process, and messages that are cut."""

import json

import pytest
from support.fourier_numbers import energies

from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """What programs/fourier.py finds, by layout, from one start."""
    return json.loads(mpiexec("fourier.py", 4).stdout.splitlines()[-1])


def test_any_layout_has_the_bits_of_one_process(found):
    assert {layout: each["other bits"] for layout, each in found.items()} == {"1x2": [], "3x1": [], "2x2": []}


def test_sums_over_the_spectrum_have_the_same_bits(found):
    one_process = energies(Serial(block(0, (1, 1), 13, 17)))
    assert len(one_process) > 8
    assert [each["energies"] for each in found.values()] == [one_process] * 3


def test_derivatives_of_first_and_second_order_are_those_of_one_process(found):
    """jvp, grad, their product, and grad of several states at once."""
    assert max(each["derivatives"] for each in found.values()) < 1e-13


def test_one_all_to_all_along_y_and_two_along_x(found):
    assert {layout: each["messages"] for layout, each in found.items()} == {"1x2": 2, "3x1": 1, "2x2": 3}


def test_messages_longer_than_the_largest_are_cut_and_no_bit_changes(found):
    """Of 100 bytes: 12 real numbers or 6 complex ones. Of two fields, whose first block has 7 x 9 cells."""
    along_x, back, along_y = 2 * 4 * 9 / 12, 2 * 4 * 6 / 6, 2 * 7 * 3 / 6
    assert found["2x2"]["messages cut"] == along_x + back + along_y
    assert found["2x2"]["other bits cut"] == []
