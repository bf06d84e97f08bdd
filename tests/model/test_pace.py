"""Steps that are halved while the flow is too fast for them (`time.halvings`)."""

import numpy as np
import pytest
import xarray
from support.flooding import sea
from support.random_case import TIDE, configuration

import swmodel
from swmodel import ConfigError
from swmodel.errors import UsageError
from swmodel.model.ensemble.settings import check_ensemble
from swmodel.model.pace import rescaled
from swmodel.model.validate import require_derivatives
from swmodel.ocean.state import Carry
from swmodel.ocean.timestep import method_of

#: Steps of the sea of `flooding` that have 2 or 4 substeps.
SHAKEN = {"time__dt": 40.0, "time__halvings": 4, "time__halve_every_steps": 3}
STEPS = 40


def shaken(**options):
    return swmodel.Simulation(sea(**SHAKEN | options))


def numbers(model, steps=STEPS):
    """The substeps of each of the next steps."""
    found = []
    for _ in range(steps):
        model.advance(1)
        found.append(model.substeps)
    return found


def same_bits(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_substeps_follows_the_flow(dtype):
    """It changes up and down, at every third step alone; what is done in one call has the bits of single steps."""
    model, other = shaken(run__dtype=dtype), shaken(run__dtype=dtype)
    found = np.array(numbers(model))
    changes = np.flatnonzero(np.diff(found)) + 1
    assert set(found) == {2, 4}
    assert not (changes % 3).any()
    assert (np.diff(found) < 0).any()
    assert (found[changes] * 2 >= found[changes - 1]).all()
    other.advance(STEPS)
    assert same_bits(other.state, model.state)


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.halvings`)")
@pytest.mark.slow
@pytest.mark.parametrize("executor", ["xla", "reference"])
def test_all_executors_choose_the_same_steps(executor):
    one, other = shaken(run__dtype="float64"), shaken(run__dtype="float64", run__executor=executor)
    assert numbers(one, 20) == numbers(other, 20)
    for ours, theirs in zip(one.state, other.state, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.halvings`)")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("executor", "stepper"), [("native", "gfb"), ("xla", "rk3"), ("reference", "gfb"), ("reference", "rk4")]
)
def test_steps_in_equal_parts_have_the_bits_of_shorter_steps(executor, stepper):
    """Under records in time, tides with a ramp and a function of time: all are at the times of the substeps."""

    def grow(state, grid, t):
        return {"u": 1e-9 * t}

    terms = [] if executor == "reference" else [grow]
    wind = np.random.default_rng(1).standard_normal((9, 9, 12))
    options = {"sphere": True, "time__stepper": stepper, "tide__ramp": 500.0, "run__executor": executor, **TIDE}
    options |= {"forcing__every": 80.0, "run__steps": 12}
    config = configuration(9, 12, {"wind_x": wind, "eta": wind[0]}, **options, time__dt=20.0)
    long = config.model_copy(
        update={"time": config.time.model_copy(update={"dt": 80.0, "halvings": 2, "halve_every_steps": 4})}
    )
    model, other = swmodel.Simulation(long, terms=terms), swmodel.Simulation(config, terms=terms)
    model._pace.choose = lambda: 1.0  # as many as at the start
    model._pace.substeps, model._pace.last = 4, 100
    model._pace.divide(model._executor, model._forcing)
    model.advance(3)
    other.advance(12)
    assert model.time == other.time
    assert same_bits(model.state, other.state)


def test_halved_steps_come_near_to_short_ones():
    """A flow that changes number often differs from one with short steps by no more than its longest steps do."""

    def error(model):
        model.advance(until=STEPS * 40.0)
        return np.abs(model.field("h") - truth).mean()

    fine = shaken(time__halvings=0, time__dt=1.25)
    fine.advance(until=STEPS * 40.0)
    truth = fine.field("h")
    found = error(shaken(time__halve_every_steps=1))
    assert found < 1.2 * error(shaken(time__halvings=0, time__dt=10.0))


