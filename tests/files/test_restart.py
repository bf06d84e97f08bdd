"""A restart changes nothing: neither the state of a run nor its files."""

import signal

import jax
import numpy as np
import pytest
from support.command import invoke_swmodel
from support.restarts import assert_same_data, assert_same_run, read_variables, resume_run, simulation

import swmodel
from swmodel.config import from_toml
from swmodel.errors import Stopped, UsageError
from swmodel.files.restart import folder, restarts, write
from swmodel.files.status import read_status

pytestmark = pytest.mark.slow


def restart_names(directory):
    return sorted(path.name for path in (directory / "restart").iterdir())


def restart_steps(directory):
    return [folder.step_of(path) for path in folder.list_restart_files(directory)]


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize(("stepper", "n_memories"), [("ab2", 1), ("ab3", 2), ("leapfrog", 1), ("rk4", 0), ("gfb", 2)])
def test_restart_has_same_bits(tmp_path, stepper, n_memories):
    """The state and the memory of the stepper are compared; executors/test_covering.py does so for the native step."""
    options = {"time__stepper": stepper, "run__dtype": "float64", "time__dt": 10.0}
    whole_run = simulation(**options)
    whole_run.advance(5)
    whole_run.write_restart(tmp_path / "five.nc")
    whole_run.advance(4)
    resumed_run = simulation(tmp_path / "five.nc", **options)
    assert (resumed_run.step, resumed_run.time) == (5, 50.0)
    resumed_run.advance(4)
    ours, theirs = ([np.asarray(each) for each in jax.tree.leaves(run.carry)] for run in (resumed_run, whole_run))
    assert len(ours) == len(theirs) == 3 + 3 * n_memories + 1
    assert [(each.dtype, each.tobytes()) for each in ours] == [(each.dtype, each.tobytes()) for each in theirs]


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize(("stops", "format"), [((7, 8, 10), "netcdf"), ((0,), "netcdf"), ((6,), "zarr")])
def test_interrupted_run_has_the_files_of_an_uninterrupted_one(uninterrupted_run, tmp_path, stops, format):
    """The run stops at a record or between two; another format of restart files does not change their values."""
    pieces, whole_run, options = tmp_path / "pieces", uninterrupted_run, {"output__format": format}
    simulation(run__steps=stops[0], **options).run(pieces)
    for steps in (*stops[1:], 11):
        resume_run(pieces, steps, restart__format=format, **options)
    if format == "zarr":
        simulation(restart__format=format, **options).run(whole_run := tmp_path / "whole")
        assert_same_data(folder.restart_path(whole_run, 11, format), folder.restart_path(uninterrupted_run, 11))
    assert_same_run(pieces, whole_run)


def test_stopped_run_leaves_a_restart_and_continues(uninterrupted_run, tmp_path, monkeypatch):
    directory, model = tmp_path / "run", simulation()
    monkeypatch.setattr("swmodel.model.run.CHUNK_SECONDS", 1e-9)

    def progress(event):
        if event["step"] == 6:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped, match=f"SIGTERM at step 6 .*`swmodel resume {directory}`$") as error:
        model.run(directory, progress)
    status = read_status(directory)
    assert (status["state"], status["exit_code"], status["steps"]) == ("stopped", 75, 6)
    assert status["message"] == str(error.value)
    assert restart_names(directory) == ["step-0000000006.nc"]
    assert read_variables(directory / "output.nc")["step"].tolist() == [0, 4]
    assert_same_run(resume_run(directory), uninterrupted_run)
    assert read_status(directory)["state"] == "completed"


def test_resume_with_other_intervals_keeps_records_and_means(uninterrupted_run, run_folder):
    resume_run(run_folder, 11, output__every_steps=2, output__diagnostics_every_steps=None)
    ours, theirs = (read_variables(path / "output.nc") for path in (run_folder, uninterrupted_run))
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
    ],
)
def test_restart_files_are_written_at_their_intervals(tmp_path, monkeypatch, options, steps):
    written_steps = []

    def write_and_record(path, *rest):
        written_steps.append(folder.step_of(path))
        write.write(path, *rest)

    monkeypatch.setattr(restarts, "write", write_and_record)
    simulation(**options).run(tmp_path / "run")
    assert written_steps == steps
    assert restart_steps(tmp_path / "run") == steps[:-3:-1]
    assert len(restart_names(tmp_path / "run")) == len(steps[:-3:-1])


def test_resume_from_older_restart_renames_newer_ones(run_folder, tmp_path):
    newest_run = swmodel.Simulation.from_restart(run_folder)
    assert newest_run.config == from_toml((run_folder / "config.toml").read_text())
    older_run, names = simulation(folder.restart_path(run_folder, 5), run__steps=9, restart__every_wall=None), []
    older_run.run(run_folder, lambda event: names.append(restart_names(run_folder)))
    assert names[0] == ["step-0000000005.nc", "step-0000000007.nc.unused"]
    assert restart_steps(run_folder) == [9, 5]
    assert len(restart_names(run_folder)) == 2
    newest_run.advance(2)
    assert older_run.state.h.tobytes() == newest_run.state.h.tobytes()
    with pytest.raises(UsageError, match="step 9 is beyond the 7 steps"):
        newest_run.run(tmp_path / "new")


@pytest.mark.fault("`resume` of a run that is complete")
def test_resume_leaves_complete_run_unchanged(run_folder):
    def contents():
        return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in run_folder.rglob("*.*") if p.is_file()}

    before = contents()
    for options in ([], ["--steps", 7], ["--steps", 3]):
        result = invoke_swmodel("resume", run_folder, *options)
        assert (result.exit_code, len(result.output.splitlines())) == (0, 1), result.output
        assert "step 7 " in result.output
    assert contents() == before
