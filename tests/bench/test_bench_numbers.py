"""What numbers, tables, comparisons, predictions and figures say of samples, which are made up here."""

import math
from copy import deepcopy
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from support.bench_record import begun, make_record
from support.command import cli

from swmodel.bench import expected, paper, results, scaling
from swmodel.bench.compare import report as compared
from swmodel.bench.compare import verdict
from swmodel.bench.figures import draw
from swmodel.bench.machine import busy_ticks, share_of_others
from swmodel.bench.numbers import numbers
from swmodel.bench.plan import make_rows
from swmodel.bench.sweeps import definition
from swmodel.bench.tables import report as tables
from swmodel.config import load
from swmodel.errors import SetupError
from swmodel.model.resolve import resolved
from swmodel.setup.setup import setup_of

CELLS = 3600 * 1800
NOISE = (0.98, 1.0, 1.03)


def test_efficiency_is_the_time_on_one_core_over_cores_and_time():
    record = make_record(cores=4, times={"reference": 8.0, "xla-t1": 4.0, 1: 1.25, 2: 1.5, 4: 1.0})
    reference, one_core, shared, two, four = numbers(record)
    assert (one_core.cores, shared.cores, two.cores, four.cores) == (1, 4, 4, 4)
    assert one_core.efficiency == 1
    assert four.efficiency == pytest.approx(4.0 / (4 * 1.0))
    assert shared.efficiency == pytest.approx(4.0 / (4 * 1.25))
    assert two.speedup == pytest.approx(8.0 / 1.5)
    assert math.isnan(reference.efficiency)
    weak = make_record(sweep="weak", cores=4, times={1: 1.0, 2: 1.1, 4: 1.25})
    assert [one.efficiency for one in numbers(weak)] == pytest.approx([1.0, 1 / 1.1, 1 / 1.25])


def test_rates_follow_from_times_and_same_problems_compare():
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1}, bandwidth=10.0)
    one = numbers(record)[1]
    assert (one.speedup, one.published["seconds"]) == (pytest.approx(10), 112)
    assert one.rate == pytest.approx(CELLS / 0.1)
    assert one.gigabytes_per_second == pytest.approx(48 * CELLS / 0.1 / 1e9)
    assert one.share == pytest.approx(one.gigabytes_per_second / 10)
    for change in ({"dtype": "float64"}, {"fields": True}, {"nx": 360}):
        other = deepcopy(record)
        other["rows"][1]["row"] |= change
        assert math.isnan(numbers(other)[1].speedup)
        assert numbers(other)[1].published["seconds"] != 112


def test_wrong_answer_is_a_failed_row_without_a_number(tmp_path):
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1}, wrong=("reference", 1))
    assert tables([record]).count("FAILED, wrong answer") == 2
    assert numbers(record) == draw([record], tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "most"), [(3, 0.05), (5, 0.004)])
def test_chance_alone_seldom_counts_as_a_difference(samples, most):
    """The rates of false alarms that the documentation gives, for normal samples."""
    rng, trials = np.random.default_rng(0), 4000
    found = [verdict(*(tuple(row) for row in rng.normal(size=(2, samples)))) for _ in range(trials)]
    alarms = trials - found.count("within noise")
    assert alarms / trials < most


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ((1.0, 1.01, 1.02), (1.1, 1.11, 1.12), "slower"),
        ((1.1, 1.11, 1.12), (1.0, 1.01, 1.02), "faster"),
        ((1.0, 1.01, 1.02), (1.015, 1.02, 1.03), "within noise"),
        ((1.0, 1.0), (9.0, 9.0), "too few samples"),
    ],
)
def test_verdict_compares_times_with_noise(old, new, found):
    assert verdict(old, new) == found


def test_rows_are_matched_and_those_of_one_result_are_named():
    old = make_record(cores=2, times={"reference": 1.0, 1: 0.1, 2: 0.1}, noise=NOISE)
    new = make_record("strong", cores=2, times={1: 0.2}, noise=NOISE)
    text = compared(old, new)
    assert "100 |     200 |     2.000" in text
    assert text.count("slower") == 1
    assert sum("xla, 2 processes, 3600 x 1800" in line and "|" not in line for line in text.splitlines()) == 1


