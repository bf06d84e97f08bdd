"""The parts of every run: its lock, status.json, and the schedule of events."""

import json
import math
import os
import signal
import socket
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import wait_until_free

from swmodel.errors import FilesError
from swmodel.files import lock, run_folder
from swmodel.files.schedule import EventSchedule
from swmodel.files.status import write_status


@pytest.mark.fault("the folder is in use")
def test_folder_in_use_is_refused_and_its_process_is_named(tmp_path):
    pattern = rf"{tmp_path} is in use by .*{os.getpid()} on {socket.gethostname()}"
    with lock.hold_folder(tmp_path):
        with pytest.raises(FilesError, match=pattern), lock.hold_folder(tmp_path):
            pass
        with pytest.raises(FilesError, match=pattern):
            run_folder.check_overwritable(tmp_path, force=True)
        assert (tmp_path / "run.lock").exists()
    assert list(tmp_path.iterdir()) == []
    run_folder.check_overwritable(tmp_path)


#: A program that is killed while it holds a folder; its child survives and holds the folder, too.
KILLED_PROGRAM = """
import os, signal, subprocess, sys; from swmodel.files.lock import hold_folder
with hold_folder(sys.argv[1]) as file:
    silent = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child = subprocess.Popen(["sleep", "60"], pass_fds=[file.fileno()], **silent)
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_lock_of_a_killed_process_ends_with_its_last_child(tmp_path):
    """The child stands for mpiexec, which may survive the launcher."""
    command = [sys.executable, "-c", KILLED_PROGRAM, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]
    try:
        with pytest.raises(FilesError, match="in use"):
            lock.check_unlocked(tmp_path)
    finally:
        os.kill(int(process.stdout), signal.SIGKILL)
    wait_until_free(tmp_path)
    run_folder.check_overwritable(tmp_path)


def test_status_has_null_for_numbers_that_are_not_finite(tmp_path):
    value = {"a": [1.5, math.nan, {"b": (math.inf, -math.inf, 0)}], "c": None, "d": "nan", "e": True}
    write_status(tmp_path, **value)
    read = json.loads((tmp_path / "status.json").read_text(), parse_constant=lambda name: 1 / 0)
    assert read == {"a": [1.5, None, {"b": [None, None, 0]}], "c": None, "d": "nan", "e": True}


@settings(max_examples=50)
@given(dt=st.floats(0.1, 1e4), interval=st.floats(0.1, 100.0), last_step=st.integers(0, 300))
def test_events_are_due_at_the_first_step_at_or_after_each_multiple(dt, interval, last_step):
    schedule = EventSchedule(dt, last_step, every_seconds=interval * dt)
    multiples = (math.ceil(k * interval - 1e-6) for k in range(1, int(last_step / interval) + 2))
    expected = {0, last_step} | {min(last_step, step) for step in multiples}
    assert [step for step in range(last_step + 1) if schedule.is_due(step)] == sorted(expected)


@pytest.mark.parametrize(
    ("last_step", "dt", "interval", "due"),
    [
        (10, 1.0, {"every_steps": 4}, [0, 4, 8, 10]), (0, 1.0, {"every_steps": 3}, [0]),
        (3, 1.0, {"every_steps": 7}, [0, 3]),
        (10, 0.7, {"every_seconds": 2.1}, [0, 3, 6, 9, 10]),  # in floating point, 2.1 / 0.7 is above 3
    ],
)  # fmt: skip
def test_events_are_due_at_the_start_after_each_interval_and_at_the_end(last_step, dt, interval, due):
    schedule = EventSchedule(dt, last_step, **interval)
    assert [step for step in range(last_step + 1) if schedule.is_due(step)] == due
    visited, step = [0], 0
    while step < last_step:
        visited.append(step := schedule.next(step))
    assert visited == due


@pytest.mark.fault("an output interval shorter than a time step, or not a multiple of it")
@pytest.mark.parametrize("seconds", [1e-30, 1e-3, 99.9999999, 100.0])
def test_interval_of_a_step_or_less_is_due_at_every_step(seconds):
    schedule = EventSchedule(dt=100.0, last_step=2**31 - 1, every_seconds=seconds)
    for step in (0, 1, 7, 10**6, 2**31 - 3):
        assert schedule.next(step) == step + 1
        assert schedule.is_due(step)
