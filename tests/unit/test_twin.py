"""A twin experiment's truth and first guess are states of one run; its files and observations are of the truth."""

import netCDF4
import numpy as np
import pytest
from support.small_twin import Row, small

from swmodel import Simulation
from swmodel.assimilation import twin


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


def test_without_a_lead_the_first_guess_is_the_truth():
    found = twin.spin_up(small(**{"case.lead": 0.0}))
    assert_same(found.truth, found.guess)


def test_a_lead_longer_than_the_spin_up_gives_the_start_of_the_case():
    config = small(**{"case.lead": 50.0})
    assert_same(twin.spin_up(config).guess, run_to(config, 0))


@pytest.mark.parametrize("stepper", ["ab2", "ab3", "rk3", "leapfrog"])
@pytest.mark.parametrize("executor", ["native", "xla"])
def test_a_simulation_started_from_a_state_is_one_that_never_did_anything_else(stepper, executor):
    config = small(**{"time.stepper": stepper, "run.executor": executor})
    simulation, fresh = Simulation(config), Simulation(config)
    initial = fresh.state
    simulation.advance(5)
    twin.start(simulation, type(initial)(*map(np.copy, initial)))
    assert (simulation.step, simulation.time) == (0, 0.0)
    for each in (simulation, fresh):
        each.advance(4)
    assert_same(simulation.state, fresh.state)


def test_the_file_has_the_states_at_the_times_of_the_records(tmp_path):
    config = small()
    simulation = Simulation(config)
    last = twin.window_and_forecast(simulation.config)
    twin.follow(simulation, last, tmp_path / "truth.nc")
    with netCDF4.Dataset(tmp_path / "truth.nc") as file:
        file.set_auto_mask(False)
        assert file["step"][:].tolist() == [0, 3, 6, 9, 12]
        assert file["time"][-1] == 12 * simulation.dt
        for record, step in enumerate(file["step"][:]):
            state = run_to(config, step)
            np.testing.assert_array_equal(file["u"][record], state.u)
            np.testing.assert_array_equal(file["eta"][record], state.h - np.float32(500.0))


@pytest.mark.parametrize("written", [True, False])
def test_what_is_observed_are_the_states_within_the_window(tmp_path, written):
    config = small()
    simulation = Simulation(config)
    operator = Row(simulation.block, 11)
    values = twin.observed(simulation, operator, 12 if written else 7, tmp_path / "truth.nc" if written else None)
    expected = [run_to(config, step).h[Row.row] - np.float32(500.0) for step in (0, 2, 4, 6)]
    np.testing.assert_array_equal(values, np.concatenate(expected))
    assert (tmp_path / "truth.nc").exists() == written
    assert simulation.step == (12 if written else 7)


def test_who_does_not_know_the_truth_believes_in_the_same_ocean_without_the_patch():
    assert twin.believed(small()) == small()
    config = small("double_gyre_drag")
    assert twin.believed(config) == small("double_gyre_drag", **{"case.patch": 0.0}) != config
