"""The health of a run: real blow-ups are found and reported, and nothing else is mistaken for one."""

import contextlib
import re
from itertools import product

import jax
import netCDF4
import numpy as np
import pytest
from support.command import invoke_swmodel
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.errors import NumericalError, exit_code
from swmodel.files.restart.folder import list_restart_files
from swmodel.files.run_folder import BLOWUP
from swmodel.files.status import read_status
from swmodel.model.health import MAX_CELLS_PER_STEP, Health, count_unusable_cells
from swmodel.model.health.measures import RATES
from swmodel.model.simulation import CHECK_EVERY_STEPS
from swmodel.ocean.table import VARIABLES
from swmodel.ocean.timestep import method_of
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import Mode, max_stable_dt, stability_limit

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 24, "grid.ny": 14, "run.steps": 400, "output.every_steps": 10**6}


def simulation(case="jet", **options):
    """A small Simulation, with unchecked options given as section__key=value."""
    options = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(resolve_without_checks(swmodel.load(case, options, environ={})))


def set_value(model, name, value, row, column):
    field = np.array(getattr(model.state, name))
    field[row, column] = value
    model.carry = model.carry._replace(state=model.carry.state._replace(**{name: jax.numpy.asarray(field)}))


def message_of_blow_up(function, *arguments):
    """Call a function that must raise a NumericalError, with which commands exit with 4; returns its message."""
    with pytest.raises(NumericalError) as error:
        function(*arguments)
    assert exit_code(error.value) == 4
    return str(error.value)


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
def test_unstable_run_warns_and_leaves_its_state(tmp_path, caplog):
    options = {"time__dt": 110.0, "run__executor": "native", "run__check_every_steps": 1, "restart__every_steps": 5}
    options |= {"output__maxima": ["eta", "speed"], "output__arrival": 0.1, "output__means": ["u"]}
    message = message_of_blow_up(simulation(**options).run, tmp_path)
    pattern = r"step (\d+) .*: ([huv]) is (\S+) m.* row (\d+), column (\d+); .* at step (\d+); .*\(time.dt = (\S+) s\)"
    match = re.search(pattern, message)
    assert int(match[1]) - int(match[6]) == 1
    with netCDF4.Dataset(tmp_path / BLOWUP) as dataset:
        assert dataset["time"][-1] == int(match[1]) * 110.0
        assert np.isclose(dataset[match[2]][-1, int(match[4]), int(match[5])], float(match[3]), rtol=1e-5)
        assert {"h", "u", "v"} <= {*dataset.variables}
        assert not [name for name in dataset.variables if name.startswith(("eta_", "speed_", "u_mean"))]
    result = invoke_swmodel("info", "--verify", tmp_path / BLOWUP)
    assert result.exit_code == 0, result.output
    status, newest = read_status(tmp_path), list_restart_files(tmp_path)[0]
    assert (status["state"], status["exit_code"], status["message"]) == ("failed", 4, message)
    assert {str(newest), str(tmp_path / BLOWUP)} <= {*re.split(r"[ ;]", message)}
    assert int(newest.stem.removeprefix("step-")) < int(match[1])
    assert len([record for record in caplog.records if "above the largest stable one" in record.message]) == 1
    swmodel.Simulation(swmodel.load("jet", SMALL | {"time.dt": float(match[7])}, environ={})).run(tmp_path / "again")


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
def test_message_names_unusable_value_and_its_cell():
    model = simulation(run__executor="native")
    cfl, carry, health = model.diagnostics()["cfl"], model.carry, Health(model)
    max_u = MAX_CELLS_PER_STEP * model.config.grid.dx / model.dt
    for name, value in [("h", np.nan), ("u", np.inf), ("v", -np.inf), ("h", 0.0), ("h", -1.0), ("u", -1.01 * max_u)]:
        model.carry = carry
        set_value(model, name, value, 5, 17)
        message = message_of_blow_up(health.check)
        assert f"{name} is {value:.6g} {VARIABLES[name].units} at row 5, column 17" in message
        assert "fell dry" in message or f"CFL {cfl:.3g} at step 0" in message
    model.carry = carry
    set_value(model, "u", 0.99 * max_u, 5, 17)
    health.check()


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
@pytest.mark.parametrize("executor", ["reference", "native"])
def test_blow_up_is_raised_by_advance_and_leaves_no_file(tmp_path, monkeypatch, executor):
    monkeypatch.chdir(tmp_path)
    model = simulation(time__dt=4000.0, run__executor=executor)
    message = message_of_blow_up(model.advance, 60)
    match = re.search(r"by step 60 .*: [huv] is .* row \d+, column \d+; .*\(time\.dt = (\S+) s\)", message)
    assert not np.isfinite(model.field("h")).all()
    assert list(tmp_path.iterdir()) == []
    stable = simulation(time__dt=float(match[1]), run__executor=executor)
    stable.advance(60)


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
def test_blow_up_is_raised_at_first_use_of_state(tmp_path):
    uses = [lambda model: model.advance(1), lambda model: model.field("eta"), lambda model: model.state]
    for use in (*uses, lambda model: model.write_restart(tmp_path / "restart.nc")):
        model = simulation(run__executor="reference")
        set_value(model, "h", np.nan, 4, 5)
        for _ in range(CHECK_EVERY_STEPS - 1):
            model.advance(1)
        with pytest.raises(NumericalError, match=r"by step (49|50) .*: [huv] is nan m"):
            use(model)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.parametrize("executor", ["reference", "native"])
