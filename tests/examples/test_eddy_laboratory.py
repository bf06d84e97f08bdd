"""The laboratory of closures: what it compares, and that it runs."""

import subprocess
import sys

import numpy as np
import pytest
from support import example as support

pytestmark = pytest.mark.night

pytest.importorskip("equinox")


@pytest.fixture(scope="module")
def example():
    return support.example("eddy_laboratory")


def fields(cells, seed=0):
    """h, u, v with walls around."""
    h, u, v = np.random.default_rng(seed).standard_normal((3, 2 * cells, cells))
    u[:, -1], v[-1] = 0, 0
    return [h + 500, u, v]


def test_a_refined_sea_is_filtered_back_to_itself(example):
    """Up to the walls, where both have no flow."""
    coarse = fields(6)
    for found, given in zip(example.filtered(example.refined(coarse, 3), 3), coarse, strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-12, atol=1e-12)


def test_a_wave_has_its_energy_in_its_ring_and_those_beside(example):
    """A Hann window spreads a wave over three rings; the sum is the mean energy."""
    x = np.arange(64) / 64
    v = np.broadcast_to(np.cos(2 * np.pi * 9 * x), (128, 64))
    energy = example.spectrum([0 * v, 0 * v, v])
    assert energy[7:10].sum() == pytest.approx(0.25, rel=0.02)
    assert energy.sum() == pytest.approx(0.25, rel=0.02)


def test_the_truth_has_no_error_beside_itself(example):
    statistics = example.Statistics(4)
    for seed in range(3):
        statistics.add(fields(16, seed))
    true = statistics.result()
    assert (true["eddy_energy"] > 0).all()
    np.testing.assert_allclose(example.score(true, true, 16), [0, 1, 0, 0], atol=1e-12)


@pytest.mark.slow
def test_the_laboratory_runs_on_few_cells(example, tmp_path):
    """Each closure has a row of finite numbers; picture and film are there; two ranks train the network."""
    command = [sys.executable, example.__file__, "--tiny", "--nproc", "2", "--output", tmp_path]
    subprocess.run(command, check=True, timeout=900, capture_output=True)
    rows = [line.split("|")[1:-1] for line in (tmp_path / "table.md").read_text().splitlines()[2:]]
    names = [row[1].strip() for row in rows if row[0].strip() == "100"]
    assert names == [*example.CLOSURES, "learned"]
    assert np.isfinite([float(cell.split()[0]) for row in rows for cell in row[2:]]).all()
    assert {path.suffix for path in tmp_path.glob("eddy_laboratory.*")} == {".png", ".mp4"}
