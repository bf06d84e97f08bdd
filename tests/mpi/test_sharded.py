"""One answer on all roads: MPI processes, devices, processes of devices and one process leave the same files."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest
import xarray as xr
from support.long_run import SMALL as TINY
from support.long_run import LongRun, processes_of

from swmodel import spawn
from swmodel.launch import find_mpiexec
from swmodel.restart.folder import candidates, step_of
from swmodel.status import read_status

SPAWN = spawn.SPAWN.encode()
SUPPORT = Path(__file__).parents[1] / "support"
SMALL = ["-s", "grid.nx=46", "-s", "grid.ny=31", "--quiet"]
ROADS = {
    "serial": [],
    "mpi": ["--nproc", "2"],
    "devices": ["--transport", "sharded", "--devices", "4"],
    "processes of devices": ["--transport", "sharded", "--nproc", "2", "--devices", "2", "--layout", "4x1"],
}
PROCESSES = ["--transport", "sharded", "--nproc", "2", "--devices", "2"]


def swmodel(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "swmodel", *map(str, arguments)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr


def contents(folder):
    """The fields of output.nc, and the checksums of the last restart file."""
    with h5py.File(candidates(folder)[0]) as file:
        checksums = {name: field.attrs["sha256"] for name, field in file.items() if "sha256" in field.attrs}
    assert len(checksums) == 6
    return xr.load_dataset(folder / "output.nc"), checksums


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roads") / "serial"
    swmodel("run", "jet", *SMALL, "--steps", 30, "-s", "output.every_steps=10", "-o", folder)
    return contents(folder)


@pytest.mark.parametrize("road", ["mpi", "devices", "processes of devices"])
def test_the_jet_leaves_the_same_files_on_every_transport(road, serial, tmp_path):
    swmodel("run", "jet", *SMALL, "--steps", 30, "-s", "output.every_steps=10", *ROADS[road], "-o", tmp_path / road)
    output, checksums = contents(tmp_path / road)
    xr.testing.assert_equal(output, serial[0])
    assert checksums == serial[1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("mpi", ["--nproc", 1, "--transport", "sharded", "--devices", 4]),
        ("mpi", PROCESSES),
        ("devices", ["--transport", "mpi", "--nproc", 2]),
    ],
)
def test_each_transport_goes_on_from_the_restart_of_the_other(first, second, serial, tmp_path):
    folder = tmp_path / first
    swmodel("run", "jet", *SMALL, "--steps", 20, "-s", "output.every_steps=10", *ROADS[first], "-o", folder)
    swmodel("resume", folder, "--steps", 30, *second, "--quiet")
    output, checksums = contents(folder)
    xr.testing.assert_equal(output, serial[0])
    assert checksums == serial[1]


def test_processes_of_devices_that_are_stopped_go_on_on_mpi(tmp_path):
    with LongRun(tmp_path, *PROCESSES, chunk=10) as run:
        run.process.send_signal(signal.SIGTERM)
        code, err = run.end(within=30)
        assert code == 75, err
        assert err.count("stopped by SIGTERM at step ") == 1
        assert run.ranks() == {}
    step = step_of(candidates(run.folder)[0])
    assert read_status(run.folder)["steps"] == step
    swmodel("resume", run.folder, "--transport", "mpi", "--steps", step + 5, "--quiet")
    swmodel("run", "jet", *TINY, "--steps", step + 5, "-o", tmp_path / "serial", "--quiet")
    assert contents(run.folder)[1] == contents(tmp_path / "serial")[1]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_of_devices_is_named_and_the_others_end(tmp_path, rank):
    """Also where `spawn` comes late to it: by then messages have failed in the other, or JAX's runtime has ended it."""
    with LongRun(tmp_path, *PROCESSES, "--quiet", chunk=10) as run:
        (starter,) = {int(environ[SPAWN]) for environ in processes_of(tmp_path).values() if SPAWN in environ}
        os.kill(starter, signal.SIGSTOP)
        os.kill(run.ranks()[rank], signal.SIGKILL)
        time.sleep(0.5)
        os.kill(starter, signal.SIGCONT)
        code, err = run.end(within=20)
        newest, why = candidates(run.folder)[0].relative_to(tmp_path), f"rank {rank} ended: Killed (signal 9)"
        assert code == 70
        assert err == f"Error: {why}; last restart: {newest}, continue with `swmodel resume run`\n"
        assert read_status(run.folder)["message"] == why
        assert run.ranks() == {}


def test_processes_that_mpiexec_has_started_join(serial, tmp_path):
    line = [find_mpiexec(), "-n", "2", sys.executable, "-m", "swmodel", "run", "jet", *SMALL, "--steps", "30"]
    line += ["-s", "output.every_steps=10", "--transport", "sharded", "--devices", "2", "-o", str(tmp_path / "joined")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert read_status(tmp_path / "joined")["nproc"] == 2
    assert contents(tmp_path / "joined")[1] == serial[1]


def test_a_process_with_too_few_devices_refuses_the_run_for_all(tmp_path):
    line = [
        sys.executable,
        "-m",
        "swmodel",
        "run",
        "jet",
        *SMALL,
        *PROCESSES,
        "--steps",
        "1",
        "-o",
        str(tmp_path / "no"),
    ]
    environ = os.environ | {"JAX_NUM_CPU_DEVICES": "1"}
    done = subprocess.run(line, capture_output=True, text=True, timeout=200, env=environ)
    assert (done.returncode, done.stderr) == (3, "Error: 2 devices are asked for, and there are 1\n")


def test_two_processes_of_two_devices_leave_the_same_files_and_hold_their_part_only(serial, tmp_path):
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    environ = os.environ | {"JAX_PLATFORMS": "cpu"}
    line = [sys.executable, str(SUPPORT / "two_hosts.py")]
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
    output, checksums = contents(tmp_path / "hosts")
    xr.testing.assert_equal(output, serial[0])
    assert checksums == serial[1]
