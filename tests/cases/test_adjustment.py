"""Geostrophic adjustment: what is left of a step when the waves have gone, also with other scales."""

import pytest

from swmodel.bench.known_answers.flows import geostrophic_adjustment

pytestmark = pytest.mark.slow


def test_sea_level_and_current_come_to_balance_with_a_third_of_the_energy():
    answers = geostrophic_adjustment({"physics.f0": -1e-4, "physics.gravity": 1.0, "grid.dx": 13e3})
    assert [answer for answer in answers if not answer.right] == []
