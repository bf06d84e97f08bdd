"""A restart is invisible: in the state, in the files of the run, on the command line."""

import re
import signal
import time

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from support.restarts import assert_same_run, config, data, flip, resumed, simulation
from support.unchecked import unchecked

import swmodel
from swmodel.cli import main
from swmodel.config import from_toml, to_toml
from swmodel.errors import NumericalError, Stopped, UsageError
from swmodel.files.restart import folder, restarts, write
from swmodel.files.status import read_status
from swmodel.parallel import environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run of 11 steps."""
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    simulation().run(directory)
    return directory


#: Every stepper with every executor, and each of these with both precisions.
PAIRS = [
    (stepper, ("float32", "float64")[(first + second) % 2], executor)
    for first, stepper in enumerate(["ab2", "ab3", "rk3", "rk4", "leapfrog", "gfb"])
    for second, executor in enumerate(["native", "xla", "reference"])
]


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize(("stepper", "dtype", "executor"), PAIRS)
def test_a_restart_is_invisible(tmp_path, stepper, dtype, executor):
    options = {"time__stepper": stepper, "run__dtype": dtype, "run__executor": executor, "time__dt": 10.0}
    whole = simulation(**options)
    whole.advance(5)
    whole.write_restart(tmp_path / "five.nc")
    whole.advance(4)
    rest = simulation(tmp_path / "five.nc", **options)
    assert (rest.step, rest.time) == (5, 50.0)
    rest.advance(4)
    ours, theirs = jax.tree.leaves(rest.carry), jax.tree.leaves(whole.carry)
    kept = {"ab2": 1, "ab3": 2, "leapfrog": 1, "gfb": 2}.get(stepper, 0)
    assert len(ours) == len(theirs) == 3 + 3 * kept + 1
    for mine, truth in zip(ours, theirs, strict=True):
        assert np.asarray(mine).dtype == np.asarray(truth).dtype
        assert np.asarray(mine).tobytes() == np.asarray(truth).tobytes()


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize("stops", [(4,), (6,), (7, 8, 10), (0, 11)])
def test_a_run_in_pieces_leaves_the_files_of_an_undisturbed_one(undisturbed, tmp_path, stops):
    simulation(run__steps=stops[0]).run(tmp_path / "run")
    for steps in (*stops[1:], 11):
        resumed(tmp_path / "run", steps)
    assert_same_run(tmp_path / "run", undisturbed)


@pytest.mark.fault("a wall-clock limit shorter than a step, in a chain of jobs")
def test_a_chain_of_jobs_whose_limit_is_too_short_ends_all_the_same(undisturbed, tmp_path, monkeypatch):
    """Each makes two chunks of steps, and says how short it is; the files are those of one run."""
    monkeypatch.setenv(environment.STARTED, str(time.time() - 60))
    path, limit = tmp_path / "run", {"run__check_every_steps": 2, "run__walltime": 1.0}
    (tmp_path / "config.toml").write_text(to_toml(config(**limit)))
    done, steps = cli("run", tmp_path / "config.toml", "--output", path), []
    while done.exit_code == 75:
        steps.append(read_status(path)["steps"])
        assert re.search(r"WARNING: the wall-clock limit of 1 s is too short: give \d+ s at least\n", done.stderr)
        assert "stopped by the wall-clock limit of 1 s at step " in done.stderr
        done = cli("resume", path)
    assert done.exit_code == 0, done.output
    assert steps == [3, 6, 8]  # pieces end at records, too
    assert_same_run(path, undisturbed)


def test_a_run_asked_to_stop_leaves_a_restart_and_the_rest_follows(undisturbed, tmp_path, monkeypatch):
    directory = tmp_path / "run"
    stopping = simulation()
    monkeypatch.setattr("swmodel.model.run.CHUNK_SECONDS", 1e-9)

    def progress(event):
        if event["step"] == 6:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped) as stopped:
        stopping.run(directory, progress)
    words = f"stopped by SIGTERM at step 6 (day 0.001); continue with `swmodel resume {directory}`"
    assert str(stopped.value) == words
    status = read_status(directory)
    assert (status["state"], status["exit_code"], status["message"], status["steps"]) == ("stopped", 75, words, 6)
    assert [path.name for path in folder.candidates(directory)] == ["step-0000000006.nc"]
    assert data(directory / "output.nc")["step"].tolist() == [0, 4]
    assert_same_run(resumed(directory), undisturbed)
    assert read_status(directory)["state"] == "completed"


def test_resuming_with_other_intervals_keeps_old_records_and_means(undisturbed, run_folder):
    resumed(run_folder, 11, output__every_steps=2, output__diagnostics_every_steps=None)
    assert data(run_folder / "output.nc")["step"].tolist() == [0, 4, 8, 10, 11]
    assert (
        data(run_folder / "output.nc")["time_bounds"][2].tolist()
        == data(undisturbed / "output.nc")["time_bounds"][2].tolist()
    )
    np.testing.assert_array_equal(
        data(run_folder / "output.nc")["eta_mean"][2], data(undisturbed / "output.nc")["eta_mean"][2]
    )


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, [11]),
        ({"restart__every_steps": 3}, [3, 6, 9, 11]),
        ({"restart__every": "1 min", "time__dt": 20.0}, [3, 6, 9, 11]),
        ({"restart__every_wall": 1e-9, "run__check_every_steps": 1}, list(range(1, 12))),
        ({"restart__every_wall": None, "restart__every_steps": 11}, [11]),
    ],
)
def test_when_restart_files_are_written(tmp_path, monkeypatch, options, steps):
    written = []

    def note(path, *rest):
        written.append(folder.step_of(path))
        write.write(path, *rest)

    monkeypatch.setattr(restarts, "write", note)
    simulation(**options).run(tmp_path / "run")
    assert written == steps
    kept = [folder.step_of(path) for path in folder.candidates(tmp_path / "run")]
    assert kept == steps[:-3:-1]
    assert sorted(path.name for path in (tmp_path / "run" / "restart").iterdir()) == sorted(
        f"step-{step:010d}.nc" for step in kept
    )


@pytest.mark.promise("damage to restart files, records and static fields is found")
def test_a_blown_up_state_is_never_written(tmp_path):
    unstable = swmodel.Simulation(unchecked(config(time__dt=400.0, run__steps=400, restart__every_steps=1)))
    with pytest.raises(NumericalError):
        unstable.run(tmp_path)
    newest = folder.candidates(tmp_path)[0]
    assert 0 < folder.step_of(newest) == unstable.step - 1
    assert "problem" not in folder.facts(newest)
    assert all(np.isfinite(data(newest)[name]).all() for name in "huv")


def test_going_on_from_an_older_file_sets_newer_ones_aside(run_folder):
    older = simulation(folder.path_of(run_folder, 5), run__steps=9, restart__every_wall=None)
    seen = []
    older.run(run_folder, lambda event: seen.append(sorted(p.name for p in (run_folder / "restart").iterdir())))
    assert seen[0] == ["step-0000000005.nc", "step-0000000007.nc.unused"]
    assert [folder.step_of(path) for path in folder.candidates(run_folder)] == [9, 5]
    assert len(list((run_folder / "restart").iterdir())) == 2


def test_python_users_go_on_from_a_folder_or_a_file(halfway, tmp_path):
    newest = swmodel.Simulation.from_restart(halfway)
    older = swmodel.Simulation.from_restart(folder.path_of(halfway, 5))
    assert (newest.step, older.step) == (7, 5)
    assert newest.config == from_toml((halfway / "config.toml").read_text())
    older.advance(2)
    assert older.state.h.tobytes() == newest.state.h.tobytes()
    newest.advance(1)
    with pytest.raises(UsageError, match="step 8 is beyond the 7 steps of the run"):
        newest.run(tmp_path / "new")


def cli(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.fault("`resume` of a run that is complete")
def test_a_run_that_has_arrived_is_left_alone(run_folder):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run_folder.rglob("*.*") if path.is_file()}
    for options in ([], ["--steps", 7], ["--steps", 3]):
        done = cli("resume", run_folder, *options)
        assert done.exit_code == 0
        assert done.output == (
            f"{run_folder}: step 7 (day 0.001458) is reached already; --days or --steps prolongs the run\n"
        )
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run_folder.rglob("*.*") if path.is_file()}
    assert before == after


@pytest.mark.promise("nothing is overwritten by accident, also from Python")
def test_what_cannot_be_resumed_is_refused(run_folder, tmp_path):
    other = cli("resume", run_folder, "--steps", 9, "-s", "grid.dx=4000")
    assert other.exit_code == 2
    assert other.output.splitlines()[1] == "Error: grid.dx: 5000.0 before, 4000.0 now"
    nothing = cli("resume", tmp_path / "nothing")
    assert nothing.exit_code == 5
    assert nothing.output == f"Error: {tmp_path}/nothing is not the folder of a run: it holds no config.toml\n"
    missing = cli("resume", run_folder, "--steps", 9, "--from", "step-3.nc")
    assert missing.exit_code == 5
    assert "restart files in" in missing.output
    limit = cli("resume", run_folder, "--walltime", "soon")
    assert limit.exit_code == 2
    assert limit.output.startswith('Error: --walltime soon: "soon" is not a length of time')


@pytest.mark.promise("damage to restart files, records and static fields is found")
def test_info_shows_restart_files_and_verifies_them(run_folder):
    flip(folder.path_of(run_folder, 7), "h")
    lines = cli("info", run_folder).output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("restarts"))
    words = " ".join(" ".join(lines[start : start + 4]).split())
    assert "step-0000000007.nc: step 7, day 0.001458, written 2" in words
    assert "MB, damaged: variable h step-0000000005.nc: step 5, day 0.001042" in words
    assert "MB, intact" in words
