"""Real starts of several processes: the files they leave, and how they end if something is wrong from the start."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from support.faults import PROGRAM, ROOT, SMALL_OPTIONS, model_messages, packages_without, run_command, run_swmodel
from support.marks import night_params
from support.processes import run_python
from support.rank_commands import run_on_ranks
from support.restarts import assert_same_data

from swmodel.files.run_folder import CONFIG, DIAGNOSTICS, OUTPUT, RESTART_FOLDER, STATUS
from swmodel.files.status import read_status
from swmodel.model import launch, progress
from swmodel.parallel import environment

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("quick_compilation_in_subprocesses")]


def mpiexec_command(n):
    return [launch.find_mpiexec(), "-n", str(n)]


def test_two_processes_leave_complete_run(tmp_path):
    process = run_swmodel(tmp_path, "run", "jet", *SMALL_OPTIONS, "-s", "time.dt=18", "--steps", 4, "--nproc", 2)
    assert process.returncode == 0, process.stderr
    folder = tmp_path / "outputs/jet"
    assert {path.name for path in folder.iterdir()} == {CONFIG, OUTPUT, DIAGNOSTICS, STATUS, RESTART_FOLDER}
    status = read_status(folder)
    assert (status["state"], status["exit_code"], status["steps"]) == ("completed", 0, 4)
    assert (status["nproc"], status["layout"], status["transport"]) == (2, [1, 2], "mpi")
    assert progress.MESSAGE_PREFIX not in process.stdout
    assert "outputs/jet" in process.stdout.splitlines()[-1]
    assert "nproc = 2" in (folder / CONFIG).read_text()


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.night
def test_processes_with_devices_have_bits_of_one_process(ranks, tmp_path):
    section = 'output.sections=[{name="a", start=[20e3, 0], end=[90e3, 50e3]}]'
    command = ["run", "jet", *SMALL_OPTIONS, "-s", "time.dt=18", "-s", "output.every_steps=4", "-s", section]
    command += ["-s", "output.sections_every_steps=3", "--executor", "native", "--quiet"]
    device_options = ["--transport", "sharded", "--nproc", 2, "--devices", 2, "--layout", "2x2"]
    process = run_swmodel(tmp_path, *command, "--steps", 8, *device_options, "-o", "run")
    assert process.returncode == 0, process.stderr
    run_on_ranks(ranks, 1, *command, "--steps", 8, "-o", tmp_path / "one")
    assert_same_data(tmp_path / "run", tmp_path / "one", "output.nc", "sections.nc", "restart/step-0000000008.nc")


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.night
def test_processes_of_mpiexec_combine_their_devices(ranks, tmp_path):
    command = ["run", "jet", *SMALL_OPTIONS, "-s", "time.dt=18", "--executor", "native", "--quiet", "--steps", 8]
    device_options = ["--transport", "sharded", "--devices", 2, "-o", "joined"]
    process = run_swmodel(tmp_path, *command, *device_options, prefix=mpiexec_command(2))
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    assert read_status(tmp_path / "joined")["nproc"] == 2
    run_on_ranks(ranks, 1, *command, "-o", tmp_path / "one")
    assert_same_data(tmp_path / "joined" / "output.nc", tmp_path / "one" / "output.nc")


@pytest.mark.fault("the launcher belongs to another MPI")
@pytest.mark.night
def test_mpiexec_that_only_starts_processes_is_refused(tmp_path, capfd):
    worker = f"{sys.executable} -m swmodel worker {tmp_path} run"
    assert launch.run(["sh", "-c", f"{worker} & {worker}; wait"], 2, tmp_path, lambda event: None) == 3
    out, err = capfd.readouterr()
    assert (out, err.count("Error: "), "mpiexec" in err) == ("", 1, True)
    assert read_status(tmp_path)["exit_code"] == 3


@pytest.mark.fault("the launcher belongs to another MPI")
@pytest.mark.night
@pytest.mark.parametrize("names", ["OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE", "SLURM_PROCID SLURM_STEP_NUM_TASKS"])
def test_process_started_by_another_mpi_is_refused(tmp_path, names):
    """It is one of two processes without a connection, each of which would run the whole model."""
    environ = dict(zip(names.split(), "12", strict=True))
    process = run_swmodel(tmp_path, "run", "jet", *SMALL_OPTIONS, "--steps", "1", "-o", "run", environ=environ)
    assert process.returncode == 3
    assert "2 processes" in process.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("mpi4py is missing")
@pytest.mark.night
def test_several_processes_without_mpi4py_are_refused(tmp_path):
    environ = {"PYTHONPATH": str(packages_without(tmp_path / "packages", "mpi4jax", "mpi4py"))}
    command = [sys.executable, "-S", PROGRAM[1], "run", "jet", *SMALL_OPTIONS, "--steps", "1", "-o", "run", "--nproc"]
    process = run_command(tmp_path, [*command, "2"], environ)
    assert (process.returncode, "mpi4py" in process.stderr) == (3, True)
    assert not (tmp_path / "run").exists()
    single_process = run_command(tmp_path, [*command, "1"], environ)
    assert single_process.returncode == 0, single_process.stderr
    assert read_status(tmp_path / "run")["state"] == "completed"


@pytest.mark.fault("a process ends before MPI starts")
@pytest.mark.mpich_only
@pytest.mark.night
def test_processes_do_not_wait_for_one_that_ended_before_mpi():
    program = """