@pytest.mark.fault("results of an earlier version cannot be read")
def test_results_kept_with_the_program_are_compared():
    for path in Path(__file__).parents[2].glob("benchmarks/results/*/*/results.json"):
        record = results.read(path)
        assert compared(record, record).count("within noise") == len(record["rows"])
        assert len(numbers(record)) == len(record["rows"])


def test_load_by_other_processes_is_core_time_minus_own():
    text = "cpu  700 0 500 9000 10 20 30 40\ncpu0 100 10 200 4000 5 6 7 8\ncpu1 600 20 300 5000 5 14 23 32\ncpu10 9 9"
    assert busy_ticks(text, {0, 1}) == 318 + 600 + 20 + 300 + 32
    assert share_of_others((100.0, 7.0, 5.0), (110.0, 27.0, 17.0), cores=2) == pytest.approx(0.4)
    assert share_of_others((100.0, 7.0, 5.0), (110.0, 10.0, 8.1), cores=2) == 0


@pytest.mark.slow
def test_native_step_takes_the_longer_of_two_times(monkeypatch):
    """The time to move and the time to compute, which is measured on all of a small grid."""
    for computing, words in ((2.0, (" 100 %", "memory")), (4.0, (" 75 %", "operations"))):
        assert all(word in expected.expected(3.0, computing, 16.0) for word in words)
    setup = setup_of(load("jet", {"run.executor": "native", "grid.nx": 19}, {}))
    assert 0 < expected.computed(resolved(setup)) < math.inf
    monkeypatch.setattr(expected, "expect", Mock(side_effect=SetupError("there is no compiler")))
    told = cli("info", "jet", "--kernel")
    assert (told.exit_code, "there is no compiler" in told.stdout) == (0, True)


LATENCY, SECONDS_PER_BYTE, CORES = 2e-5, 1e-9, 2


def kernel(cells, together):
    """Slower where processes share the memory."""
    return 1e-9 * cells**0.9 * (1.3 if together > 1 else 1.0)


def record_of(missing=""):
    """A record whose samples obey the model exactly; rows that measure what is `missing` have failed."""
    sweep = definition("scaling", executors=("native",))
    rows, skipped = make_rows(sweep, CORES, oversubscribe=True)
    record = begun(sweep, rows, skipped, cores=CORES)
    record["bandwidth"], record["peak"] = [], None
    for entry, row in zip(record["rows"], rows, strict=True):
        sent = 8.0 * (row.nx + row.ny)
        exchange = row.nproc * LATENCY + sent * SECONDS_PER_BYTE
        seconds = {
            "ensemble": kernel(row.nx * row.ny, row.nproc),
            "halo": exchange,
            "model": kernel(row.nx * row.ny / row.nproc, min(row.nproc, CORES)) * max(1, row.nproc / CORES)
            + exchange * (row.nproc > 1),
        }[row.measure]
        entry["samples"] = [{"steps": 10, "seconds": 10 * seconds, "memory_bytes": 5e8, "others": 0.0}]
        entry |= {"state": results.OK, "traffic": {"messages": 4.0, "bytes": sent}}
        if row.measure == missing:
            entry |= {"state": results.FAILED, "reason": "did not run", "samples": []}
    return record


def runs_of(record):
    """The rows that are predicted."""
    return [one for one in numbers(record) if one.row.measure == "model" and one.row.nproc > 1]


@pytest.mark.slow
def test_runs_that_obey_the_model_are_predicted_exactly(tmp_path):
    record = record_of()
    found = runs_of(record)
    assert {one.row.nproc for one in found} == {2, 4, 8}
    for one in found:
        assert scaling.predict(one).step == pytest.approx(one.step, rel=1e-9)
        assert scaling.predict(one).exchange == pytest.approx(one.row.nproc * LATENCY, rel=0.5)
    lines = tables([record]).splitlines()
    assert len([line for line in lines if line.startswith("| ") and line.count(" 0 % |") == 1]) == len(found)
    assert [path.name for path in draw([record], tmp_path)] == ["scaling.png", "scaling.pdf"]


@pytest.mark.parametrize("missing", ["halo", "ensemble"])
def test_runs_without_constants_are_not_predicted(missing):
    record = record_of(missing)
    found = runs_of(record)
    assert len(found) > 3
    assert all(math.isnan(scaling.predict(one).step) for one in found)
    assert bool(paper.predict(record, numbers(record))) == (missing == "ensemble")  # of one process
