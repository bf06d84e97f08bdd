"""Benchmarks: the rows of a sweep, and what is refused before anything is measured."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from swmodel.bench import plan
from swmodel.bench.plan import grown, make_rows
from swmodel.bench.sweeps import Row, definition
from swmodel.cli import main
from swmodel.errors import UsageError


@pytest.fixture
def swmodel(tmp_path, monkeypatch):
    """Runs the program in an empty folder, as on two cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("swmodel.bench.session.all_cores", lambda: 2)
    return lambda *words: CliRunner().invoke(main, words)


def test_rows_beyond_the_machine_need_a_request():
    sweep = definition("table", executors=("xla",))
    made, skipped = make_rows(sweep, 2)
    assert max(row.nproc for row in made) == 2
    assert any("4, 6, 8, 16" in line for line in skipped)
    assert sum("GPU" in line for line in skipped) == 1
    more, _ = make_rows(sweep, 2, oversubscribe=True)
    assert {row.nproc for row in more if row.oversubscribed} == {4, 6, 8, 16}
    made, skipped = make_rows(sweep, 2, gpus=2)
    assert [(row.executor, row.nproc) for row in made if row.platform == "gpu"] == [("xla", 1), ("xla", 2)]
    assert not any("GPU" in line for line in skipped)


def test_sharded_rows_are_of_devices_in_one_process():
    made, skipped = make_rows(definition("table", executors=("native",), transport="sharded"), 4, gpus=2)
    rest = [row for row in made if row.executor != "reference"]
    assert {row.transport for row in rest} == {"sharded"}
    cpu = [(row.nproc, row.devices) for row in rest if row.platform == "cpu" and not row.threads]
    assert cpu == [(1, 1), (1, 2), (1, 4)]
    assert [(row.nproc, row.devices) for row in rest if row.platform == "gpu"] == [(1, 1), (1, 2)]
    assert any("6, 8, 16" in line for line in skipped)
    both = definition("strong", executors=("xla",), transport="sharded", nproc=(1, 2), devices=(2,))
    made, _ = make_rows(both, 4)
    assert {(1, 2), (2, 2)} <= {(row.nproc, row.devices) for row in made}


def test_weak_sweep_grows_with_the_number_of_processes():
    for n in (2, 6, 16, 64):
        nx, ny = grown(90, 90, n)
        assert nx * ny == 8100 * n
        assert max(nx, ny) <= 3 * min(nx, ny)


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
        ("scaling --nproc 1", "1 process"),
        ("table --resume", "resume"),
        ("table --devices 2", "--transport sharded"),
        ("halo --transport sharded", "sharded"),
    ],
)
def test_wrong_input_is_named_and_leaves_nothing_behind(swmodel, tmp_path, words, named):
    result = swmodel("bench", *words.split())
    assert result.exit_code == 2
    _, _, said = result.stderr.partition("Error: ")
    assert (named in said, len(said.splitlines())) == (True, 1)
    assert not list(tmp_path.iterdir())


def test_missing_mpi_has_its_exit_code(swmodel, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = swmodel("bench", "table", "--quick", "--nproc", "2")
    assert (result.exit_code, "mpi4py" in result.stderr) == (3, True)


def test_memory_is_estimated_before_a_row_starts():
    row, small = Row("model", "xla", 1, 3600, 1800), Row("model", "xla", 1, 90, 45)
    needed = plan.bytes_needed(row)
    assert needed > 12 * 4 * 3600 * 1800
    assert plan.fitting([row], 2 * needed, strict=True) == ([row], [])
    kept, lines = plan.fitting([row, small], needed, strict=False)
    assert (kept, len(lines)) == ([small], 1)
    with pytest.raises(UsageError, match="needs about"):
        plan.fitting([row, small], needed, strict=True)
