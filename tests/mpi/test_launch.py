"""Runs on several processes from the command line: what they leave, and how they end when something goes wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swmodel.files.run_folder import CONFIG, DIAGNOSTICS, OUTPUT, RESTARTS, STATUS
from swmodel.files.status import read_status
from swmodel.model import launch

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, str(ROOT / "cli.py")]
SMALL = ["-s", "grid.nx=23", "-s", "grid.ny=11"]


def swmodel(folder, *arguments, before=(), environ=None):
    """Run the program in `folder`, after the words `before`; the completed process."""
    line = [*before, *PROGRAM, *map(str, arguments)]
    environ = os.environ | {"MPIEXEC_TIMEOUT": "100"} | (environ or {})
    return subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


def mpiexec(n):
    return [launch.find_mpiexec(), "-n", str(n)]


@pytest.mark.parametrize("own_mpiexec", [False, True])
def test_two_processes_leave_a_complete_run(tmp_path, own_mpiexec):
    before, arguments = (mpiexec(2), []) if own_mpiexec else ((), ["--nproc", 2])
    done = swmodel(tmp_path, "run", "jet", *SMALL, "--steps", 4, *arguments, before=before)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "outputs/jet"
    assert {path.name for path in folder.iterdir()} == {CONFIG, OUTPUT, DIAGNOSTICS, STATUS, RESTARTS}
    status = read_status(folder)
    assert (status["state"], status["exit_code"], status["steps"]) == ("completed", 0, 4)
    assert (status["nproc"], status["layout"], status["transport"]) == (2, [1, 2], "mpi")
    assert "step 4/4" in done.stdout
    assert "@swmodel" not in done.stdout
    assert done.stderr.count("grid.nx=23 makes the domain 115 km wide instead of") == 1
    assert done.stdout.count("2 processes (1x2 blocks)") == 2
    assert done.stdout.splitlines()[-1] == "Next: swmodel plot outputs/jet"
    assert "nproc = 2" in (folder / "config.toml").read_text()


@pytest.mark.fault("a layout for another number of ranks")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jet", *SMALL, "-s", "grid.dx=-1"], "-s grid.dx=-1: must be above 0"),
        (["jet", *SMALL, "--nproc", "3"], "--nproc 3, but 2 processes were started"),
        (["jet", *SMALL, "--layout", "3x1"], "layout 3x1 has 3 blocks, but there are 2 processes"),
        (["jet", *SMALL, "--output", "taken"], "taken exists and is not empty; give --force"),
    ],
)
def test_wrong_input_under_mpiexec_is_said_once(tmp_path, arguments, message):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("keep")
    done = swmodel(tmp_path, "run", *arguments, before=mpiexec(2))
    assert done.returncode == 2
    assert done.stderr.count(message) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "notes.txt"]


@pytest.mark.fault("the launcher belongs to another MPI")
def test_an_mpiexec_that_only_starts_processes_is_refused(tmp_path, capfd):
    worker = f"{sys.executable} -m swmodel worker {tmp_path} run"
    assert launch.run(["sh", "-c", f"{worker} & {worker}; wait"], 2, tmp_path, lambda event: None) == 3
    words = "Error: mpiexec does not tell its processes that they belong together: is it that of mpi4py's MPI?\n"
    assert capfd.readouterr() == ("", words)
    assert read_status(tmp_path)["exit_code"] == 3


@pytest.mark.fault("mpiexec is missing")
def test_without_mpiexec_two_processes_are_refused_and_one_runs(tmp_path):
    """A Python in a folder without mpiexec, and an empty PATH."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    packages = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    environ = {"PATH": "", "PYTHONPATH": packages}

    def run(nproc):
        line = [str(python), str(ROOT / "cli.py"), "run", "jet", *SMALL, "--steps", "1", "--nproc", nproc]
        return subprocess.run(line, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120)

    refused = run("2")
    assert refused.returncode == 3
    assert "several processes need mpiexec, not found" in refused.stderr
    assert not (tmp_path / "outputs").exists()
    assert run("1").returncode == 0


@pytest.mark.fault("a process ends before MPI starts")
def test_a_rank_without_mpi4py_does_not_leave_the_other_waiting_for_it_in_mpi(tmp_path):
    program = (
        "import sys; from swmodel.parallel.environment import world\n"
        "if world().rank == 1: sys.modules['mpi4py'] = None\n"
        f"sys.argv[1:] = ['run', 'jet', '--steps', '1', '--output', {str(tmp_path / 'run')!r}]\n"
        "from swmodel.__main__ import main; main()"
    )
    done = subprocess.run([*mpiexec(2), sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stderr.count("Error: mpi4py cannot be used (") == 1


@pytest.mark.fault("a process ends before MPI starts")
def test_processes_do_not_wait_for_ever_for_one_that_ended_before_mpi_started():
    program = """
import os
from swmodel.parallel import watchdog
from swmodel.parallel.environment import world
from swmodel.parallel.transport import connect
watchdog.START = 1.0
if world().rank == 1:
    os._exit(1)
connect("mpi", (1, 2), 8, 8)
"""
    line = [*mpiexec(2), sys.executable, "-c", program]
    done = subprocess.run(line, env=launch.rank_environment(2), capture_output=True, text=True, timeout=60)
    assert done.returncode
    assert "Timeout (0:00:01)!" in done.stderr
