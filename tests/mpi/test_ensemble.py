"""`swmodel ensemble` on several processes: the bits of one, also when another number of them goes on."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from support.long_run import LongRun
from support.restarts import assert_same_data, data
from support.small_ensemble import words

from swmodel.restart.folder import candidates, facts, path_of

ROOT = Path(__file__).parents[2]


def swmodel(*line, code=0):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "120"}
    line = [sys.executable, "-m", "swmodel", *map(str, line)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def ensemble(folder, *options, code=0, **changes):
    return swmodel("ensemble", "double_gyre", *words(**changes), "--output", folder, *options, code=code)


def test_members_on_two_processes_stopped_and_gone_on_with_by_two_devices_are_those_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    cells = {"grid__nx": 96, "grid__ny": 64, "grid__dx": 2e4, "grid__dy": 2e4}
    ensemble(one, **cells)
    assert "2 processes" in ensemble(two, "--nproc", 2, "--steps", 7, **cells)
    assert "from step 7 on" in swmodel("resume", two, "--nproc", 1, "--devices", 2, "--steps", 12)
    assert_same_data(two / "ensemble.nc", one / "ensemble.nc")
    assert_same_data(path_of(two, 12), path_of(one, 12))


def test_a_killed_rank_is_named_with_the_last_restart_of_the_ensemble(tmp_path):
    with LongRun(tmp_path, "--nproc", 2, "--members", 3, task="ensemble") as run:
        os.kill(run.ranks()[1], signal.SIGKILL)
        code, text = run.end(within=10)
        newest = candidates(run.folder)[0]
        assert (code, text) == (
            70,
            f"Error: rank 1 ended: Killed (signal 9); last restart: {newest.relative_to(tmp_path)}, "
            "continue with `swmodel resume run`\n",
        )
        assert "problem" not in facts(newest)


def test_what_only_one_process_meets_ends_all_with_one_error_and_the_state_of_its_member(tmp_path):
    text = ensemble(tmp_path, "--nproc", 2, "-s", "ensemble.initial_eta=200", "-s", "ensemble.seed=4", code=4)
    assert text.count("Error") == 1
    found = re.search(r"in member 4: h is (\S+) m at row (\d+), column (\d+); .*; the state is in", text)
    row, column = int(found[2]), int(found[3])
    assert np.isclose(data(tmp_path / "blowup.nc")["h"][-1, row, column], float(found[1]), rtol=1e-5)
