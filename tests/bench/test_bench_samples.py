"""Samples of the model and of ensembles, on few cells: measured, and right by the reference, else not at all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from swmodel.bench import answers, stepping
from swmodel.bench.sweeps import Row

pytestmark = pytest.mark.slow

JET = Row("model", "xla", 1, 48, 24, steps=4)
EVERYTHING = dataclasses.replace(JET, fields=True, settings=("physics.linear_drag=1e-6",))
ENSEMBLE = Row("ensemble", "xla", 1, 24, 16, members=2, advance="map", seconds=0.01)


def task(row: Row, folder, factor=1.0) -> dict:
    """The task of a row, with the answer of the reference; its u times a factor."""
    path = folder / "answer.npy"
    np.save(path, answers.answer(answers.configuration(row)) * np.array([1, factor, 1])[:, None, None])
    return {"launched": 0.0, "answer": path, "steps": None, "check": True}


@pytest.mark.parametrize("row", [JET, EVERYTHING], ids=["jet", "everything"])
def test_a_right_answer_is_timed(row, tmp_path):
    found = stepping.measure_stepping(row, task(row, tmp_path))
    assert (found["reason"], found["sample"]["steps"]) == ("", 4)
    assert max(found["differences"].values()) <= answers.TOLERANCE
    assert max(found["differences_small"].values()) <= answers.TOLERANCE
    assert found["traffic"] == {"messages": 0, "bytes": 0}


@pytest.mark.parametrize("where", ["at this size", "in double precision"])
def test_a_wrong_answer_is_a_failed_row(tmp_path, monkeypatch, where):
    """A reference whose u is off by one part in 10⁴: the kind of error that no eye would see in a picture."""
    wrong = task(JET, tmp_path, 1.0001 if where == "at this size" else 1.0)
    right = answers.answer
    monkeypatch.setattr(answers, "answer", lambda config: right(config) * np.array([1, 1, 1.0001])[:, None, None])
    found = stepping.measure_stepping(JET, wrong)
    assert found["reason"].startswith(f"wrong answer {where}")
    assert ("seconds" in found["sample"]) == (where == "in double precision")


@pytest.mark.night
@pytest.mark.parametrize("advance", ["map", "runs"])
def test_an_ensemble_is_measured_and_right(advance, tmp_path):
    row = dataclasses.replace(ENSEMBLE, advance=advance)
    found = stepping.measure_ensemble(row, task(row, tmp_path) | {"steps": 3})
    assert (found["reason"], found["sample"]["steps"]) == ("", 3)
    assert found["sample"]["seconds"] > 0


@pytest.mark.night
def test_a_wrong_answer_of_an_ensemble_is_no_sample(tmp_path):
    found = stepping.measure_ensemble(ENSEMBLE, task(ENSEMBLE, tmp_path, 1.001))
    assert "wrong answer" in found["reason"]
    assert not found["sample"]


def test_the_parts_of_the_start_are_the_whole_for_the_slowest_process():
    """Each part ends when the last process has ended it; none is negative, whoever is last."""

    class Two:
        def __init__(self, other):
            self.other = iter(other)

        def reduce(self, value, operation):
            return max(float(value), next(self.other))

    found = stepping.start_seconds(10.0, (11.0, 15.0, 16.0, 16.5), Two((2.0, 3.0, 5.5, 7.0)))
    assert found == {"start_seconds": 2, "build_seconds": 3, "compile_seconds": 1, "first_step_seconds": 7}
