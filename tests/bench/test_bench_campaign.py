"""A sweep from rows to results: rounds, rows that fail, interruption and --resume, with workers that only pretend."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.bench_record import MACHINE

from swmodel.bench import answers, campaign, results, start, stepping
from swmodel.bench.rows import Row, make_rows
from swmodel.bench.sweeps import definition
from swmodel.bench.tables import report
from swmodel.errors import FilesError, UsageError


@pytest.fixture
def record(monkeypatch):
    """The record of a sweep of three rows and two rounds that begins; the machine's limits are not measured."""
    monkeypatch.setattr(campaign.triad, "measure_triad", lambda quick: {"gigabytes_per_second": 50.0, "by": "nothing"})
    monkeypatch.setattr(campaign.triad, "peak", lambda quick: {"gigaflops": 200.0, "by": "nothing"})
    return begin()


def begin(rounds=2, **machine):
    sweep = definition("table", quick=True, executors=("xla",), rounds=rounds, nproc=(1, 2))
    rows, skipped = make_rows(sweep._replace(one_core=False), 2)
    more = {"quick": True, "label": "Test", "gpu_bandwidth": None}
    return results.new(sweep, rows, skipped, MACHINE | {"cores": 2} | machine, "swmodel bench table", **more)


class Workers:
    """Workers that answer at once: what they were asked, and for the row of a number, what happens instead."""

    def __init__(self, monkeypatch, **instead):
        self.asked, self.instead = [], instead
        monkeypatch.setattr(start, "run", self)

    def __call__(self, row, task, launcher=""):
        if task["do"] == "answer":
            return {"state": "ok"}
        self.asked.append((row.executor, row.nproc))
        outcome = self.instead.get(f"{row.executor}{row.nproc}")
        if isinstance(outcome, BaseException):
            raise outcome
        sample = {"steps": 50, "seconds": 0.5, "first_step_seconds": 1.0, "memory_bytes": 1e8}
        return outcome or {"state": "ok", "sample": sample, "launch": {"threads_of_a_rank": 1}}


ALL = [("reference", 1), ("xla", 1), ("xla", 2)]


def test_rows_take_turns(record, tmp_path, monkeypatch):
    workers = Workers(monkeypatch)
    campaign.measure_rows(record, tmp_path, say=lambda line: None)
    assert workers.asked == ALL * 2
    assert [(entry["state"], len(entry["samples"])) for entry in record["rows"]] == [("ok", 2)] * 3
    assert len(record["bandwidth"]) == 2
    assert results.read(tmp_path) == results.plain(record)
    assert not (tmp_path / campaign.ANSWERS).exists()


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ({"state": "failed", "reason": "wrong answer at this size", "sample": {"seconds": 1e-9}}, "wrong answer"),
        (start.WorkerError("no device"), "did not run: no device"),
    ],
)
def test_a_row_that_fails_has_a_reason_and_no_time_and_the_others_go_on(record, tmp_path, monkeypatch, outcome, reason):
    workers = Workers(monkeypatch, xla1=outcome)
    campaign.measure_rows(record, tmp_path, say=lambda line: None)
    assert workers.asked == [*ALL, ALL[0], ALL[2]]
    failed = record["rows"][1]
    assert (failed["state"], failed["samples"]) == ("failed", [])
    assert reason in failed["reason"]
    assert reason in report([record])


