"""The health of a run: real blow-ups are found and said, and nothing else is taken for one."""

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
from swmodel.model.health import BLOWUP, CELLS, Health
from swmodel.model.health.measures import RATES
from swmodel.ocean.table import VARIABLES
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import Mode, largest_dt, limit

pytestmark = pytest.mark.slow

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


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_run_beyond_the_stable_time_step_warns_blows_up_and_leaves_its_state(tmp_path, caplog, executor):
    often = {"run__check_every_steps": 1, "restart__every_steps": 5}
    kept = {"output__maxima": ["eta", "speed"], "output__arrival": 0.1, "output__means": ["u"]}
    model = simulation(time__dt=110.0, run__executor=executor, **often, **kept)
    with pytest.raises(NumericalError) as caught:
        model.run(tmp_path)
    message = str(caught.value)
    match = re.fullmatch(
        r"the solution blew up by step (\d+) \(day \d\.\d{3}\): "
        r"([huv]) is (\S+) m(?: s-1)? at row (\d+), column (\d+); CFL \S+ at step (\d+); "
        r"start again with a smaller time step \(time.dt = (\S+) s\) or more friction; "
        rf"the state is in {tmp_path}/blowup.nc; last good restart: {tmp_path}/restart/step-\d+.nc",
        message,
    )
    assert match, message
    assert exit_code(caught.value) == 4
    assert int(match[1]) - int(match[6]) == 1
    with netCDF4.Dataset(tmp_path / BLOWUP) as dataset:
        assert dataset["time"][-1] == int(match[1]) * 110.0
        assert np.isclose(dataset[match[2]][-1, int(match[4]), int(match[5])], float(match[3]), rtol=1e-5)
        assert {"h", "u", "v"} <= {*dataset.variables}
        assert not [name for name in dataset.variables if name.startswith(("eta_", "speed_", "u_mean"))]
    for command in ("info --verify", f"plot --output {tmp_path / 'blowup.png'}"):
        done = CliRunner().invoke(main, [*command.split(), str(tmp_path / BLOWUP)])
        assert done.exit_code == 0, done.output
    status = read_status(tmp_path)
    assert (status["state"], status["exit_code"], status["message"]) == ("failed", 4, message)
    newest = candidates(tmp_path)[0]
    assert str(newest) in message
    assert int(newest.stem.removeprefix("step-")) < int(match[1])
    assert len([record for record in caplog.records if "above the largest stable one" in record.message]) == 1
    swmodel.Simulation(swmodel.load("jet", SMALL | {"time.dt": float(match[7])}, environ={})).run(tmp_path / "again")


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_value_with_which_no_run_can_go_on_is_named_with_its_place(executor):
    model = simulation(run__executor=executor)
    cfl, carry, health = model.diagnostics()["cfl"], model.carry, Health(model)
    fast = CELLS * model.config.grid.dx / model.dt
    for name, value in [("h", np.nan), ("u", np.inf), ("v", -np.inf), ("h", 0.0), ("h", -1.0), ("u", -1.01 * fast)]:
        model.carry = carry
        disturb(model, name, value, 5, 17)
        with pytest.raises(NumericalError) as caught:
            health.check()
        words = f"{name} is {value:.6g} {VARIABLES[name].units} at row 5, column 17"
        assert words in str(caught.value)
        assert "fell dry" in str(caught.value) or f"CFL {cfl:.3g} at step 0" in str(caught.value)
    model.carry = carry
    disturb(model, "u", 0.99 * fast, 5, 17)
    health.check()


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.fault("a stable run is reported as a blow-up")
def test_no_stepper_is_stable_where_the_water_crosses_so_many_cells():
    """On the imaginary axis, and beside it with any friction."""
    time = swmodel.load("jet", {}, environ={}).time
    for stepper in ("ab2", "ab3", "rk3", "rk4", "leapfrog", "gfb"):
        one = time.model_copy(update={"stepper": stepper})
        angles = np.linspace(np.pi / 2, np.pi, 100)
        assert max(limit(Mode(0.0, complex(np.exp(1j * angle))), one) * np.sin(angle) for angle in angles) < CELLS


@pytest.mark.fault("the time step becomes too long")
def test_a_time_step_that_becomes_too_long_is_said_once_with_one_that_is_stable(caplog):
    model = simulation(run__dtype="float64")
    health = Health(model)
    health.check()
    assert not caplog.records
    disturb(model, "h", 1900.0, 5, 5)
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


