"""The batch script for long runs, with signals as Slurm sends them and substitutes for Slurm's commands."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.faults import PROGRAM, ROOT, SMALL_OPTIONS
from support.long_run import TAG_VARIABLE, ranks_of

from swmodel.files.restart.folder import list_restart_files, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("quickly_compiled")]

CASE = ["jet", *SMALL_OPTIONS, "-s", "restart.every_steps=200", "--days", "10000"]

#: srun starts the ranks and kills them at SIGTERM; scancel signals the ranks; scontrol writes its arguments to a file.
FAKE_SRUN = """#!/bin/bash
test "$1" = --kill-on-bad-exit=1 && shift
trap 'kill -KILL $(jobs -p); exit 143' TERM
{mpiexec} -n 2 "$@" &
wait $!
"""
FAKE_SCANCEL = """#!{python}
import os, signal, sys
sys.path[:0] = [{tests!r}, {root!r}]
from support.long_run import TAG_VARIABLE, ranks_of
assert sys.argv[1:] == ["--signal=TERM", "7"]
for pid in ranks_of(os.environ[TAG_VARIABLE]).values():
    os.kill(pid, signal.SIGTERM)
"""
FAKE_SCONTROL = """#!/bin/sh
echo "$@" >> scontrol.txt
"""


def write_executable(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def fake_cluster(tmp_path):
    """A folder for submitting jobs, with Slurm's commands in bin/."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").write_text('export PATH="$PWD/bin:$PATH"\n')
    write_executable(tmp_path / "bin/srun", FAKE_SRUN.format(mpiexec=find_mpiexec()))
    scancel = FAKE_SCANCEL.format(python=sys.executable, tests=str(ROOT / "tests"), root=str(ROOT))
    write_executable(tmp_path / "bin/scancel", scancel)
    write_executable(tmp_path / "bin/scontrol", FAKE_SCONTROL)
    write_executable(tmp_path / "bin/swmodel", '#!/bin/sh\nexec {} {} "$@"\n'.format(*PROGRAM))
    return tmp_path


def start_job(cluster, **environ):
    """Start job 7, as Slurm does each time."""
    slurm = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "1"}
    slurm |= dict.fromkeys(("SLURM_SUBMIT_DIR", TAG_VARIABLE), str(cluster))
    line = ["bash", ROOT / "examples/slurm-resume.sh", *CASE]
    with (cluster / "log.txt").open("a") as log:
        return subprocess.Popen(line, cwd=cluster, env=os.environ | slurm | environ, stdout=log, stderr=log)


def n_requeues(cluster):
    notes = cluster / "scontrol.txt"
    lines = notes.read_text().splitlines() if notes.exists() else []
    assert set(lines) <= {"requeue 7"}
    return len(lines)


def wait_for(condition, job=None):
    """Wait until condition() is true, for a minute at most, while a job runs."""
    deadline = time.monotonic() + 60
    while not condition():
        assert job is None or job.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.promise("a Slurm job continues until its run is complete")
@pytest.mark.night
def test_job_is_stopped_in_time_requeued_and_continues(fake_cluster):
    run = fake_cluster / "outputs/swmodel-7"
    try:
        job = start_job(fake_cluster)
        wait_for(lambda: list_restart_files(run), job)
        job.send_signal(signal.SIGTERM)  # to the shell only, as with B:
        assert job.wait(80) == 0
        assert n_requeues(fake_cluster) == 1
        status, reached = read_status(run), step_of(list_restart_files(run)[0])
        assert (status["state"], status["exit_code"], status["steps"]) == ("stopped", 75, reached)
        assert start_job(fake_cluster, SWMODEL_RUN_STEPS=str(reached + 10)).wait(80) == 0
        status = read_status(run)
        assert (status["state"], status["steps"], n_requeues(fake_cluster)) == ("completed", reached + 10, 1)
    finally:
        for pid in ranks_of(fake_cluster).values():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.fault("Slurm's warning arrives before ranks can handle signals")
def test_signal_to_unresponsive_ranks_requeues_job(fake_cluster):
    write_executable(fake_cluster / "bin/srun", "#!/bin/sh\necho $$ > srun.pid\nexec sleep 600\n")
    write_executable(fake_cluster / "bin/scancel", "#!/bin/sh\nkill -TERM $(cat srun.pid)\n")
    job, pid = start_job(fake_cluster), fake_cluster / "srun.pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    job.send_signal(signal.SIGTERM)
    assert job.wait(80) == 0
    assert n_requeues(fake_cluster) == 1


@pytest.mark.promise("a Slurm job continues until its run is complete")
@pytest.mark.parametrize(("code", "job_code", "times"), [(0, 0, 0), (75, 0, 1), (4, 4, 0), (143, 143, 0)])
def test_job_is_requeued_only_if_its_run_can_continue(fake_cluster, code, job_code, times):
    write_executable(fake_cluster / "bin/srun", f"#!/bin/sh\necho $* > srun.txt\nexit {code}\n")
    assert start_job(fake_cluster).wait(80) == job_code
    assert n_requeues(fake_cluster) == times
    words = (fake_cluster / "srun.txt").read_text().split()
    assert words[:4] == ["--kill-on-bad-exit=1", "swmodel", "run", "jet"]
    assert "--force" in words
