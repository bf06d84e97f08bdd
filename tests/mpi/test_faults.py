"""Real faults in real runs on two processes, each within its time: what is said, the exit code, and what is left.

The faults and all tests of them are listed in docs/trust.md.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from support.faults import (
    PROGRAM,
    ROOT,
    SMALL,
    messages,
    obey_permissions,
    packages_without,
    run,
    swmodel,
    wait_until_free,
)
from support.long_run import LongRun

from swmodel.files.restart.folder import candidates, facts, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec
from swmodel.parallel import environment

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]

PROGRAMS = Path(__file__).parent / "programs"


def assert_failed(folder, code, words):
    """status.json says that the run failed with `code`, and why."""
    status = read_status(folder)
    assert (status["state"], status["exit_code"]) == ("failed", code)
    assert re.search(words, status["message"])
    wait_until_free(folder)


@pytest.mark.fault("one rank raises an exception")
@pytest.mark.fault("more ranks than cores")
def test_a_bug_on_one_rank_is_one_traceback_and_the_last_restart_stays(tmp_path):
    """On one core for both ranks, which is said too."""
    line = [find_mpiexec(), "-n", "2", sys.executable, str(PROGRAMS / "bug.py"), "run", "jet", *SMALL]
    line += ["-s", "restart.every_steps=50", "--steps", "400", "--output", "run"]
    core = {min(os.sched_getaffinity(0))}
    done = run(tmp_path, line, {"PYTHONPATH": str(ROOT)}, preexec_fn=lambda: os.sched_setaffinity(0, core))
    assert done.returncode == 70
    assert done.stderr.count("Traceback") == 1
    assert messages(done)[-1] == "[rank 1] ZeroDivisionError: a bug"
    assert done.stderr.count("2 processes share the 1 cores of this machine") == 1
    assert_failed(tmp_path / "run", 70, "a bug")
    assert [step_of(path) for path in candidates(tmp_path / "run")] == [100, 50]
    assert all("problem" not in facts(path) for path in candidates(tmp_path / "run"))


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.fault("the time step becomes too long")
def test_a_run_that_becomes_unstable_warns_and_stops_with_its_last_good_restart(tmp_path):
    storm = ["-s", "case.wind=200", "-s", "physics.viscosity=0", "-s", "time.stepper=ab3", "-s", "time.dt=343"]
    often = ["-s", "restart.every_steps=5", "-s", "run.check_every_steps=5"]
    size = ["-s", "grid.nx=24", "-s", "grid.ny=16"]
    done = swmodel(
        tmp_path, "run", "double_gyre", *size, *storm, *often, "--steps", 400, "--nproc", 2, "-o", "run", "--quiet"
    )
    assert done.returncode == 4
    warning, error = messages(done)
    assert re.match(r"WARNING: step \d+ .* is above the largest stable one, .*; CFL .* would be stable$", warning)
    match = re.match(
        r"Error: the solution blew up by step (\d+) \(day \d\.\d+\): h is \S+ m at row \d+, column \d+; CFL \S+ at "
        r"step \d+; start again with a smaller time step \(time\.dt = \S+ s\) or more friction; "
        r"the state is in run/blowup\.nc; last good restart: (run/restart/step-\d+\.nc)$",
        error,
    )
    assert match, error
    assert_failed(tmp_path / "run", 4, "blew up")
    newest = candidates(tmp_path / "run")[0]
    assert str(newest.relative_to(tmp_path)) == match[2]
    assert step_of(newest) < int(match[1])
    with netCDF4.Dataset(tmp_path / "run/blowup.nc") as file:
        assert file["h"][-1].min() <= 0
    with netCDF4.Dataset(newest) as file:
        assert (file["h"][...] > 0).all()


def forbid(run):
    """Take away the permission to make files beside the restart files."""
    (run.folder / "restart").chmod(0o555)


def limit(run):
    """Let files of rank 0 grow to 1000 bytes only, as a quota does."""
    resource.prlimit(run.ranks()[0], resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.fault("the disk fills up with output")
def test_a_disk_that_fills_with_output_is_said_and_earlier_records_are_whole(tmp_path):
    often, seldom = ("-s", "output.every_steps=300"), ("-s", "restart.every_steps=6000")
    with LongRun(tmp_path, "--nproc", 2, *often, *seldom) as long:
        limit(long)
        code, err = long.end(within=30)
    assert code == 5
    assert re.match(r"Error: run/output\.nc(: disk full| cannot be written).* \d+ bytes free", err), err
    assert_failed(long.folder, 5, "output.nc")
    with netCDF4.Dataset(long.folder / "output.nc") as file:
        steps = file["step"][...].tolist()
        assert len(steps) > 5
        assert steps == list(range(0, 300 * len(steps), 300))
        assert np.isfinite(file["eta"][...]).all()


@pytest.mark.fault("a restart cannot be written")
@pytest.mark.parametrize(("refuse", "words"), [(limit, "File too large"), (forbid, "Permission denied")])
def test_a_restart_that_cannot_be_written_leaves_the_last(tmp_path, refuse, words):
    """And the run goes on from there once there is room again."""
    seldom = ["-s", "output.every_steps=1000000000", "-s", "output.diagnostics_every_steps=1000000000"]
    with LongRun(tmp_path, "--nproc", 2, *seldom, preexec_fn=obey_permissions) as long:
        refuse(long)
        code, err = long.end(within=30)
    newest = candidates(long.folder)[0]
    assert code == 5
    assert re.match(rf"Error: run/restart/\S+ .*{words}.*; ", err), err
    assert err.endswith(f"; last restart: {newest.relative_to(tmp_path)}, continue with `swmodel resume run`\n")
    assert all("problem" not in facts(path) for path in candidates(long.folder))
    assert_failed(long.folder, 5, words)
    newest.parent.chmod(0o755)
    done = swmodel(tmp_path, "resume", "run", "--steps", step_of(newest) + 10, "--nproc", 1, "--quiet")
    assert done.returncode == 0, done.stderr


@pytest.mark.fault("the terminal of a run closes, the disk of its log is full, its streams are closed")
def test_a_run_on_two_processes_outlives_whoever_watches_it(tmp_path):
    unread = ("sh", "-c", '"$@" 2>&1 | true', "sh")
    swmodel(tmp_path, "run", "jet", *SMALL, "--steps", 3, "--nproc", 2, "--output", "run", before=unread)
    status = read_status(tmp_path / "run")
    assert (status["state"], status["exit_code"], status["steps"]) == ("completed", 0, 3)


@pytest.mark.fault("the launcher belongs to another MPI")
@pytest.mark.parametrize("names", ["OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE", "SLURM_PROCID SLURM_STEP_NUM_TASKS"])
def test_the_launcher_of_another_mpi_is_refused_by_every_process(tmp_path, names):
    """It starts two processes that know nothing of each other: each of them would run the whole model."""
    for rank in "01":
        environ = dict(zip(names.split(), (rank, "2"), strict=True))
        done = swmodel(tmp_path, "run", "jet", *SMALL, "--steps", "1", "-o", "run", environ=environ)
        assert done.returncode == 3
        assert done.stderr.count("Error: 2 processes were started, but MPI here knows of 1: ") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("mpi4jax or MPI is missing")
def test_without_mpi4jax_and_mpi4py_one_process_runs_and_two_are_refused(tmp_path):
    packages = packages_without(tmp_path / "packages", "mpi4jax", "mpi4py")
    environ = {"PYTHONPATH": str(packages)}

    def start(nproc):
        arguments = ["run", "jet", *SMALL, "--steps", "1", "--nproc", nproc, "-o", "run"]
        return run(tmp_path, [sys.executable, "-S", PROGRAM[1], *arguments], environ)

    refused = start("2")
    assert refused.returncode == 3
    assert refused.stderr == (
        "Error: several processes need mpi4py, not found; install MPI (docs/install.md), or run with --nproc 1\n"
    )
    assert not (tmp_path / "run").exists()
    alone = start("1")
    assert alone.returncode == 0, alone.stderr
    assert read_status(tmp_path / "run")["state"] == "completed"


@pytest.mark.fault("one rank has another version of swmodel")
def test_another_version_on_one_rank_is_refused(tmp_path):
    """Rank 1 finds another JAX's metadata first, as where a second installation is on its path."""
    metadata = tmp_path / "packages" / "jax-0.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.1\n")
    program = [*PROGRAM, "run", "jet", *SMALL, "--steps", "1", "-o", "run"]
    one = [find_mpiexec(), "-n", "1", *program, ":", "-n", "1", "env", f"PYTHONPATH={metadata.parents[1]}", *program]
    done = run(tmp_path, one)
    assert done.returncode == 3
    assert len(messages(done)) == 1
    assert re.match(r"Error: the processes differ: jax is \S+ on rank 0 \(.*\), 0\.1 on rank 1", messages(done)[0])
    assert not (tmp_path / "run").exists()


