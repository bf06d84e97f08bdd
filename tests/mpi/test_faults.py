"""Real faults in real runs on two processes, each within its time: what is said, the exit code, and what is left.

The faults and all tests of them are listed in docs/trust.md.
"""

import os
import re
import resource
import shlex
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
    small_disk,
    swmodel,
    wait_until_free,
)
from support.long_run import LongRun

from swmodel.files.restart.folder import candidates, facts, step_of
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec
from swmodel.parallel import environment

pytestmark = pytest.mark.usefixtures("quickly_compiled")

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def disk(tmp_path):
    """A file system of one megabyte where mounting is allowed; else a folder (`limit` stands for a full disk then)."""
    with small_disk(tmp_path / "disk", "1m") as folder:
        yield folder


def assert_failed(folder, code, words):
    """status.json says that the run failed with `code`, and why."""
    status = read_status(folder)
    assert (status["state"], status["exit_code"]) == ("failed", code)
    assert re.search(words, status["message"])
    wait_until_free(folder)


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


def test_a_run_that_becomes_unstable_warns_and_stops_with_its_last_good_restart(tmp_path):
    storm = ["-s", "case.wind=1000", "-s", "physics.viscosity=0"]
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
        r"step \d+; start anew with a smaller time step \(time\.dt = \S+ s\) or more friction; "
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


def test_a_disk_that_fills_with_output_is_said_and_earlier_records_are_whole(disk):
    if os.path.ismount(disk):
        size = ["-s", "grid.nx=60", "-s", "grid.ny=40", "-s", "output.every_steps=2"]
        done = swmodel(disk, "run", "jet", *size, "--steps", 400, "--nproc", 2, "-o", "run", "--quiet")
        code, err, each = done.returncode, done.stderr, 2
    else:
        with LongRun(disk, "--nproc", 2, "-s", "output.every_steps=300") as long:
            limit(long)
            (code, err), each = long.end(within=30), 300
    assert code == 5
    assert re.match(r"Error: run/output\.nc(: disk full| cannot be written).* \d+ bytes free", err), err
    assert_failed(disk / "run", 5, "output.nc")
    with netCDF4.Dataset(disk / "run/output.nc") as file:
        steps = file["step"][...].tolist()
        assert len(steps) > 5
        assert steps == list(range(0, each * len(steps), each))
        assert np.isfinite(file["eta"][...]).all()


def test_permissions_that_are_missing_are_said_before_any_rank_starts(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    arguments = ["run", "jet", *SMALL, "--steps", 1, "--nproc", 2, "-o", "locked/run"]
    done = swmodel(tmp_path, *arguments, preexec_fn=obey_permissions)
    assert done.returncode == 5
    assert done.stderr == f"Error: locked/run cannot be written: no permission in {folder}\n"
    assert list(folder.iterdir()) == []


def fill(run):
    """Leave 40 kB of the disk that the run is on, which is a small one."""
    left = shutil.disk_usage(run.folder).free - 40_000
    (run.folder.parent / "filler").write_bytes(bytes(left))


def forbid(run):
    """Take away the permission to make files beside the restart files."""
    (run.folder / "restart").chmod(0o555)


def limit(run):
    """Let files of rank 0 grow to 1000 bytes only, as a quota does."""
    resource.prlimit(run.ranks()[0], resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize(
    ("refuse", "words"),
    [(fill, "(disk full|No space left on device)"), (forbid, "Permission denied"), (limit, "File too large")],
)
def test_a_restart_that_cannot_be_written_leaves_the_last(disk, refuse, words):
    """And the run goes on from there once there is room again."""
    if not os.path.ismount(disk) and refuse is fill:
        refuse, words = limit, "File too large"
    seldom = ["-s", "output.every_steps=1000000000", "-s", "output.diagnostics_every_steps=1000000000"]
    with LongRun(disk, "--nproc", 2, *seldom, preexec_fn=obey_permissions) as long:
        refuse(long)
        code, err = long.end(within=30)
        newest = candidates(long.folder)[0]
        assert code == 5
        assert re.match(rf"Error: run/restart/\S+ .*{words}.*; ", err), err
        assert err.endswith(f"; last restart: {newest.relative_to(disk)}, continue with `swmodel resume run`\n")
        assert err.count("\n") == 1
        assert all("problem" not in facts(path) for path in candidates(long.folder))
        assert_failed(long.folder, 5, words)
        (disk / "filler").unlink(missing_ok=True)
        newest.parent.chmod(0o755)
        steps = step_of(newest) + 10
        done = swmodel(disk, "resume", "run", "--steps", steps, "--nproc", 1, "--quiet")
        assert done.returncode == 0, done.stderr
        assert read_status(long.folder)["steps"] == steps


def test_a_run_on_two_processes_outlives_whoever_watches_it(tmp_path):
    unread = ("sh", "-c", '"$@" 2>&1 | true', "sh")
    swmodel(tmp_path, "run", "jet", *SMALL, "--steps", 3, "--nproc", 2, "--output", "run", before=unread)
    status = read_status(tmp_path / "run")
    assert (status["state"], status["exit_code"], status["steps"]) == ("completed", 0, 3)


def test_more_processes_than_cells_name_the_largest_number(tmp_path):
    done = swmodel(tmp_path, "run", "jet", *SMALL, "--nproc", 400)
    assert done.returncode == 2
    assert "400 processes are too many for a grid of 11 x 23 cells" in done.stderr
    assert "the largest number that fits below it is 253" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "why", "advice"),
    [
        ("OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE", "mpiexec is not that of the MPI", "`swmodel run --nproc 2`"),
        ("SLURM_PROCID SLURM_STEP_NUM_TASKS", "srun does not speak to the MPI that mpi4py uses (", "`srun --mpi=pmix`"),
    ],
)
def test_the_launcher_of_another_mpi_is_refused_by_every_process(tmp_path, names, why, advice):
    """It starts two processes that know nothing of each other: each of them would run the whole model."""
    line = [*PROGRAM, "run", "jet", *SMALL, "--steps", "1", "-o", "run"]
    environs = [dict(zip(names.split(), (str(rank), "2"), strict=True)) for rank in (0, 1)]
    both = [
        subprocess.Popen(line, cwd=tmp_path, env=os.environ | environ, stderr=subprocess.PIPE, text=True)
        for environ in environs
    ]
    for process in both:
        err = process.communicate(timeout=60)[1]
        assert process.returncode == 3
        assert err.count(f"Error: 2 processes were started, but MPI here knows of 1: {why}") == 1
        assert advice in err
    assert list(tmp_path.iterdir()) == []


