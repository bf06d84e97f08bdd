"""Requests to stop: signals and the wall-clock limit, on one process and on several that agree; stuck ranks."""

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.rank_threads import run_rank_threads

from swmodel.parallel import environment, stop, watchdog
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.stop import StopRequests, format_duration
from swmodel.parallel.transport.serial import SerialTransport
from swmodel.parallel.watchdog import Watchdog

SERIAL = SerialTransport(block_of_rank(0, (1, 1), 1, 1))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_is_reason_to_stop_and_handlers_are_restored(number):
    handler = signal.getsignal(number)
    with StopRequests() as requests:
        assert requests.reason(SERIAL) is None
        signal.raise_signal(number)
        assert requests.reason(SERIAL) == number.name
    assert signal.getsignal(number) == handler


def test_signal_before_and_in_time_loop_is_one_request():
    with StopRequests():
        signal.raise_signal(signal.SIGTERM)
        with StopRequests() as inner:
            signal.raise_signal(signal.SIGTERM)
            assert inner.reason(SERIAL) == "SIGTERM"


@pytest.mark.parametrize(("received", "reason"), [([0, 0, 0], None), ([2, 0, 0], "SIGINT"), ([2, 15, 2], "SIGTERM")])
def test_all_ranks_get_same_reason(received, reason):
    def reason_on_rank(transport):
        requests = StopRequests()
        requests.received_signal = received[transport.rank]
        return requests.reason(transport)

    assert run_rank_threads(reason_on_rank, (1, 3), 3, 3) == [reason] * 3


def test_only_the_clock_of_rank_0_counts():
    def reasons(limits):
        return run_rank_threads(lambda transport: StopRequests(limits[transport.rank]).reason(transport), (1, 2), 2, 2)

    assert reasons([1e9, 1e-3]) == [None, None]
    assert reasons([1e-3, 1e-3]) == ["the wall-clock limit of 0.001 s"] * 2


def test_limit_counts_from_start_of_launcher(monkeypatch):
    limit = StopRequests(3600.0)
    monkeypatch.setenv(environment.START_TIME_VARIABLE, str(time.time() - 3000))
    assert limit.reason(SERIAL) is None
    monkeypatch.setenv(environment.START_TIME_VARIABLE, str(time.time() - 3599))
    assert limit.reason(SERIAL) == "the wall-clock limit of 1 h"


class FakeClock:
    """A clock that changes only when it is set; the launcher starts at its initial time."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(stop.time, "time", lambda: self.now)
        monkeypatch.setenv(environment.START_TIME_VARIABLE, "0")

    def reasons(self, requests, *seconds):
        """The reasons of StopRequests before each of several chunks of steps, which take these times."""
        reasons = []
        for length in seconds:
            reasons.append(requests.reason(SERIAL))
            self.now += length
        return reasons


@pytest.mark.parametrize(("seconds_left", "stops"), [(500, False), (300, True)])
def test_run_stops_if_chunk_and_restart_exceed_walltime(monkeypatch, seconds_left, stops):
    """Two restart files that take 100 s each, a chunk of 120 s and 10 s for the exit need 330 s."""
    clock, limit = FakeClock(monkeypatch), StopRequests(1000.0 + 120 + 1 + seconds_left)
    clock.now, limit.restart_seconds = 1000.0, 100.0
    assert [reason is not None for reason in clock.reasons(limit, 120, 1, 0)] == [False, stops, stops]


@pytest.mark.fault("a wall-clock limit shorter than a step, in a chain of jobs")
@pytest.mark.parametrize("limit", [0.5, 50.0, 120.0])
def test_too_short_walltime_warns_and_takes_two_chunks(monkeypatch, caplog, limit):
    """Two chunks are computed whatever the limit; the suggested one suffices for a third, without a warning."""
    reasons = FakeClock(monkeypatch).reasons(StopRequests(limit, min_chunks=2), 50, 50, 50)
    assert reasons == [None, None, f"the wall-clock limit of {format_duration(limit)}"]
    (warning,) = caplog.messages
    match = re.search(r"at least (\d+) s", warning)
    caplog.clear()
    assert FakeClock(monkeypatch).reasons(StopRequests(float(match[1]), min_chunks=2), 50, 50, 50) == [None] * 3
    assert caplog.messages == []


def test_run_in_another_thread_stops_only_at_the_limit():
    def find_reason():
        with StopRequests(1e-6) as requests:
            return requests.reason(SERIAL)

    with ThreadPoolExecutor() as pool:
        assert pool.submit(find_reason).result() == "the wall-clock limit of 1e-06 s"


def test_watchdog_waits_longer_before_the_first_step(tmp_path, monkeypatch):
    """The step is None until there is a simulation, and does not change while files of a resumed run are verified."""
    monkeypatch.setattr(watchdog, "START_TIMEOUT_SECONDS", 100.0)
    steps, reports = [None, 40, 40, 40, 45, 45, 45], []
    rank_watchdog = Watchdog(0, 1, tmp_path, 20.0, print)
    rank_watchdog.poll_interval = 15.0
    rank_watchdog.watch(lambda: steps.pop(0))
    monkeypatch.setattr(rank_watchdog._stop_event, "wait", lambda timeout: not steps)
    monkeypatch.setattr(rank_watchdog, "_write_stacks_and_exit", lambda step, seconds: reports.append((step, seconds)))
    rank_watchdog._watch()
    assert reports == [(45, 30.0)]
