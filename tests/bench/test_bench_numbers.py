"""Statistics and comparisons of benchmarks follow from made-up samples; a row whose result is wrong fails."""

import dataclasses
import math
import time
from copy import deepcopy
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from support.bench_record import make_record

from swmodel.bench import model_samples, reference_check, results
from swmodel.bench.compare import compare_report
from swmodel.bench.part_samples import measure_transforms
from swmodel.bench.row_statistics import row_statistics
from swmodel.bench.sweeps import BenchRow
from swmodel.gradients import Problem
from swmodel.parallel.fourier import series

CELLS = 3600 * 1800


def test_efficiency_is_time_on_one_core_over_cores_times_time():
    record = make_record(cores=4, times={"reference": 8.0, "xla-t1": 4.0, 1: 1.25, 2: 1.5, 4: 1.0})
    reference, one_core, shared, two, four = row_statistics(record)
    assert (one_core.cores, shared.cores, two.cores, four.cores) == (1, 4, 4, 4)
    assert one_core.efficiency == 1
    assert four.efficiency == pytest.approx(4.0 / (4 * 1.0))
    assert shared.efficiency == pytest.approx(4.0 / (4 * 1.25))
    assert two.speedup == pytest.approx(8.0 / 1.5)
    assert math.isnan(reference.efficiency)
    weak_record = make_record(sweep="weak", cores=4, times={1: 1.0, 2: 1.1, 4: 1.25})
    assert [row.efficiency for row in row_statistics(weak_record)] == pytest.approx([1.0, 1 / 1.1, 1 / 1.25])


def test_rates_follow_from_times_and_only_same_problems_are_compared():
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1}, bandwidth=10.0)
    row = row_statistics(record)[1]
    assert (row.speedup, row.published["seconds"]) == (pytest.approx(10), 112)
    assert row.cells_per_second == pytest.approx(CELLS / 0.1)
    assert row.gigabytes_per_second == pytest.approx(48 * CELLS / 0.1 / 1e9)
    assert row.bandwidth_fraction == pytest.approx(row.gigabytes_per_second / 10)
    for change in ({"dtype": "float64"}, {"fields": True}, {"nx": 360}):
        other_record = deepcopy(record)
        other_record["rows"][1]["row"] |= change
        assert math.isnan(row_statistics(other_record)[1].speedup)


@pytest.mark.fault("results of an earlier version cannot be read")
def test_published_results_are_compared():
    for path in Path(__file__).parents[2].glob("benchmarks/results/*/*/results.json"):
        record = results.read_record(path)
        assert compare_report(record, record).count("within noise") == len(record["rows"])
        assert len(row_statistics(record)) == len(record["rows"])


JET = BenchRow("model", "xla", 1, 48, 24, steps=4)
TRANSFORM = BenchRow("fft", "xla", 1, 24, 16, seconds=0.01)


def task_of_row(row: BenchRow, folder, factor=1.0) -> dict:
    """The task of a row, with a file of the reference state, in which u is multiplied by a factor."""
    path = folder / "answer.npy"
    reference = reference_check.compute_reference(reference_check.make_config(row))
    np.save(path, reference * np.array([1, factor, 1])[:, None, None])
    return {"launched": 0.0, "reference_file": path, "steps": None, "check": True}


@pytest.mark.slow
def test_right_answer_is_timed(tmp_path):
    row = dataclasses.replace(JET, fields=True, settings=("physics.linear_drag=1e-6",))
    result = model_samples.measure_model(row, task_of_row(row, tmp_path))
    assert (result["reason"], result["sample"]["steps"]) == ("", 4)
    assert max(result["differences"].values()) <= reference_check.MAX_ROUNDINGS
    assert max(result["differences_small"].values()) <= reference_check.MAX_ROUNDINGS
    assert result["traffic"] == {"messages": 0, "bytes": 0}


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "context"), [(1.0001, "at this size"), (1.0, "in double precision")])
def test_row_with_a_wrong_answer_fails(tmp_path, monkeypatch, factor, context):
    """The reference is wrong by 1e-4 in double precision on a small grid; at this size u is multiplied by `factor`."""
    task, compute_reference = task_of_row(JET, tmp_path, factor), reference_check.compute_reference
    monkeypatch.setattr(reference_check, "compute_reference", lambda config: compute_reference(config) * 1.0001)
    result = model_samples.measure_model(JET, task)
    assert result["reason"].startswith(f"wrong answer {context}")
    assert ("seconds" in result["sample"]) == (context == "in double precision")


@pytest.mark.night
def test_row_fails_only_if_the_adjoint_is_inexact(monkeypatch):
    row, task = dataclasses.replace(JET, measure="gradient"), {"launched": 0.0, "check": True}
    result = model_samples.measure_gradient(row, task)
    assert (result["reason"], result["sample"]["steps"]) == ("", 4)
    assert result["sample"]["seconds"] > 0
    adjoint = Problem.adjoint
    monkeypatch.setattr(Problem, "adjoint", lambda *args: {name: 1.01 * bar for name, bar in adjoint(*args).items()})
    assert "wrong answer" in model_samples.measure_gradient(row, task)["reason"]


@pytest.mark.slow
@pytest.mark.fault("a benchmark times a transform with a wrong result")
def test_row_fails_only_if_the_transform_is_wrong(monkeypatch):
    for row in (TRANSFORM, dataclasses.replace(TRANSFORM, executor="reference")):
        result = measure_transforms(row, {"launched": time.time(), "steps": 3})
        assert "reason" not in result
        assert result["sample"]["steps"] == 3
        assert result["sample"]["seconds"] > 0
        assert max(result.get("differences", {"none": 0}).values()) < 8
    monkeypatch.setattr(series, "complex_fft", lambda lines: jnp.conj(jnp.swapaxes(lines, -1, -2)))
    assert "wrong answer" in measure_transforms(TRANSFORM, {"launched": time.time(), "steps": 3})["reason"]