def test_memory_of_other_steps_lies_on_the_line_through_the_old_one():
    """And the thickness between two is between them."""
    rng = np.random.default_rng(0)
    fields = rng.uniform(0.1, 1.0, (3, 3, 4))
    state = swmodel.Simulation("jet", {"grid.nx": 8, "grid.ny": 8}).state
    now, last, before = (type(state)(*(field + k for k in range(len(state)))) for field in fields)
    carry = Carry(now, (last, before), 7)
    half = rescaled(carry, 2.0)
    np.testing.assert_allclose(half.memory[0].u, (now.u + last.u) / 2)
    np.testing.assert_allclose(half.memory[1].u, last.u)
    twice = rescaled(carry, 0.5)
    np.testing.assert_allclose(twice.memory[0].u, before.u)
    np.testing.assert_allclose(twice.memory[1].u, 2 * before.u - now.u)
    assert (half.memory[0].h >= np.minimum(now.h, last.h)).all()
    assert (twice.memory[1].h >= 0).all()
    assert rescaled(carry, 1.0) is carry
    assert method_of("gfb").counts[1] == len(carry.memory)


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.halvings`)")
@pytest.mark.parametrize(
    ("at", "name"), [(7, "restart.nc"), (9, "restart.nc"), (13, "restart.nc"), (7, "restart.zarr")]
)
def test_a_restart_goes_on_with_the_same_bits(tmp_path, at, name):
    """Within an interval of equal substeps, at its end, and after a change."""
    model = shaken()
    model.advance(at)
    model.write_restart(tmp_path / name)
    other = swmodel.Simulation.from_restart(tmp_path / name, case=type(model.config.case))
    assert other.substeps == model.substeps > 1
    assert numbers(model, 20) == numbers(other, 20)
    assert same_bits(model.state, other.state)


def test_records_are_of_whole_steps(tmp_path):
    """Means, largest values and gauges take the states that are written; diagnostics have the time step."""
    model = shaken(run__steps=STEPS, output__means=("eta",), output__every_steps=1)
    model.run(tmp_path / "run")
    with xarray.open_dataset(tmp_path / "run" / "output.nc", decode_times=False) as data:
        data.load()
    with xarray.open_dataset(tmp_path / "run" / "diagnostics.nc", decode_times=False) as series:
        series.load()
    with xarray.open_dataset(tmp_path / "run" / "stations.nc", decode_times=False) as gauges:
        np.testing.assert_array_equal(gauges.time, data.time)
    np.testing.assert_array_equal(data.time, 40.0 * np.arange(STEPS + 1))
    wet = np.where(data.wet == 1, data.h, -np.inf).max(axis=0)
    np.testing.assert_array_equal(data.h_max[-1], np.where(np.isinf(wet), np.nan, wet))
    steps = series.time_step.values
    assert set(steps[1:]) == {20.0, 10.0}
    assert series.time_step.units == "s"
    again = shaken()
    assert np.array_equal(steps[1:], 40.0 / np.array(numbers(again)))
    assert series.cfl.max() < 1.5


def test_a_step_may_be_too_long_for_the_start_if_its_substeps_are_not():
    with pytest.raises(ConfigError, match="largest stable"):
        shaken(time__dt=320.0, time__halvings=0)
    with pytest.raises(ConfigError, match="largest stable"):
        shaken(time__dt=320.0, time__halvings=2)
    model = shaken(time__dt=320.0, time__halvings=6)
    model.advance(2)
    assert model.substeps >= 16


def test_what_needs_equal_steps_refuses_others():
    with pytest.raises(ConfigError, match=r"time\.halvings"):
        swmodel.Simulation("jet", {"time.halvings": 1, "time.stepper": "ab2"})
    with pytest.raises(UsageError, match=r"time\.halvings"):
        swmodel.functional("jet", {"time.halvings": 1})
    with pytest.raises(UsageError, match=r"time\.halvings"):
        require_derivatives(swmodel.load("jet", {"time.halvings": 1}))
    with pytest.raises(ConfigError, match=r"time\.halvings"):
        check_ensemble(swmodel.load("jet", {"time.halvings": 1, "run.steps": 2, "ensemble.members": 2}))


def test_a_warning_comes_only_when_steps_cannot_be_halved_further(caplog):
    """Of a flow that becomes too fast between two choices."""
    flow = {"grid.nx": 60, "grid.ny": 7, "time.dt": 0.01, "time.halve_every_steps": 4}
    for halvings, warnings in ((4, 0), (1, 1)):
        caplog.clear()
        model = swmodel.Simulation("dam_break_dry", flow | {"time.halvings": halvings})
        health = model.health()
        for _ in range(8):
            model.advance(1)
            health.check()
        assert sum("time.halvings" in record.message for record in caplog.records) == warnings
