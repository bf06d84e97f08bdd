"""Real faults in real runs on two processes: messages, exit codes, and the files that are left, within a time limit."""

import os
import re
import resource
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from support.faults import ROOT, SMALL_OPTIONS, model_messages, run_command, wait_until_free
from support.long_run import LongRun

from swmodel.files.restart.folder import examine_restart, list_restart_files, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quick_compilation_in_subprocesses")]

PROGRAMS = Path(__file__).parent / "programs"


def assert_failed(folder, code, pattern):
    """Assert that status.json has `code` and a message that matches the pattern; wait until the folder is unlocked."""
    status = read_status(folder)
    assert (status["state"], status["exit_code"]) == ("failed", code)
    assert re.search(pattern, status["message"])
    wait_until_free(folder)


@pytest.mark.fault("one rank raises an exception")
@pytest.mark.fault("more ranks than cores")
def test_bug_on_one_rank_leaves_one_traceback_and_restart_files(tmp_path):
    """Both ranks run on one core, and a warning says so."""
    command = [find_mpiexec(), "-n", "2", sys.executable, PROGRAMS / "failing_rank.py", "run", "jet", *SMALL_OPTIONS]
    command += ["-s", "restart.every_steps=50", "--steps", "400", "--output", "run"]
    cpu = {min(os.sched_getaffinity(0))}
    process = run_command(tmp_path, command, {"PYTHONPATH": str(ROOT)}, preexec_fn=lambda: os.sched_setaffinity(0, cpu))
    assert process.returncode == 70
    assert process.stderr.count("Traceback") == 1
    assert re.search("rank 1.*ZeroDivisionError: a bug", model_messages(process)[-1])
    assert len(re.findall(r"2 .* only core", process.stderr)) == 1
    assert_failed(tmp_path / "run", 70, "a bug")
    assert [step_of(path) for path in list_restart_files(tmp_path / "run")] == [100, 50]
    assert all("problem" not in examine_restart(path) for path in list_restart_files(tmp_path / "run"))


@pytest.mark.fault("the disk fills up with output")
def test_output_beyond_quota_leaves_whole_records(tmp_path):
    intervals = ["-s", "restart.every_steps=6000", "-s", "output.diagnostics_every_steps=1000000000"]
    with LongRun(tmp_path, "--nproc", 2, "-s", "output.every_steps=300", *intervals) as run:
        resource.prlimit(run.ranks()[0], resource.RLIMIT_FSIZE, (1000, 1000))  # acts like a quota
        code, err = run.wait_for_end(30)
    assert (code, bool(re.match(r"Error: run/output\.nc.* \d+ bytes free", err))) == (5, True), err
    assert_failed(run.folder, 5, "output.nc")
    with netCDF4.Dataset(run.folder / "output.nc") as file:
        steps = file["step"][...].tolist()
        assert len(steps) > 5
        assert steps == list(range(0, 300 * len(steps), 300))
        assert np.isfinite(file["eta"][...]).all()


@pytest.mark.fault("functions of `every` differ between processes, or one waits for the other processes")
def test_function_in_which_one_rank_waits_for_others_ends_run(tmp_path):
    command = [find_mpiexec(), "-n", "2", sys.executable, str(PROGRAMS / "waiting_rank.py")]
    process = run_command(tmp_path, command, {"PYTHONPATH": str(ROOT)})
    assert process.returncode == 70
    assert "Traceback" not in process.stderr
    assert len(re.findall(r"Error: .*\b2 s\b.*rank \d.*sum_on_rank_0", process.stderr)) == 1
