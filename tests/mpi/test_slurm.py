"""The batch script for long runs, with signals as Slurm sends them and substitutes for Slurm's commands."""

import os
import signal
import subprocess
import time

import pytest
from support.faults import ROOT

pytestmark = pytest.mark.mpi


def write_executable(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def fake_cluster(tmp_path):
    """A folder for submitting jobs; bin/ has a scontrol that writes its arguments to a file, and tests add more."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").write_text('export PATH="$PWD/bin:$PATH"\n')
    write_executable(tmp_path / "bin/scontrol", "#!/bin/sh\necho $* >> scontrol.txt\n")
    return tmp_path


def start_job(cluster):
    """Start job 7 as Slurm does, also after a requeue."""
    slurm = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "1", "SLURM_SUBMIT_DIR": str(cluster)}
    command = ["bash", ROOT / "examples/slurm-resume.sh", "jet"]
    return subprocess.Popen(command, cwd=cluster, env=os.environ | slurm)


def n_requeues(cluster):
    log = cluster / "scontrol.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    assert set(lines) <= {"requeue 7"}
    return len(lines)


@pytest.mark.fault("Slurm's warning arrives before ranks can handle signals")
def test_signal_to_unresponsive_ranks_requeues_job(fake_cluster):
    write_executable(fake_cluster / "bin/srun", "#!/bin/sh\necho $$ > srun.pid\nexec sleep 600\n")
    write_executable(fake_cluster / "bin/scancel", "#!/bin/sh\nkill -TERM $(cat srun.pid)\n")
    job, pid = start_job(fake_cluster), fake_cluster / "srun.pid"
    deadline = time.monotonic() + 60
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    job.send_signal(signal.SIGTERM)  # only to the shell, as with --signal=B:
    assert job.wait(80) == 0
    assert n_requeues(fake_cluster) == 1


@pytest.mark.promise("a Slurm job continues until its run is complete")
@pytest.mark.parametrize(("code", "job_code", "requeues"), [(0, 0, 0), (75, 0, 1), (4, 4, 0), (143, 143, 0)])
def test_job_is_requeued_only_if_its_run_can_continue(fake_cluster, code, job_code, requeues):
    """Once there is a restart file, the job resumes the run."""
    write_executable(fake_cluster / "bin/srun", f"#!/bin/sh\necho $* > srun.txt\nexit {code}\n")
    assert start_job(fake_cluster).wait(80) == job_code
    assert n_requeues(fake_cluster) == requeues
    words = (fake_cluster / "srun.txt").read_text().split()
    assert words[:4] == ["--kill-on-bad-exit=1", "swmodel", "run", "jet"]
    assert "--force" in words
    (fake_cluster / "outputs/swmodel-7/restart").mkdir(parents=True)
    (fake_cluster / "outputs/swmodel-7/restart/step-0000000009.nc").touch()
    assert start_job(fake_cluster).wait(80) == job_code
    words = (fake_cluster / "srun.txt").read_text().split()
    assert words[1:4] == ["swmodel", "resume", "outputs/swmodel-7"]
