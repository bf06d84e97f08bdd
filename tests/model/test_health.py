"""The health of a run: real blow-ups are found and said, and nothing else is taken for one."""

import itertools
import re

import jax
import netCDF4
import numpy as np
import pytest
from click.testing import CliRunner
from support.unchecked import unchecked

import swmodel
from swmodel.cli import main
from swmodel.errors import NumericalError, exit_code
from swmodel.files.restart.folder import candidates
from swmodel.files.status import read_status
from swmodel.model import run as loop
from swmodel.model.health import BLOWUP, RUNAWAY, Health
from swmodel.model.health.measures import RATES
from swmodel.ocean.table import VARIABLES
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import largest_dt

SMALL = {"grid.nx": 24, "grid.ny": 14, "run.steps": 400, "output.every_steps": 10**6}
EXECUTORS = ["xla", "native"]


def simulation(case="jet", **options):
    """A small Simulation, with options given as section__key=value; it is not asked whether they are wise."""
    options = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(unchecked(swmodel.load(case, options, environ={})))


def disturb(model, name, value, row, column):
    """Set one value of the state."""
    field = np.array(getattr(model.state, name))
    field[row, column] = value
    model.carry = model.carry._replace(state=model.carry.state._replace(**{name: jax.numpy.asarray(field)}))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_run_beyond_the_stable_time_step_warns_blows_up_and_leaves_its_state(tmp_path, caplog, executor):
    model = simulation(time__dt=40.0, run__executor=executor, run__check_every_steps=5, restart__every_steps=5)
    with pytest.raises(NumericalError) as caught:
        model.run(tmp_path)
    message = str(caught.value)
    match = re.fullmatch(
        r"the solution blew up by step (\d+) \(day \d\.\d{3}\): energy is \S+ times what the run can have; "
        r"([uv]) is (\S+) m s-1 at row (\d+), column (\d+); CFL \S+ at step (\d+); "
        r"start anew with a smaller time step \(time.dt = (\S+) s\) or more friction; "
        rf"the state is in {tmp_path}/blowup.nc; last good restart: {tmp_path}/restart/step-\d+.nc",
        message,
    )
    assert match, message
    assert exit_code(caught.value) == 4
    assert int(match[1]) - int(match[6]) <= 5
    with netCDF4.Dataset(tmp_path / BLOWUP) as dataset:
        assert dataset["time"][-1] == int(match[1]) * 40.0
        value = dataset[match[2]][-1, int(match[4]), int(match[5])]
        assert np.isclose(value, float(match[3]), rtol=1e-5)
        assert np.abs(dataset["u"][-1]).max() <= abs(value)
    status = read_status(tmp_path)
    assert (status["state"], status["exit_code"], status["message"]) == ("failed", 4, message)
    newest = candidates(tmp_path)[0]
    assert str(newest) in message
    assert int(newest.stem.removeprefix("step-")) < int(match[1])
    assert len([record for record in caplog.records if "above the largest stable one" in record.message]) == 1
    swmodel.Simulation(swmodel.load("jet", SMALL | {"time.dt": float(match[7])}, environ={})).run(tmp_path / "again")


