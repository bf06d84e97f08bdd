"""The class Simulation: functions called during a run, setting the state, Datasets and run folders."""

import os
import shutil
import sys

import numpy as np
import pytest
import xarray as xr
from support.command import invoke_swmodel
from support.restarts import assert_same_run
from support.restarts import simulation as short_simulation
from support.stepping import has_same_bits

import swmodel
from swmodel.config import ConfigError
from swmodel.errors import FilesError, SetupError, Stopped, UsageError, exit_code
from swmodel.files import lock
from swmodel.files.restart import folder as restarts
from swmodel.files.status import read_status
from swmodel.ocean.coordinates import points
from swmodel.ocean.evaluation import derived_names
from swmodel.parallel.transport import connect

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "run.steps": 20, "time.dt": 10.0}


def simulation(fields=None, **options):
    options = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation("jet", options, fields=fields)


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
def test_assignments_without_effect_and_unknown_names_are_refused(tmp_path):
    model = simulation()
    for name in ("config", "dt", "step", "viscosity"):
        with pytest.raises(UsageError, match=name):
            setattr(model, name, 3)
    with pytest.raises(ValueError, match="read-only"):
        model.state.h[0, 0] = 77.0
    for carry in (None, model.state, model.carry._replace(memory=()), simulation(grid__nx=16).carry):
        with pytest.raises(UsageError, match="shapes"):
            model.carry = carry
    for get_fields in (model.field, model.fields, model.means, lambda name: model.fields(["eta", name])):
        with pytest.raises(UsageError, match=f"nope; .* {', '.join(derived_names(model.scheme))}$"):
            get_fields("nope")
    with pytest.raises(UsageError, match="Config"):
        swmodel.Simulation({"grid.nx": 3})


@pytest.mark.fault("a configuration for several processes in a single Python process")
def test_layout_for_more_processes_raises_an_error():
    with pytest.raises(SetupError, match="4 processes, .* mpiexec -n 4"):
        connect("mpi", (4, 1), 12, 12)


def register_function(model, interval):
    """Register a function that notes the steps at which it is called; returns the list of these steps."""
    steps = []
    model.every(interval, lambda model: steps.append(model.step))
    return steps


@pytest.mark.fault("a function of `every` is called twice where `run` follows `advance`")
@pytest.mark.parametrize(
    ("interval", "steps"),
    [("5 steps", [5, 10, 15, 20]), ("1 min", [6, 12, 18]), (35.0, [4, 7, 11, 14, 18]), (np.float32(100), [10, 20])],
)
def test_functions_are_called_at_multiples_of_interval(tmp_path, interval, steps):
    models = one_call, several_calls, run, run_after_call = [simulation() for _ in range(4)]
    steps_of_calls = [register_function(model, interval) for model in models]
    one_call.advance(20)
    for n_steps in (1, 6, 0, 3, 10):
        several_calls.advance(n_steps)
    run.run(tmp_path / "run")
    run_after_call.advance(6 if interval == "1 min" else 10)  # except for 35.0, the function is called at this step
    run_after_call.run(tmp_path / "run_after_call")
    assert steps_of_calls == [steps] * 4


@pytest.mark.fault("an interval of `every` below a step, or an object that is no function")
def test_every_refuses_unusable_intervals_and_functions():
    model = simulation()
    unusable = {"9.9 s": 9.9, "0 steps": "0 steps", "six": "six", "nan": float("nan"), "-1 s": -1}
    for words, interval in unusable.items():
        with pytest.raises(UsageError, match=rf"every\(.*{words}"):
            model.every(interval, print)
    with pytest.raises(UsageError, match=r"every\(.*'print'"):
        model.every("6 h", "print")
    model.advance(3)  # calls no function


#: Arguments that `advance` refuses: an unusable value, too many arguments, or too many steps.
REFUSED_ARGUMENTS = [{"until": 39.0}, {"until": "soon"}, {"days": -1}, {"days": float("nan")}, {"steps": 2.5}]
REFUSED_ARGUMENTS += [{"steps": True}, {"steps": 3, "days": 1}, {"days": 1e9}, {"steps": 2**31}]


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
def test_advance_takes_steps_and_times_or_changes_nothing():
    for arguments, step in (({"days": 100 / 86400}, 15), ({"until": "2 min"}, 12), ({"until": 50}, 5)):
        model = simulation()
        model.advance(5)
        model.advance(**arguments)
        assert model.step == step
    for arguments in REFUSED_ARGUMENTS:
        (value, *others) = arguments.values()
        words = "steps, days and until" if others else "2147483642" if value in (1e9, 2**31) else value
        with pytest.raises(UsageError, match=f"^advance.*{words}"):
            model.advance(**arguments)
        assert model.step == int(model.carry.step) == 5


