"""Functions that are called while a model runs: when they were asked for, once, and a failure stops it resumably."""

import shutil
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from support.restarts import assert_same_run

import swmodel
from swmodel.cli import main
from swmodel.errors import Stopped, UsageError, exit_code
from swmodel.files.status import read_status

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "run.steps": 20, "time.dt": 10.0}


def simulation(**options):
    options = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation("jet", options)


def steps_called(model, interval):
    found = []
    model.every(interval, lambda model: found.append(model.step))
    return found


@pytest.mark.fault("a function of `every` is called twice where `run` follows `advance`")
@pytest.mark.parametrize(
    ("interval", "steps"),
    [
        ("5 steps", [5, 10, 15, 20]),
        (50, [5, 10, 15, 20]),
        ("1 min", [6, 12, 18]),
        (35.0, [4, 7, 11, 14, 18]),
        (np.float32(100), [10, 20]),
        ("1 day", []),
    ],
)
def test_functions_are_called_at_multiples_of_their_interval_however_the_model_gets_there(tmp_path, interval, steps):
    models = at_once, in_parts, run, advanced = [simulation() for _ in range(4)]
    found = [steps_called(model, interval) for model in models]
    at_once.advance(20)
    for part in (1, 6, 0, 3, 10):
        in_parts.advance(part)
    run.run(tmp_path / "run")
    advanced.advance(6 if interval == "1 min" else 10)  # where most are due
    advanced.run(tmp_path / "advanced")
    assert found == [steps] * 4


@pytest.mark.fault("an interval of `every` below a step, or an object that is no function")
@pytest.mark.parametrize(
    ("interval", "function", "message"),
    [
        (9.9, print, r"every\(9.9, ...\): 9.9 s is shorter than a time step, 10 s"),
        ("0 steps", print, r'every\(.0 steps., ...\): needs a whole number of steps, at least 1, as "10 steps"'),
        ("six hours", print, r'is no length of time; write "6 h", a number of seconds or "10 steps"'),
        (float("nan"), print, "is no length of time"),
        (-1, print, "-1 s is shorter than a time step"),
        ("6 h", "print", r"every\(.6 h., ...\): 'print' .*function of the model"),
    ],
)
def test_what_is_no_interval_or_no_function_is_refused_and_nothing_is_called(interval, function, message):
    model = simulation()
    with pytest.raises(UsageError, match=message):
        model.every(interval, function)
    model.advance(3)


@pytest.mark.parametrize(
    ("asked", "step"),
    [
        ({"days": 100 / 86400}, 15),
        ({"until": 120.0}, 12),
        ({"until": "2 min"}, 12),
        ({"until": 50}, 5),
    ],
)
def test_time_may_be_asked_for(asked, step):
    model = simulation()
    model.advance(5)
    model.advance(**asked)
    assert model.step == step


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"steps": 3, "days": 1}, "advance: give one of steps, days and until"),
        ({"until": 39.0}, r"advance\(until=39.0\): the model is already at 50 s"),
        ({"until": "soon"}, r"advance\(until='soon'\): is no length of time"),
        ({"days": -1}, r"advance\(days=-1\): the model is already at 50 s"),
        ({"days": float("nan")}, r"advance\(days=nan\): is no length of time"),
        ({"days": 1e9}, r"needs a whole number of steps, at most 2147483642 from here"),
    ],
)
def test_what_is_no_time_is_refused_and_changes_nothing(asked, message):
    model = simulation()
    model.advance(5)
    with pytest.raises(UsageError, match=message):
        model.advance(**asked)
    assert model.step == 5


def failing(model):
    if model.step == 10:
        raise ZeroDivisionError("nothing to divide by")


WHERE = r"test_calls.py:\d+: failing, called every 5 steps: ZeroDivisionError: nothing to divide by, in: raise ZeroD"


