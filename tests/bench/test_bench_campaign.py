"""A sweep from rows to results: rounds, rows that fail, interruption and --resume, with workers that only pretend."""

from __future__ import annotations

import pytest
from support.bench_record import MACHINE

from swmodel.bench import results, session, worker
from swmodel.bench.plan import make_rows
from swmodel.bench.sweeps import definition
from swmodel.bench.tables import report
from swmodel.errors import FilesError, UsageError

ALL = [("reference", 1), ("xla", 1), ("xla", 2)]


def begin(rounds=2, steps=50, **machine):
    """The record of a sweep of three rows that begins."""
    sweep = definition("table", quick=True, executors=("xla",), rounds=rounds, nproc=(1, 2), steps=steps)
    rows, skipped = make_rows(sweep._replace(one_core=False), 2)
    more = {"quick": True, "label": "Test", "gpu_bandwidth": None}
    return results.new(sweep, rows, skipped, MACHINE | {"cores": 2} | machine, "swmodel bench table", **more)


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Measures what a record lacks with workers that answer at once; returns the rows that were asked for a sample.

    `instead` has what happens instead of an answer, by executor and number of processes; the limits are not measured.
    """
    monkeypatch.setattr(session, "measure_triad", lambda quick: {"gigabytes_per_second": 50.0, "by": "nothing"})
    monkeypatch.setattr(session, "peak", lambda quick: {"gigaflops": 200.0, "by": "nothing"})

    def measure(record, **instead):
        asked = []

        def run(row, task, launcher=""):
            if task["do"] == "answer":
                return {}
            asked.append((row.executor, row.nproc))
            outcome = instead.get(f"{row.executor}{row.nproc}")
            if isinstance(outcome, BaseException):
                raise outcome
            sample = {"steps": 50, "seconds": 0.5, "first_step_seconds": 1.0, "memory_bytes": 1e8}
            return {"sample": sample, "launch": {"threads_of_a_rank": 1}} | (outcome or {})

        monkeypatch.setattr(worker, "run", run)
        session.measure_rows(record, tmp_path, say=lambda line: None)
        return asked

    return measure


def states(record):
    return [(entry["state"], len(entry["samples"])) for entry in record["rows"]]


def test_rows_take_turns_and_resume_adds_rounds(measure, tmp_path):
    record = begin()
    assert measure(record) == ALL * 2
    assert states(record) == [("ok", 2)] * 3
    assert len(record["bandwidth"]) == 2
    assert results.read(tmp_path) == record
    assert [path.name for path in tmp_path.iterdir()] == [results.NAME]
    again = results.resumed(tmp_path, begin(rounds=3))
    assert measure(again) == ALL
    assert states(again) == [("ok", 3)] * 3
    assert results.resumed(tmp_path, begin(rounds=2))["definition"]["rounds"] == 3


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ({"reason": "wrong answer at this size", "sample": {"seconds": 1e-9}}, "wrong answer"),
        (worker.WorkerError("no device"), "no device"),
    ],
)
def test_failed_row_has_a_reason_and_no_time(measure, tmp_path, outcome, reason):
    record = begin()
    assert measure(record, xla1=outcome) == [*ALL, ALL[0], ALL[2]]
    assert states(record)[1] == ("failed", 0)
    assert reason in record["rows"][1]["reason"]
    assert reason in report([record])
    assert measure(results.resumed(tmp_path, begin())) == [ALL[1]] * 2  # it is tried again


def test_resume_measures_what_an_interrupted_sweep_lacks(measure, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        measure(begin(), xla2=KeyboardInterrupt())
    assert [count for _, count in states(results.read(tmp_path))] == [1, 1, 0]
    again = results.resumed(tmp_path, begin())
    assert measure(again) == [ALL[2], *ALL]
    assert states(again) == [("ok", 2)] * 3
    assert measure(results.resumed(tmp_path, begin())) == []


def test_resume_refuses_other_rows_machine_revision_or_file(tmp_path):
    results.write(begin(), tmp_path)
    for change in ({"steps": 7}, {"cpu": "Other"}, {"revision": "def"}):
        with pytest.raises(UsageError, match="continue"):
            results.resumed(tmp_path, begin(**change))
    for text in ("{", "[]", '{"format": 0}', '{"format": 1, "rows": [{"row": {"levels": 2}}]}'):
        (tmp_path / results.NAME).write_text(text)
        with pytest.raises(FilesError, match=results.NAME):
            results.read(tmp_path)


def test_failure_of_a_worker_is_its_telling_line():
    lines = ["INFO: starting", "RuntimeError: the device is gone", "", "= BAD TERMINATION", "[mpiexec@host] done"]
    assert worker.cause(lines, 1) == "RuntimeError: the device is gone"
