"""A twin experiment's truth and first guess are states of one run."""

import numpy as np
import pytest
from support.small_twin import small

from swmodel import Simulation
from swmodel.assimilation import experiment as twin
from swmodel.errors import Stopped

pytestmark = pytest.mark.slow


def run_to(config, step):
    simulation = Simulation(config)
    simulation.advance(step)
    return simulation.state


def assert_same(a, b):
    for ours, theirs in zip(a, b, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truth_and_first_guess_are_states_of_the_run_from_the_start_of_the_case(dtype):
    config = small(**{"run.dtype": dtype})
    found = twin.spin_up(config)
    assert_same(found.truth, run_to(config, 24))
    assert_same(found.guess, run_to(config, 18))
    assert found.truth.h.dtype == dtype
    longer = twin.spin_up(small(**{"run.dtype": dtype, "case.lead": 50.0}))
    assert_same(longer.guess, run_to(config, 0))


def test_in_pieces_it_is_the_same_and_can_be_stopped(monkeypatch):
    config, ticks = small(), []
    whole = twin.spin_up(config)
    monkeypatch.setattr(twin, "length_of", lambda config: 5)
    pieces = twin.spin_up(config, lambda: ticks.append(1))
    assert len(ticks) == 6  # 18 and 6 steps
    assert_same(whole.truth, pieces.truth)
    assert_same(whole.guess, pieces.guess)

    def stop():
        raise Stopped

    with pytest.raises(Stopped):
        twin.spin_up(config, stop)


def test_who_does_not_know_the_truth_believes_in_the_same_ocean_without_the_patch():
    assert twin.believed(small()) == small()
    config = small("double_gyre_drag")
    assert twin.believed(config) == small("double_gyre_drag", **{"case.patch": 0.0}) != config