def test_an_interrupted_sweep_keeps_its_samples_and_resume_measures_the_rest(record, tmp_path, monkeypatch):
    Workers(monkeypatch, xla2=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        campaign.measure_rows(record, tmp_path, say=lambda line: None)
    assert [len(entry["samples"]) for entry in results.read(tmp_path)["rows"]] == [1, 1, 0]
    workers = Workers(monkeypatch)
    again = results.resumed(tmp_path, begin())
    campaign.measure_rows(again, tmp_path, say=lambda line: None)
    assert workers.asked == [ALL[2], *ALL]
    assert [len(entry["samples"]) for entry in again["rows"]] == [2, 2, 2]
    workers = Workers(monkeypatch)
    campaign.measure_rows(results.resumed(tmp_path, begin()), tmp_path, say=lambda line: None)
    assert workers.asked == []


def test_resume_tries_failed_rows_again(record, tmp_path, monkeypatch):
    Workers(monkeypatch, xla2=start.WorkerError("no device"))
    campaign.measure_rows(record, tmp_path, say=lambda line: None)
    workers = Workers(monkeypatch)
    campaign.measure_rows(results.resumed(tmp_path, begin()), tmp_path, say=lambda line: None)
    assert workers.asked == [ALL[2]] * 2


def test_resume_goes_on_to_more_rounds_and_keeps_what_there_is(record, tmp_path, monkeypatch):
    Workers(monkeypatch)
    campaign.measure_rows(record, tmp_path, say=lambda line: None)
    workers = Workers(monkeypatch)
    again = results.resumed(tmp_path, begin(rounds=3))
    campaign.measure_rows(again, tmp_path, say=lambda line: None)
    assert workers.asked == ALL
    assert [(entry["state"], len(entry["samples"])) for entry in again["rows"]] == [("ok", 3)] * 3
    assert results.resumed(tmp_path, begin(rounds=2))["definition"]["rounds"] == 3


def test_resume_says_what_of_the_sweep_differs(record, tmp_path):
    results.write(record, tmp_path)
    with pytest.raises(UsageError, match="cannot go on, another steps; start anew"):
        results.resumed(tmp_path, begin() | {"definition": record["definition"] | {"steps": 7}})


@pytest.mark.parametrize("machine", [{"cpu": "Other"}, {"revision": "def"}])
def test_resume_refuses_another_machine_or_revision(record, tmp_path, machine):
    results.write(record, tmp_path)
    with pytest.raises(UsageError, match="cannot go on, another"):
        results.resumed(tmp_path, begin(**machine))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a result"),
        ('{"format": 0}', "format 1"),
        (
            '{"format": 1, "rows": [{"row": {"nx": 8, "levels": 2}}]}',
            "of another version of swmodel: its rows have levels",
        ),
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path, text, message):
    (tmp_path / results.NAME).write_text(text)
    with pytest.raises(FilesError, match=message):
        results.read(tmp_path)


ROW = Row("model", "xla", 1, 48, 24, steps=4)


def task(tmp_path, **more):
    path = tmp_path / "answer.npy"
    answers.write_answer(ROW, path)
    return {"launched": 0.0, "answer": path, "steps": None, "check": True} | more


def test_the_parts_of_the_start_are_the_whole_for_the_slowest_process(tmp_path):
    """Each part ends when the last process has ended it; none is negative, whoever is last."""

    class Two:
        def __init__(self, other):
            self.other = iter(other)

        def reduce(self, value, operation):
            return max(float(value), next(self.other))

    found = stepping.start_seconds(10.0, (11.0, 15.0, 16.0, 16.5), Two((2.0, 3.0, 5.5, 7.0)))
    assert found == {"start_seconds": 2, "build_seconds": 3, "compile_seconds": 1, "first_step_seconds": 7}


def test_a_right_answer_is_timed(tmp_path):
    found = stepping.measure_stepping(ROW, task(tmp_path))
    assert (found["state"], found["sample"]["steps"]) == ("ok", 4)
    assert max(found["differences"].values()) <= answers.TOLERANCE
    assert max(found["differences_small"].values()) <= answers.TOLERANCE
    assert found["traffic"] == {"messages": 0, "bytes": 0}


@pytest.mark.parametrize("where", ["at this size", "in double precision"])
def test_a_wrong_answer_is_a_failed_row(tmp_path, monkeypatch, where):
    """A reference whose u is off by one part in 10⁴: the kind of error that no eye would see in a picture."""
    given = task(tmp_path)
    if where == "at this size":
        wrong = np.load(given["answer"])
        wrong[1] *= 1.0001
        np.save(given["answer"], wrong)
    else:
        right = answers.answer
        monkeypatch.setattr(answers, "answer", lambda config: right(config) * np.array([1, 1, 1.0001])[:, None, None])
    found = stepping.measure_stepping(ROW, given)
    assert found["state"] == "failed"
    assert found["reason"].startswith(f"wrong answer {where}")
    assert ("seconds" in found["sample"]) == (where == "in double precision")


def test_the_cause_of_a_failure_is_the_line_that_tells():
    lines = ["INFO: starting", "RuntimeError: the device is gone", "", "= BAD TERMINATION", "[mpiexec@host] done"]
    assert start.cause(lines, 1) == "RuntimeError: the device is gone"
    assert start.cause([], 9) == "ended with exit code 9"


def test_commands_on_record_hold_no_path_of_this_machine(tmp_path):
    line = start.command(2, {"do": "measure"}, launcher="srun --mpi=pmix")
    assert line[:4] == ["srun", "--mpi=pmix", "-n", "2"]
    assert json.loads(line[-1]) == {"do": "measure"}
    assert "/" not in start.shown(2) + start.shown(1) + start.shown(2, transport="sharded")
