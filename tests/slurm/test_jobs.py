"""The unchanged batch scripts on a real Slurm: jobs complete, hit their limit, are requeued, and lose their node.

Only the arguments of sbatch differ from those of a user: one node, two ranks, a short limit, a small case. Jobs with
time limits, which are whole minutes, are submitted before all others, so that they wait meanwhile.
"""

import os
import signal
import subprocess
import sys

import pytest
from support.faults import ROOT, SMALL_OPTIONS, run_swmodel
from support.restarts import assert_same_run

from swmodel.files.restart.folder import examine_restart, list_restart_files, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec

pytestmark = pytest.mark.release

TWO_RANKS = ["--nodes=1", "--ntasks-per-node=2"]
RESTART_OPTIONS = ["-s", "restart.every_steps=2000", "-s", "run.check_every_steps=500"]
RECORD_OPTIONS = ["-s", "output.every_steps=20000", "-s", "output.diagnostics_every_steps=20000"]
CASE = ["jet", *SMALL_OPTIONS, "-s", "time.stepper=ab3", "-s", "time.dt=18", *RECORD_OPTIONS]
ENDLESS_RUN = [*CASE, *RESTART_OPTIONS, "--days", "100000"]
#: The `activate` of the environment; a file `steps-JOB` contains the step at which a continued run is to end.
ACTIVATE_SCRIPT = """source "{prefix}/bin/activate"
if [ -f "steps-$SLURM_JOB_ID" ]; then export SWMODEL_RUN_STEPS=$(cat "steps-$SLURM_JOB_ID"); fi
"""


def mpi_type() -> str:
    """The process manager interface that srun must use for the MPI of this environment."""
    said = subprocess.run([find_mpiexec(), "--version"], capture_output=True, text=True).stdout
    return "pmi2" if "HYDRA" in said else "pmix"


