"""Runs from Python: no folder is overwritten that holds a run, or in which one is at work."""

import os

import pytest
from support.restarts import assert_same_run, simulation

import swmodel
from swmodel.config import ConfigError
from swmodel.errors import FilesError, UsageError
from swmodel.files import lock
from swmodel.files.restart import folder
from swmodel.files.status import read_status

pytestmark = pytest.mark.slow


def contents(directory):
    """Every file below a folder, with its bytes and when it was written."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def assert_free(directory):
    lock.check_free(directory)
    assert not (directory / lock.NAME).exists()


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_finished_run_is_kept_unless_forced(run_folder, tmp_path):
    before = contents(run_folder)
    with pytest.raises(UsageError, match=r"completed.*force=True"):
        simulation().run(run_folder)
    swmodel.Simulation.from_restart(run_folder).run(run_folder)  # which has arrived
    assert contents(run_folder) == before
    assert_free(run_folder)
    simulation(run__steps=2).run(run_folder, force=True)
    assert read_status(run_folder)["steps"] == 2
    assert [folder.step_of(path) for path in folder.candidates(run_folder)] == [2]
    beyond, there = simulation(run__steps=1), sorted(tmp_path.iterdir())
    beyond.advance(2)
    with pytest.raises(UsageError, match="step 2 "):
        beyond.run(tmp_path / "new")
    with pytest.raises(FilesError, match="config.toml is a file"):
        simulation().run(run_folder / "config.toml")
    assert sorted(tmp_path.iterdir()) == there


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_folder_in_use_is_refused_and_free_after_any_end(tmp_path):
    directory, refused = tmp_path / "run", []

    def intrude(event):
        for force in (False, True):
            with pytest.raises(FilesError, match=f"{directory} is in use .* {os.getpid()} ") as error:
                simulation().run(directory, force=force)
            refused.append(str(error.value))

    simulation().run(directory, intrude)
    assert len(refused) > 2
    simulation().run(tmp_path / "alone")
    assert_same_run(directory, tmp_path / "alone")
    assert_free(directory)


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_run_that_ended_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    held = lock.held

    def held_late(directory):
        simulation(run__steps=2).run(directory)
        return held(directory)

    model, calls = simulation(), iter([held_late])
    monkeypatch.setattr(lock, "held", lambda directory: next(calls, held)(directory))
    with pytest.raises(UsageError, match=r"holds a run \(completed\)"):
        model.run(tmp_path)
    assert read_status(tmp_path)["steps"] == 2
    assert_free(tmp_path)


def test_only_the_run_of_the_restart_file_goes_on(run_folder):
    before, newest = contents(run_folder), folder.path_of(run_folder, 7)
    with pytest.raises(ConfigError, match=r"grid\.dx: 5000\.0 before, 4000\.0 now"):
        simulation(newest, grid__dx=4000.0).run(run_folder)
    with pytest.raises(UsageError, match="force=True"):
        simulation(newest).run(run_folder, force=True)
    advanced = simulation(newest)
    advanced.advance(1)
    with pytest.raises(UsageError, match="holds a run"):
        advanced.run(run_folder)
    stale = simulation(newest)
    newest.rename(newest.with_name("gone"))
    with pytest.raises(FilesError, match="no such file"):
        stale.run(run_folder)
    newest.with_name("gone").rename(newest)
    assert contents(run_folder) == before
    assert_free(run_folder)