@pytest.mark.fault("a function of `every` raises, on one process or on all")
def test_a_function_that_fails_stops_the_run_which_goes_on_to_the_bits_of_one_undisturbed(tmp_path):
    model, called = simulation(restart__every_steps=7), []
    model.every("5 steps", failing)
    model.every("5 steps", lambda model: called.append(model.step))
    with pytest.raises(
        Stopped, match=rf"^stopped by .*{WHERE}.* at step 10 .*; continue with Simulation.resume"
    ) as caught:
        model.run(tmp_path / "run")
    assert exit_code(caught.value) == 75
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert called == [5]
    status = read_status(tmp_path / "run")
    assert (status["state"], status["steps"]) == ("stopped", 10)
    again = swmodel.Simulation.resume(tmp_path / "run")
    again.every("5 steps", failing)
    again.every("5 steps", lambda model: called.append(model.step))
    again.run(tmp_path / "run")
    assert called == [5, 15, 20]
    simulation(restart__every_steps=7).run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 20)


def test_a_function_that_ends_python_stops_the_run_on_all_processes(tmp_path):
    model = simulation()
    model.every("5 steps", lambda model: sys.exit("enough"))
    with pytest.raises(Stopped, match="SystemExit: enough"):
        model.run(tmp_path / "run")


def nudge(model):
    model.set(eta=lambda at: 0.01 * at.i + 0.0 * at.y)


@pytest.fixture(scope="module")
def halfway(tmp_path_factory):
    """The folder of a run of ten steps with a function, from whose end it may go on."""
    folder = tmp_path_factory.mktemp("run") / "run"
    model = simulation(run__steps=10)
    model.every("1 min", nudge)
    model.run(folder)
    return folder


@pytest.mark.fault("functions of `every` are lost when a run continues")
def test_functions_that_a_run_called_are_not_lost_where_it_is_gone_on_with_or_repeated(halfway, tmp_path):
    """Commands have no functions; a script has to give them again, even if it has saved the model in between."""
    words = [["resume", halfway, "--steps", 20], ["run", halfway / "config.toml", "-o", tmp_path / "again"]]
    for line in words:
        done = CliRunner().invoke(main, [str(word) for word in line])
        assert (done.exit_code, done.output.count("nudge every 60.0 s")) == (2, 1), done.output
    longer = {"run.steps": 20}
    model = swmodel.Simulation.resume(halfway, longer)
    model.write_restart(tmp_path / "saved.nc")
    saved = swmodel.Simulation.resume(tmp_path / "saved.nc", longer)
    other = swmodel.Simulation.resume(halfway, longer)
    other.every("2 min", nudge)
    newest = halfway / "restart" / "step-0000000010.nc"
    anew = swmodel.Simulation("jet", SMALL, restart=newest)  # whose configuration knows of no function
    for lost in (
        lambda: model.run(halfway),
        lambda: saved.advance(1),
        lambda: other.advance(1),
        lambda: anew.run(halfway),
    ):
        with pytest.raises(UsageError, match=r"nudge every 60.0 s; .*model\.every") as caught:
            lost()
        assert exit_code(caught.value) == 2
    assert read_status(halfway)["steps"] == 10


@pytest.mark.fault("functions of `every` are lost when a run continues")
def test_a_run_goes_on_with_functions_given_again_or_expressly_without(halfway, tmp_path):
    shutil.copytree(halfway, tmp_path / "run")
    whole = simulation()
    whole.every("1 min", nudge)
    whole.advance(20)
    again = swmodel.Simulation.resume(tmp_path / "run", {"run.steps": 20})
    again.every(60, nudge)
    again.run(tmp_path / "run")
    assert np.array_equal(again.state.h, whole.state.h)
    for steps, more in ((21, []), (21, ["-s", "python.calls=[]"]), (22, [])):
        done = CliRunner().invoke(main, ["resume", str(tmp_path / "run"), "--steps", str(steps), *more])
        assert done.exit_code == (2 if steps == 21 and not more else 0), done.output


def test_a_function_may_not_take_steps_by_itself():
    model = simulation()
    model.every("5 steps", lambda model: model.advance(2))
    with pytest.raises(Stopped, match="UsageError: it took the model from step 5 to 7"):
        model.advance(20)
