"""Sensitivities on two blocks are those on one, and end together when asked to."""

import contextlib
import os
import signal
import subprocess
import time

import netCDF4
import numpy as np
import pytest
from support.long_run import PROGRAM, TAG, processes_of

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]

SETTINGS = ("grid.nx=13", "grid.ny=11", "grid.dx=100e3", "grid.dy=200e3", "physics.viscosity=1e4")
SIZE = [word for setting in SETTINGS for word in ("-s", setting)]
SIZE += ["-s", 'output.sections=[{name="slant", start=[3e5, 4e5], end=[10e5, 18e5]}]']
TO = [word for name in ("eta", "u", "v", "depth", "wind_x", "linear_drag", "viscosity") for word in ("--to", name)]


def run(folder, *arguments):
    line = [*PROGRAM, "sensitivity", "double_gyre", *SIZE, *arguments]
    return subprocess.run(line, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=200)


def contents(path):
    with netCDF4.Dataset(path) as data:
        data.set_auto_mask(False)
        return {name: (data[name][...], data[name].__dict__) for name in data.variables}


@pytest.mark.parametrize(
    ("of", "mean", "layout", "where"),
    [
        ("transport:slant", True, "1x2", ["--nproc", "2"]),
        ("sea_level:6e5,1.1e6", False, "2x1", ["--nproc", "2", "--transport", "sharded"]),
    ],
)
def test_two_blocks_give_the_file_of_one(tmp_path, of, mean, layout, where):
    """Of a section across both, and of a gauge; on two processes, connected by MPI or by JAX."""
    common = ["--of", of, *TO, "--steps", "30", "--dtype", "float64", *(["--mean"] if mean else [])]
    done = run(tmp_path, *common, "--output", "one")
    assert done.returncode == 0, done.stderr
    one = contents(tmp_path / "one" / "sensitivity.nc")
    done = run(tmp_path, *common, "--output", layout, *where, "--layout", layout)
    assert done.returncode == 0, done.stderr
    two = contents(tmp_path / layout / "sensitivity.nc")
    assert two.keys() == one.keys()
    for name, (values, attributes) in one.items():
        water = values[values < 9e36]
        np.testing.assert_allclose(
            two[name][0], values, rtol=1e-12, atol=1e-12 * np.abs(water).max(initial=0), err_msg=name
        )
        assert str(two[name][1]) == str(attributes)
    assert (tmp_path / layout / "sensitivity.png").exists()
    assert "Next: swmodel plot" in done.stdout


def test_a_signal_ends_it_on_all_processes(tmp_path):
    line = [*PROGRAM, "sensitivity", "double_gyre", *SIZE, "--of", "mass", "--to", "eta", "--steps", "3000000"]
    line += ["--nproc", "2", "--output", "run", "--memory", "3GB"]
    environ = os.environ | {TAG: str(tmp_path)}
    with (tmp_path / "out.txt").open("w") as out, (tmp_path / "err.txt").open("w") as err:
        process = subprocess.Popen(line, cwd=tmp_path, env=environ, stdout=out, stderr=err, process_group=0)
    try:
        deadline = time.monotonic() + 120
        while "forward" not in (tmp_path / "out.txt").read_text():
            assert process.poll() is None, (tmp_path / "err.txt").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 75
    finally:
        for pid in (process.pid, *processes_of(tmp_path)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
    assert (tmp_path / "err.txt").read_text().splitlines()[-1].startswith("stopped by SIGINT")
    assert not (tmp_path / "run" / "sensitivity.nc").exists()