def test_a_run_with_largest_values_that_blows_up_leaves_a_state_that_can_be_read(tmp_path):
    options = {"output__maxima": ["eta", "speed"], "output__arrival": 0.1, "output__means": ["u"]}
    model = simulation(time__dt=40.0, run__executor="reference", run__check_every_steps=20, **options)
    with pytest.raises(NumericalError):
        model.run(tmp_path)
    with netCDF4.Dataset(tmp_path / BLOWUP) as data:
        assert {"h", "u", "v"} <= {*data.variables}
        assert not [name for name in data.variables if name.startswith(("eta_", "speed_", "u_mean"))]
    for command in ("info", "info --verify", f"plot --output {tmp_path / 'blowup.png'}"):
        done = CliRunner().invoke(main, [*command.split(), str(tmp_path / BLOWUP)])
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_value_that_is_not_finite_is_named_with_its_place(executor):
    model = simulation(run__executor=executor)
    cfl, carry, health = model.diagnostics()["cfl"], model.carry, Health(model)
    for name, value in itertools.product(("h", "u", "v"), (np.nan, np.inf, -np.inf)):
        model.carry = carry
        disturb(model, name, value, 5, 17)
        with pytest.raises(NumericalError) as caught:
            health.check()
        words = f"{name} is {value} {VARIABLES[name].units} at row 5, column 17; CFL {cfl:.3g} at step 0;"
        assert words in str(caught.value)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_thickness_has_to_be_positive_on_water_and_only_there(value, monkeypatch):
    model = simulation("seamount")
    margin = model.scheme.width + 1
    wet = np.ones([length + 2 * margin for length in model.block.shape], np.float32)
    wet[margin + 3, margin + 4] = 0
    monkeypatch.setitem(vars(model), "grid", model.grid._replace(wet=wet))
    health = Health(model)
    disturb(model, "h", value, 3, 4)
    health.check()
    disturb(model, "h", value, 3, 5)
    with pytest.raises(NumericalError, match=f"h is {value:g} m at row 3, column 5"):
        health.check()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_spin_up_from_rest_under_wind_is_no_runaway_but_would_be_one_without_it(executor):
    model = simulation("munk", physics__depth=50.0, run__executor=executor)
    health, without_wind = Health(model), Health(model)
    without_wind.wind = 0.0
    assert health.last.energy == 0
    for _ in range(30):
        model.advance(5)
        health.check()
    assert health.last.energy > 2 * RUNAWAY * health.rest**2
    with pytest.raises(NumericalError, match="energy is .* times what the run can have"):
        without_wind.check()


def test_energy_never_exceeds_what_the_wind_can_give():
    """The bound itself, without its factor, over a spin-up without friction."""
    model = simulation("double_gyre", physics__viscosity=0.0, run__dtype="float64")
    health = Health(model)
    for _ in range(100):
        before, seconds = health.last, health.time
        model.advance(3)
        wind = health.wind / np.sqrt(2 * min(-before.neg_min_h, -health.look().neg_min_h)) * (model.time - seconds)
        health.check()
        assert np.sqrt(health.last.energy) <= 1.001 * (np.sqrt(before.energy) + wind) + health.rest


def test_rest_stays_healthy_with_round_off_only():
    model = simulation("rest")
    health = Health(model)
    model.advance(300)
    health.check()
    assert health.root == health.rest


@pytest.mark.parametrize("executor", EXECUTORS)
def test_energy_from_nowhere_is_noticed_while_all_values_are_finite(executor):
    model = simulation("seiche", run__executor=executor)
    health = Health(model)
    for _ in range(5):
        model.advance(10)
        health.check()
    disturb(model, "u", 300.0, 7, 3)
    with pytest.raises(
        NumericalError, match=r"energy is .* times what the run can have; u is 300 m s-1 at row 7, column 3;"
    ):
        health.check()


def test_a_time_step_that_becomes_too_long_is_said_once_with_one_that_is_stable(caplog):
    model = simulation(run__dtype="float64")
    health = Health(model)
    health.check()
    assert not caplog.records
    disturb(model, "h", 1900.0, 5, 5)
    health.root = 1e9  # the energy is not at issue here
    health.check()
    health.check()
    (record,) = caplog.records
    match = re.search(
        r"step 0 \(day 0\.000\): the time step of (\S+) s is above the largest stable one, (\S+) s "
        r"\(gravity waves and advection\); CFL (\S+); the run may blow up; time.dt = (\S+) s would be stable",
        record.message,
    )
    dt, largest, cfl, stable = map(float, match.groups())
    assert stable < largest < dt
    assert cfl > 0.5


