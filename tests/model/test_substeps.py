"""Steps that are divided into substeps while the flow is too fast for them (`time.max_substeps`)."""

import numpy as np
import pytest
import xarray
from support.flooding import make_config
from support.random_case import TIDE, configuration
from support.stepping import assert_close, has_same_bits

import swmodel
from swmodel import ConfigError
from swmodel.errors import UsageError
from swmodel.model.ensemble.settings import check_ensemble
from swmodel.model.validate import require_derivatives

pytestmark = pytest.mark.slow

#: With these options, the steps of the sea of `support.flooding` have 2 or 4 substeps.
SUBSTEP_OPTIONS = {"time__dt": 40.0, "time__max_substeps": 16, "time__substeps_every_steps": 3}
STEPS = 40


def simulation(**options):
    return swmodel.Simulation(make_config(**SUBSTEP_OPTIONS | options))


def numbers_of_substeps(model, steps=STEPS):
    """The number of substeps of each of the next steps."""
    numbers = []
    for _ in range(steps):
        model.advance(1)
        numbers.append(model.substeps)
    return numbers


def test_number_of_substeps_follows_flow():
    """It rises and falls, only at every third step; one call of several steps has the bits of single steps."""
    model, model_in_one_call = simulation(), simulation()
    numbers = np.array(numbers_of_substeps(model))
    changes = np.flatnonzero(np.diff(numbers)) + 1
    assert set(numbers) == {2, 4}
    assert not (changes % 3).any()
    assert (np.diff(numbers) < 0).any()
    assert (numbers[changes] * 2 >= numbers[changes - 1]).all()
    model_in_one_call.advance(STEPS)
    assert has_same_bits(model_in_one_call.state, model.state)


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
def test_reference_chooses_same_substeps_as_native():
    native, reference = simulation(run__dtype="float64"), simulation(run__dtype="float64", run__executor="reference")
    assert numbers_of_substeps(native, 20) == numbers_of_substeps(reference, 20)
    assert_close(native.state, reference.state, 1e-11)


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
def test_constant_substeps_have_bits_of_shorter_steps():
    """Records in time, tides with a ramp and a function of time are all evaluated at the times of the substeps."""

    def growing_force(state, grid, t):
        return {"u": 1e-9 * t}

    wind = np.random.default_rng(1).standard_normal((9, 9, 12))
    options = {"sphere": True, "time__stepper": "gfb", "tide__ramp": 500.0, "run__executor": "native", **TIDE}
    options |= {"forcing__every": 80.0, "run__steps": 12}
    substep_options = {"time__dt": 80.0, "time__max_substeps": 4, "time__substeps_every_steps": 4}
    fields = {"wind_x": wind, "eta": wind[0]}
    configs = (configuration(9, 12, fields, **options | steps) for steps in (substep_options, {"time__dt": 20.0}))
    model, model_with_short_steps = (swmodel.Simulation(config, terms=[growing_force]) for config in configs)
    model._substep_chooser.choose = lambda: 1.0  # the number does not change
    model._substep_chooser.substeps, model._substep_chooser.valid_until = 4, 100
    model._substep_chooser.apply_to_executor(model._executor, model._forcing)
    model.advance(3)
    model_with_short_steps.advance(12)
    assert model.time == model_with_short_steps.time
    assert has_same_bits(model.state, model_with_short_steps.state)


def test_substeps_are_as_accurate_as_short_steps():
    """Even if their number changes often, the error, relative to steps of 1.25 s, is about that of steps of 10 s."""

    def error(model):
        model.advance(until=STEPS * 40.0)
        return np.abs(model.field("h") - truth).mean()

    short_steps = simulation(time__max_substeps=1, time__dt=1.25)
    short_steps.advance(until=STEPS * 40.0)
    truth = short_steps.field("h")
    error_with_substeps = error(simulation(time__substeps_every_steps=1))
    assert error_with_substeps < 1.2 * error(simulation(time__max_substeps=1, time__dt=10.0))


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
@pytest.mark.parametrize(("step", "name"), [(7, "restart.nc"), (9, "restart.nc"), (13, "restart.zarr")])
def test_restart_with_substeps_has_same_bits(tmp_path, step, name):
    """The restarts are within an interval of equal substeps, at its end, and after a change."""
    model = simulation()
    model.advance(step)
    model.write_restart(tmp_path / name)
    restarted_model = swmodel.Simulation.from_restart(tmp_path / name, case=type(model.config.case))
    assert restarted_model.substeps == model.substeps > 1
    assert numbers_of_substeps(model, 20) == numbers_of_substeps(restarted_model, 20)
    assert has_same_bits(model.state, restarted_model.state)


def test_records_are_of_whole_steps(tmp_path):
    """Largest values and gauges are those of whole steps; diagnostics contain the length of the substeps."""
    simulation(run__steps=STEPS, output__means=("eta",), output__every_steps=1).run(tmp_path / "run")
    files = (tmp_path / f"run/{name}.nc" for name in ("output", "diagnostics", "stations"))
    output, diagnostics, stations = (xarray.load_dataset(file, decode_times=False) for file in files)
    np.testing.assert_array_equal(stations.time, output.time)
    np.testing.assert_array_equal(output.time, 40.0 * np.arange(STEPS + 1))
    largest_h = np.where(output.wet == 1, output.h, -np.inf).max(axis=0)
    np.testing.assert_array_equal(output.h_max[-1], np.where(np.isinf(largest_h), np.nan, largest_h))
    substep_lengths = diagnostics.time_step.values[1:]
    assert set(substep_lengths) == {20.0, 10.0}
    assert np.array_equal(substep_lengths, 40.0 / np.array(numbers_of_substeps(simulation())))
    assert diagnostics.cfl.max() < 1.5


def test_substeps_are_refused_where_steps_must_be_equal():
    def assert_refused(function, error, **overrides):
        with pytest.raises(error, match=r"time\.max_substeps"):
            function("jet", {"time.max_substeps": 2} | overrides)

    assert_refused(swmodel.Simulation, ConfigError, **{"time.stepper": "ab2"})
    assert_refused(swmodel.functional, UsageError)
    assert_refused(lambda *arguments: require_derivatives(swmodel.load(*arguments)), UsageError)
    ensemble = {"run.steps": 2, "ensemble.members": 2}
    assert_refused(lambda *arguments: check_ensemble(swmodel.load(*arguments)), ConfigError, **ensemble)
    for max_substeps in (1, 4):
        with pytest.raises(ConfigError, match="time.dt"):
            simulation(time__dt=320.0, time__max_substeps=max_substeps)
    model = simulation(time__dt=320.0, time__max_substeps=64)  # these substeps are short enough
    model.advance(2)
    assert model.substeps >= 16


def test_warning_is_logged_when_substeps_cannot_be_increased(caplog):
    options = {"grid.nx": 60, "grid.ny": 7, "time.dt": 0.01, "time.substeps_every_steps": 4}
    for max_substeps, n_warnings in ((16, 0), (2, 1)):
        caplog.clear()
        model = swmodel.Simulation("dam_break_dry", options | {"time.max_substeps": max_substeps})
        health = model.health()
        for _ in range(8):
            model.advance(1)
            health.check()
        assert sum("time.max_substeps" in record.message for record in caplog.records) == n_warnings