def failing_function(model):
    if model.step == 10:
        raise ZeroDivisionError("nothing to divide by")


@pytest.mark.fault("a function of `every` raises, on one process or on all")
def test_function_that_fails_stops_run_which_can_be_resumed(tmp_path):
    model, steps = simulation(restart__every_steps=7), []
    model.every("5 steps", failing_function)
    model.every("5 steps", lambda model: steps.append(model.step))
    words = r"test_simulation.py:\d+: failing_function, called every 5 steps: ZeroDivisionError: nothing to divide by"
    with pytest.raises(Stopped, match=rf"{words}.* at step 10 ") as error:
        model.run(tmp_path / "run")
    assert exit_code(error.value) == 75
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert steps == [5]
    status = read_status(tmp_path / "run")
    assert (status["state"], status["steps"]) == ("stopped", 10)
    resumed_model = swmodel.Simulation.resume(tmp_path / "run")
    resumed_model.every("5 steps", failing_function)
    resumed_model.every("5 steps", lambda model: steps.append(model.step))
    resumed_model.run(tmp_path / "run")
    assert steps == [5, 15, 20]
    simulation(restart__every_steps=7).run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 20)


@pytest.mark.parametrize(
    ("function", "words"),
    [(lambda model: sys.exit("enough"), "SystemExit: enough"), (lambda model: model.advance(2), "from step 5 to 7")],
)
def test_function_that_ends_python_or_takes_steps_stops_run(tmp_path, function, words):
    model = simulation()
    model.every("5 steps", function)
    with pytest.raises(Stopped, match=words):
        model.run(tmp_path / "run")


def raise_sea_level(model):
    model.set(eta=lambda at: 0.01 * at.i + 0.0 * at.y)


@pytest.fixture(scope="module")
def run_with_function(tmp_path_factory):
    """The folder of a run of ten steps with a function; the run can be continued."""
    folder = tmp_path_factory.mktemp("run") / "run"
    model = simulation(run__steps=10)
    model.every("1 min", raise_sea_level)
    model.run(folder)
    return folder


@pytest.mark.fault("functions of `every` are lost when a run continues")
def test_run_does_not_continue_without_its_functions(run_with_function, tmp_path):
    """Commands have no functions; a script must add them again, even if it has saved the model in between."""
    folder = run_with_function
    for command in (["resume", folder, "--steps", 20], ["run", folder / "config.toml", "-o", tmp_path / "again"]):
        result = invoke_swmodel(*command)
        assert (result.exit_code, result.output.count("raise_sea_level every 60.0 s")) == (2, 1), result.output
    longer, newest = {"run.steps": 20}, folder / "restart" / "step-0000000010.nc"
    model, changed_model = (swmodel.Simulation.resume(folder, longer) for _ in range(2))
    model.write_restart(tmp_path / "saved.nc")
    saved_model = swmodel.Simulation.resume(tmp_path / "saved.nc", longer)
    changed_model.every("2 min", raise_sea_level)
    new_model = swmodel.Simulation("jet", SMALL, restart=newest)  # its configuration contains no function
    calls = (model.run, folder), (saved_model.advance, 1), (changed_model.advance, 1), (new_model.run, folder)
    for continue_run, argument in calls:
        with pytest.raises(UsageError, match=r"raise_sea_level every 60.0 s"):
            continue_run(argument)
    assert read_status(folder)["steps"] == 10


@pytest.mark.fault("functions of `every` are lost when a run continues")
def test_run_continues_with_functions_registered_again_or_dropped(run_with_function, tmp_path):
    shutil.copytree(run_with_function, tmp_path / "run")
    uninterrupted_model = simulation()
    uninterrupted_model.every("1 min", raise_sea_level)
    uninterrupted_model.advance(20)
    resumed_model = swmodel.Simulation.resume(tmp_path / "run", {"run.steps": 20})
    resumed_model.every(60, raise_sea_level)
    resumed_model.run(tmp_path / "run")
    assert has_same_bits(resumed_model.state, uninterrupted_model.state)
    for steps, extra_options in ((21, []), (21, ["-s", "python.calls=[]"]), (22, [])):
        result = invoke_swmodel("resume", tmp_path / "run", "--steps", steps, *extra_options)
        assert result.exit_code == (2 if steps == 21 and not extra_options else 0), result.output


