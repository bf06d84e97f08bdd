"""What other programs take of the cores during a sample: from the busy time of the cores and our own CPU time."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.bench_record import make_record

from swmodel.bench import others
from swmodel.bench.others import Clock, share
from swmodel.bench.tables import report

STAT = """cpu  700 0 500 9000 10 20 30 40 0 0
cpu0 100 10 200 4000 5 6 7 8 0 0
cpu1 600 20 300 5000 5 14 23 32 0 0
cpu10 9 9 9 9 9 9 9 9 0 0
intr 5
"""


def test_busy_is_what_programs_and_the_host_take_of_the_cores_that_are_ours():
    assert others.busy_ticks(STAT, {0}) == 100 + 10 + 200 + 8
    assert others.busy_ticks(STAT, {0, 1}) == 318 + 600 + 20 + 300 + 32


@pytest.mark.parametrize(("busy", "own", "expected"), [(12.0, 12.0, 0.0), (20.0, 12.0, 0.4), (3.0, 3.1, 0.0)])
def test_our_own_time_does_not_count(busy, own, expected):
    before = Clock(wall=100.0, busy=7.0, own=5.0)
    assert share(before, Clock(110.0, 7.0 + busy, 5.0 + own), cores=2) == pytest.approx(expected)


def test_where_the_system_does_not_tell_nothing_is_said(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert others.now(cores=1) is None
    record = make_record(times={1: 0.1})
    record["rows"][0]["samples"][0].pop("others")
    assert "not on record" in report([record])


@pytest.mark.skipif(others.read() is None, reason="no /proc/stat")
def test_the_time_of_a_child_and_of_its_child_is_our_own():
    burn = "import time\nwhile time.process_time() < 0.3: pass\n"
    before = others.read()
    subprocess.run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"])
    assert others.read().own - before.own >= 0.3


@pytest.mark.parametrize(("taken", "quoted"), [((0.0, 0.3, 0.01), True), ((0.0, 0.3, 0.4), False)])
def test_a_row_of_which_most_samples_were_disturbed_is_not_to_be_quoted(taken, quoted):
    record = make_record(times={1: 0.1}, noise=(1.0, 1.0, 1.0))
    for sample, part in zip(record["rows"][0]["samples"], taken, strict=True):
        sample["others"] = part
    assert ("do not quote" in report([record])) != quoted
