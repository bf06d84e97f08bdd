"""Sweeps: their rows, what is refused, and from rows to results with workers that only pretend to measure."""

import pytest
from support.bench_record import begun
from support.command import cli

from swmodel.bench import plan, results, session, worker
from swmodel.bench.plan import grown, make_rows
from swmodel.bench.sweeps import Row, definition
from swmodel.errors import FilesError, UsageError


def test_rows_beyond_the_machine_need_a_request():
    sweep = definition("table", executors=("xla",))
    made, skipped = make_rows(sweep, 2)
    assert max(row.nproc for row in made) == 2
    assert any("4, 6, 8, 16" in line for line in skipped)
    more, _ = make_rows(sweep, 2, oversubscribe=True)
    assert {row.nproc for row in more if row.oversubscribed} == {4, 6, 8, 16}
    made, _ = make_rows(sweep, 2, gpus=2)
    assert [(row.executor, row.nproc) for row in made if row.platform == "gpu"] == [("xla", 1), ("xla", 2)]


def test_sharded_rows_are_of_devices_in_one_process():
    made, skipped = make_rows(definition("table", executors=("native",), transport="sharded"), 4, gpus=2)
    rest = [row for row in made if row.executor != "reference"]
    assert {row.transport for row in rest} == {"sharded"}
    cpu = [(row.nproc, row.devices) for row in rest if row.platform == "cpu" and not row.threads]
    assert cpu == [(1, 1), (1, 2), (1, 4)]
    assert [(row.nproc, row.devices) for row in rest if row.platform == "gpu"] == [(1, 1), (1, 2)]
    assert any("6, 8, 16" in line for line in skipped)


def test_weak_sweep_grows_with_the_number_of_processes():
    for n in (2, 6, 16, 64):
        nx, ny = grown(90, 90, n)
        assert nx * ny == 8100 * n
        assert max(nx, ny) <= 3 * min(nx, ny)


def test_scaling_is_of_the_cores_and_of_one_executor():
    assert {row.nproc for row in make_rows(definition("scaling", executors=("native",)), 2)[0]} == {1, 2}
    with pytest.raises(UsageError, match="--executor once"):
        make_rows(definition("scaling", executors=("native", "xla")), 2)
    for size, nproc in (((1, 1), 2), ((2, 2), 8), ((7, 5), 4)):  # blocks of tiny grids
        rows, _ = make_rows(definition("scaling", executors=("native",), sizes=(size,), nproc=(nproc,)), nproc)
        assert min(min(row.nx, row.ny) for row in rows) >= min(2, *size)


def test_rows_that_need_too_much_memory_are_left_out():
    row, small = Row("model", "xla", 1, 3600, 1800), Row("model", "xla", 1, 90, 45)
    needed = plan.bytes_needed(row)
    assert needed > 12 * 4 * 3600 * 1800
    assert plan.fitting([row], 2 * needed, strict=True) == ([row], [])
    kept, lines = plan.fitting([row, small], needed, strict=False)
    assert (kept, len(lines)) == ([small], 1)


@pytest.fixture
def swmodel(tmp_path, monkeypatch):
    """Runs the program in an empty folder, as on two cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("swmodel.bench.session.all_cores", lambda: 2)
    return lambda line: cli(*line.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("tabel", "table"),
        ("table --executor xlaa", "xla"),
        ("table --nproc 1,x", "'x'"),
        ("table --size 3600", "NXxNY"),
        ("table --size 900000x900000", "needs about"),
        ("table --quick --launcher no-such-program", "no-such-program"),
        ("halo --nproc 1", "1 process"),
        ("scaling --nproc 5000", "--oversubscribe"),
        ("table --resume", "resume"),
        ("table --devices 2", "--transport sharded"),
        ("halo --transport sharded", "sharded"),
    ],
)
def test_wrong_input_is_named_and_leaves_nothing_behind(swmodel, tmp_path, words, named):
    result = swmodel(f"bench {words}")
    assert result.exit_code == 2
    _, _, said = result.stderr.partition("Error: ")
    assert (named in said, len(said.splitlines())) == (True, 1)
    assert not list(tmp_path.iterdir())


ALL = [("reference", 1), ("xla", 1), ("xla", 2)]


def begin(rounds=2, steps=50, **machine):
    """The record of a sweep of three rows that begins."""
    sweep = definition("table", quick=True, executors=("xla",), rounds=rounds, nproc=(1, 2), steps=steps)
    return begun(sweep, *make_rows(sweep._replace(one_core=False), 2), quick=True, cores=2, **machine)


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


def test_sweep_interleaves_rows_and_resume_repeats_them(measure, tmp_path):
    record = begin()
    assert measure(record) == ALL * 2
    assert states(record) == [("ok", 2)] * 3
    assert results.read(tmp_path) == record
    again = results.resumed(tmp_path, begin(rounds=3))
    assert measure(again) == ALL
    assert states(again) == [("ok", 3)] * 3
    assert results.resumed(tmp_path, begin(rounds=2))["definition"]["rounds"] == 3


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
