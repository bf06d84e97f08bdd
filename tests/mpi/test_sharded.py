"""One answer on all roads: MPI processes, devices, processes of devices and one process leave the same files."""

import os
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import h5py
import pytest
import xarray as xr
from support.compiling import QUICK
from support.long_run import LongRun

from swmodel.files.restart.folder import candidates
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec

pytestmark = pytest.mark.mpi

PROGRAMS = Path(__file__).parent / "programs"
SMALL = [
    *("-s", "grid.nx=46", "-s", "grid.ny=31", "-s", "output.every_steps=10", "--quiet"),
    *("-s", 'output.stations=[{name="a", x=114e3, y=79e3}, {name="b", x=20e3, y=150e3}]', "-s", "output.arrival=0.3"),
    *("-s", 'output.sections=[{name="across", start=[20e3, 0.0], end=[190e3, 130e3]}]', "-s", "output.maxima=speed"),
    *("-s", "output.drifters=[{box=[0.0, 230e3, 0.0, 155e3], spacing=11e3}]"),
]
PROCESSES = ["--transport", "sharded", "--nproc", "2", "--devices", "2"]
#: What stands on the command line of a run, and of one that is resumed.
MPI = ["--transport", "mpi", "--nproc", "2"]
DEVICES = ["--transport", "sharded", "--nproc", "1", "--devices", "4"]
#: Executors whose answer does not depend on the layout.
NATIVE, XLA = ["--executor", "native"], ["--executor", "xla", "--reproducible"]


def swmodel(*arguments):
    """Run the program; around native steps what XLA makes has no part in the bits, and is made quickly."""
    done = subprocess.run(
        [sys.executable, "-m", "swmodel", *map(str, arguments)],
        env=os.environ | (QUICK if "--reproducible" not in arguments else {}),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr


def contents(folder):
    """What is in the files of records, and the checksums of the last restart file."""
    with h5py.File(candidates(folder)[0]) as file:
        checksums = {name: field.attrs["sha256"] for name, field in file.items() if "sha256" in field.attrs}
    assert len(checksums) == 16
    names = ("output.nc", "diagnostics.nc", "stations.nc", "sections.nc", "drifters.nc")
    return *(xr.load_dataset(folder / name) for name in names), checksums


def assert_same(ours, theirs):
    for mine, other in zip(ours[:-1], theirs[:-1], strict=True):
        xr.testing.assert_equal(mine, other)
    assert ours[-1] == theirs[-1]


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """What one process leaves: a function of the options of the executor."""

    @cache
    def of(*executor):
        folder = tmp_path_factory.mktemp("serial") / "run"
        swmodel("run", "jet", *SMALL, *executor, "--steps", 30, "-o", folder)
        return contents(folder)

    return of


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.promise("gauges, sections and largest values see every step")
@pytest.mark.parametrize(
    ("executor", "transports"),
    [(NATIVE, [DEVICES, MPI]), (XLA, [MPI, DEVICES]), (NATIVE, [MPI, [*PROCESSES, "--layout", "4x1"], DEVICES])],
    ids=["devices, mpi", "mpi, devices, in xla", "mpi, processes of devices, devices"],
)
def test_each_transport_goes_on_from_another_and_leaves_the_files_of_one_process(
    executor, transports, serial, tmp_path
):
    folder, (first, *others) = tmp_path / "run", transports
    swmodel("run", "jet", *SMALL, *executor, "--steps", 10, *first, "-o", folder)
    for turn, other in enumerate(others, 2):
        swmodel("resume", folder, "--steps", 30 * turn // len(transports), *other, "--quiet")
    assert_same(contents(folder), serial(*executor))


@pytest.mark.fault("a rank is killed")
@pytest.mark.night
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_of_devices_is_named_and_the_others_end(tmp_path, rank):
    with LongRun(tmp_path, *PROCESSES, "--quiet", chunk=10) as run:
        os.kill(run.ranks()[rank], signal.SIGKILL)
        code, err = run.end(within=20)
        newest, why = candidates(run.folder)[0].relative_to(tmp_path), f"rank {rank} ended: Killed (signal 9)"
        assert code == 70
        assert err == f"Error: {why}; last restart: {newest}, continue with `swmodel resume run`\n"
        assert read_status(run.folder)["message"] == why
        assert run.ranks() == {}


@pytest.mark.night
def test_processes_that_mpiexec_has_started_join(serial, tmp_path):
    line = [find_mpiexec(), "-n", "2", sys.executable, "-m", "swmodel", "run", "jet", *SMALL, "--steps", "30"]
    line += ["--transport", "sharded", "--devices", "2", "-o", str(tmp_path / "joined")]
    done = subprocess.run(line, env=os.environ | QUICK, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert read_status(tmp_path / "joined")["nproc"] == 2
    assert_same(contents(tmp_path / "joined"), serial(*NATIVE))


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.night
def test_two_processes_started_by_hand_leave_the_same_files_hold_their_part_only_and_go_on(serial, tmp_path):
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    environ = os.environ | QUICK | {"JAX_PLATFORMS": "cpu"}
    line = [sys.executable, str(PROGRAMS / "two_hosts.py")]
    both = [
        subprocess.Popen(
            [*line, str(rank), str(port), "2x2", str(tmp_path / "hosts")], env=environ, stderr=subprocess.PIPE
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=200)[1].decode() for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], errors
    assert_same(contents(tmp_path / "hosts"), serial(*NATIVE))
