"""Sweeps of benchmarks: their rows, wrong input, and results of fake workers, which measure nothing."""

import pytest
from support.bench_record import new_record
from support.command import invoke_swmodel

from swmodel.bench import plan, results, session, worker
from swmodel.bench.machine import gpu_driver
from swmodel.bench.plan import make_rows
from swmodel.bench.sweeps import BenchRow, read_sweep
from swmodel.errors import FilesError, UsageError


def test_rows_with_more_processes_than_cores_must_be_requested():
    sweep = read_sweep("table", executors=("xla",))
    rows, skipped = make_rows(sweep, 2)
    assert max(row.nproc for row in rows) == 2
    assert any("4, 6, 8, 16" in line for line in skipped)
    oversubscribed_rows, _ = make_rows(sweep, 2, oversubscribe=True)
    assert {row.nproc for row in oversubscribed_rows if row.oversubscribed} == {4, 6, 8, 16}
    rows, _ = make_rows(sweep, 2, gpus=2)
    assert [(row.executor, row.nproc) for row in rows if row.platform == "gpu"] == [("xla", 1), ("xla", 2)]


def test_scaling_sweep_uses_all_cores_and_one_executor():
    assert {row.nproc for row in make_rows(read_sweep("scaling", executors=("native",)), 2)[0]} == {1, 2}
    with pytest.raises(UsageError, match="--executor once"):
        make_rows(read_sweep("scaling", executors=("native", "xla")), 2)
    for size, nproc in (((1, 1), 2), ((2, 2), 8), ((7, 5), 4)):  # grids with tiny blocks
        rows, _ = make_rows(read_sweep("scaling", executors=("native",), sizes=(size,), nproc=(nproc,)), nproc)
        assert min(min(row.nx, row.ny) for row in rows) >= min(2, *size)


def test_sweep_of_a_gpu_has_both_executors_in_each_variant():
    rows, _ = make_rows(read_sweep("gpu"), 2, gpus=1)
    labels = [{tuple(row.option_labels) for row in rows if row.executor == executor} for executor in ("cuda", "xla")]
    assert labels[0] == labels[1]
    assert (len(labels[0]), {row.platform for row in rows}) == (8, {"gpu"})
    assert make_rows(read_sweep("gpu"), 2)[0] == []


def test_version_of_the_gpu_driver_is_read(tmp_path):
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27\nGCC 13.3.0"
    )
    assert gpu_driver(tmp_path / "version") == "580.65.06"
    assert gpu_driver(tmp_path / "none") == ""


def test_rows_that_need_too_much_memory_are_left_out():
    row, small_row = BenchRow("model", "xla", 1, 3600, 1800), BenchRow("model", "xla", 1, 90, 45)
    n_bytes = plan.bytes_needed(row)
    assert n_bytes > 12 * 4 * 3600 * 1800
    assert plan.select_fitting_rows([row], 2 * n_bytes, is_strict=True) == ([row], [])
    fitting_rows, messages = plan.select_fitting_rows([row, small_row], n_bytes, is_strict=False)
    assert (fitting_rows, len(messages)) == ([small_row], 1)


