"""The most memory that a process held, and its place in the status of a run."""

import json
from pathlib import Path

import pytest
from support.small_run import make_run

from swmodel.model import run
from swmodel.parallel.environment import peak_memory

pytestmark = pytest.mark.slow

STATUS = Path("/proc/self/status")


system_tells = pytest.mark.skipif(not STATUS.exists(), reason="the system does not say what memory a process held")


@system_tells
def test_the_peak_is_what_the_system_says():
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    assert peak_memory() == pytest.approx(1024 * int(lines["VmHWM"].split()[0]), rel=0.02)


def test_status_has_the_peak_of_the_largest_rank(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "peak_memory", lambda: 12345678901)
    make_run(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "status.json").read_text())["peak_memory_bytes"] == 12345678901