def test_without_a_run_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = simulation()
    health = Health(model)
    disturb(model, "h", np.nan, 0, 0)
    with pytest.raises(NumericalError, match=r"or more friction; [^;]*$"):
        health.check()
    assert list(tmp_path.iterdir()) == []


#: A ring of even depth with slow waves, a current and a patch of tracer; here a leapfrog may take 476 s because of it.
CARRIED = {
    **{"case.ridge": 0.0, "case.island": 0.0, "grid.periodic_x": True, "grid.nx": 24, "grid.ny": 8, "physics.f0": 0.0},
    **{"physics.depth": 100.0, "physics.gravity": 0.09, "physics.tracers": [{"name": "tracer"}]},
    **{"time.stepper": "leapfrog", "run.check_every_steps": 20, "output.every_steps": 10**6},
}
PATCH = {"tracer": lambda at: np.exp(-((at.i - 10.0) ** 2) / 8) + 0 * at.y, "u": 1.0}


def carried(dt, steps, executor="reference", **more):
    options = CARRIED | {"time.dt": dt, "run.steps": steps, "run.executor": executor}
    return swmodel.Simulation(unchecked(swmodel.load("rest", options, environ={}, fields=PATCH, **more)))


def test_a_tracer_that_leaves_its_bounds_stops_the_run_with_field_place_and_step(tmp_path):
    model = carried(700.0, 1500)
    with pytest.raises(NumericalError) as caught:
        model.run(tmp_path)
    match = re.search(r"by step (\d+) .*: tracer is (\S+) at row (\d+), column (\d+), (\S+) times", str(caught.value))
    step, row, column = (int(match[n]) for n in (1, 3, 4))
    values = model.field("tracer")
    assert model.step == step
    assert abs(values[row, column]) == np.abs(values).max() == pytest.approx(abs(float(match[2])), rel=1e-5)
    assert 10 < float(match[5]) < 20
    assert exit_code(caught.value) == 4
    assert (tmp_path / BLOWUP).exists()


def test_a_tracer_within_its_bounds_or_with_a_source_of_the_users_own_is_healthy(tmp_path):
    carried(400.0, 300).run(tmp_path / "stable")

    def source(state, grid, t):
        return {"tracer_content": 1.0 + 0 * state.h}

    model = carried(400.0, 60, "xla", terms=[source])
    model.run(tmp_path / "source")
    assert model.field("tracer").max() > 100


@pytest.mark.parametrize(
    "given", [{"eta": lambda at: 5 * np.exp(-((at.i - 10.0) ** 2) / 8) + 0 * at.y}, {"tracer": 50.0}]
)
def test_what_a_function_sets_on_the_way_is_no_blow_up(tmp_path, given):
    """Far more energy, and far more tracer, than at the start."""
    model = carried(100.0, 60)
    model.set(u=0.0)
    model.every("30 steps", lambda model: model.set(**given))
    model.run(tmp_path)
    assert model.step == 60


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_water_that_falls_dry_at_a_stable_time_step_is_told_from_a_blow_up(tmp_path, executor):
    """An ebb of a metre over a floor at 0.6 m; where the tide itself blows up the message is another one."""
    tide = {
        "open_sides.sides": ["west"],
        "open_sides.constituents": ("M2",),
        "open_sides.amplitude": (1.0,),
        "physics.quadratic_drag": 2.5e-3,
    }
    options = {
        **{"case.ridge": 0.0, "case.island": 0.0, "case.level": 0.0, "physics.f0": 0.0, "run.executor": executor},
        **{"grid.nx": 12, "grid.ny": 4, "grid.dx": 4e3, "grid.dy": 4e3, "time.stepper": "rk3", "run.days": 1.0},
        **{"run.check_every_steps": 20, "output.every_steps": 10**6},
    }
    fields = {"depth": lambda at: np.maximum(20 * (1 - at.i / 11), 0.6) + 0 * at.y}

    def ends_with(dt):
        config = swmodel.load("rest", options | tide | {"time.dt": dt}, environ={}, fields=fields)
        with pytest.raises(NumericalError) as caught:
            swmodel.Simulation(unchecked(config)).run(tmp_path / str(dt))
        return caught.value

    dry, unstable = ends_with(40.0), ends_with(400.0)
    assert exit_code(dry) == 4
    match = re.search(r"fell dry by step \d+ .*: h is (-\S+) m at row \d+, column (\d+)", str(dry))
    assert -0.1 < float(match[1]) <= 0
    assert int(match[2]) > 8
    assert "--min-depth" in str(dry)
    assert "time.dt" not in str(dry)
    assert "blew up" in str(unstable)
    assert "time.dt" in str(unstable)


