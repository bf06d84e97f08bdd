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
    [("5 steps", [5, 10, 15, 20]), ("1 min", [6, 12, 18]), (35.0, [4, 7, 11, 14, 18]), (np.float32(100), [10, 20])],
)
def test_functions_are_called_at_multiples_of_interval(tmp_path, interval, steps):
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
def test_every_refuses_unusable_intervals_and_functions():
    model = simulation()
    for interval, words in (
        (9.9, "9.9 s"),
        ("0 steps", "0 steps"),
        ("six", "six"),
        (float("nan"), "nan"),
        (-1, "-1 s"),
    ):
        with pytest.raises(UsageError, match=rf"every\(.*{words}"):
            model.every(interval, print)
    with pytest.raises(UsageError, match=r"every\(.*'print'"):
        model.every("6 h", "print")
    model.advance(3)  # calls nothing


REFUSED = [
    ({"steps": 3, "days": 1}, "steps, days and until"),
    ({"until": 39.0}, "39.0"),
    ({"until": "soon"}, "soon"),
    ({"days": -1}, "-1"),
    ({"days": float("nan")}, "nan"),
    ({"days": 1e9}, "2147483642"),
    ({"steps": 2.5}, "2.5"),
    ({"steps": True}, "True"),
    ({"steps": 2**31}, "2147483642"),
]


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
def test_advance_takes_steps_and_times_or_changes_nothing():
    for asked, step in (({"days": 100 / 86400}, 15), ({"until": "2 min"}, 12), ({"until": 50}, 5)):
        model = simulation()
        model.advance(5)
        model.advance(**asked)
        assert model.step == step
    for asked, words in REFUSED:
        with pytest.raises(UsageError, match=f"^advance.*{words}"):
            model.advance(**asked)
        assert model.step == int(model.carry.step) == 5


def failing(model):
    if model.step == 10:
        raise ZeroDivisionError("nothing to divide by")


WHERE = r"test_calls.py:\d+: failing, called every 5 steps: ZeroDivisionError: nothing to divide by"


@pytest.mark.fault("a function of `every` raises, on one process or on all")
def test_function_that_fails_stops_run_which_can_be_resumed(tmp_path):
    model, called = simulation(restart__every_steps=7), []
    model.every("5 steps", failing)
    model.every("5 steps", lambda model: called.append(model.step))
    with pytest.raises(Stopped, match=rf"{WHERE}.* at step 10 ") as caught:
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


def test_function_that_ends_python_or_takes_steps_stops_run(tmp_path):
    ends = (
        (lambda model: sys.exit("enough"), "SystemExit: enough"),
        (lambda model: model.advance(2), "from step 5 to 7"),
    )
    for number, (function, words) in enumerate(ends):
        model = simulation()
        model.every("5 steps", function)
        with pytest.raises(Stopped, match=words):
            model.run(tmp_path / str(number))


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
def test_run_does_not_go_on_without_its_functions(halfway, tmp_path):
    """Commands have no functions; a script has to give them again, even if it has saved the model in between."""
    for line in ["resume", halfway, "--steps", 20], ["run", halfway / "config.toml", "-o", tmp_path / "again"]:
        done = CliRunner().invoke(main, [str(word) for word in line])
        assert (done.exit_code, done.output.count("nudge every 60.0 s")) == (2, 1), done.output
    longer, newest = {"run.steps": 20}, halfway / "restart" / "step-0000000010.nc"
    model, other = (swmodel.Simulation.resume(halfway, longer) for _ in range(2))
    model.write_restart(tmp_path / "saved.nc")
    saved = swmodel.Simulation.resume(tmp_path / "saved.nc", longer)
    other.every("2 min", nudge)
    anew = swmodel.Simulation("jet", SMALL, restart=newest)  # whose configuration knows of no function
    for each, way, given in (
        (model, "run", halfway),
        (saved, "advance", 1),
        (other, "advance", 1),
        (anew, "run", halfway),
    ):
        with pytest.raises(UsageError, match=r"nudge every 60.0 s"):
            getattr(each, way)(given)
    assert read_status(halfway)["steps"] == 10


@pytest.mark.fault("functions of `every` are lost when a run continues")
def test_run_goes_on_with_functions_given_again_or_dropped(halfway, tmp_path):
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
