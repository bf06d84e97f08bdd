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

#: Steps of the sea of `flooding` that have 2 or 4 substeps.
SUBSTEP_OPTIONS = {"time__dt": 40.0, "time__max_substeps": 16, "time__substeps_every_steps": 3}
STEPS = 40


def shaken_sea(**options):
    return swmodel.Simulation(make_config(**SUBSTEP_OPTIONS | options))


def substeps_of_steps(model, steps=STEPS):
    found = []
    for _ in range(steps):
        model.advance(1)
        found.append(model.substeps)
    return found


def test_number_of_substeps_follows_flow():
    """It rises and falls, only at every third step; one call of several steps has the bits of single steps."""
    model, other = shaken_sea(), shaken_sea()
    found = np.array(substeps_of_steps(model))
    changes = np.flatnonzero(np.diff(found)) + 1
    assert set(found) == {2, 4}
    assert not (changes % 3).any()
    assert (np.diff(found) < 0).any()
    assert (found[changes] * 2 >= found[changes - 1]).all()
    other.advance(STEPS)
    assert has_same_bits(other.state, model.state)


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
def test_reference_chooses_same_substeps():
    one, other = shaken_sea(run__dtype="float64"), shaken_sea(run__dtype="float64", run__executor="reference")
    assert substeps_of_steps(one, 20) == substeps_of_steps(other, 20)
    assert_close(one.state, other.state, 1e-11)


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
def test_constant_substeps_have_bits_of_shorter_steps():
    """Records in time, tides with a ramp and a function of time are all evaluated at the times of the substeps."""

    def grow(state, grid, t):
        return {"u": 1e-9 * t}

    wind = np.random.default_rng(1).standard_normal((9, 9, 12))
    options = {"sphere": True, "time__stepper": "gfb", "tide__ramp": 500.0, "run__executor": "native", **TIDE}
    options |= {"forcing__every": 80.0, "run__steps": 12}
    longer = {"time__dt": 80.0, "time__max_substeps": 4, "time__substeps_every_steps": 4}
    fields = {"wind_x": wind, "eta": wind[0]}
    long, config = (configuration(9, 12, fields, **options | given) for given in (longer, {"time__dt": 20.0}))
    model, other = swmodel.Simulation(long, terms=[grow]), swmodel.Simulation(config, terms=[grow])
    model._substep_chooser.choose = lambda: 1.0  # as many as at the start
    model._substep_chooser.substeps, model._substep_chooser.valid_until = 4, 100
    model._substep_chooser.apply_to_executor(model._executor, model._forcing)
    model.advance(3)
    other.advance(12)
    assert model.time == other.time
    assert has_same_bits(model.state, other.state)


def test_substeps_are_as_accurate_as_short_steps():
    """If the number changes often, the error is not larger than that of the longest steps, relative to short steps."""

    def error(model):
        model.advance(until=STEPS * 40.0)
        return np.abs(model.field("h") - truth).mean()

    fine = shaken_sea(time__max_substeps=1, time__dt=1.25)
    fine.advance(until=STEPS * 40.0)
    truth = fine.field("h")
    found = error(shaken_sea(time__substeps_every_steps=1))
    assert found < 1.2 * error(shaken_sea(time__max_substeps=1, time__dt=10.0))


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
@pytest.mark.parametrize(("at", "name"), [(7, "restart.nc"), (9, "restart.nc"), (13, "restart.zarr")])
def test_restart_with_substeps_has_same_bits(tmp_path, at, name):
    """Restarts are within an interval of equal substeps, at its end, and after a change."""
    model = shaken_sea()
    model.advance(at)
    model.write_restart(tmp_path / name)
    other = swmodel.Simulation.from_restart(tmp_path / name, case=type(model.config.case))
    assert other.substeps == model.substeps > 1
    assert substeps_of_steps(model, 20) == substeps_of_steps(other, 20)
    assert has_same_bits(model.state, other.state)


def test_records_are_of_whole_steps(tmp_path):
    """Means, largest values and gauges use the states that are written; diagnostics include the time step."""
    shaken_sea(run__steps=STEPS, output__means=("eta",), output__every_steps=1).run(tmp_path / "run")
    names = ("output", "diagnostics", "stations")
    data, series, gauges = (xarray.load_dataset(tmp_path / f"run/{name}.nc", decode_times=False) for name in names)
    np.testing.assert_array_equal(gauges.time, data.time)
    np.testing.assert_array_equal(data.time, 40.0 * np.arange(STEPS + 1))
    wet = np.where(data.wet == 1, data.h, -np.inf).max(axis=0)
    np.testing.assert_array_equal(data.h_max[-1], np.where(np.isinf(wet), np.nan, wet))
    steps = series.time_step.values[1:]
    assert set(steps) == {20.0, 10.0}
    assert np.array_equal(steps, 40.0 / np.array(substeps_of_steps(shaken_sea())))
    assert series.cfl.max() < 1.5


def test_substeps_are_refused_where_steps_must_be_equal():
    def needs(function, error, **more):
        with pytest.raises(error, match=r"time\.max_substeps"):
            function("jet", {"time.max_substeps": 2} | more)

    needs(swmodel.Simulation, ConfigError, **{"time.stepper": "ab2"})
    needs(swmodel.functional, UsageError)
    needs(lambda *given: require_derivatives(swmodel.load(*given)), UsageError)
    needs(lambda *given: check_ensemble(swmodel.load(*given)), ConfigError, **{"run.steps": 2, "ensemble.members": 2})
    for max_substeps in (1, 4):
        with pytest.raises(ConfigError, match="time.dt"):
            shaken_sea(time__dt=320.0, time__max_substeps=max_substeps)
    model = shaken_sea(time__dt=320.0, time__max_substeps=64)  # these substeps are short enough
    model.advance(2)
    assert model.substeps >= 16


def test_warning_is_logged_when_substeps_cannot_be_increased(caplog):
    flow = {"grid.nx": 60, "grid.ny": 7, "time.dt": 0.01, "time.substeps_every_steps": 4}
    for max_substeps, warnings in ((16, 0), (2, 1)):
        caplog.clear()
        model = swmodel.Simulation("dam_break_dry", flow | {"time.max_substeps": max_substeps})
        health = model.health()
        for _ in range(8):
            model.advance(1)
            health.check()
        assert sum("time.max_substeps" in record.message for record in caplog.records) == warnings
