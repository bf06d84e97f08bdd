"""The programs of examples/ on few cells: they run, and their parts agree with exact results."""

import importlib
import re
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import ROOT


def import_example(name):
    """The module of a script, which may import other scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        return importlib.import_module(name)


@pytest.mark.promise("derivatives with respect to a network are exact")
@pytest.mark.night
def test_closure_training_finds_the_viscosity_of_the_data():
    """Training online with forecasts of six hours finds it to 1 %, and leaves hardly any loss."""
    pytest.importorskip("equinox")
    closure = import_example("closure")
    setup, true = replace(closure.TINY, stages=((1, 40),), batch=2), jnp.float32(0.03)
    forecast = closure.Forecast(setup, closure.harmonic, jnp.float32(0))
    states = jnp.stack([jnp.stack(forecast.carry.state)] * 2)
    flows = np.moveaxis(np.asarray(forecast(true, states, 3)), 0, 1)
    with jax.numpy_dtype_promotion("standard"):  # for optax
        found, losses = closure.train(setup, flows, forecast, jnp.float32(0.02), 1, print)
    assert float(found) == pytest.approx(float(true), rel=0.01)
    assert losses[-1] < 1e-3 * losses[0]


def random_state(cells, seed=0):
    h, u, v = np.random.default_rng(seed).standard_normal((3, 2 * cells, cells))
    u[:, -1], v[-1] = 0, 0
    return [h + 500, u, v]


@pytest.mark.night
def test_laboratory_filters_spectra_and_errors_are_exact():
    """Filtering a refined sea gives the sea back, up to the walls; the truth has no error.

    A Hann window spreads a wave over three wavenumbers; the sum is the mean energy.
    """
    pytest.importorskip("equinox")
    laboratory = import_example("eddy_laboratory")
    there_and_back = laboratory.filter_to_coarse(laboratory.refine(random_state(6), 3), 3)
    for found, given in zip(there_and_back, random_state(6), strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-12, atol=1e-12)
    v = np.broadcast_to(np.cos(2 * np.pi * 9 * np.arange(64) / 64), (128, 64))
    energy, statistics = laboratory.spectrum([0 * v, 0 * v, v]), laboratory.RunningAverages(4)
    for found in (energy[7:10].sum(), energy.sum()):
        assert found == pytest.approx(0.25, rel=0.02)
    for seed in range(3):
        statistics.add(random_state(16, seed))
    true = statistics.averages()
    assert (true["eddy_energy"] > 0).all()
    np.testing.assert_allclose(laboratory.errors_against_truth(true, true, 16), [0, 1, 0, 0], atol=1e-12)


@pytest.mark.release
def test_laboratory_runs_on_few_cells(tmp_path):
    """Each closure has a row of finite numbers; picture and animation exist; two ranks train the network."""
    pytest.importorskip("equinox")
    laboratory = import_example("eddy_laboratory")
    command = [sys.executable, laboratory.__file__, "--tiny", "--nproc", "2", "--output", tmp_path]
    subprocess.run(command, check=True, timeout=900, capture_output=True)
    rows = [line.split("|")[1:-1] for line in (tmp_path / "table.md").read_text().splitlines()[2:]]
    names = [row[1].strip() for row in rows if row[0].strip() == "100"]
    assert names == [*laboratory.CLOSURES, "learned"]
    assert np.isfinite([float(cell.split()[0]) for row in rows for cell in row[2:]]).all()
    assert {path.suffix for path in tmp_path.glob("eddy_laboratory.*")} == {".png", ".mp4"}


@pytest.mark.night
def test_eddies_are_drawn_and_gain_no_energy(tmp_path, monkeypatch, optimised):
    eddies, told = import_example("eddies"), []
    small = {"FOLDER": tmp_path, "JET_DAYS": 1, "TURBULENCE_DAYS": 0.5, "BIHARMONIC_VISCOSITIES": {40: 5e11}}
    for name, value in small.items():
        monkeypatch.setattr(eddies, name, value)
    eddies.draw_jet(told.append)
    eddies.draw_spectra(told.append)
    assert {path.name for path in tmp_path.iterdir()} == {"jet_fluxes.png", "eddies_spectra.png"}
    left = [float(number) for words in told[2:] for number in re.findall(r"\d\.\d+", words)]
    assert len(left) == 4
    assert 0 < min(left) <= max(left) <= 1


@pytest.mark.night
def test_bay_gains_the_water_of_the_river(tmp_path):
    """River and bay are coupled by the interface: no water is lost, and all water that comes in is river water."""
    pytest.importorskip("bmipy", reason='needs bmipy: pip install ".[bmi]"')
    river = import_example("river")
    bay, error = river.couple(hours=1, log=lambda words: None)
    assert abs(error) < 1e-14
    depth, share = (bay.get_value(name, np.empty(2400)) for name in (river.THICKNESS_NAME, river.RIVER_TRACER_NAME))
    area = bay.get_value("model_grid_cell__area", np.empty(2400))
    gained = area @ (depth - 10.0)
    assert gained > 1e4
    assert area @ (share * depth) == pytest.approx(gained, rel=1e-7)
    assert 0.0 <= share.min() <= share.max() <= 1.0
