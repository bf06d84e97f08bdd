"""The sweep of the native step: its rows, the fields that switch everything on, and what it promises."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.bench_record import MACHINE

import swmodel
from swmodel.bench import answers, forcing, results, stepping
from swmodel.bench.numbers import numbers
from swmodel.bench.promises import LARGE, ON, PROMISES, SMALL, promised
from swmodel.bench.rows import Row, make_rows
from swmodel.bench.sweeps import definition
from swmodel.bench.tables import report

EVERYTHING = Row("model", "xla", 1, 48, 24, steps=4, **ON)


def record(seconds, **chosen) -> dict:
    """A finished record of the sweep; `seconds(row)` is the time of a step, None for a row that is left out."""
    sweep = definition("native", **chosen)
    rows = [row for row in make_rows(sweep, 2)[0] if seconds(row)]
    more = {"quick": False, "label": "Test", "gpu_bandwidth": None}
    made = results.new(sweep, rows, [], MACHINE | {"cores": 2}, "swmodel bench native", **more)
    made["bandwidth"] = [{"gigabytes_per_second": 48.0, "by": "nothing"}]
    for entry, row in zip(made["rows"], rows, strict=True):
        sample = {"steps": 100, "seconds": 100 * seconds(row), "first_step_seconds": 1.0, "others": 0.0}
        entry |= {"state": results.OK, "samples": [sample], "launch": {"threads_of_a_rank": 2 // row.nproc}}
    return results.plain(made)


def test_each_variant_is_a_row_of_each_grid_and_number_of_processes_but_not_of_the_reference():
    sweep = definition("native")
    rows, _ = make_rows(sweep, 2)
    native = [row for row in rows if row.executor == "native"]
    assert len(native) == len(sweep.variants) * len(sweep.sizes) * len(sweep.nproc)
    assert len({row.label for row in native}) == len(native)
    assert [row.executor for row in rows if row not in native] == ["reference"] * len(sweep.sizes)
    assert not any(row.marks for row in rows if row.executor == "reference")


def test_only_the_jet_is_compared_with_numpy_and_variants_are_not_compared_with_each_other():
    one_a_sweep, several = 0.2, 0.1
    found = numbers(
        record(lambda row: 1.0 if row.executor == "reference" else one_a_sweep if row.steps_per_sweep else several)
    )
    for one in found:
        jet = one.row.dtype == "float32" and not one.row.physics
        assert (one.speedup is not None) == jet
        assert (one.published is not None) == (jet and (one.row.nx, one.row.ny) == LARGE)
        assert one.row.executor == "reference" or one.efficiency == pytest.approx(1)


def test_promises_are_ratios_of_the_rows_they_name():
    cells = LARGE[0] * LARGE[1]

    def seconds(row):
        if (row.nx, row.ny) == SMALL:
            return SMALL[0] * SMALL[1] / 999e6
        if row.executor == "reference":
            return 34 * cells / 1e9
        one = cells / 1e9 * (1 if row.steps_per_sweep else 0.5)
        return one * {1: 1, 2: 1.2}[row.nproc] * {"float32": 1 + 0.3 * row.fields, "float64": 2}[row.dtype]

    made = record(seconds)
    values = [promise.measured(numbers(made)) for promise in PROMISES]
    assert values == pytest.approx([1, 2, 999, 1.2, 1.2, 2, 1.3, 1.3])
    kept = [line.split("|")[4].strip() for line in promised(made).splitlines()[2:]]
    assert kept == ["yes", "yes", "no", "no", "no", "yes", "yes", "yes"]
    assert promised(made) in report([made])


def test_a_promise_without_its_rows_is_left_out():
    alone = record(lambda row: 0.1 if row.nproc == 1 and (row.nx, row.ny) == LARGE else None)
    assert len(promised(alone).splitlines()) == 2 + 4
    assert promised(record(lambda row: 0.1, quick=True)) == ""


def task(row: Row, folder) -> dict:
    path = folder / "answer.npy"
    answers.write_answer(row, path)
    return {"launched": 0.0, "answer": path, "steps": None, "check": True}


def test_a_row_with_everything_on_is_right_by_the_reference_of_the_same_physics(tmp_path):
    found = stepping.measure_stepping(EVERYTHING, task(EVERYTHING, tmp_path))
    assert found["state"] == "ok"
    config = answers.configuration(EVERYTHING, tmp_path)
    assert (config.physics.linear_drag, config.input.wind_x != "") == (1e-6, True)


def test_the_answer_of_the_jet_is_wrong_for_a_row_with_everything_on(tmp_path):
    given = task(EVERYTHING, tmp_path)
    answers.write_answer(dataclasses.replace(EVERYTHING, fields=False, settings=()), given["answer"])
    assert stepping.measure_stepping(EVERYTHING, given)["reason"].startswith("wrong answer at this size")


@pytest.mark.parametrize("size", [(90, 45), (360, 180)])
def test_the_fields_vary_in_both_directions_and_land_is_a_twentieth(size):
    made = forcing.fields(*size)
    assert all(values.std(axis=axis).max() > 0 for values in made.values() for axis in (0, 1))
    assert 1 - made["mask"].mean() == pytest.approx(0.053, abs=0.004)


def test_with_everything_on_the_published_grid_stays_at_peace(tmp_path):
    """No cell of the initial state is thin, as cells of the jet are: a sample is many steps long."""
    row = dataclasses.replace(EVERYTHING, nx=LARGE[0] // 10, ny=LARGE[1] // 10)
    forcing.write(tmp_path, row.nx, row.ny)
    config = answers.configuration(row, tmp_path, grid__dx=5e4, grid__dy=5e4, time__dt=200.0)
    h = swmodel.Simulation(config).state.h
    assert h.min() > 60


def test_steps_in_a_sweep_are_an_option_of_the_simulation_and_change_no_bit():
    config = answers.configuration(Row("model", "native", 1, 48, 24))
    one, four = (swmodel.Simulation(config, steps_per_sweep=steps_per_sweep) for steps_per_sweep in (1, 4))
    for simulation in (one, four):
        simulation.advance(7)
    assert all(np.array_equal(a, b) for a, b in zip(one.state, four.state, strict=True))