@pytest.mark.fault("a tracer leaves its bounds without a message")
def test_a_tracer_that_leaves_its_bounds_stops_the_run_with_field_place_and_step(tmp_path):
    model = carried(700.0, 1500)
    with pytest.raises(NumericalError) as caught:
        model.run(tmp_path)
    match = re.search(r"by step (\d+) .*: tracer is (\S+) at row (\d+), column (\d+); ", str(caught.value))
    step, row, column = (int(match[n]) for n in (1, 3, 4))
    value = model.field("tracer")[row, column]
    assert model.step == step
    assert value == pytest.approx(float(match[2]), rel=1e-5)
    assert abs(value) > 10
    assert exit_code(caught.value) == 4
    assert (tmp_path / BLOWUP).exists()


@pytest.mark.fault("a tracer with a user's source is mistaken for a blow-up")
@pytest.mark.night
def test_a_tracer_within_its_bounds_or_with_a_source_of_the_users_own_is_healthy(tmp_path):
    carried(400.0, 300).run(tmp_path / "stable")

    def source(state, grid, t):
        return {"tracer_content": 1.0 + 0 * state.h}

    model = carried(400.0, 60, "xla", terms=[source])
    model.run(tmp_path / "source")
    assert model.field("tracer").max() > 100


@pytest.mark.fault("a change by a function during a run is mistaken for a blow-up")
def test_what_a_function_sets_on_the_way_is_no_blow_up(tmp_path):
    """Far more of a tracer than at the start."""
    model = carried(100.0, 60)
    model.every("30 steps", lambda model: model.set(tracer=50.0))
    model.run(tmp_path)
    assert model.step == 60


@pytest.mark.fault("drying water is reported as a time step that is too long")
@pytest.mark.parametrize("executor", ["reference", "native"])
def test_water_that_falls_dry_at_a_stable_time_step_is_told_from_a_blow_up(tmp_path, executor):
    """An ebb of a metre over a floor at 0.6 m; where the tide itself blows up the message is another one."""
    options = {
        **{"case.ridge": 0.0, "case.island": 0.0, "case.level": 0.0, "physics.f0": 0.0, "run.executor": executor},
        **{"grid.nx": 12, "grid.ny": 4, "grid.dx": 4e3, "grid.dy": 4e3, "time.stepper": "rk3", "run.days": 1.0},
        **{"open_sides.sides": ["west"], "open_sides.constituents": ("M2",), "open_sides.amplitude": (1.0,)},
        **{"physics.quadratic_drag": 2.5e-3, "run.check_every_steps": 20, "output.every_steps": 10**6},
    }
    fields = {"depth": lambda at: np.maximum(20 * (1 - at.i / 11), 0.6) + 0 * at.y}

    def ends_with(dt):
        config = swmodel.load("rest", options | {"time.dt": dt}, environ={}, fields=fields)
        with pytest.raises(NumericalError) as caught:
            swmodel.Simulation(unchecked(config)).run(tmp_path / str(dt))
        assert exit_code(caught.value) == 4
        return str(caught.value)

    dry, unstable = ends_with(40.0), ends_with(400.0)
    match = re.search(r"fell dry by step \d+ .*: h is (-\S+) m at row \d+, column (\d+)", dry)
    assert -0.1 < float(match[1]) <= 0
    assert int(match[2]) > 8
    assert "--min-depth" in dry
    assert "time.dt" not in dry
    assert "blew up" in unstable
    assert "time.dt" in unstable


def test_the_limit_of_a_state_is_the_one_that_is_checked_before_the_start():
    """Every process that limits the time step: waves, drag, friction and the transport of a tracer."""
    terms = {"physics__viscosity": 50.0, "physics__quadratic_drag": 1e-2, "physics__tracers": ({"name": "tracer"},)}
    model = simulation(run__executor="reference", time__dt=1.0, **terms)
    health, extremes = Health(model), survey(model.setup)
    for name in RATES:
        assert getattr(health.last, name) == pytest.approx(extremes.largest(name), rel=1e-4), name
        assert extremes.largest(name) > 0
    (ours, process), (theirs, same) = health.largest_dt(health.last), largest_dt(model.config, extremes)
    assert (ours, process) == (pytest.approx(theirs, rel=1e-4), same)


@pytest.mark.fault("a current that becomes too fast for the tracer")
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
    _, process = health.largest_dt(health.last)
    assert "transport" in process
    assert process in caplog.text
