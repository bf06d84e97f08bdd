"""Every quick sweep, as users run it, measures correct rows on one and two processes, and records and draws them."""

import json
import signal
from functools import cache
from pathlib import Path

import pytest
from support.command import invoke_swmodel
from support.marks import night_params

from swmodel.bench import session

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("quick_compilation_in_subprocesses")]

#: The figures of each sweep. `strong` measures `xla`, all others the fastest executor.
FIGURES_OF_SWEEP = {
    **{"weak": ("weak",), "halo": ("halo",), "table": ("speedup", "roofline"), "strong": ("strong",)},
    **{"sizes": ("sizes",), "output": ("output",), "start": ("start",), "fft": ()},
}
#: Measures the memory bandwidth of this machine, only once for all sweeps.
measure_triad_once = cache(session.measure_triad)


@pytest.fixture
def restored_sigterm_handler():
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize(
    "name", [*night_params("weak"), *night_params(*list(FIGURES_OF_SWEEP)[1:], mark=pytest.mark.release)]
)
def test_quick_sweep_has_correct_rows_and_all_files(restored_sigterm_handler, tmp_path, monkeypatch, name):
    """Messages between the two processes have the expected number and size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setattr(session, "measure_triad", measure_triad_once)
    executor_options = ["--executor", "xla"] if name == "strong" else []
    result = invoke_swmodel("bench", name, "--quick", "--oversubscribe", *executor_options)
    assert result.exit_code == 0, result.output
    folder = Path("outputs") / f"bench-{name}-quick"
    text = (folder / "results.json").read_text()
    record = json.loads(text)
    files = {f"{figure}.{kind}" for figure in FIGURES_OF_SWEEP[name] for kind in ("png", "pdf")}
    assert {path.name for path in folder.iterdir()} == {"results.json", "table.md"} | files
    assert (folder / "table.md").read_text() in result.stdout
    assert str(Path.home()) not in text.replace(record["command"], "")
    assert record["bandwidth"][0]["gigabytes_per_second"] > 0
    for entry in record["rows"]:
        assert entry["state"] == "ok"
        assert max(entry.get("differences", {"h": 0}).values()) <= 64
        is_parallel = entry["row"]["nproc"] == 2
        assert entry["launch"]["command"].startswith("mpiexec -n 2" if is_parallel else "python")
        if entry["row"]["measure"] in ("model", "halo"):
            layout = entry["launch"]["layout"]
            side = entry["row"]["ny"] if layout == [1, 2] else entry["row"]["nx"]
            corners = 2 if layout == [2, 1] else 0
            messages = 2 if is_parallel else 0
            expected = {"messages": messages, "bytes": messages * 3 * 4 * (side + corners)}
            assert expected.items() <= entry["traffic"].items()