def test_without_mpi4jax_and_mpi4py_one_process_runs_and_two_are_refused(tmp_path):
    packages = packages_without(tmp_path / "packages", "mpi4jax", "mpi4py")
    environ = {"PYTHONPATH": str(packages)}

    def start(nproc):
        arguments = ["run", "jet", *SMALL, "--steps", "1", "--nproc", nproc, "-o", "run"]
        return run(tmp_path, [sys.executable, "-S", PROGRAM[1], *arguments], environ)

    refused = start("2")
    assert refused.returncode == 3
    assert refused.stderr == (
        "Error: several processes need mpi4py, mpi4jax, not found; install MPI as docs/install.md says, "
        "or run with --nproc 1\n"
    )
    assert not (tmp_path / "run").exists()
    alone = start("1")
    assert alone.returncode == 0, alone.stderr
    assert read_status(tmp_path / "run")["state"] == "completed"


SECOND_MPI = """import ctypes
ctypes.CDLL({library!r})
"""


def test_two_mpi_libraries_are_refused(tmp_path):
    """An mpi4jax that loads a library of its own, as one does that was compiled with another mpicc."""
    program = "from mpi4py import MPI; from swmodel.parallel import environment; print(*environment.mpi_libraries())"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    (library,) = found.stdout.split()
    other = tmp_path / "other" / Path(library).name
    other.parent.mkdir()
    shutil.copy(library, other)
    (tmp_path / "packages" / "mpi4jax").mkdir(parents=True)
    (tmp_path / "packages" / "mpi4jax" / "__init__.py").write_text(SECOND_MPI.format(library=str(other)))
    environ = {"PYTHONPATH": str(tmp_path / "packages")}
    done = swmodel(tmp_path, "run", "jet", *SMALL, "--steps", 1, "--nproc", 2, "-o", "run", "--quiet", environ=environ)
    assert done.returncode == 3
    assert done.stderr.startswith(f"Error: mpi4jax uses another MPI ({other}) than mpi4py ({library}); compile mpi4jax")
    assert len(done.stderr.splitlines()) == 1
    assert_failed(tmp_path / "run", 3, "another MPI")


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


#: A function that says to XLA that it was compiled for version 0.0 of its interface.
HANDLER = """
#include "xla/ffi/api/c_api.h"
XLA_FFI_Error* handler(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata)
    ((XLA_FFI_Metadata_Extension*)frame->extension_start)->metadata->api_version.minor_version = 0;
  return 0;
}
"""
OLD_MPI4JAX = """
import ctypes, importlib, sys, jax
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
address = ctypes.cast(ctypes.CDLL({library!r}).handler, ctypes.c_void_p)
register = jax.ffi.register_ffi_target
jax.ffi.register_ffi_target = lambda name, fn, **options: register(name, capsule(address, None, None), **options)
sys.path.remove({folder!r})
del sys.modules["mpi4jax"]
sys.modules["mpi4jax"] = importlib.import_module("mpi4jax")
"""


def test_a_jax_too_new_for_mpi4jax_is_refused(tmp_path):
    """An mpi4jax whose compiled part is of a version that this JAX supports no more: JAX itself refuses it."""
    import jax

    source, library, packages = tmp_path / "handler.c", tmp_path / "handler.so", tmp_path / "packages"
    source.write_text(HANDLER)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    line = [*compiler, "-shared", "-fPIC", "-I", jax.ffi.include_dir(), str(source), "-o", str(library)]
    subprocess.run(line, check=True, timeout=60)
    (packages / "mpi4jax").mkdir(parents=True)
    (packages / "mpi4jax" / "__init__.py").write_text(OLD_MPI4JAX.format(library=str(library), folder=str(packages)))
    environ = {"PYTHONPATH": str(packages)}
    done = swmodel(tmp_path, "run", "jet", *SMALL, "--steps", 1, "--nproc", 2, "-o", "run", "--quiet", environ=environ)
    assert done.returncode == 3
    assert re.fullmatch(
        r"Error: mpi4jax cannot be used \(.*API version \(0\.0\) is incompatible with the framework.*\); "
        r"compile mpi4jax anew for this JAX and this MPI: docs/install\.md\n",
        done.stderr,
    )
    assert_failed(tmp_path / "run", 3, "mpi4jax cannot be used")