@pytest.fixture
def run_swmodel(tmp_path, monkeypatch):
    """A function that runs the program in an empty folder, as on two cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("swmodel.bench.session.available_cores", lambda: 2)
    return lambda line: invoke_swmodel(*line.split())


WRONG_INPUT = {
    **{"tabel": "table", "table --executor xlaa": "xla", "table --nproc 1,x": "'x'", "table --size 3600": "NXxNY"},
    **{"table --size 900000x900000": "needs about", "table --quick --launcher no-such-program": "no-such-program"},
    **{"halo --nproc 1": "1 process", "scaling --nproc 5000": "--oversubscribe", "table --resume": "resume"},
    **{"table --devices 2": "--transport sharded", "halo --transport sharded": "sharded"},
}


@pytest.mark.slow
@pytest.mark.parametrize("line", WRONG_INPUT)
def test_wrong_input_is_named_and_nothing_is_written(run_swmodel, tmp_path, line):
    result = run_swmodel(f"bench {line}")
    assert result.exit_code == 2
    _, _, message = result.stderr.partition("Error: ")
    assert (WRONG_INPUT[line] in message, len(message.splitlines())) == (True, 1)
    assert not list(tmp_path.iterdir())


ALL_ROWS = [("reference", 1), ("xla", 1), ("xla", 2)]


def small_record(rounds=2, steps=50, **machine):
    """The record of a sweep of three rows before its first sample."""
    sweep = read_sweep("table", quick=True, executors=("xla",), rounds=rounds, nproc=(1, 2), steps=steps)
    return new_record(sweep, *make_rows(sweep._replace(one_core=False), 2), quick=True, cores=2, **machine)


@pytest.fixture
def measure_with_fake_workers(tmp_path, monkeypatch):
    """A function that measures what a record lacks, with workers that answer at once; it returns the requested rows.

    `outcomes` maps executor and number of processes to parts of an answer or an exception. Bandwidth and peak are fake.
    """
    monkeypatch.setattr(session, "measure_triad", lambda quick: {"gigabytes_per_second": 50.0, "by": "nothing"})
    monkeypatch.setattr(session, "measure_peak", lambda quick: {"gigaflops": 200.0, "by": "nothing"})

    def measure(record, **outcomes):
        requested_rows = []

        def run(row, task, launcher=""):
            if task["do"] == "reference":
                return {}
            requested_rows.append((row.executor, row.nproc))
            outcome = outcomes.get(f"{row.executor}{row.nproc}")
            if isinstance(outcome, BaseException):
                raise outcome
            sample = {"steps": 50, "seconds": 0.5, "first_step_seconds": 1.0, "memory_bytes": 1e8}
            return {"sample": sample, "launch": {"threads_of_a_rank": 1}} | (outcome or {})

        monkeypatch.setattr(worker, "run", run)
        session.measure_rows(record, tmp_path)
        return requested_rows

    return measure


def row_states(record):
    return [(entry["state"], len(entry["samples"])) for entry in record["rows"]]


def test_sweep_alternates_rows_and_resume_adds_rounds(measure_with_fake_workers, tmp_path):
    record = small_record()
    assert measure_with_fake_workers(record) == ALL_ROWS * 2
    assert row_states(record) == [("ok", 2)] * 3
    assert results.read_record(tmp_path) == record
    resumed_record = results.resume_record(tmp_path, small_record(rounds=3))
    assert measure_with_fake_workers(resumed_record) == ALL_ROWS
    assert row_states(resumed_record) == [("ok", 3)] * 3
    assert results.resume_record(tmp_path, small_record(rounds=2))["definition"]["rounds"] == 3


def test_resume_measures_the_samples_that_an_interrupted_sweep_lacks(measure_with_fake_workers, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        measure_with_fake_workers(small_record(), xla2=KeyboardInterrupt())
    assert [count for _, count in row_states(results.read_record(tmp_path))] == [1, 1, 0]
    resumed_record = results.resume_record(tmp_path, small_record())
    assert measure_with_fake_workers(resumed_record) == [ALL_ROWS[2], *ALL_ROWS]
    assert row_states(resumed_record) == [("ok", 2)] * 3
    assert measure_with_fake_workers(results.resume_record(tmp_path, small_record())) == []


def test_resume_refuses_other_rows_machine_revision_or_file(tmp_path):
    results.write_record(small_record(), tmp_path)
    for change in ({"steps": 7}, {"cpu": "Other"}, {"revision": "def"}):
        with pytest.raises(UsageError, match="continue"):
            results.resume_record(tmp_path, small_record(**change))
    for text in ("{", "[]", '{"format": 0}', '{"format": 1, "rows": [{"row": {"levels": 2}}]}'):
        (tmp_path / results.RESULTS_FILE).write_text(text)
        with pytest.raises(FilesError, match=results.RESULTS_FILE):
            results.read_record(tmp_path)
