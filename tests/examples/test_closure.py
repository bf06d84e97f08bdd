"""The example in which a coarse flow learns from a fine one: what it is made of, on few cells."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import example as support

pytestmark = pytest.mark.night

pytest.importorskip("equinox")


@pytest.fixture(scope="module")
def example():
    return support.example("closure")


@pytest.mark.slow
def test_training_finds_the_viscosity_that_the_data_were_made_with(example):
    """To 1 %, online, from forecasts of six hours on; with it the score is nothing."""
    setup, true = replace(example.TINY, stages=((1, 40),), batch=2), jnp.float32(0.03)
    forecast = example.Forecast(setup, example.harmonic, jnp.float32(0))
    states = jnp.stack([jnp.stack(forecast.carry.state)] * 2)
    flows = np.moveaxis(np.asarray(forecast(true, states, 3)), 0, 1)
    with jax.numpy_dtype_promotion("standard"):  # for optax
        found, losses = example.train(setup, flows, forecast, jnp.float32(0.02), 1, print)
    assert float(found) == pytest.approx(float(true), rel=0.01)
    assert losses[-1] < 1e-3 * losses[0]


def test_the_first_network_is_the_friction_that_it_begins_with(example):
    """To the last bit: its last layer gives zero."""
    parameters = example.first_network(example.TINY, 0.01)
    assert not np.any(parameters["net"](jnp.ones(27)))
    assert float(parameters["biharmonic"]) == np.float32(0.01)


def test_a_filtered_flow_has_the_volume_and_the_divergence_of_the_fine_one(example):
    """Of depth one, so that divergence in a coarse cell is the mean of those of its fine ones."""
    u, v, h = np.random.default_rng(0).standard_normal((3, 12, 12))
    state = example.swmodel.Simulation("turbulence", example.options(12, 1.0, **{"run.executor": "reference"})).state
    coarse_h, coarse_u, coarse_v = example.filtered(state._replace(h=h, u=u, v=v), 3)
    np.testing.assert_allclose(coarse_h.mean(), h.mean(), rtol=1e-12)

    def divergence(u, v, spacing):
        return (u - np.roll(u, 1, 1) + v - np.roll(v, 1, 0)) / spacing

    means = divergence(u, v, 1.0).reshape(4, 3, 4, 3).mean((1, 3))
    np.testing.assert_allclose(divergence(coarse_u, coarse_v, 3.0), means, rtol=1e-12)


def test_spectra_have_the_energy_of_their_waves(example):
    """One wave of five wavelengths in x: u²/4 in ring five."""
    wave = np.cos(2 * np.pi * 5 * np.arange(16) / 16) * np.ones((16, 1))
    states = np.stack([0 * wave, 3 * wave, 0 * wave])[None, None]
    np.testing.assert_allclose(example.spectrum(states)[0], np.eye(7)[4] * 9 / 4, atol=1e-12)


def test_the_picture_and_the_table_have_all_closures(example, tmp_path):
    draw = np.random.default_rng(0)
    names = ["truth", "none", "harmonic", "biharmonic", "learned"]
    found = {name: (draw.standard_normal((4, 2, 3, 8, 8)), draw.random(4), draw.random((4, 3))) for name in names}
    rows = example.rows_of(found, {"harmonic": 0.03})
    assert [row.split("|")[1].strip() for row in rows[2:]] == names[1:]
    example.draw(tmp_path / "closure.png", found, "harmonic", [1.0, 0.5])
    assert (tmp_path / "closure.png").stat().st_size > 10000