def test_cells_count_as_unusable_if_health_refuses_them(executor):
    """Values are set on water and on the island, where thickness does not matter."""
    model = swmodel.Simulation("rest", {"grid.nx": 30, "grid.ny": 20, "run.executor": executor})
    carry, health, refusals = model.carry, model.health(), {}
    land = tuple(np.argwhere(model.dataset("mask").mask.values == 0)[0])
    cases = product((None, land, (0, 3), (19, 29)), "huv", (0.0, -1.0, np.nan, -np.inf))
    for cell, name, value in cases:
        model.carry = carry
        if cell:
            set_value(model, name, value, *cell)
        is_refused = not (health.measure_domain().neg_min_h < 0).all()
        count = count_unusable_cells(model.carry.state, model.grid.wet, model.scheme, model.transport)
        assert bool(model.get(count)) == is_refused, (cell, name, value)
        refusals[cell, name, value] = is_refused
    assert refusals[(0, 3), "h", 0.0]
    assert not refusals[land, "h", 0.0]
    assert refusals[land, "u", -np.inf]
    assert sum(refusals.values()) == 3 * 3 * 2 + 2 * 2  # values that are not finite, and water without thickness


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.fault("a stable run is reported as a blow-up")
def test_no_stepper_is_stable_beyond_three_cells_per_step():
    """Eigenvalues are on the imaginary axis and, with friction, to the left of it."""
    time = swmodel.load("jet", {}, environ={}).time
    for stepper in ("ab2", "ab3", "rk3", "rk4", "leapfrog", "gfb"):
        method, angles = method_of(stepper, time.ab2_epsilon, time.robert_asselin), np.linspace(np.pi / 2, np.pi, 100)
        limits = [stability_limit(Mode(0.0, complex(np.exp(1j * angle))), method) for angle in angles]
        assert max(limits * np.sin(angles)) < MAX_CELLS_PER_STEP


@pytest.mark.fault("the time step becomes too long")
def test_warning_about_too_long_time_step_is_logged_once(caplog):
    model = simulation(run__dtype="float64", run__executor="reference")
    health = Health(model)
    health.check()
    assert not caplog.records
    set_value(model, "h", 1900.0, 5, 5)
    health.check()
    health.check()
    (record,) = caplog.records
    match = re.search(r"step of (\S+) s .* stable one, (\S+) s .* CFL (\S+); .*time.dt = (\S+) s", record.message)
    dt, largest, cfl, stable = map(float, match.groups())
    assert stable < largest < dt
    assert cfl > 0.5


@pytest.mark.fault("a storm, tide, inflow or tsunami is mistaken for a blow-up, or hides one")
def test_blow_up_check_distinguishes_a_storm_from_a_blow_up():
    """A wind of 60 m/s and a deficit of 80 hPa are no blow-up; with a time step that is too long the run blows up."""
    storm = {"grid__ny": 20, "grid__dx": 4e4, "grid__dy": 4e4, "case__wind": 60.0, "case__deficit": 8000.0}
    storm |= {"run__executor": "reference", "case__landfall": 3600.0}
    for changes, expectation in (({}, contextlib.nullcontext()), ({"time__dt": 400.0}, pytest.raises(NumericalError))):
        model = simulation("hurricane", **storm | changes)
        health = model.health()
        with expectation:
            for _ in range(12):
                model.take_steps(10)
                health.check()


#: A sea of uniform depth, periodic in x, with slow waves and a current; the transport of a tracer limits dt to 476 s.
TRACER_OPTIONS = {
    **{"case.ridge": 0.0, "case.island": 0.0, "grid.periodic_x": True, "grid.nx": 24, "grid.ny": 8, "physics.f0": 0.0},
    **{"physics.depth": 100.0, "physics.gravity": 0.09, "physics.tracers": [{"name": "tracer"}]},
    **{"time.stepper": "leapfrog", "run.check_every_steps": 20, "output.every_steps": 10**6},
}
TRACER_FIELDS = {"tracer": lambda at: np.exp(-((at.i - 10.0) ** 2) / 8) + 0 * at.y, "u": 1.0}


