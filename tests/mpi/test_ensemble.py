"""`swmodel ensemble` on several processes and devices: the bits of one, also when others go on after a signal."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.restarts import assert_same_data, data
from support.small_ensemble import words

from swmodel.files.restart.folder import path_of
from swmodel.files.status import read_status

pytestmark = [pytest.mark.mpi, pytest.mark.night]

ROOT = Path(__file__).parents[2]

#: Cells enough for XLA to divide the work of the first fields between threads.
LARGER = {"grid__nx": 96, "grid__ny": 64, "grid__dx": 2e4, "grid__dy": 2e4, "output__every_steps": 1000}


def start(*line):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "120"}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([sys.executable, "-m", "swmodel", *map(str, line)], env=environment, **both)


def ensemble(folder, *options, **changes):
    return start("ensemble", "double_gyre", *words(**changes), "--output", folder, *options)


def ended(process, code=0):
    text = process.communicate(timeout=150)[0]
    assert process.returncode == code, text
    return text


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.fault("a run continues on another number of ranks")
def test_five_members_on_two_processes_stopped_by_a_signal_and_gone_on_with_on_two_devices_are_those_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    process = ensemble(two, "--nproc", 2, "--steps", 1000000, **LARGER)
    while "step 0/" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert f"continue with `swmodel resume {two}`" in ended(process, code=75)
    assert not (two / "ensemble.png").exists()
    done = read_status(two)
    assert (done["transport"], done["nproc"], done["layout"]) == ("mpi", 2, [1, 1])
    steps = done["steps"] + 7
    text = ended(start("resume", two, "--nproc", 1, "--devices", 2, "--steps", steps))
    assert f"from step {done['steps']} on" in text
    ended(ensemble(one, "--steps", steps, **LARGER))
    assert_same_data(two / "ensemble.nc", one / "ensemble.nc")
    assert_same_data(path_of(two, steps), path_of(one, steps))


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
def test_what_only_one_process_meets_ends_all_with_one_error_and_the_state_of_its_member(tmp_path):
    options = "-s", "ensemble.initial_eta=200", "-s", "ensemble.seed=4"
    text = ended(ensemble(tmp_path, "--nproc", 2, *options), code=4)
    assert text.count("Error") == 1
    found = re.search(r"in member 4: h is (\S+) m at row (\d+), column (\d+); .*; the state is in", text)
    row, column = int(found[2]), int(found[3])
    assert np.isclose(data(tmp_path / "blowup.nc")["h"][-1, row, column], float(found[1]), rtol=1e-5)
