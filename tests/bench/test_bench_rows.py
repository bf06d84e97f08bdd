"""Benchmarks: the published data, the rows of a sweep, and what is refused before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from swmodel.bench import plan
from swmodel.bench.plan import grown, make_rows
from swmodel.bench.sweeps import Row, definition
from swmodel.cli import main
from swmodel.cli.bench import SWEEPS
from swmodel.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.fixture
def swmodel(tmp_path, monkeypatch):
    """Runs the program in an empty folder, as on two cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("swmodel.bench.session.all_cores", lambda: 2)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


def rows_of(name, cores=16, **options):
    """The rows of a sweep on some cores."""
    return make_rows(definition(name, **({"executors": ("xla",)} | options)), cores)[0]


def test_each_sweep_is_a_command():
    assert set(SWEEPS) == {path.stem for path in Path(__file__).parents[2].glob("benchmarks/sweeps/*.toml")}


def test_rows_beyond_the_cores_only_when_asked_for_and_marked():
    sweep = definition("table", executors=("xla",))
    made, skipped = make_rows(sweep, 2)
    assert max(row.nproc for row in made) == 2
    assert any("4, 6, 8, 16 processes" in line for line in skipped)
    more, _ = make_rows(sweep, 2, oversubscribe=True)
    assert {row.nproc for row in more if row.oversubscribed} == {4, 6, 8, 16}


def test_gpu_rows_where_there_are_gpus_else_one_line():
    sweep = definition("table", executors=("xla",))
    made, skipped = make_rows(sweep, 2, gpus=2)
    assert [(row.executor, row.nproc) for row in made if row.platform == "gpu"] == [("xla", 1), ("xla", 2)]
    assert not any("GPU" in line for line in skipped)
    assert sum("GPU" in line for line in make_rows(sweep, 2)[1]) == 1


def test_rows_on_the_sharded_transport_are_of_devices_in_one_process():
    made, skipped = make_rows(definition("table", executors=("native",), transport="sharded"), 4, gpus=2)
    rest = [row for row in made if row.executor != "reference"]
    assert {row.transport for row in rest} == {"sharded"}
    cpu = [(row.nproc, row.devices) for row in rest if row.platform == "cpu" and not row.threads]
    assert cpu == [(1, 1), (1, 2), (1, 4)]
    assert [(row.nproc, row.devices) for row in rest if row.platform == "gpu"] == [(1, 1), (1, 2)]
    assert any("6, 8, 16 devices" in line for line in skipped)
    made = rows_of("strong", 4, transport="sharded", nproc=(1, 2), devices=(2,))
    assert {(1, 2), (2, 2)} <= {(row.nproc, row.devices) for row in made}


@pytest.mark.parametrize("n", [2, 6, 16, 64])
def test_a_weak_sweep_grows_by_the_number_of_processes(n):
    nx, ny = grown(90, 90, n)
    assert nx * ny == 8100 * n
    assert max(nx, ny) <= 3 * min(nx, ny)


def test_some_rows_are_of_some_executors_only():
    assert {(row.executor, row.nproc) for row in rows_of("halo", 2, executors=("reference", "xla"))} == {("xla", 2)}
    ensemble = rows_of("ensemble", 2, executors=("reference", "xla"))
    assert {(row.executor, row.nproc, row.devices) for row in ensemble} == {("xla", 1, 1), ("xla", 1, 2), ("xla", 2, 1)}
    fft = [(row.executor, row.nproc) for row in rows_of("fft", 2)[:3]]
    assert fft == [("reference", 1), ("xla", 1), ("xla", 2)]
    fft = [(row.executor, row.devices) for row in rows_of("fft", 2, transport="sharded")[:3]]
    assert fft == [("reference", 1), ("xla", 1), ("xla", 2)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel"], "'table'"),
        (["table", "--executor", "xlaa"], 'did you mean "xla"?'),
        (["table", "--nproc", "1,x"], "'x' is no whole number"),
        (["table", "--nproc", "0"], "0"),
        (["table", "--size", "3600"], "NXxNY"),
        (["table", "--size", "900000x900000"], "needs about"),
        (["table", "--quick", "--launcher", "no-such-program"], "no such program"),
        (["halo", "--nproc", "1"], "1 process"),
        (["weak", "--nproc", "5000"], "--oversubscribe"),
        (["scaling", "--nproc", "5000"], "--oversubscribe"),
        (["scaling", "--nproc", "1"], "1 process"),
        (["table", "--resume"], "nothing to resume"),
        (["table", "--steps", "0"], "--steps"),
        (["table", "--devices", "2"], "--transport sharded"),
        (["halo", "--transport", "sharded"], "leave out"),
    ],
)
def test_wrong_input_is_named_in_one_line_and_nothing_is_left_behind(swmodel, tmp_path, words, message):
    result = swmodel("bench", *words)
    assert result.exit_code == 2
    _, _, said = result.stderr.partition("Error: ")
    assert (message in said, len(said.splitlines())) == (True, 1)
    assert not list(tmp_path.iterdir())


def test_a_missing_mpi_is_said_before_anything_is_measured(swmodel, monkeypatch):
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