def tracer_run(dt, steps, executor="reference", terms=()):
    options = TRACER_OPTIONS | {"time.dt": dt, "run.steps": steps, "run.executor": executor}
    config = swmodel.load("rest", options, environ={}, fields=TRACER_FIELDS, terms=terms)
    return swmodel.Simulation(resolve_without_checks(config))


@pytest.mark.fault("a tracer leaves its bounds without a message")
def test_tracer_that_leaves_its_bounds_stops_run(tmp_path):
    model = tracer_run(700.0, 1500)
    pattern = r"by step (\d+) .*: tracer is (\S+) at row (\d+), column (\d+); "
    match = re.search(pattern, message_of_blow_up(model.run, tmp_path))
    value = model.field("tracer")[int(match[3]), int(match[4])]
    assert model.step == int(match[1])
    assert value == pytest.approx(float(match[2]), rel=1e-5)
    assert abs(value) > 10
    assert (tmp_path / BLOWUP).exists()


@pytest.mark.fault("a tracer with a user's source is mistaken for a blow-up")
@pytest.mark.fault("a change by a function during a run is mistaken for a blow-up")
def test_source_of_tracer_or_change_by_function_is_no_blow_up(tmp_path):
    tracer_run(400.0, 300).run(tmp_path / "stable")

    def source(state, grid, t):
        return {"tracer_content": 1.0 + 0 * state.h}

    model = tracer_run(400.0, 60, "xla", terms=[source])
    model.run(tmp_path / "source")
    assert model.field("tracer").max() > 100
    model = tracer_run(100.0, 60)
    model.every("30 steps", lambda model: model.set(tracer=50.0))
    model.run(tmp_path / "changed")
    assert model.step == 60


@pytest.mark.fault("drying water is reported as a time step that is too long")
def test_drying_is_distinguished_from_blow_up(tmp_path):
    """Low water 1 m below mean dries a shoal 0.6 m deep; with a long step the run blows up, with another message."""
    options = {
        **{"case.ridge": 0.0, "case.island": 0.0, "case.level": 0.0, "physics.f0": 0.0, "run.executor": "reference"},
        **{"grid.nx": 12, "grid.ny": 4, "grid.dx": 4e3, "grid.dy": 4e3, "time.stepper": "rk3", "run.days": 1.0},
        **{f"open_boundaries.{key}": (value,) for key, value in [("sides", "west"), ("constituents", "M2")]},
        "open_boundaries.amplitude": (1.0,),
        **{"physics.quadratic_drag": 2.5e-3, "run.check_every_steps": 20, "output.every_steps": 10**6},
    }
    fields = {"depth": lambda at: np.maximum(20 * (1 - at.i / 11), 0.6) + 0 * at.y}

    def message_with_dt(dt):
        config = swmodel.load("rest", options | {"time.dt": dt}, environ={}, fields=fields)
        return message_of_blow_up(swmodel.Simulation(resolve_without_checks(config)).run, tmp_path / str(dt))

    drying, blow_up = message_with_dt(40.0), message_with_dt(400.0)
    match = re.search(r"fell dry by step \d+ .*: h is (-\S+) m at row \d+, column (\d+)", drying)
    assert -0.1 < float(match[1]) <= 0
    assert int(match[2]) > 8
    assert "--min-depth" in drying
    assert "time.dt" not in drying
    assert "blew up" in blow_up
    assert "time.dt" in blow_up


def test_largest_time_step_during_run_is_that_before_start():
    """So are the rates that limit it, those of waves, drag, friction and the transport of a tracer."""
    terms = {"physics__viscosity": 50.0, "physics__quadratic_drag": 1e-2, "physics__tracers": ({"name": "tracer"},)}
    model = simulation(run__executor="reference", time__dt=1.0, **terms)
    health, extremes = Health(model), survey(model.setup)
    for name in RATES:
        assert getattr(health.last_measures, name) == pytest.approx(extremes.max_abs(name), rel=1e-4), name
        assert extremes.max_abs(name) > 0
    dt, process = max_stable_dt(model.config, extremes)
    assert health.largest_dt(health.last_measures) == (pytest.approx(dt, rel=1e-4), process)


@pytest.mark.fault("a current that becomes too fast for the tracer")
def test_warning_about_current_too_fast_for_tracer_is_logged(caplog):
    """With small gravity, waves are slow, so that the tracer's transport limits the time step if there is a current."""
    options = {"physics__tracers": ({"name": "tracer"},), "physics__gravity": 1e-4, "run__executor": "reference"}
    model = simulation("rest", run__dtype="float64", time__stepper="ab3", time__dt=500.0, **options)
    health = Health(model)
    health.check_time_step()
    assert not caplog.records
    set_value(model, "u", 100.0, 7, 3)
    health.last_measures = health.measure_domain()
    health.check_time_step()
    _, process = health.largest_dt(health.last_measures)
    assert "transport" in process
    assert process in caplog.text
