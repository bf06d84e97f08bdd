"""The batch script for long runs, with signals as Slurm sends them and stand-ins for Slurm's commands."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.faults import PROGRAM, ROOT, SMALL
from support.long_run import TAG, ranks_of

from swmodel.files.restart.folder import candidates, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("quickly_compiled")]

CASE = ["jet", *SMALL, "-s", "restart.every_steps=200", "--days", "10000"]

#: srun starts the ranks; at SIGTERM it kills them. scancel signals the ranks. scontrol is to leave a note.
SRUN = """#!/bin/bash
test "$1" = --kill-on-bad-exit=1 && shift
trap 'kill -KILL $(jobs -p); exit 143' TERM
{mpiexec} -n 2 "$@" &
wait $!
"""
SCANCEL = """#!{python}
import os, signal, sys
sys.path[:0] = [{tests!r}, {root!r}]
from support.long_run import TAG, ranks_of
assert sys.argv[1:] == ["--signal=TERM", "7"]
for pid in ranks_of(os.environ[TAG]).values():
    os.kill(pid, signal.SIGTERM)
"""
SCONTROL = """#!/bin/sh
echo "$@" >> scontrol.txt
"""


def install(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def cluster(tmp_path):
    """A folder to submit in, and Slurm's commands in bin/."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").write_text('export PATH="$PWD/bin:$PATH"\n')
    install(tmp_path / "bin/srun", SRUN.format(mpiexec=find_mpiexec()))
    install(tmp_path / "bin/scancel", SCANCEL.format(python=sys.executable, tests=str(ROOT / "tests"), root=str(ROOT)))
    install(tmp_path / "bin/scontrol", SCONTROL)
    install(tmp_path / "bin/swmodel", '#!/bin/sh\nexec {} {} "$@"\n'.format(*PROGRAM))
    return tmp_path


def start(cluster, **environ):
    """Begin job 7, as Slurm does each time."""
    slurm = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": str(cluster), "SLURM_CPUS_PER_TASK": "1", TAG: str(cluster)}
    with (cluster / "log.txt").open("a") as log:
        return subprocess.Popen(
            ["bash", ROOT / "examples/slurm-resume.sh", *CASE],
            cwd=cluster,
            env=os.environ | slurm | environ,
            stdout=log,
            stderr=log,
        )


def requeued(cluster):
    """How often the job was put back into the queue."""
    notes = cluster / "scontrol.txt"
    lines = notes.read_text().splitlines() if notes.exists() else []
    assert set(lines) <= {"requeue 7"}
    return len(lines)


def wait_for(true, job=None):
    """Wait until true() is, for a minute at most, while a job goes on."""
    deadline = time.monotonic() + 60
    while not true():
        assert job is None or job.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.promise("a Slurm job continues until its run is complete")
@pytest.mark.night
def test_job_is_stopped_in_time_requeued_and_continues(cluster):
    run = cluster / "outputs/swmodel-7"
    try:
        job = start(cluster)
        wait_for(lambda: candidates(run), job)
        job.send_signal(signal.SIGTERM)  # to the shell and nobody else, as with B:
        assert job.wait(80) == 0
        assert requeued(cluster) == 1
        status, reached = read_status(run), step_of(candidates(run)[0])
        assert (status["state"], status["exit_code"], status["steps"]) == ("stopped", 75, reached)
        assert start(cluster, SWMODEL_RUN_STEPS=str(reached + 10)).wait(80) == 0
        status = read_status(run)
        assert (status["state"], status["steps"], requeued(cluster)) == ("completed", reached + 10, 1)
    finally:
        for pid in ranks_of(cluster).values():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.fault("Slurm's warning arrives before ranks can handle signals")
def test_signal_to_ranks_that_do_not_listen_requeues_job(cluster):
    install(cluster / "bin/srun", "#!/bin/sh\necho $$ > srun.pid\nexec sleep 600\n")
    install(cluster / "bin/scancel", "#!/bin/sh\nkill -TERM $(cat srun.pid)\n")
    job, pid = start(cluster), cluster / "srun.pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    job.send_signal(signal.SIGTERM)
    assert job.wait(80) == 0
    assert requeued(cluster) == 1


@pytest.mark.promise("a Slurm job continues until its run is complete")
@pytest.mark.parametrize(("code", "job_code", "times"), [(0, 0, 0), (75, 0, 1), (4, 4, 0), (143, 143, 0)])
def test_job_is_requeued_only_if_its_run_can_continue(cluster, code, job_code, times):
    install(cluster / "bin/srun", f"#!/bin/sh\necho $* > srun.txt\nexit {code}\n")
    assert start(cluster).wait(80) == job_code
    assert requeued(cluster) == times
    words = (cluster / "srun.txt").read_text().split()
    assert words[:4] == ["--kill-on-bad-exit=1", "swmodel", "run", "jet"]
    assert "--force" in words