@pytest.mark.fault("a GPU is requested and missing")
@pytest.mark.parametrize("nproc", [1, 2])
def test_a_gpu_that_is_not_there_is_said_once(tmp_path, nproc):
    absent = "tpu" if environment.has_gpu() else "cuda"
    done = swmodel(
        tmp_path, "run", "jet", *SMALL, "--nproc", nproc, "-o", "run", "--quiet", environ={"JAX_PLATFORMS": absent}
    )
    assert done.returncode == 3
    assert re.fullmatch(
        rf"Error: JAX finds no device \(JAX_PLATFORMS={absent}\): .*; JAX_PLATFORMS=cpu .*\n", done.stderr
    )
    assert_failed(tmp_path / "run", 3, "JAX finds no device")


def mpi_library() -> str:
    """The library of mpi4py's MPI."""
    program = "from mpi4py import MPI; from swmodel.parallel import environment; print(*environment.mpi_libraries())"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return found.stdout.strip()


def run_with_mpi4jax(tmp_path, text, exchange="auto"):
    """Run on two processes that import an mpi4jax with this text."""
    (tmp_path / "packages" / "mpi4jax").mkdir(parents=True, exist_ok=True)
    (tmp_path / "packages" / "mpi4jax" / "__init__.py").write_text(text)
    environ = {"PYTHONPATH": str(tmp_path / "packages"), "SWMODEL_RUN_EXCHANGE": exchange}
    words = ("run", "jet", *SMALL, "--steps", 1, "--nproc", 2, "-o", "run", "--quiet", "--force")
    return swmodel(tmp_path, *words, environ=environ)


