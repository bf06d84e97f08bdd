"""The quick size of every sweep, as users run it: rows measured on one and two processes, right, recorded, drawn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.long_run import TAG, processes_of

from swmodel.bench import session
from swmodel.cli import main

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]

ROOT = Path(__file__).parents[2]

#: Sweeps whose rows are of `xla`; those of the others are of the fastest executor, as users get them.
IN_XLA = {"strong"}
#: The figures of each sweep.
FIGURES = {
    "table": ("speedup", "roofline"),
    "strong": ("strong",),
    "weak": ("weak",),
    "sizes": ("sizes",),
    "halo": ("halo",),
    "output": ("output",),
    "start": ("start",),
    "fft": (),
}


#: The bandwidth of this machine, measured once for all sweeps.
MEASURE_TRIAD = cache(session.measure_triad)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Runs `swmodel bench` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setattr(session, "measure_triad", MEASURE_TRIAD)
    on_sigterm = signal.getsignal(signal.SIGTERM)
    yield lambda *words: CliRunner().invoke(main, ["bench", *words])
    signal.signal(signal.SIGTERM, on_sigterm)


@pytest.mark.parametrize("name", sorted(FIGURES.keys() - {"fft"}))
def test_quick_sweeps(bench, name):
    executor = ["--executor", "xla"] if name in IN_XLA else []
    assert_right(name, bench(name, "--quick", "--oversubscribe", *executor))


def assert_right(name, done):
    """A sweep has ended well, with files that are complete, rows that are right and messages of the right size."""
    assert done.exit_code == 0, done.output
    folder = Path("outputs") / f"bench-{name}-quick"
    files = {f"{figure}.{kind}" for figure in FIGURES[name] for kind in ("png", "pdf")}
    assert {path.name for path in folder.iterdir()} == {"results.json", "table.md"} | files
    text = (folder / "results.json").read_text()
    record = json.loads(text)
    assert str(Path.home()) not in text.replace(record["command"], "")
    assert [entry["state"] for entry in record["rows"]] == ["ok"] * len(record["rows"])
    assert record["bandwidth"][0]["gigabytes_per_second"] > 0
    for entry in record["rows"]:
        assert max(entry.get("differences", {"h": 0}).values()) <= 64
        two = entry["row"]["nproc"] == 2
        assert entry["launch"]["command"].startswith("mpiexec -n 2" if two else "python")
        if entry["row"]["measure"] in ("model", "halo"):
            layout = entry["launch"]["layout"]
            side = entry["row"]["ny"] if layout == [1, 2] else entry["row"]["nx"]
            assert entry["traffic"]["messages"] == (2 if two else 0)
            corners = 2 if layout == [2, 1] else 0
            assert entry["traffic"]["bytes"] == (2 * 3 * 4 * (side + corners) if two else 0)
    assert (folder / "table.md").read_text() in done.stdout


def test_the_table_on_devices_of_one_process_and_of_two(bench, tmp_path):
    words = ["--transport", "sharded", "--nproc", "1,2", "--devices", "2", "--executor", "native"]
    done = bench("table", "--quick", "--oversubscribe", *words)
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "outputs" / "bench-table-quick" / "results.json").read_text())["rows"]
    assert [entry["state"] for entry in rows] == ["ok"] * len(rows)
    blocks = {(entry["row"]["nproc"], entry["row"]["devices"]): entry["launch"]["layout"] for entry in rows}
    assert blocks == {(1, 1): [1, 1], (1, 2): [1, 2], (2, 2): [1, 4]}
    assert max(max(entry["differences"].values()) for entry in rows if "differences" in entry) <= 64


def test_a_finished_sweep_is_kept_and_resumes_without_measuring(bench):
    words = ["fft", "--quick", "--oversubscribe"]
    first = bench(*words)
    assert_right("fft", first)
    refused = bench(*words)
    assert (refused.exit_code, "give --resume to continue" in refused.stderr) == (2, True)
    again = bench(*words, "--resume")
    assert again.exit_code == 0, again.stderr
    assert "[1/1]" in first.stdout
    assert "[1/1]" not in again.stdout


def test_an_interrupt_ends_the_ranks_and_keeps_the_samples(tmp_path):
    line = [sys.executable, str(ROOT / "cli.py"), "bench", "halo", "--quick", "--oversubscribe", "--rounds", "50"]
    sweep = subprocess.Popen(
        line,
        cwd=tmp_path,
        env=os.environ | {TAG: str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not sweep.stdout.readline().startswith("[1/50] xla, 2 processes, 90"):
        assert sweep.poll() is None
    time.sleep(0.5)
    sweep.send_signal(signal.SIGINT)
    _, errors = sweep.communicate(timeout=60)
    assert (sweep.returncode, "Stopped by the user" in errors) == (75, True)
    folder = tmp_path / "outputs/bench-halo-quick"
    assert len(json.loads((folder / "results.json").read_text())["rows"][0]["samples"]) >= 1
    until = time.monotonic() + 20
    while time.monotonic() < until and (left := processes_of(tmp_path)):
        time.sleep(0.2)
    assert not left
