"""`swmodel ensemble` on several processes and devices: the bits of one, also when others go on after a signal."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import netCDF4
import numpy as np
from support.small_ensemble import words

ROOT = Path(__file__).parents[2]

#: Cells enough for XLA to divide the work of the first fields between threads.
LARGER = {"grid__nx": 96, "grid__ny": 64, "grid__dx": 2e4, "grid__dy": 2e4, "output__every_steps": 1000}


def start(folder, *options, **changes):
    line = [sys.executable, "-m", "swmodel", "ensemble", "double_gyre", *words(**changes), "--output", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "120"}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([*line, *map(str, options)], env=environment, **both)


def ended(process, code=0):
    text = process.communicate(timeout=150)[0]
    assert process.returncode == code, text
    return text


def contents(folder):
    with netCDF4.Dataset(folder / "ensemble.nc") as data, h5py.File(folder / "ensemble.h5") as file:
        found = {name: np.ma.filled(variable[...], 0) for name, variable in data.variables.items()}
        return found | {f"restart {name}": values[()] for name, values in file.items() if name != "text"}


def test_five_members_on_two_processes_stopped_by_a_signal_and_gone_on_with_on_two_devices_are_those_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    process = start(two, "--nproc", "2", "--steps", "1000000", **LARGER)
    while "step 0/" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert "--resume" in ended(process, code=75)
    steps = json.loads((two / "status.json").read_text())["steps"] + 7
    assert "2 devices" in ended(start(two, "--devices", "2", "--steps", steps, "--resume", **LARGER))
    ended(start(one, "--steps", steps, **LARGER))
    ours, theirs = contents(one), contents(two)
    assert ours["step"][-1] == steps
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if not np.array_equal(ours[name], theirs[name])]


def test_what_only_one_process_meets_ends_all_with_one_error(tmp_path):
    options = "-s", "ensemble.initial_eta=250", "-s", "ensemble.seed=2"
    text = ended(start(tmp_path / "folder", "--nproc", "2", *options), code=2)
    assert text.count("Error") == 1
    assert "the thickness of member" in text
