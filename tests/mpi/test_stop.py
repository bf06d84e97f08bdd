"""Runs that are asked to stop, killed or frozen by real signals: what they say, their exit code and what they leave."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
from support.long_run import PROGRAM, SMALL, LongRun, processes_of

from swmodel.files.restart.folder import candidates, facts, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import BANNER

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.alone, pytest.mark.usefixtures("quickly_compiled")]

#: Processes of devices. A step takes some milliseconds there, and a chunk of ten no longer than one of 500 elsewhere.
DEVICES = ["--transport", "sharded", "--nproc", "2", "--devices", "2", "--quiet"]


def assert_stopped(run, code, err, reason):
    """The run ended resumable, with one line that says why, and an intact restart of the step that it names."""
    assert code == 75
    own = "".join(line for line in err.splitlines(True) if not BANNER.match(line))  # without the words of mpiexec
    match = re.fullmatch(
        rf"stopped by {reason} at step (\d+) \(day \d+\.\d{{3}}\); continue with `swmodel resume run`\n", own
    )
    assert match, err
    newest = candidates(run.folder)[0]
    assert step_of(newest) == int(match[1])
    assert "problem" not in facts(newest)
    status = read_status(run.folder)
    assert (status["state"], status["exit_code"], status["steps"]) == ("stopped", 75, int(match[1]))
    assert not (run.folder / "run.lock").exists()


def again(folder, *arguments):
    """`swmodel` with arguments, in the folder of a run that is still at work."""
    return subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.fault("SIGTERM")
@pytest.mark.fault("the folder is in use")
@pytest.mark.parametrize("nproc", [1, 2])
def test_a_signal_stops_a_run_and_its_folder_is_locked_until_then(tmp_path, nproc):
    with LongRun(tmp_path, "--nproc", nproc) as run:
        for line in (["run", "jet", *SMALL, "--steps", "1", "--output", "run", "--force"], ["resume", "run"]):
            refused = again(tmp_path, *line)
            assert refused.returncode == 5, refused.stderr
            assert f"Error: run is in use by a run, process {run.process.pid} on " in refused.stderr
        begin = time.monotonic()
        run.process.send_signal(signal.SIGTERM if nproc > 1 else signal.SIGINT)
        code, err = run.end(within=20)
        assert time.monotonic() - begin < 10
        assert_stopped(run, code, err, "SIGTERM" if nproc > 1 else "SIGINT")
        assert run.ranks() == {}


@pytest.mark.fault("SIGINT, and a second one")
def test_a_signal_to_mpiexec_and_all_ranks_stops_a_run(tmp_path):
    """As a terminal's Ctrl-C, which all processes get, and mpiexec hands on to the ranks once more."""
    with LongRun(tmp_path, mpiexec=2) as run:
        for pid in (run.process.pid, *run.ranks().values()):
            os.kill(pid, signal.SIGINT)
        assert_stopped(run, *run.end(within=20), "SIGINT")


@pytest.mark.fault("SIGTERM")
def test_a_signal_to_all_processes_of_a_run_on_devices_stops_it(tmp_path):
    """As of systemd, and of Slurm when the time of a job is over: launcher, `spawn` and ranks get it."""
    with LongRun(tmp_path, *DEVICES, chunk=10) as run:
        pids = processes_of(tmp_path)
        assert len(pids) == 4
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        assert_stopped(run, *run.end(within=20), "SIGTERM")


@pytest.mark.fault("SIGTERM")
def test_a_signal_to_one_rank_stops_all(tmp_path):
    with LongRun(tmp_path, "--nproc", 2) as run:
        os.kill(run.ranks()[1], signal.SIGTERM)
        assert_stopped(run, *run.end(within=20), "SIGTERM")


@pytest.mark.fault("the wall-clock limit is near")
def test_a_run_stops_before_its_wall_clock_limit(tmp_path):
    begin = time.time()
    with LongRun(tmp_path, "--nproc", 2, "--walltime", "12 s") as run:
        assert_stopped(run, *run.end(within=30), "the wall-clock limit of 12 s")
        assert 6 < (run.folder / "status.json").stat().st_mtime - begin < 12


@pytest.mark.fault("a rank is stuck")
@pytest.mark.parametrize(("arguments", "mpiexec", "rank"), [(["--nproc", 2], 0, 1), ([], 2, 0), (DEVICES, 0, 0)])
def test_a_frozen_rank_is_named_and_everything_ends(tmp_path, arguments, mpiexec, rank):
    chunk = 10 if arguments is DEVICES else 500
    with LongRun(tmp_path, *arguments, "-s", "run.watchdog=3", mpiexec=mpiexec, chunk=chunk) as run:
        ranks = run.ranks()
        os.kill(ranks[rank], signal.SIGSTOP)
        code, err = run.end(within=30)
        assert code == 70
        expected = rf"Error: no step for 3 s \(step \d+\): rank {rank} did not answer; rank {1 - rank} is in .*"
        assert len(re.findall(expected, err)) == err.count("Error") == 1, err
        stacks = (run.folder / "stuck" / f"rank-{1 - rank}.txt").read_text()
        assert "most recent call first" in stacks
        assert [path.name for path in (run.folder / "stuck").iterdir()] == [f"rank-{1 - rank}.txt"]
        status = read_status(run.folder)
        assert (status["state"], status["exit_code"]) == ("failed", 70)
        assert status["message"] in err
        assert run.ranks() == {}


@pytest.mark.fault("SIGINT, and a second one")
def test_a_second_signal_ends_a_run_at_once(tmp_path):
    """Also where a rank is frozen and no agreement can be reached."""
    with LongRun(tmp_path, "--nproc", 2) as run:
        os.kill(run.ranks()[1], signal.SIGSTOP)
        run.process.send_signal(signal.SIGTERM)
        time.sleep(1.0)
        assert run.process.poll() is None
        run.process.send_signal(signal.SIGTERM)
        code, err = run.end(within=5)
        newest = candidates(run.folder)[0].relative_to(tmp_path)
        assert code == 75
        assert err == (
            f"Error: ended at once by a second SIGTERM; last restart: {newest}, continue with `swmodel resume run`\n"
        )
        assert read_status(run.folder)["state"] == "stopped"
        assert "problem" not in facts(tmp_path / newest)


@pytest.mark.fault("a rank is killed")
def test_a_killed_rank_is_named_with_the_last_restart(tmp_path):
    with LongRun(tmp_path, "--nproc", 2) as run:
        os.kill(run.ranks()[1], signal.SIGKILL)
        code, err = run.end(within=10)
        newest = candidates(run.folder)[0]
        assert code == 70
        assert err == (
            f"Error: rank 1 ended: Killed (signal 9); last restart: {newest.relative_to(tmp_path)}, "
            "continue with `swmodel resume run`\n"
        )
        assert "problem" not in facts(newest)
        assert json.loads((run.folder / "status.json").read_text())["exit_code"] == 70


def test_when_the_launcher_is_killed_the_ranks_end_too_and_the_lock_is_free(tmp_path):
    with LongRun(tmp_path, "--nproc", 2) as run:
        run.process.kill()
        deadline = time.monotonic() + 20
        while run.ranks():
            assert time.monotonic() < deadline, "ranks without a launcher go on"
            time.sleep(0.1)
        done = again(tmp_path, "run", "jet", *SMALL, "--steps", "1", "--output", "run", "--force")
        assert done.returncode == 0, done.stderr
