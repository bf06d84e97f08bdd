"""The sweep of transforms: rows measured once, on few cells, right, and counted as the model has it."""

import time

import jax.numpy as jnp
import pytest

from swmodel.bench.parts import count_all_to_alls, measure_transforms, pencils
from swmodel.bench.sweeps import Row
from swmodel.parallel.decomposition import block
from swmodel.parallel.fourier import Fourier, series
from swmodel.parallel.transport.mpi import Mpi

pytestmark = pytest.mark.slow

ROW = Row("fft", "xla", 1, 24, 16, seconds=0.01)
SCIPY = Row("fft", "reference", 1, 24, 16, seconds=0.01)


def measured(row):
    return measure_transforms(row, {"launched": time.time(), "steps": 3})


@pytest.mark.parametrize("row", [ROW, SCIPY], ids=["ours", "scipy"])
def test_a_row_is_measured_and_right(row):
    found = measured(row)
    assert "reason" not in found
    assert found["sample"]["steps"] == 3
    assert found["sample"]["seconds"] > 0
    assert max(found.get("differences", {"none": 0}).values()) < 8


@pytest.mark.fault("a benchmark times a transform with a wrong result")
def test_wrong_coefficients_are_no_sample(monkeypatch):
    monkeypatch.setattr(series, "full", lambda lines: jnp.conj(jnp.swapaxes(lines, -1, -2)))
    found = measured(ROW)
    assert "wrong answer: the fields" in found["reason"]


@pytest.mark.parametrize("layout", [(2, 2), (4, 1), (2, 1), (1, 2)])
def test_messages_and_bytes_are_those_of_the_model_where_everything_divides(layout):
    """Half spectra of 8 columns, two for each block."""
    fourier = Fourier(Mpi(block(0, layout, 8, 14), rank=0, size=layout[0] * layout[1]))
    assert count_all_to_alls(fourier, "float32") == pencils(layout, 8, 14, 4)