def gaussian_bump(at):
    return 0.1 * np.exp(-((at.x - 3e4) ** 2) / 1e8) * np.ones(at.y.shape)


def with_tracer(fields=None, **options):
    return simulation(fields, physics__tracers=[{"name": "tracer", "initial": 2.0}], **options)


@pytest.mark.parametrize("stepper", ["leapfrog", "gfb"])
def test_set_before_the_first_step_equals_initial_fields(stepper):
    fields = {"eta": gaussian_bump, "u": np.linspace(0, 1, 9)[:, None], "tracer": 3.0}
    ours, theirs = with_tracer(time__stepper=stepper), with_tracer(fields, time__stepper=stepper)
    ours.set(**fields)
    assert has_same_bits(ours.state, theirs.state)
    for model in (ours, theirs):
        model.advance(4)
    assert has_same_bits(ours.state, theirs.state)


def test_set_keeps_other_fields_and_concentrations():
    model = with_tracer(time__stepper="ab3")
    model.advance(3)
    before = model.state
    model.set(v=0.25)
    assert model.step == 3
    for name in ("h", "u", "tracer_content"):
        np.testing.assert_array_equal(getattr(model.state, name), getattr(before, name))
    np.testing.assert_array_equal(model.state.v[:-1], 0.25)
    np.testing.assert_array_equal(model.state.v[-1], 0.0)  # the northern wall
    concentration = before.tracer_content / before.h
    model.set(eta=gaussian_bump)
    expected = gaussian_bump(points(model.config.grid, "centre", range(9), range(14)))
    np.testing.assert_allclose(model.field("eta"), expected, atol=1e-5)
    np.testing.assert_allclose(model.state.tracer_content / model.state.h, concentration, rtol=1e-6)


def test_set_changes_older_state_of_leapfrog():
    """A uniform rise of sea level in a flat basin at rest must persist; otherwise the sea level would oscillate."""
    model = swmodel.Simulation(swmodel.Case, SMALL | {"time.stepper": "leapfrog"})
    model.advance(3)
    model.set(eta=0.5)
    model.advance(4)
    np.testing.assert_allclose(model.field("eta"), 0.5, atol=1e-5)


