"""The short form of `make soak`."""

import pytest
from support.soak import RESTART_STEPS, soak

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def test_a_run_killed_and_resumed_at_random_moments_has_the_bits_of_an_undisturbed_one(tmp_path):
    assert soak(tmp_path, cycles=4, seed=5) > 2 * RESTART_STEPS
