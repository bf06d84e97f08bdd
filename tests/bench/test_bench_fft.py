"""The sweep of transforms: rows measured once, on few cells, right, and counted as the model has it."""

import time

import jax.numpy as jnp
import pytest
from support.bench_record import make_record

from swmodel.bench.rows import Row, make_rows
from swmodel.bench.sweeps import definition
from swmodel.bench.tables import report
from swmodel.bench.transforms import counted, measure_transforms, pencils
from swmodel.parallel.decomposition import block
from swmodel.parallel.fourier import Fourier, series
from swmodel.parallel.transport.mpi import Mpi

ROW = Row("fft", "xla", 1, 24, 16, seconds=0.01)
SCIPY = Row("fft", "reference", 1, 24, 16, seconds=0.01)


def measured(row):
    return measure_transforms(row, {"launched": time.time(), "steps": 3})


@pytest.mark.parametrize("row", [ROW, SCIPY], ids=["ours", "scipy"])
def test_a_row_is_measured_and_right(row):
    found = measured(row)
    assert found["state"] == "ok", found
    assert found["sample"]["steps"] == 3
    assert found["sample"]["seconds"] > 0
    assert max(found.get("differences", {"none": 0}).values()) < 8


def test_wrong_coefficients_are_no_sample(monkeypatch):
    monkeypatch.setattr(series, "full", lambda lines: jnp.conj(jnp.swapaxes(lines, -1, -2)))
    found = measured(ROW)
    assert found["state"] == "failed"
    assert "wrong answer: the fields differ from scipy.fft's by" in found["reason"]


@pytest.mark.parametrize("layout", [(2, 2), (4, 1), (2, 1), (1, 2)])
def test_messages_and_bytes_are_those_of_the_model_where_everything_divides(layout):
    """Half spectra of 8 columns, two for each block."""
    fourier = Fourier(Mpi(block(0, layout, 8, 14), rank=0, size=layout[0] * layout[1]))
    assert counted(fourier, "float32") == pencils(layout, 8, 14, 4)


def test_there_is_a_row_of_scipy_and_others_over_devices_and_over_processes():
    rows, _ = make_rows(definition("fft"), cores=2)
    assert [(row.executor, row.nproc) for row in rows[:3]] == [("reference", 1), ("xla", 1), ("xla", 2)]
    rows, _ = make_rows(definition("fft", transport="sharded"), cores=2)
    assert [(row.executor, row.devices) for row in rows[:3]] == [("reference", 1), ("xla", 1), ("xla", 2)]


def test_the_table_has_the_speed_per_core_over_that_of_scipy():
    """Of one process on all cores."""
    record = make_record("fft", cores=2, times={"reference": 1.0, 1: 0.5}, size=(64, 32))
    assert "| scipy.fft |" in report([record])
    assert "200 %" in report([record])
