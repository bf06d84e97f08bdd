"""Requests to stop: signals and the wall-clock limit, on one process and agreed between several."""

import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from support.ranks import run_ranks

from swmodel.errors import STOPPED
from swmodel.parallel import environment, stop
from swmodel.parallel.decomposition import block
from swmodel.parallel.stop import Stop, duration
from swmodel.parallel.transport.serial import Serial

ALONE = Serial(block(0, (1, 1), 1, 1))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_reason_to_stop_and_handlers_come_back(number):
    before = signal.getsignal(number)
    with Stop() as asked:
        assert asked.reason(ALONE) is None
        signal.raise_signal(number)
        assert asked.reason(ALONE) == number.name
    assert signal.getsignal(number) == before


def test_what_came_before_the_time_loop_is_not_forgotten_and_twice_within_a_second_is_once():
    with Stop():
        signal.raise_signal(signal.SIGTERM)
        with Stop() as inner:
            signal.raise_signal(signal.SIGTERM)
            assert inner.reason(ALONE) == "SIGTERM"


def test_a_second_signal_ends_the_process_at_once():
    program = (
        "import signal, time; from swmodel.parallel.stop import Stop, SAME_REQUEST\n"
        "with Stop():\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    time.sleep(SAME_REQUEST + 0.1)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    print('still there')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (STOPPED, "", "ended at once by a second SIGINT\n")


@pytest.mark.parametrize(("received", "reason"), [([0, 0, 0], None), ([2, 0, 0], "SIGINT"), ([2, 15, 2], "SIGTERM")])
def test_all_ranks_get_the_same_answer(received, reason):
    def ask(transport):
        asked = Stop()
        asked.received = received[transport.rank]
        return asked.reason(transport)

    assert run_ranks(ask, (1, 3), 3, 3) == [reason] * 3


def test_only_the_clock_of_rank_0_counts():
    def ask(limits):
        return run_ranks(lambda transport: Stop(limits[transport.rank]).reason(transport), (1, 2), 2, 2)

    assert ask([1e9, 1e-3]) == [None, None]
    assert ask([1e-3, 1e-3]) == ["the wall-clock limit of 0.001 s"] * 2


def test_the_limit_counts_from_the_start_of_the_launcher(monkeypatch):
    limit = Stop(3600.0)
    monkeypatch.setenv(environment.STARTED, str(time.time() - 3000))
    assert limit.reason(ALONE) is None
    monkeypatch.setenv(environment.STARTED, str(time.time() - 3599))
    assert limit.reason(ALONE) == "the wall-clock limit of 1 h"


@pytest.mark.parametrize(("ahead", "late"), [(500, False), (300, True)])
def test_a_restart_and_the_longest_chunk_have_to_fit_in(monkeypatch, ahead, late):
    """Two restarts of 100 s, a chunk of 120 s, 10 s to leave: together 330 s."""
    now = [1000.0]
    monkeypatch.setattr(stop.time, "time", lambda: now[0])
    monkeypatch.setenv(environment.STARTED, "0")
    limit = Stop(1000.0 + 120 + 1 + ahead)
    limit.reserve = 100.0
    reasons = []
    for seconds in (120.0, 1.0, 0.0):
        reasons.append(limit.reason(ALONE))
        now[0] += seconds
    assert [reason is not None for reason in reasons] == [False, late, late]


def chunks_of_50_seconds(monkeypatch, limit, chunks):
    """What a Stop with the limit answers before each of some chunks of steps."""
    now, reasons = [0.0], []
    monkeypatch.setattr(stop.time, "time", lambda: now[0])
    monkeypatch.setenv(environment.STARTED, "0")
    asked = Stop(limit, least=2)
    for _ in range(chunks):
        reasons.append(asked.reason(ALONE))
        now[0] += 50
    return reasons


@pytest.mark.fault("a wall-clock limit shorter than a step, in a chain of jobs")
@pytest.mark.parametrize("limit", [0.5, 50.0, 120.0])
def test_a_limit_that_is_too_short_leaves_time_for_the_least_and_says_one_that_is_enough(monkeypatch, caplog, limit):
    """Two chunks are made whatever the limit; with the one that is named a third would be, too, and nothing is said."""
    assert chunks_of_50_seconds(monkeypatch, limit, 3) == [None, None, f"the wall-clock limit of {duration(limit)}"]
    (said,) = caplog.messages
    enough = re.fullmatch(rf"the wall-clock limit of {duration(limit)} is too short: give (\d+) s at least", said)
    caplog.clear()
    assert chunks_of_50_seconds(monkeypatch, float(enough[1]), 3) == [None, None, None]
    assert caplog.messages == []


def test_in_another_thread_only_the_limit_counts():
    found = []

    def enter():
        with Stop(1e-6) as asked:
            found.append(asked.reason(ALONE))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == ["the wall-clock limit of 1e-06 s"]