def refused_with_mpi4jax(*given) -> str:
    """The one line that such a run says."""
    done = run_with_mpi4jax(*given)
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.fault("two MPI libraries")
def test_two_mpi_libraries_are_refused(tmp_path):
    """An mpi4jax that loads a library of its own, as one does that was compiled with another mpicc."""
    library = mpi_library()
    other = Path(shutil.copy(library, tmp_path))
    said = refused_with_mpi4jax(tmp_path, f"import ctypes\nctypes.CDLL({str(other)!r})\n")
    assert said.startswith(f"Error: mpi4jax uses another MPI ({other}) than mpi4py ({library}); compile mpi4jax")
    assert_failed(tmp_path / "run", 3, "another MPI")


TOO_NEW = "the handler's API version (0.0) is incompatible with the framework's API version (0.4)"
#: An mpi4jax that JAX refuses when it is imported, and one of which it refuses the first message.
REFUSED_AT_ONCE = f"raise RuntimeError({TOO_NEW!r})\n"
REFUSED_LATER = f"""import importlib, sys
sys.path = [path for path in sys.path if not path.endswith("/packages")]
del sys.modules["mpi4jax"]
sys.modules["mpi4jax"] = importlib.import_module("mpi4jax")
def sendrecv(*given, **options):
    raise RuntimeError({TOO_NEW!r})
sys.modules["mpi4jax"].sendrecv = sendrecv
"""


@pytest.mark.fault("JAX is too new for mpi4jax")
@pytest.mark.parametrize(
    ("text", "words"),
    [(REFUSED_AT_ONCE, "mpi4jax cannot be used"), (REFUSED_LATER, r"JAX \S+ and mpi4jax \S+ do not work together")],
)
def test_a_jax_too_new_for_mpi4jax_is_refused(tmp_path, text, words):
    said = refused_with_mpi4jax(tmp_path, text, "mpi4jax")
    assert re.match(rf"Error: {words} \({re.escape(TOO_NEW)}\); compile mpi4jax anew for this JAX", said)
    assert_failed(tmp_path / "run", 3, words)


@pytest.mark.fault("JAX is too new for mpi4jax")
def test_messages_go_without_an_mpi4jax_that_jax_refuses(tmp_path):
    """By the model's own foreign calls."""
    done = run_with_mpi4jax(tmp_path, REFUSED_AT_ONCE)
    assert done.returncode == 0, done.stderr
    assert read_status(tmp_path / "run")["state"] == "completed"
