"""Samples of the model and of transforms on few cells: times are measured only if the results are right."""

import dataclasses
import time

import jax.numpy as jnp
import numpy as np
import pytest

from swmodel.bench import model_samples, reference_check
from swmodel.bench.part_samples import count_all_to_alls, measure_transforms, pencil_traffic
from swmodel.bench.sweeps import SweepRow
from swmodel.gradients import Problem
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.fourier import Fourier, series
from swmodel.parallel.transport.mpi import MpiTransport

pytestmark = pytest.mark.slow

JET = SweepRow("model", "xla", 1, 48, 24, steps=4)
TRANSFORM = SweepRow("fft", "xla", 1, 24, 16, seconds=0.01)


def task_of_row(row: SweepRow, folder, factor=1.0) -> dict:
    """The task of a row, with the state of the reference, whose u is multiplied by a factor."""
    path = folder / "answer.npy"
    reference = reference_check.compute_reference(reference_check.make_config(row))
    np.save(path, reference * np.array([1, factor, 1])[:, None, None])
    return {"launched": 0.0, "reference_file": path, "steps": None, "check": True}


def test_right_answer_is_timed(tmp_path):
    row = dataclasses.replace(JET, fields=True, settings=("physics.linear_drag=1e-6",))
    found = model_samples.measure_model(row, task_of_row(row, tmp_path))
    assert (found["reason"], found["sample"]["steps"]) == ("", 4)
    assert max(found["differences"].values()) <= reference_check.MAX_ROUNDINGS
    assert max(found["differences_small"].values()) <= reference_check.MAX_ROUNDINGS
    assert found["traffic"] == {"messages": 0, "bytes": 0}


@pytest.mark.parametrize(("factor", "where"), [(1.0001, "at this size"), (1.0, "in double precision")])
def test_wrong_answer_is_a_failed_row(tmp_path, monkeypatch, factor, where):
    """One answer is wrong by one part in 10⁴: that of the row, or that of a small run in double precision."""
    given, right = task_of_row(JET, tmp_path, factor), reference_check.compute_reference
    monkeypatch.setattr(reference_check, "compute_reference", lambda config: right(config) * 1.0001)
    found = model_samples.measure_model(JET, given)
    assert found["reason"].startswith(f"wrong answer {where}")
    assert ("seconds" in found["sample"]) == (where == "in double precision")


def test_gradient_is_measured_only_where_the_adjoint_is_exact(monkeypatch):
    row, given = dataclasses.replace(JET, measure="gradient"), {"launched": 0.0, "check": True}
    found = model_samples.measure_gradient(row, given)
    assert (found["reason"], found["sample"]["steps"]) == ("", 4)
    assert found["sample"]["seconds"] > 0
    adjoint = Problem.adjoint
    monkeypatch.setattr(
        Problem, "adjoint", lambda *given: {name: 1.01 * field for name, field in adjoint(*given).items()}
    )
    assert "wrong answer" in model_samples.measure_gradient(row, given)["reason"]


@pytest.mark.fault("a benchmark times a transform with a wrong result")
def test_transform_is_measured_only_where_it_is_right(monkeypatch):
    for row in (TRANSFORM, dataclasses.replace(TRANSFORM, executor="reference")):
        found = measure_transforms(row, {"launched": time.time(), "steps": 3})
        assert "reason" not in found
        assert found["sample"]["steps"] == 3
        assert found["sample"]["seconds"] > 0
        assert max(found.get("differences", {"none": 0}).values()) < 8
    monkeypatch.setattr(series, "complex_fft", lambda lines: jnp.conj(jnp.swapaxes(lines, -1, -2)))
    assert "wrong answer" in measure_transforms(TRANSFORM, {"launched": time.time(), "steps": 3})["reason"]


@pytest.mark.parametrize("layout", [(2, 2), (4, 1), (2, 1), (1, 2)])
def test_counted_messages_and_bytes_are_those_of_the_model(layout):
    """Half spectra have 8 columns, so that they divide evenly among the blocks."""
    fourier = Fourier(MpiTransport(block_of_rank(0, layout, 8, 14), rank=0, size=layout[0] * layout[1]))
    assert count_all_to_alls(fourier, "float32") == pencil_traffic(layout, 8, 14, 4)
