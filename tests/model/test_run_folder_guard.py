"""Runs from Python: no folder is overwritten that holds a run, or in which one is at work."""

import os

import pytest
from support.restarts import assert_same_run, simulation

import swmodel
from swmodel.config import ConfigError
from swmodel.errors import FilesError, NumericalError, UsageError
from swmodel.files import lock
from swmodel.files.restart import folder
from swmodel.files.status import read_status

pytestmark = pytest.mark.slow


def contents(directory):
    """Every file below a folder, with its bytes and when it was written."""
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(directory.rglob("*")) if path.is_file()
    }


def assert_free(directory):
    lock.check_free(directory)
    assert not (directory / lock.NAME).exists()


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_a_finished_run_is_refused_kept_and_replaced_on_request(run_folder):
    before = contents(run_folder)
    with pytest.raises(UsageError, match=r"holds a run \(completed\); give force=True .*Simulation.resume"):
        simulation().run(run_folder)
    assert contents(run_folder) == before
    assert_free(run_folder)
    simulation(run__steps=2).run(run_folder, force=True)
    assert read_status(run_folder)["steps"] == 2
    assert [folder.step_of(path) for path in folder.candidates(run_folder)] == [2]


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_a_folder_in_which_a_run_is_at_work_is_refused_whatever_is_asked_and_the_run_goes_on(tmp_path):
    directory, alone, refused = tmp_path / "run", tmp_path / "alone", []

    def intrude(event):
        for force in (False, True):
            with pytest.raises(FilesError, match=f"{directory} is in use by a run, process {os.getpid()} on ") as error:
                simulation().run(directory, force=force)
            refused.append(str(error.value))

    simulation().run(directory, intrude)
    assert len(refused) > 2
    simulation().run(alone)
    assert_same_run(directory, alone)
    assert_free(directory)


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_a_run_that_ended_after_the_first_look_is_not_overwritten(tmp_path, monkeypatch):
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


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
@pytest.mark.parametrize("error", [KeyboardInterrupt, NumericalError])
def test_the_folder_is_free_however_the_run_ends(tmp_path, error):
    def fail(event):
        assert (tmp_path / lock.NAME).exists()
        raise error("now")

    with pytest.raises(error):
        simulation().run(tmp_path, fail)
    assert_free(tmp_path)
    assert read_status(tmp_path)["message"] == "now"


def test_a_run_that_has_arrived_is_left_alone(halfway, caplog):
    before = contents(halfway)
    swmodel.Simulation.from_restart(halfway).run(halfway)
    assert contents(halfway) == before
    (record,) = caplog.records
    assert record.message == f"{halfway}: the run is already at step 7; a larger run.steps extends it"


def test_what_does_not_go_on_with_the_run_of_its_restart_file_is_refused(run_folder):
    before, newest = contents(run_folder), folder.path_of(run_folder, 7)
    with pytest.raises(ConfigError, match=r"from another run:\ngrid\.dx: 5000\.0 before, 4000\.0 now"):
        simulation(newest, grid__dx=4000.0).run(run_folder)
    with pytest.raises(UsageError, match="the run that this Simulation continues; leave out force=True"):
        simulation(newest).run(run_folder, force=True)
    advanced = simulation(newest)
    advanced.advance(1)
    with pytest.raises(UsageError, match="holds a run"):
        advanced.run(run_folder)
    stale = simulation(newest)
    newest.rename(newest.with_name("gone"))
    with pytest.raises(FilesError, match="there is no such file"):
        stale.run(run_folder)
    newest.with_name("gone").rename(newest)
    assert contents(run_folder) == before
    assert_free(run_folder)


def test_nothing_is_made_for_what_cannot_run(tmp_path):
    model = simulation(run__steps=1)
    model.advance(2)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="step 2 is beyond the 1 steps of the run"):
        model.run(tmp_path / "new")
    with pytest.raises(FilesError, match="file is a file, not a folder; give another"):
        simulation().run(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
