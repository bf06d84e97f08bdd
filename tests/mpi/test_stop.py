"""Runs that real signals stop, kill or freeze: their messages, exit codes and files."""

import os
import re
import signal
import time

import pytest
from support.faults import run_swmodel
from support.long_run import CASE, LongRun
from support.marks import night_params
from support.rank_commands import run_on_ranks
from support.restarts import assert_same_run

from swmodel.files.restart.folder import examine_restart, list_restart_files, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import LAUNCHER_NOISE
from tools.soak import INTERRUPTIONS, RESTART_STEPS, soak

pytestmark = [pytest.mark.mpi, pytest.mark.alone, pytest.mark.usefixtures("quick_compilation_in_subprocesses")]

#: Two processes with two devices each. Steps take milliseconds here, so 10 take as long as 500 in the other tests.
DEVICE_OPTIONS = ["--transport", "sharded", "--nproc", "2", "--devices", "2", "--quiet"]


def assert_stopped(run, code, err, reason):
    """Assert that the run stopped, with a message that gives the reason and the step of its newest restart file."""
    program_lines = "".join(line for line in err.splitlines(True) if not LAUNCHER_NOISE.match(line))
    match = re.fullmatch(rf"(?:INFO: compiling .*\n)?.*{reason} .*step (\d+) .*swmodel resume run.*\n", program_lines)
    assert (code, bool(match)) == (75, True), err
    newest = list_restart_files(run.folder)[0]
    assert step_of(newest) == int(match[1])
    assert "problem" not in examine_restart(newest)
    status = read_status(run.folder)
    assert (status["state"], status["exit_code"], status["steps"]) == ("stopped", 75, int(match[1]))
    assert not (run.folder / "run.lock").exists()


def assert_failed_by_killed_rank(run, code, err, rank):
    """Assert that the run failed with one message that names the rank and the newest restart, which is intact."""
    newest, status = list_restart_files(run.folder)[0], read_status(run.folder)
    assert (code, status["state"], status["exit_code"]) == (70, "failed", 70)
    assert re.search(rf"rank {rank}\b.*signal 9", status["message"])
    assert status["message"] in err
    assert str(newest.relative_to(run.folder.parent)) in err
    assert len(err.splitlines()) == 1
    assert "problem" not in examine_restart(newest)
    assert run.ranks() == {}


def assert_continues(ranks, run):
    """Assert that the run continues on three ranks with the bits of an undisturbed run on one process."""
    steps, undisturbed = step_of(list_restart_files(run.folder)[0]) + 10, run.folder.parent / "undisturbed"
    run_on_ranks(ranks, 3, "resume", run.folder, "--steps", steps, "--quiet")
    run_on_ranks(ranks, 1, "run", *CASE, "--steps", steps, "--quiet", "-o", undisturbed)
    assert_same_run(run.folder, undisturbed, steps)


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.fault("SIGTERM")
@pytest.mark.fault("the folder is in use")
@pytest.mark.night
def test_run_stopped_by_signal_continues(ranks, tmp_path):
    """Its folder is locked until it has stopped."""
    with LongRun(tmp_path, "--nproc", 2) as run:
        process = run_swmodel(tmp_path, "resume", "run")
        assert (process.returncode, str(run.process.pid) in process.stderr) == (5, True)
        run.process.send_signal(signal.SIGTERM)
        assert_stopped(run, *run.wait_for_end(40), "SIGTERM")
        assert run.ranks() == {}
    assert_continues(ranks, run)


@pytest.mark.promise("a run survives a kill at any moment")
@pytest.mark.fault("a rank is killed")
def test_run_with_killed_rank_continues(ranks, tmp_path):
    with LongRun(tmp_path, "--nproc", 2) as run:
        os.kill(run.ranks()[1], signal.SIGKILL)
        assert_failed_by_killed_rank(run, *run.wait_for_end(40), 1)
    assert_continues(ranks, run)


@pytest.mark.fault("a rank is stuck")
@pytest.mark.mpich_only
@pytest.mark.parametrize(
    ("arguments", "mpiexec", "rank"),
    [
        *night_params((["--nproc", 2], 0, 1)),
        *night_params(([], 2, 0), (DEVICE_OPTIONS, 0, 0), mark=pytest.mark.release),
    ],
)
def test_frozen_rank_is_named_and_all_ranks_end(tmp_path, arguments, mpiexec, rank):
    chunk = 10 if arguments is DEVICE_OPTIONS else 500
    with LongRun(tmp_path, *arguments, "-s", "run.watchdog=3", mpiexec=mpiexec, chunk=chunk) as run:
        os.kill(run.ranks()[rank], signal.SIGSTOP)
        code, err = run.wait_for_end(60)
        assert code == 70
        pattern = rf"Error: .*\b3 s\b.*step \d+.*\brank {rank}\b.*\brank {1 - rank}\b"
        assert len(re.findall(pattern, err)) == err.count("Error") == 1, err
        assert [path.name for path in (run.folder / "stuck").iterdir()] == [f"rank-{1 - rank}.txt"]
        assert "most recent call first" in (run.folder / "stuck" / f"rank-{1 - rank}.txt").read_text()
        status = read_status(run.folder)
        assert (status["state"], status["exit_code"], status["message"] in err) == ("failed", 70, True)
        assert run.ranks() == {}


@pytest.mark.fault("SIGINT")
@pytest.mark.mpich_only
@pytest.mark.night
def test_signal_to_mpiexec_and_all_ranks_stops_run(tmp_path):
    """As with Ctrl-C in a terminal: all processes receive the signal, and mpiexec forwards it to the ranks again."""
    with LongRun(tmp_path, mpiexec=2) as run:
        for pid in (run.process.pid, *run.ranks().values()):
            os.kill(pid, signal.SIGINT)
        assert_stopped(run, *run.wait_for_end(40), "SIGINT")


@pytest.mark.fault("the wall-clock limit is near")
@pytest.mark.night
def test_run_stops_before_its_wall_clock_limit(tmp_path):
    start_time = time.time()
    with LongRun(tmp_path, "--walltime", "30 s") as run:
        assert_stopped(run, *run.wait_for_end(60), "30 s")
        assert 10 < (run.folder / "status.json").stat().st_mtime - start_time < 30


@pytest.mark.fault("the launcher is killed")
@pytest.mark.night
def test_ranks_end_and_folder_is_free_when_launcher_is_killed(tmp_path):
    with LongRun(tmp_path, "--nproc", 2) as run:
        run.process.kill()
        deadline = time.monotonic() + 60
        while run.ranks():
            assert time.monotonic() < deadline, "ranks without a launcher continue"
            time.sleep(0.1)
        process = run_swmodel(tmp_path, "run", *CASE, "--steps", 1, "--output", "run", "--force")
        assert process.returncode == 0, process.stderr


@pytest.mark.promise("a run survives a kill at any moment")
@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
@pytest.mark.parametrize(
    ("interruptions", "store"),
    [*night_params((list(INTERRUPTIONS)[:5], "netcdf")), *night_params(([""] * 4, "zarr"), mark=pytest.mark.release)],
)
def test_run_interrupted_many_times_has_same_bits(tmp_path, interruptions, store):
    """This is a short form of `make soak`: it kills either rank, all processes or the launcher, or requests a stop."""
    assert soak(tmp_path, interruptions, 3, file_format=store) > len(interruptions) * RESTART_STEPS // 2