def test_water_that_fell_dry_between_two_looks_is_named_as_a_cause(tmp_path, monkeypatch):
    """Wind blows the water from the shallow end of a lake; the first look finds no numbers any more.

    The length of chunks does not follow the clock here.
    """
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 1e9)
    options = {"grid.nx": 30, "grid.ny": 20, "grid.dx": 1e4, "grid.dy": 1e4, "grid.periodic_x": False}
    options |= {"time.dt": 60.0, "run.steps": 600, "run.executor": "xla"}
    fields = {"depth": lambda at: 2.0 + at.x / 1e4, "wind_x": lambda at: 3.0 + 0 * at.x}

    def words(look):
        model = swmodel.Simulation(swmodel.Case, options | {"run.check_every_steps": look}, fields=fields)
        with pytest.raises(NumericalError) as caught:
            model.run(tmp_path / str(look))
        return str(caught.value)

    late = words(300)
    assert "h is nan m" in late
    assert "run.check_every_steps=1" in late
    assert "the water fell dry by step" in words(1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_limit_of_a_state_is_the_one_that_is_checked_before_the_start(dtype):
    """Every process that limits the time step: waves, drag, friction and the transport of a tracer."""
    terms = {"physics__viscosity": 50.0, "physics__quadratic_drag": 1e-2, "physics__tracers": ({"name": "tracer"},)}
    model = simulation(run__executor="xla", run__dtype=dtype, time__dt=1.0, **terms)
    health, extremes = Health(model), survey(model.setup)
    for name in RATES:
        assert getattr(health.last, name) == pytest.approx(extremes.largest(name), rel=1e-4), name
        assert extremes.largest(name) > 0
    assert health.largest_dt() == (
        pytest.approx(largest_dt(model.config, extremes)[0], rel=1e-4),
        health.largest_dt()[1],
    )


def test_a_current_that_becomes_too_fast_for_the_tracer_is_warned_of(caplog):
    """Waves are slow under a small gravity: the limit is that of the transport, which a state at rest has not."""
    options = {"physics__tracers": ({"name": "tracer"},), "physics__gravity": 1e-4}
    options |= {"time__stepper": "ab3", "time__dt": 500.0}
    model = simulation("rest", run__dtype="float64", run__executor="xla", **options)
    health = Health(model)
    health.check_time_step()
    assert not caplog.records
    disturb(model, "u", 100.0, 7, 3)
    health.last = health.look()
    health.check_time_step()
    assert "(the transport of a tracer)" in caplog.text


def test_rates_beyond_the_precision_are_said_without_a_time_step_of_zero(caplog):
    small = {"grid__dx": 1e-5, "grid__dy": 1e-5, "time__dt": 1e-9, "run__dtype": "float32"}
    model = simulation("inertial", run__executor="xla", **small)
    disturb(model, "u", 1e36, 7, 3)
    health = Health(model)
    health.check_time_step()
    assert "is not known to be stable: the rates of" in caplog.text
    assert " 0 s" not in caplog.text
    disturb(model, "u", float("nan"), 7, 3)
    with pytest.raises(NumericalError, match=r"time.dt = 5e-10 s"):
        health.check()
