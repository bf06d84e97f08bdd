"""The unchanged batch scripts in Slurm: jobs complete, reach their time limit, are requeued, and lose their node.

Only the arguments of sbatch (one node, two ranks, a short limit, a small case) and variables of the environment differ
from those of a user. Jobs with time limits are submitted first, so that their whole minutes pass during other tests.
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
#: The script `activate` of the environment; a file `steps-JOB` contains the step at which a continued run ends.
ACTIVATE_SCRIPT = """source "{prefix}/bin/activate"
if [ -f "steps-$SLURM_JOB_ID" ]; then export SWMODEL_RUN_STEPS=$(cat "steps-$SLURM_JOB_ID"); fi
"""


def mpi_type() -> str:
    """The process manager interface that srun must use for the MPI of this environment."""
    version = subprocess.run([find_mpiexec(), "--version"], capture_output=True, text=True).stdout
    return "pmi2" if "HYDRA" in version else "pmix"


class SlurmJob:
    """A job in Slurm's queue, submitted in `folder`."""

    def __init__(self, node, folder, script, *arguments, options=(), **environ):
        self.node, self.folder = node, folder
        environ = node.environ | {"PYTHONPATH": str(ROOT), "SLURM_MPI_TYPE": mpi_type()} | environ
        command = ["sbatch", "--parsable", *TWO_RANKS, *options, ROOT / script, *arguments]
        process = subprocess.run(list(map(str, command)), cwd=folder, env=environ, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        self.number = int(process.stdout)

    @property
    def run_folder(self):
        return self.folder / f"outputs/swmodel-{self.number}"

    @property
    def log(self):
        files = list(self.folder.glob(f"*-{self.number}.log"))
        return files[0].read_text() if files else ""

    def job_properties(self) -> dict[str, str]:
        """The properties of the job according to Slurm."""
        words = self.node.run_command("scontrol", "show", "job", self.number, "--oneliner").split()
        return dict(word.partition("=")[::2] for word in words)

    def wait_until(self, condition, seconds):
        """Wait until condition() is true, and return its value; on timeout fail with log and properties of the job."""
        try:
            return self.node.wait_until(condition, seconds)
        except TimeoutError as error:
            pytest.fail(f"{self.job_properties()}\n{self.log}\n{error}")

    def wait_for_state(self, *states, seconds=60):
        """Wait until the job has one of these states; returns the state."""
        self.wait_until(lambda: self.job_properties().get("JobState") in states, seconds)
        return self.job_properties()["JobState"]

    def wait_for_restart(self, above_step=0, seconds=60):
        """Wait for a restart file of a step above `above_step`; returns the step of the newest restart file."""
        self.wait_until(lambda: self.newest_restart_step() > above_step, seconds)
        return self.newest_restart_step()

    def newest_restart_step(self) -> int:
        """The step of the newest restart file; 0 if there is none."""
        return max(map(step_of, list_restart_files(self.run_folder)), default=0)

    def processes(self) -> dict[int, bytes]:
        """{process id: environment} of the batch script, the ranks and all other processes of the job."""
        job_variable = f"SLURM_JOB_ID={self.number}".encode()
        processes = self.node.environment_of_processes()
        return {pid: environ for pid, environ in processes.items() if job_variable in environ.split(b"\0")}

    def ranks(self) -> list[int]:
        processes = self.processes().items()
        return [pid for pid, environ in processes if b"\0SLURM_PROCID=" in environ and b"\0PMI" in environ]

    def continue_job(self) -> int:
        """Start the requeued job early, instead of after two minutes, and let it complete; returns its last step.

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
        """Assert that records and the last restart file have the bits of an undisturbed run."""
        undisturbed = f"undisturbed-{self.number}"
        process = run_swmodel(self.folder, "run", *CASE, "--steps", steps, "--nproc", 2, "--quiet", "-o", undisturbed)
        assert process.returncode == 0, process.stderr
        assert_same_run(self.run_folder, self.folder / undisturbed, steps)


@pytest.fixture(scope="module")
def submit_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/activate").write_text(ACTIVATE_SCRIPT.format(prefix=sys.prefix))
    return folder


@pytest.fixture(scope="module", autouse=True)
def jobs_with_limit(slurm_node, submit_folder):
    """Two endless jobs with a limit of one minute; Slurm signals the limit to the first job, but not to the second."""
    limits = ["--time=1", "--signal=B:TERM@10"]
    signalled_job = SlurmJob(slurm_node, submit_folder, "examples/slurm-resume.sh", *ENDLESS_RUN, options=limits)
    return signalled_job, SlurmJob(slurm_node, submit_folder, "examples/slurm.sh", *ENDLESS_RUN, options=["--time=1"])


def test_job_with_signal_before_its_limit_is_requeued_and_continues(jobs_with_limit):
    job = jobs_with_limit[0]
    job.wait_until(lambda: job.job_properties()["Restarts"] == "1", 90)
    status = read_status(job.run_folder)
    assert (status["state"], status["exit_code"]) == ("stopped", 75), job.log
    assert status["message"].startswith("stopped by SIGTERM at step ")
    assert f"stopped before the time limit: job {job.number} is requeued and will continue" in job.log
    job.assert_undisturbed(job.continue_job())


def test_job_that_reaches_its_limit_leaves_restart_file(jobs_with_limit):
    job = jobs_with_limit[1]
    assert job.wait_for_state("TIMEOUT", "FAILED", "COMPLETED", seconds=120) == "TIMEOUT"
    status = read_status(job.run_folder)
    assert (status["state"], status["exit_code"]) == ("stopped", 75), job.log
    newest_restart = list_restart_files(job.run_folder)[0]
    assert step_of(newest_restart) == status["steps"]
    assert "problem" not in examine_restart(newest_restart)


def test_job_with_published_grid_completes(slurm_node, submit_folder):
    arguments = ["published_jet", "-s", "grid.nx=3600", "-s", "grid.ny=1800", "--steps", "20"]
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm.sh", *arguments)
    assert job.wait_for_state("COMPLETED", "FAILED", seconds=180) == "COMPLETED", job.log
    status = read_status(job.run_folder)
    assert (status["state"], status["steps"], status["nproc"]) == ("completed", 20, 2)
    assert "published_jet: 3600 x 1800 cells, 20 steps" in job.log


def test_srun_starts_run_on_devices_without_mpi(slurm_node, submit_folder):
    options = "--transport=sharded", "--steps=500"
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm.sh", *CASE, *options, SLURM_MPI_TYPE="none")
    assert job.wait_for_state("COMPLETED", "FAILED", seconds=90) == "COMPLETED", job.log
    status = read_status(job.run_folder)
    assert (status["state"], status["transport"], status["nproc"]) == ("completed", "sharded", 2)


def test_kill_of_a_rank_ends_the_job_and_keeps_its_restart_file(slurm_node, submit_folder):
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm-resume.sh", *ENDLESS_RUN)
    job.wait_for_restart()
    os.kill(job.ranks()[-1], signal.SIGKILL)
    assert job.wait_for_state("COMPLETED", "FAILED") == "FAILED"
    assert job.job_properties()["ExitCode"] == "137:0"
    assert "Killed" in job.log
    assert "problem" not in examine_restart(list_restart_files(job.run_folder)[0])


def test_job_outlives_daemon_and_continues_after_crash_of_node(slurm_node, submit_folder):
    job = SlurmJob(slurm_node, submit_folder, "examples/slurm-resume.sh", *ENDLESS_RUN)
    newest_step = job.wait_for_restart()
    slurm_node.kill_slurmd()
    job.wait_for_restart(above_step=newest_step)
    slurm_node.crash_node()
    assert job.job_properties()["JobState"] == "RUNNING", "Slurm should not have noticed the crash yet"
    job.wait_until(lambda: job.job_properties()["Restarts"] == "1", 120)
    slurm_node.start_daemon("slurmd", "-D")
    job.assert_undisturbed(job.continue_job())