@pytest.mark.fault("an unusable state is set")
def test_set_refuses_unusable_fields_and_changes_nothing():
    model = with_tracer()
    before = model.state
    for fields, words in (
        ({"depth": 3.0}, "depth"), ({"etta": 3.0}, "etta: .* eta, u, v, tracer"),
        ({"eta": np.zeros((3, 3))}, r"eta has shape \(3, 3\)"), ({"eta": np.nan}, "eta.*row 0, column 0"),
        ({"eta": -1e3}, "-900 m"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=words):
            model.set(**fields)
        assert has_same_bits(model.state, before)


def with_value(state, name, value, place):
    field = np.array(getattr(state, name))
    field[place] = value
    return state._replace(**{name: field})


@pytest.mark.fault("a state from Python is not finite, or has no water")
def test_unusable_state_is_refused_and_changes_nothing():
    """Messages about unusable values name the cell; on land thickness does not matter."""
    model = swmodel.Simulation("rest", {"grid.nx": 30, "grid.ny": 20, "run.executor": "reference"})
    before, wet = model.state, model.dataset("mask").mask.values > 0
    land, (row, column) = tuple(np.argwhere(~wet)[0]), np.argwhere(wet)[7]
    states = [(None, "needs a State of h, u, v"), (before._replace(u=before.u[1:]), r"u is float64 \(19, 30\)")]
    states += [(before._replace(u=before.u.astype("float32")), "u is float32")]
    for name, value in [("h", np.nan), ("u", np.inf), ("v", -np.inf), ("h", 0.0), ("h", -1.0)]:
        state = with_value(before, name, value, (row, column))
        states.append((state, f"{name} .* is {value} at row {row}, column {column}$"))
    for state, words in states:
        with pytest.raises(UsageError, match=rf"^Simulation.state: .*{words}"):
            model.state = state
        assert has_same_bits(model.state, before)
    model.state = with_value(with_value(before, "h", -1.0, land), "u", 0.5, (row, column))
    assert model.state.u[row, column] == 0.5
    model.advance(1)


def test_dataset_equals_file(tmp_path):
    """They are compared at the end of a run around an island."""
    names = ["h", "u", "v", "eta", "zeta", "speed", "sea_level"]
    options = {"grid.nx": 30, "grid.ny": 20, "run.executor": "reference", "run.steps": 8, "output.fields": names}
    model = swmodel.Simulation("rest", options, fields={"wind_x": 0.1})
    model.run(tmp_path / "rest")
    file = xr.load_dataset(tmp_path / "rest" / "output.nc").isel(time=-1)
    dataset = model.dataset([*names, "depth", "mask", "f", "wind_x"])
    for name, variable in dataset.variables.items():
        stored = file[name]
        assert variable.dims == stored.dims, name
        np.testing.assert_array_equal(variable, stored, err_msg=name)
        for key in stored.attrs.keys() & {"units", "standard_name", "long_name", "axis"}:
            assert variable.attrs[key] == stored.attrs[key], (name, key)
    assert np.isnan(dataset.speed).sum() == (dataset.mask == 0).sum() > 0
    assert dataset.attrs["title"] == file.attrs["title"]
    assert [list(model.dataset(each)) for each in (None, "eta", [])] == [names, ["eta"], []]
    with pytest.raises(UsageError, match="nope.* h, .*, depth, mask, f, wind_x"):
        model.dataset(["eta", "nope"])


def files_of_folder(directory):
    """Every file in a folder and its subfolders, with its bytes and modification time."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def assert_unlocked(directory):
    lock.check_unlocked(directory)
    assert not (directory / lock.FILE_NAME).exists()


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_finished_run_is_kept_unless_forced(run_folder, tmp_path):
    before = files_of_folder(run_folder)
    with pytest.raises(UsageError, match=r"completed.*force=True"):
        short_simulation().run(run_folder)
    swmodel.Simulation.from_restart(run_folder).run(run_folder)  # it is already at its end
    assert files_of_folder(run_folder) == before
    assert_unlocked(run_folder)
    short_simulation(run__steps=2).run(run_folder, force=True)
    assert read_status(run_folder)["steps"] == 2
    assert [restarts.step_of(path) for path in restarts.list_restart_files(run_folder)] == [2]
    model, files = short_simulation(run__steps=1), sorted(tmp_path.iterdir())
    model.advance(2)
    with pytest.raises(UsageError, match="step 2 "):
        model.run(tmp_path / "new")
    with pytest.raises(FilesError, match="config.toml is a file"):
        short_simulation().run(run_folder / "config.toml")
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_folder_in_use_is_refused_until_run_ends(tmp_path):
    directory, messages = tmp_path / "run", []

    def run_in_same_folder(event):
        for force in (False, True):
            with pytest.raises(FilesError, match=f"{directory} is in use .* {os.getpid()} ") as error:
                short_simulation().run(directory, force=force)
            messages.append(str(error.value))

    short_simulation().run(directory, run_in_same_folder)
    assert len(messages) > 2
    short_simulation().run(tmp_path / "alone")
    assert_same_run(directory, tmp_path / "alone")
    assert_unlocked(directory)


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_run_that_ended_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    hold_folder = lock.hold_folder

    def hold_folder_after_other_run(directory):
        short_simulation(run__steps=2).run(directory)
        return hold_folder(directory)

    model, functions = short_simulation(), iter([hold_folder_after_other_run])
    monkeypatch.setattr(lock, "hold_folder", lambda directory: next(functions, hold_folder)(directory))
    with pytest.raises(UsageError, match=r"holds a run \(completed\)"):
        model.run(tmp_path)
    assert read_status(tmp_path)["steps"] == 2
    assert_unlocked(tmp_path)


def test_only_the_run_of_the_restart_file_is_continued(run_folder):
    before, newest = files_of_folder(run_folder), restarts.restart_path(run_folder, 7)
    with pytest.raises(ConfigError, match=r"grid\.dx: 5000\.0 before, 4000\.0 now"):
        short_simulation(newest, grid__dx=4000.0).run(run_folder)
    with pytest.raises(UsageError, match="force=True"):
        short_simulation(newest).run(run_folder, force=True)
    advanced = short_simulation(newest)
    advanced.advance(1)
    with pytest.raises(UsageError, match="holds a run"):
        advanced.run(run_folder)
    stale = short_simulation(newest)
    newest.rename(newest.with_name("gone"))
    with pytest.raises(FilesError, match="no such file"):
        stale.run(run_folder)
    newest.with_name("gone").rename(newest)
    assert files_of_folder(run_folder) == before
    assert_unlocked(run_folder)
