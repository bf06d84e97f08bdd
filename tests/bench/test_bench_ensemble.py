"""A row of the sweep of ensembles: measured once, on few cells, and checked against the reference."""

from dataclasses import replace

import numpy as np
import pytest

from swmodel.bench.answers import write_answer
from swmodel.bench.ensembles import measure_ensemble
from swmodel.bench.rows import Row, make_rows
from swmodel.bench.sweeps import definition

ROW = Row("ensemble", "xla", 1, 24, 16, members=2, advance="map", seconds=0.01)


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "answer.npy"
    write_answer(ROW, str(path))
    return path


@pytest.mark.parametrize("advance", ["map", "runs"])
def test_a_row_is_measured_and_right(answer, advance):
    found = measure_ensemble(replace(ROW, advance=advance), {"answer": str(answer), "steps": 3})
    assert found["state"] == "ok", found
    assert found["sample"]["steps"] == 3
    assert found["sample"]["seconds"] > 0


def test_a_wrong_answer_is_no_sample(answer, tmp_path):
    np.save(tmp_path / "wrong.npy", 1.001 * np.load(answer))
    found = measure_ensemble(ROW, {"answer": str(tmp_path / "wrong.npy"), "steps": 3})
    assert found["state"] == "failed"
    assert "wrong answer" in found["reason"]


def test_there_are_rows_over_devices_and_over_processes():
    rows, _ = make_rows(definition("ensemble", executors=("reference", "xla")), cores=2)
    assert {row.executor for row in rows} == {"xla"}
    assert {(row.nproc, row.devices) for row in rows} == {(1, 1), (1, 2), (2, 1)}
    assert len({row.key for row in rows}) == len(rows)
