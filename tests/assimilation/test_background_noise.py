"""White noise belongs to cells: the same bits on any layout, independent for names, members and seeds."""

import numpy as np
import pytest

from swmodel.ocean.noise import white_noise, white_number
from swmodel.parallel.decomposition import block, blocks

pytestmark = pytest.mark.slow

WHOLE = block(0, (1, 1), 61, 83)


@pytest.mark.parametrize("layout", [(3, 4), (61, 83)])
def test_a_block_has_the_bits_of_the_whole(layout):
    whole = white_noise(7, "eta", 2, WHOLE)
    for part in blocks(layout, 61, 83)[:: max(1, layout[0] // 7)]:
        cut = whole[part.y.start : part.y.stop, part.x.start : part.x.stop]
        np.testing.assert_array_equal(white_noise(7, "eta", 2, part), cut)


def test_mean_variance_and_fourth_moment_are_those_of_standard_normal_numbers():
    """Each within four standard deviations of its estimate."""
    noise = white_noise(1, "u", 0, block(0, (1, 1), 300, 400))
    n = noise.size
    assert abs(noise.mean()) < 4 / np.sqrt(n)
    assert abs((noise**2).mean() - 1) < 4 * np.sqrt(2 / n)
    assert abs((noise**4).mean() - 3) < 4 * np.sqrt(96 / n)


@pytest.mark.parametrize("other", [(2, "eta", 0), (1, "u", 0), (1, "eta", 1), (1, "eta", 10)])
def test_other_seeds_names_and_members_are_independent(other):
    a, b = (white_noise(*key, block(0, (1, 1), 300, 400)) for key in ((1, "eta", 0), other))
    assert abs((a * b).mean()) < 4 / np.sqrt(a.size)


def test_seeds_and_members_do_not_run_together():
    """Seed 1 with member 12 is not seed 11 with member 2, and a name cannot stand for a member."""
    numbers = [white_number(*key) for key in ((1, "a", 12), (11, "a", 2), (1, "2 a", 1), (112, "a", 0), (1, "a", 1))]
    assert len(set(numbers)) == len(numbers)
    assert white_number(1, "a", 12) == numbers[0]
