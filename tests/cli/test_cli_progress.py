"""What a run shows: a bar on a terminal, a line every ten seconds elsewhere, messages under the launcher."""

import io
import os
import pty
import re

import pytest

from swmodel.model import progress
from swmodel.parallel import environment

EVENT = {
    "step": 50,
    "steps": 200,
    "model_seconds": 43200.0,
    "cell_updates_per_second": 2.5e8,
    "cfl": 0.125,
    "energy": 1.5e15,
    "wall_seconds": 30.0,
    "remaining_seconds": 90.0,
}
LINES = ("step 50/200  day 0.50  0:01:30 left", "250.0 million cells/s  CFL 0.12  energy 1.5000e+15 J")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in (environment.LAUNCHED, "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def on_terminal(quiet=False):
    """What the reporter writes on a terminal 80 columns wide."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        with progress.reporter(quiet, stream) as report:
            report(EVENT | {"step": 0, "cfl": None, "energy": None, "remaining_seconds": None})
            report(EVENT)
        stream.flush()
        os.set_blocking(ours, False)
        written = b""
        try:
            while part := os.read(ours, 65536):
                written += part
        except BlockingIOError:
            pass
    os.close(ours)
    return written.decode()


def test_what_is_not_known_yet_is_left_out():
    unknown = {"cell_updates_per_second": 0.0, "cfl": None, "energy": None, "remaining_seconds": None}
    assert progress.in_two_lines(EVENT | unknown) == ("step 50/200  day 0.50", "")


def test_under_the_launcher_events_survive_the_pipe(monkeypatch):
    monkeypatch.setenv(environment.LAUNCHED, "1")
    stream = io.StringIO()
    with progress.reporter(quiet=True, stream=stream) as report:
        report(EVENT)
    assert progress.receive(stream.getvalue()) == EVENT
    assert progress.receive("any other line\n") is None


def test_without_a_terminal_a_line_every_ten_seconds_and_one_at_the_end():
    stream, now = io.StringIO(), 0.0
    with progress.Heartbeat(stream, clock=lambda: now) as report:
        for step in range(0, 201, 8):
            now = step / 4  # seconds: 50 in all
            report(EVENT | {"step": step})
    steps = [int(number) for number in re.findall(r"step (\d+)/", stream.getvalue())]
    assert steps == [0, 40, 80, 120, 160, 200]


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    written = on_terminal()
    assert all(line in written for line in LINES)
    assert "━" in written
    assert "\x1b[38;" in written


def test_quiet_is_silent():
    stream = io.StringIO()
    with progress.reporter(quiet=True, stream=stream) as report:
        report(EVENT)
    assert stream.getvalue() == ""
    assert on_terminal(quiet=True) == ""


def test_the_summary_says_where_how_long_how_fast_and_what_next():
    status = {
        "steps": 200,
        "model_seconds": 172800.0,
        "wall_seconds": 12.34,
        "compile_seconds": 1.2,
        "cell_updates_per_second": 6.7e7,
        "nproc": 2,
        "layout": [1, 2],
    }
    assert progress.summary(status, "outputs/jet").splitlines() == [
        "outputs/jet: output.nc, diagnostics.nc, config.toml, status.json",
        "200 steps, 2 model days in 12.3 s, of which compilation 1.2 s",
        "67.0 million cell updates per second on 2 processes (1x2 blocks)",
        "Next: swmodel plot outputs/jet",
    ]