import os
from swmodel.parallel import watchdog
from swmodel.parallel.environment import get_rank_info
from swmodel.parallel.transport import connect
watchdog.START_TIMEOUT_SECONDS = 1.0
if get_rank_info().rank == 1:
    os._exit(1)
connect("mpi", (1, 2), 8, 8)
"""
    process = run_command(ROOT, [*mpiexec_command(2), sys.executable, "-c", program], launch.rank_environment(2))
    assert process.returncode
    assert "Timeout (0:00:01)!" in process.stderr


@pytest.mark.fault("one rank has another version of JAX")
@pytest.mark.night
def test_other_jax_on_one_rank_is_refused(tmp_path):
    """Rank 1 finds the metadata of another JAX first, as if a second installation were on its path."""
    metadata = tmp_path / "packages" / "jax-0.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.1\n")
    command = [*PROGRAM, "run", "jet", *SMALL_OPTIONS, "--steps", "1", "-o", "run"]
    command_of_rank_1 = ["-n", "1", "env", f"PYTHONPATH={metadata.parents[1]}", *command]
    process = run_command(tmp_path, [*mpiexec_command(1), *command, ":", *command_of_rank_1])
    assert process.returncode == 3
    (message,) = model_messages(process)
    assert re.search(r"jax .* rank 0 .*0\.1 .*rank 1", message)
    assert not (tmp_path / "run").exists()


@pytest.mark.fault("a GPU is requested and missing")
@pytest.mark.night
def test_missing_gpu_is_named_once(tmp_path):
    missing_platform = "tpu" if environment.has_gpu() else "cuda"
    command = ["run", "jet", *SMALL_OPTIONS, "-o", "run", "--quiet"]
    process = run_swmodel(tmp_path, *command, environ={"JAX_PLATFORMS": missing_platform})
    assert (process.returncode, process.stderr.count(f"JAX_PLATFORMS={missing_platform}")) == (3, 1)
    assert read_status(tmp_path / "run")["exit_code"] == 3


def run_with_fake_mpi4jax(tmp_path, text, exchange="auto"):
    """Run on two processes that import an mpi4jax with the source `text`; returns (exit code, lines on stderr)."""
    (tmp_path / "packages" / "mpi4jax").mkdir(parents=True)
    (tmp_path / "packages" / "mpi4jax" / "__init__.py").write_text(text)
    environ = {"PYTHONPATH": str(tmp_path / "packages"), "SWMODEL_RUN_EXCHANGE": exchange}
    command = ("run", "jet", *SMALL_OPTIONS, "-s", "time.dt=18", "--steps", 1, "--nproc", 2, "-o", "run", "--quiet")
    process = run_swmodel(tmp_path, *command, environ=environ)
    assert read_status(tmp_path / "run")["exit_code"] == process.returncode
    return process.returncode, process.stderr.splitlines()


@pytest.mark.fault("two MPI libraries")
@pytest.mark.needs_mpi4jax
@pytest.mark.release
def test_two_mpi_libraries_are_refused(tmp_path):
    """This mpi4jax loads its own MPI library, as if it had been compiled with another mpicc."""
    imports = "from mpi4py import MPI; from swmodel.parallel import environment"
    (library,) = run_python(f"{imports}; print(*environment.loaded_mpi_libraries())")
    second_library = Path(shutil.copy(library, tmp_path))
    code, (message,) = run_with_fake_mpi4jax(tmp_path, f"import ctypes\nctypes.CDLL({str(second_library)!r})\n")
    assert (code, str(second_library) in message, library in message) == (3, True, True)


TOO_NEW_MESSAGE = "the handler's API version (0.0) is incompatible with the framework's API version (0.4)"


@pytest.mark.fault("JAX is too new for mpi4jax")
@pytest.mark.needs_mpi4jax
@pytest.mark.parametrize(
    ("exchange", "code"), [*night_params(("auto", 0)), *night_params(("mpi4jax", 3), mark=pytest.mark.release)]
)
def test_mpi4jax_that_jax_refuses_is_replaced_unless_requested(tmp_path, exchange, code):
    """The model's own foreign calls replace it."""
    exit_status, lines = run_with_fake_mpi4jax(tmp_path, f"raise RuntimeError({TOO_NEW_MESSAGE!r})\n", exchange)
    assert (exit_status, len(lines)) == (code, code and 1), lines
    assert all(TOO_NEW_MESSAGE in line for line in lines)
