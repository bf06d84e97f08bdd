"""A sweep from rows to results: rounds, rows that fail, interruption and --resume, with workers that only pretend."""

from __future__ import annotations

import pytest
from support.bench_record import MACHINE

from swmodel.bench import results, session, worker
from swmodel.bench.plan import make_rows
from swmodel.bench.sweeps import Row, definition
from swmodel.bench.tables import report
from swmodel.errors import FilesError, UsageError

pytestmark = pytest.mark.slow

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


def test_rows_take_turns(measure, tmp_path):
    record = begin()
    assert measure(record) == ALL * 2
    assert [(entry["state"], len(entry["samples"])) for entry in record["rows"]] == [("ok", 2)] * 3
    assert len(record["bandwidth"]) == 2
    assert results.read(tmp_path) == record
    assert [path.name for path in tmp_path.iterdir()] == [results.NAME]


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ({"reason": "wrong answer at this size", "sample": {"seconds": 1e-9}}, "wrong answer"),
        (worker.WorkerError("no device"), "no device"),
    ],
)
def test_a_row_that_fails_has_a_reason_and_no_time_and_the_others_go_on(measure, tmp_path, outcome, reason):
    record = begin()
    assert measure(record, xla1=outcome) == [*ALL, ALL[0], ALL[2]]
    failed = record["rows"][1]
    assert (failed["state"], failed["samples"]) == ("failed", [])
    assert reason in failed["reason"]
    assert reason in report([record])
    assert measure(results.resumed(tmp_path, begin())) == [ALL[1]] * 2  # it is tried again


def test_an_interrupted_sweep_keeps_its_samples_and_resume_measures_the_rest(measure, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        measure(begin(), xla2=KeyboardInterrupt())
    assert [len(entry["samples"]) for entry in results.read(tmp_path)["rows"]] == [1, 1, 0]
    again = results.resumed(tmp_path, begin())
    assert measure(again) == [ALL[2], *ALL]
    assert [len(entry["samples"]) for entry in again["rows"]] == [2, 2, 2]
    assert measure(results.resumed(tmp_path, begin())) == []


def test_resume_goes_on_to_more_rounds_and_keeps_what_there_is(measure, tmp_path):
    measure(begin())
    again = results.resumed(tmp_path, begin(rounds=3))
    assert measure(again) == ALL
    assert [(entry["state"], len(entry["samples"])) for entry in again["rows"]] == [("ok", 3)] * 3
    assert results.resumed(tmp_path, begin(rounds=2))["definition"]["rounds"] == 3


@pytest.mark.parametrize("change", [{"steps": 7}, {"cpu": "Other"}, {"revision": "def"}])
def test_resume_refuses_other_rows_another_machine_or_revision(tmp_path, change):
    results.write(begin(), tmp_path)
    with pytest.raises(UsageError, match="cannot continue, another"):
        results.resumed(tmp_path, begin(**change))


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 0}', '{"format": 1, "rows": [{"row": {"levels": 2}}]}'])
def test_a_file_that_is_no_result_is_named(tmp_path, text):
    (tmp_path / results.NAME).write_text(text)
    with pytest.raises(FilesError, match=results.NAME):
        results.read(tmp_path)


def test_the_cause_of_a_failure_is_the_line_that_tells():
    lines = ["INFO: starting", "RuntimeError: the device is gone", "", "= BAD TERMINATION", "[mpiexec@host] done"]
    assert worker.cause(lines, 1) == "RuntimeError: the device is gone"
    assert worker.cause([], 9) == "ended with exit code 9"


def test_commands_on_record_hold_no_path_of_this_machine():
    one, two = Row("model", "xla", 1, 8, 8), Row("model", "xla", 2, 8, 8)
    assert worker.command(two, "srun --mpi=pmix")[:4] == ["srun", "--mpi=pmix", "-n", "2"]
    shown = [worker.shown(one), worker.shown(two), worker.shown(Row("model", "xla", 2, 8, 8, transport="sharded"))]
    assert not any("/" in text for text in shown)
    assert shown[1].startswith("mpiexec -n 2 python")
