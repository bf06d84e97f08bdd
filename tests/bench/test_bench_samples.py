"""Samples of the model and of ensembles, on few cells: measured, and right by the reference, else not at all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import swmodel
from swmodel.bench import answers, stepping
from swmodel.bench.sweeps import Row
from swmodel.ocean.state import State

JET = Row("model", "xla", 1, 48, 24, steps=4)
EVERYTHING = dataclasses.replace(JET, fields=True, settings=("physics.linear_drag=1e-6",))
ENSEMBLE = Row("ensemble", "xla", 1, 24, 16, members=2, advance="map", seconds=0.01)


def task(row: Row, folder, factor=1.0) -> dict:
    """The task of a row, with the answer of the reference; its u times a factor."""
    path = folder / "answer.npy"
    answers.write_answer(row, path)
    np.save(path, np.load(path) * np.array([1, factor, 1])[:, None, None])
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


def test_the_answer_of_the_jet_is_wrong_for_a_row_with_everything_on(tmp_path):
    assert "wrong answer" in stepping.measure_stepping(EVERYTHING, task(JET, tmp_path))["reason"]


@pytest.mark.parametrize("advance", ["map", "runs"])
def test_an_ensemble_is_measured_and_right(advance, tmp_path):
    row = dataclasses.replace(ENSEMBLE, advance=advance)
    found = stepping.measure_ensemble(row, task(row, tmp_path) | {"steps": 3})
    assert (found["reason"], found["sample"]["steps"]) == ("", 3)
    assert found["sample"]["seconds"] > 0


def test_a_wrong_answer_of_an_ensemble_is_no_sample(tmp_path):
    found = stepping.measure_ensemble(ENSEMBLE, task(ENSEMBLE, tmp_path, 1.001))
    assert "wrong answer" in found["reason"]
    assert not found["sample"]


def test_an_answer_is_judged_in_roundings_of_its_precision():
    expected = np.stack([np.full((4, 5), 100.0), np.full((4, 5), 8.0), np.zeros((4, 5))])
    off = expected.copy()
    off[2, 1, 1] += 8.0 * 10 * np.finfo(np.float64).eps
    found = answers.differences(State(*off), expected, lambda values, operation: values)
    assert found == pytest.approx({"h": 0, "u": 0, "v": 10})
    assert answers.verdict(found, "here") == ""
    assert "v differs" in answers.verdict(found | {"v": answers.TOLERANCE + 1}, "here")
    off[0, 0, 0] = np.nan
    found = answers.differences(State(*off), expected, lambda values, operation: values)
    assert "h differs" in answers.verdict(found, "here")


def test_the_parts_of_the_start_are_the_whole_for_the_slowest_process():
    """Each part ends when the last process has ended it; none is negative, whoever is last."""

    class Two:
        def __init__(self, other):
            self.other = iter(other)

        def reduce(self, value, operation):
            return max(float(value), next(self.other))

    found = stepping.start_seconds(10.0, (11.0, 15.0, 16.0, 16.5), Two((2.0, 3.0, 5.5, 7.0)))
    assert found == {"start_seconds": 2, "build_seconds": 3, "compile_seconds": 1, "first_step_seconds": 7}


def test_with_everything_on_fields_vary_both_ways_and_no_cell_of_the_published_grid_is_thin():
    """Thin water, as beside the fast jet, would end a sample of many steps. Land covers a twentieth of the cells."""
    row = dataclasses.replace(EVERYTHING, nx=360, ny=180)
    simulation = swmodel.Simulation(answers.configuration(row, grid__dx=5e4, grid__dy=5e4, time__dt=200.0))
    assert simulation.state.h.min() > 60
    y, x = (np.arange(180) + 0.5)[:, None] / 180, (np.arange(360) + 0.5)[None, :] / 360
    fields = {name: np.broadcast_to(formula(x, y), (180, 360)) for name, formula in answers.FIELDS.items()}
    assert all(values.std(axis=axis).max() > 0 for values in fields.values() for axis in (0, 1))
    assert 1 - fields["mask"].mean() == pytest.approx(0.053, abs=0.004)


def test_steps_in_a_sweep_change_no_bit():
    config = answers.configuration(Row("model", "native", 1, 48, 24))
    one, four = (swmodel.Simulation(config, steps_per_sweep=steps_per_sweep) for steps_per_sweep in (1, 4))
    for simulation in (one, four):
        simulation.advance(7)
    assert all(np.array_equal(a, b) for a, b in zip(one.state, four.state, strict=True))
