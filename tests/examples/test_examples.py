"""The programs of examples/ run on few cells, and their parts agree with exact results."""

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
    """Online training with forecasts of six hours finds it to 1 % and reduces the loss by a factor of 1000."""
    pytest.importorskip("equinox")
    closure = import_example("closure")
    setup, true = replace(closure.TINY, stages=((1, 40),), batch=2), jnp.float32(0.03)
    forecast = closure.Forecast(setup, closure.harmonic, jnp.float32(0))
    states = jnp.stack([jnp.stack(forecast.carry.state)] * 2)
    flows = np.moveaxis(np.asarray(forecast(true, states, 3)), 0, 1)
    with jax.numpy_dtype_promotion("standard"):  # for optax
        constant, losses = closure.train(setup, flows, forecast, jnp.float32(0.02), 1, print)
    assert float(constant) == pytest.approx(float(true), rel=0.01)
    assert losses[-1] < 1e-3 * losses[0]


def random_state(cells, seed=0):
    h, u, v = np.random.default_rng(seed).standard_normal((3, 2 * cells, cells))
    u[:, -1], v[-1] = 0, 0
    return [h + 500, u, v]


@pytest.mark.night
def test_filters_spectra_and_errors_of_laboratory_are_exact():
    """Filtering a refined sea returns the sea, also at walls, and the truth has no error.

    A Hann window spreads a wave over three wavenumbers, whose energies add up to the mean energy.
    """
    pytest.importorskip("equinox")
    laboratory = import_example("eddy_laboratory")
    filtered = laboratory.filter_to_coarse(laboratory.refine(random_state(6), 3), 3)
    for actual, expected in zip(filtered, random_state(6), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)
    v = np.broadcast_to(np.cos(2 * np.pi * 9 * np.arange(64) / 64), (128, 64))
    spectrum, statistics = laboratory.spectrum([0 * v, 0 * v, v]), laboratory.RunningAverages(4)
    for energy in (spectrum[7:10].sum(), spectrum.sum()):
        assert energy == pytest.approx(0.25, rel=0.02)
    for seed in range(3):
        statistics.add(random_state(16, seed))
    true = statistics.averages()
    assert (true["eddy_energy"] > 0).all()
    np.testing.assert_allclose(laboratory.errors_against_truth(true, true, 16), [0, 1, 0, 0], atol=1e-12)


@pytest.mark.release
def test_laboratory_runs_on_few_cells(tmp_path):
    """Two ranks train the network; each closure has a row of finite numbers; the picture and the animation exist."""
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
def test_eddies_are_drawn_and_gain_no_energy_or_enstrophy(tmp_path, monkeypatch, optimised_steps):
    eddies, messages = import_example("eddies"), []
    constants = {"FOLDER": tmp_path, "JET_DAYS": 1, "TURBULENCE_DAYS": 0.5, "BIHARMONIC_VISCOSITIES": {40: 5e11}}
    for name, value in constants.items():
        monkeypatch.setattr(eddies, name, value)
    eddies.draw_jet(messages.append)
    eddies.draw_spectra(messages.append)
    assert {path.name for path in tmp_path.iterdir()} == {"jet_fluxes.png", "eddies_spectra.png"}
    remaining = [float(number) for message in messages[2:] for number in re.findall(r"\d\.\d+", message)]
    assert len(remaining) == 4  # fractions of energy and enstrophy, for two closures
    assert 0 < min(remaining) <= max(remaining) <= 1


@pytest.mark.night
def test_bay_gains_the_water_of_the_river(tmp_path):
    """The interface couples river and bay: no water is lost, and all water that enters the bay is river water."""
    pytest.importorskip("bmipy", reason='needs bmipy: pip install ".[bmi]"')
    river = import_example("river")
    bay, error = river.couple(hours=1, log=lambda message: None)
    assert abs(error) < 1e-14
    depth, fraction = (bay.get_value(name, np.empty(2400)) for name in (river.THICKNESS_NAME, river.RIVER_TRACER_NAME))
    area = bay.get_value("model_grid_cell__area", np.empty(2400))
    added_volume = area @ (depth - 10.0)
    assert added_volume > 1e4
    assert area @ (fraction * depth) == pytest.approx(added_volume, rel=1e-7)
    assert 0.0 <= fraction.min() <= fraction.max() <= 1.0