class SlurmJob:
    """A job in Slurm's queue, submitted in `folder`."""

    def __init__(self, node, folder, script, *arguments, options=(), **environ):
        self.node, self.folder = node, folder
        environ = node.environ | {"PYTHONPATH": str(ROOT), "SLURM_MPI_TYPE": mpi_type()} | environ
        line = ["sbatch", "--parsable", *TWO_RANKS, *options, ROOT / script, *arguments]
        done = subprocess.run(list(map(str, line)), cwd=folder, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.number = int(done.stdout)

    @property
    def run(self):
        return self.folder / f"outputs/swmodel-{self.number}"

    @property
    def log(self):
        found = list(self.folder.glob(f"*-{self.number}.log"))
        return found[0].read_text() if found else ""

    def job_properties(self) -> dict[str, str]:
        """The properties of the job according to Slurm."""
        words = self.node.run_command("scontrol", "show", "job", self.number, "--oneliner").split()
        return dict(word.partition("=")[::2] for word in words)

    def wait_until(self, condition, seconds):
        """Wait until condition() is true, and return its value; fails with the log and the properties of the job."""
        try:
            return self.node.wait_until(condition, seconds)
        except TimeoutError as error:
            pytest.fail(f"{self.job_properties()}\n{self.log}\n{error}")

    def wait_for_state(self, *states, seconds=60):
        self.wait_until(lambda: self.job_properties().get("JobState") in states, seconds)
        return self.job_properties()["JobState"]

    def wait_for_restart(self, above_step=0, seconds=60):
        """Wait for a restart file of a step above `above_step`; returns the newest step."""
        self.wait_until(lambda: self.newest_restart_step() > above_step, seconds)
        return self.newest_restart_step()

    def newest_restart_step(self) -> int:
        """The step of the newest restart file; 0 if there is none."""
        return max(map(step_of, list_restart_files(self.run)), default=0)

    def processes(self) -> dict[int, bytes]:
        """{process id: environment} of the batch script, the ranks and all other processes of the job."""
        mark = f"SLURM_JOB_ID={self.number}".encode()
        found = self.node.environment_of_processes()
        return {pid: environ for pid, environ in found.items() if mark in environ.split(b"\0")}

    def ranks(self) -> list[int]:
        found = self.processes()
        return [pid for pid in found if b"\0SLURM_PROCID=" in found[pid] and b"\0PMI" in found[pid]]

    def continue_job(self) -> int:
        """Let the requeued job start soon, instead of after two minutes; returns the step at which its run ends.

        It cannot start at once, because for some seconds the node takes it for the job that has just ended.
        """
        self.wait_for_state("PENDING")
        steps = self.newest_restart_step() + 1001
        (self.folder / f"steps-{self.number}").write_text(str(steps))
        while (state := self.wait_for_state("PENDING", "COMPLETED", "FAILED", "TIMEOUT", seconds=90)) == "PENDING":
            self.node.run_command("scontrol", "update", f"JobId={self.number}", "StartTime=now+8")
            self.wait_until(lambda: self.job_properties()["JobState"] != "PENDING", 30)
        assert state == "COMPLETED", self.log
        return steps

    def assert_undisturbed(self, steps):
        """Assert that records and the last restart have the bits of an undisturbed run."""
        alone = f"alone-{self.number}"
        done = run_swmodel(self.folder, "run", *CASE, "--steps", steps, "--nproc", 2, "--quiet", "-o", alone)
        assert done.returncode == 0, done.stderr
        assert_same_run(self.run, self.folder / alone, steps)


@pytest.fixture(scope="module")
def submit_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/activate").write_text(ACTIVATE_SCRIPT.format(prefix=sys.prefix))
    return folder


@pytest.fixture(scope="module", autouse=True)
def jobs_with_limit(slurm_node, submit_folder):
    """Two endless jobs with a limit of one minute: Slurm warns the first, but not the second."""
    limits = ["--time=1", "--signal=B:TERM@10"]
    warned = SlurmJob(slurm_node, submit_folder, "examples/slurm-resume.sh", *ENDLESS_RUN, options=limits)
    return warned, SlurmJob(slurm_node, submit_folder, "examples/slurm.sh", *ENDLESS_RUN, options=["--time=1"])


def test_job_warned_of_its_limit_is_requeued_and_continues(jobs_with_limit):
    job = jobs_with_limit[0]
    job.wait_until(lambda: job.job_properties()["Restarts"] == "1", 90)
    status = read_status(job.run)
    assert (status["state"], status["exit_code"]) == ("stopped", 75), job.log
    assert status["message"].startswith("stopped by SIGTERM at step ")
    assert f"stopped in time, to be continued: job {job.number} goes back into the queue" in job.log
    job.assert_undisturbed(job.continue_job())


def test_job_that_hits_its_limit_leaves_restart(jobs_with_limit):
    job = jobs_with_limit[1]
    assert job.wait_for_state("TIMEOUT", "FAILED", "COMPLETED", seconds=120) == "TIMEOUT"
    status = read_status(job.run)
    assert (status["state"], status["exit_code"]) == ("stopped", 75), job.log
    newest = list_restart_files(job.run)[0]
    assert step_of(newest) == status["steps"]
    assert "problem" not in examine_restart(newest)


def test_job_with_published_grid_completes(slurm_node, submit_folder):
    published = ["published_jet", "-s", "grid.nx=3600", "-s", "grid.ny=1800", "--steps", "20"]
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm.sh", *published)
    assert job.wait_for_state("COMPLETED", "FAILED", seconds=180) == "COMPLETED", job.log
    status = read_status(job.run)
    assert (status["state"], status["steps"], status["nproc"]) == ("completed", 20, 2)
    assert "published_jet: 3600 x 1800 cells, 20 steps" in job.log


def test_srun_starts_run_on_devices_without_mpi(slurm_node, submit_folder):
    options = "--transport=sharded", "--steps=500"
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm.sh", *CASE, *options, SLURM_MPI_TYPE="none")
    assert job.wait_for_state("COMPLETED", "FAILED", seconds=90) == "COMPLETED", job.log
    status = read_status(job.run)
    assert (status["state"], status["transport"], status["nproc"]) == ("completed", "sharded", 2)


def test_killed_rank_ends_job_and_restart_stays(slurm_node, submit_folder):
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm-resume.sh", *ENDLESS_RUN)
    job.wait_for_restart()
    os.kill(job.ranks()[-1], signal.SIGKILL)
    assert job.wait_for_state("COMPLETED", "FAILED") == "FAILED"
    assert job.job_properties()["ExitCode"] == "137:0"
    assert "Killed" in job.log
    assert "problem" not in examine_restart(list_restart_files(job.run)[0])


def test_job_outlives_daemon_and_continues_after_crash_of_node(slurm_node, submit_folder):
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm-resume.sh", *ENDLESS_RUN)
    reached = job.wait_for_restart()
    slurm_node.kill_daemon()
    job.wait_for_restart(above_step=reached)
    slurm_node.crash_node()
    assert job.job_properties()["JobState"] == "RUNNING", "Slurm should not have noticed the crash yet"
    job.wait_until(lambda: job.job_properties()["Restarts"] == "1", 120)
    slurm_node.start_daemon("slurmd", "-D")
    job.assert_undisturbed(job.continue_job())
