"""One answer on three roads: runs on MPI processes, on devices of JAX and on one process leave the same files."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
import xarray as xr

from swmodel.restart.folder import candidates

SUPPORT = Path(__file__).parents[1] / "support"
SMALL = ["-s", "grid.nx=46", "-s", "grid.ny=31", "--quiet"]
ROADS = {
    "serial": [],
    "mpi": ["--nproc", "2"],
    "sharded": ["--transport", "sharded", "--devices", "4"],
}


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


@pytest.mark.parametrize("road", ["mpi", "sharded"])
def test_the_jet_leaves_the_same_files_on_every_transport(road, serial, tmp_path):
    swmodel("run", "jet", *SMALL, "--steps", 30, "-s", "output.every_steps=10", *ROADS[road], "-o", tmp_path / road)
    output, checksums = contents(tmp_path / road)
    xr.testing.assert_equal(output, serial[0])
    assert checksums == serial[1]


@pytest.mark.parametrize(("first", "second"), [("mpi", "sharded"), ("sharded", "mpi")])
def test_each_transport_goes_on_from_the_restart_of_the_other(first, second, serial, tmp_path):
    folder = tmp_path / first
    swmodel("run", "jet", *SMALL, "--steps", 20, "-s", "output.every_steps=10", *ROADS[first], "-o", folder)
    there = {"mpi": ["--nproc", 2, "--devices", 1], "sharded": ["--nproc", 1, "--devices", 4]}[second]
    swmodel("resume", folder, "--steps", 30, "--transport", second, "-s", "run.layout=", *there, "--quiet")
    output, checksums = contents(folder)
    xr.testing.assert_equal(output, serial[0])
    assert checksums == serial[1]


@pytest.mark.parametrize("layout", ["2x2", "4x1"])
def test_two_processes_of_two_devices_leave_the_same_files_and_hold_their_part_only(layout, serial, tmp_path):
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    environ = os.environ | {"JAX_PLATFORMS": "cpu"}
    line = [sys.executable, str(SUPPORT / "two_hosts.py")]
    both = [
        subprocess.Popen(
            [*line, str(rank), str(port), layout, str(tmp_path / "hosts")], env=environ, stderr=subprocess.PIPE
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
