"""A restart is invisible: in the state, in the files of the run, on the command line."""

import signal
import time

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from support.restarts import assert_same_data, assert_same_run, config, data, resumed, simulation
from support.unchecked import unchecked

import swmodel
from swmodel.cli import main
from swmodel.config import from_toml, to_toml
from swmodel.errors import NumericalError, Stopped, UsageError
from swmodel.files.restart import folder, restarts, write
from swmodel.files.status import read_status
from swmodel.parallel import environment

pytestmark = pytest.mark.slow


def cli(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def names_in(directory):
    return sorted(path.name for path in (directory / "restart").iterdir())


def steps_in(directory):
    """The steps of the restart files of a run, the newest first."""
    return [folder.step_of(path) for path in folder.candidates(directory)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run of 11 steps."""
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    simulation().run(directory)
    return directory


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize(
    ("executor", "stepper", "dtype", "memory"),
    [
        ("native", "ab3", "float32", 2),
        ("xla", "leapfrog", "float64", 1),
        *(("reference", stepper, "float64", n) for stepper, n in (("ab2", 1), ("rk3", 0), ("rk4", 0), ("gfb", 2))),
    ],
)
def test_restart_has_same_bits(tmp_path, executor, stepper, dtype, memory):
    """Of the state and what the stepper remembers; tests/executors tries other options, with each executor."""
    options = {"time__stepper": stepper, "run__dtype": dtype, "run__executor": executor, "time__dt": 10.0}
    whole = simulation(**options)
    whole.advance(5)
    whole.write_restart(tmp_path / "five.nc")
    whole.advance(4)
    rest = simulation(tmp_path / "five.nc", **options)
    assert (rest.step, rest.time) == (5, 50.0)
    rest.advance(4)
    ours, theirs = ([np.asarray(each) for each in jax.tree.leaves(run.carry)] for run in (rest, whole))
    assert len(ours) == len(theirs) == 3 + 3 * memory + 1
    assert [(each.dtype, each.tobytes()) for each in ours] == [(each.dtype, each.tobytes()) for each in theirs]


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize(("stops", "format"), [((7, 8, 10), "netcdf"), ((0,), "netcdf"), ((4, 6), "zarr")])
def test_run_in_pieces_has_the_files_of_an_undisturbed_one(undisturbed, tmp_path, stops, format):
    """Pieces end at a record or between two; the format of restart files may change, and their values stay."""
    pieces, whole, options = tmp_path / "pieces", undisturbed, {"output__format": format}
    simulation(run__steps=stops[0], **options).run(pieces)
    for steps in (*stops[1:], 11):
        resumed(pieces, steps, restart__format=format, **options)
    if format == "zarr":
        simulation(restart__format=format, **options).run(whole := tmp_path / "whole")
        assert_same_data(folder.path_of(whole, 11, format), folder.path_of(undisturbed, 11))
    assert_same_run(pieces, whole)


@pytest.mark.fault("a wall-clock limit shorter than a step, in a chain of jobs")
def test_chain_of_jobs_with_too_short_a_limit_completes(undisturbed, tmp_path, monkeypatch):
    """Each job makes two chunks of steps, and warns; the files are those of one run."""
    monkeypatch.setenv(environment.STARTED, str(time.time() - 60))
    path, limit = tmp_path / "run", {"run__check_every_steps": 2, "run__walltime": 1.0}
    (tmp_path / "config.toml").write_text(to_toml(config(**limit)))
    done, steps = cli("run", tmp_path / "config.toml", "--output", path), []
    while done.exit_code == 75:
        steps.append(read_status(path)["steps"])
        assert "WARNING: the wall-clock limit of 1 s is too short" in done.stderr
        done = cli("resume", path)
    assert done.exit_code == 0, done.output
    assert steps == [3, 6, 8]  # pieces end at records, too
    assert_same_run(path, undisturbed)


def test_stopped_run_leaves_a_restart_and_goes_on(undisturbed, tmp_path, monkeypatch):
    directory, stopping = tmp_path / "run", simulation()
    monkeypatch.setattr("swmodel.model.run.CHUNK_SECONDS", 1e-9)

    def progress(event):
        if event["step"] == 6:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped, match=f"SIGTERM at step 6 .*`swmodel resume {directory}`$") as stopped:
        stopping.run(directory, progress)
    status = read_status(directory)
    assert (status["state"], status["exit_code"], status["steps"]) == ("stopped", 75, 6)
    assert status["message"] == str(stopped.value)
    assert names_in(directory) == ["step-0000000006.nc"]
    assert data(directory / "output.nc")["step"].tolist() == [0, 4]
    assert_same_run(resumed(directory), undisturbed)
    assert read_status(directory)["state"] == "completed"


def test_resume_with_other_intervals_keeps_records_and_means(undisturbed, run_folder):
    resumed(run_folder, 11, output__every_steps=2, output__diagnostics_every_steps=None)
    ours, theirs = (data(path / "output.nc") for path in (run_folder, undisturbed))
    assert ours["step"].tolist() == [0, 4, 8, 10, 11]
    for name in ("time_bounds", "eta_mean"):
        np.testing.assert_array_equal(ours[name][2], theirs[name][2])


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
def test_restart_files_are_written_at_their_intervals(tmp_path, monkeypatch, options, steps):
    written = []

    def note(path, *rest):
        written.append(folder.step_of(path))
        write.write(path, *rest)

    monkeypatch.setattr(restarts, "write", note)
    simulation(**options).run(tmp_path / "run")
    assert written == steps
    assert steps_in(tmp_path / "run") == steps[:-3:-1]
    assert len(names_in(tmp_path / "run")) == len(steps[:-3:-1])


@pytest.mark.promise("damage to restart files, records and static fields is found")
def test_state_that_has_blown_up_is_not_written(tmp_path):
    unstable = swmodel.Simulation(unchecked(config(time__dt=400.0, run__steps=400, restart__every_steps=1)))
    with pytest.raises(NumericalError):
        unstable.run(tmp_path)
    newest = folder.candidates(tmp_path)[0]
    assert 0 < folder.step_of(newest) == unstable.step - 1
    assert "problem" not in folder.facts(newest)
    assert all(np.isfinite(data(newest)[name]).all() for name in "huv")


def test_going_on_from_an_older_file_sets_newer_ones_aside(run_folder, tmp_path):
    newest = swmodel.Simulation.from_restart(run_folder)
    assert newest.config == from_toml((run_folder / "config.toml").read_text())
    older, seen = simulation(folder.path_of(run_folder, 5), run__steps=9, restart__every_wall=None), []
    older.run(run_folder, lambda event: seen.append(names_in(run_folder)))
    assert seen[0] == ["step-0000000005.nc", "step-0000000007.nc.unused"]
    assert steps_in(run_folder) == [9, 5]
    assert len(names_in(run_folder)) == 2
    newest.advance(2)
    assert older.state.h.tobytes() == newest.state.h.tobytes()
    with pytest.raises(UsageError, match="step 9 is beyond the 7 steps"):
        newest.run(tmp_path / "new")


@pytest.mark.fault("`resume` of a run that is complete")
def test_complete_run_is_left_alone(run_folder):
    def contents():
        return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in run_folder.rglob("*.*") if p.is_file()}

    before = contents()
    for options in ([], ["--steps", 7], ["--steps", 3]):
        done = cli("resume", run_folder, *options)
        assert (done.exit_code, len(done.output.splitlines())) == (0, 1), done.output
        assert "step 7 " in done.output
    assert contents() == before


@pytest.mark.promise("nothing is overwritten by accident, also from Python")
def test_resume_names_what_it_refuses(run_folder, tmp_path):
    for line, code, words in (
        ([run_folder, "--steps", 9, "-s", "grid.dx=4000"], 2, "Error: grid.dx: 5000.0 before, 4000.0 now\n"),
        ([tmp_path / "nothing"], 5, f"{tmp_path}/nothing is not the folder of a run"),
        ([run_folder, "--steps", 9, "--from", "step-3.nc"], 5, "step-3.nc"),
        ([run_folder, "--walltime", "soon"], 2, "Error: --walltime soon: "),
    ):
        done = cli("resume", *line)
        assert (done.exit_code, words in done.output) == (code, True), done.output
