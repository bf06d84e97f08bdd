"""A seiche swings with the frequency of its mode on the C-grid, (k dx)²/24 below the true one."""

import numpy as np
import pytest

import swmodel
from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.cases import seiche

pytestmark = pytest.mark.slow

LONG = {"grid.nx": 25, "grid.ny": 3, "grid.dx": 4e3, "grid.dy": 4e3}
LINEAR = {"case.amplitude": 1e-6, "time.cfl": 0.2}
MODES = [
    LONG,
    {**LONG, "case.nodes_x": 2, "physics.gravity": 1.0, "grid.origin": "middle"},
    {**LONG, "physics.self_attraction": 0.09},
    {**LONG, "grid.ny": 17, "grid.dy": 3e3, "case.nodes_x": 3, "case.nodes_y": 2},
]


def swing(overrides, periods):
    """(config, shape of the mode, projection of sea level on it, rest of sea level, seconds) of a linear seiche."""
    simulation = simulate("seiche", {**LONG, **LINEAR, **overrides}, 0.0)
    config = simulation.config
    simulation.advance(round(periods * 2 * np.pi / seiche.frequency(config) / simulation.dt))
    shape, eta = seiche.shape(config, whole(config)), simulation.field("eta")
    part = (eta * shape).sum() / (shape**2).sum()
    return config, part / config.case.amplitude, np.abs(eta - part * shape).max(), simulation.time


@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.parametrize("mode", MODES)
def test_frequency_is_that_of_the_mode_on_the_grid(mode):
    # A quarter past three periods sea level goes through zero, where it tells the phase best.
    config, part, rest, time = swing(mode, 3.25)
    turns = round(seiche.grid_frequency(config) * time / (2 * np.pi) - 0.25) + 0.25
    measured = (2 * np.pi * turns + np.arcsin(-part)) / time

    assert measured == pytest.approx(seiche.grid_frequency(config), rel=1e-6)
    assert rest < 1e-6 * config.case.amplitude


def test_the_period_is_that_of_merian_but_for_k_dx_squared_over_24():
    config = swmodel.load("seiche", LONG, environ={})
    length, wave_speed = 25 * 4e3, np.sqrt(config.physics.gravity * config.physics.depth)
    frequency, k = seiche.frequency(config), np.pi / length

    assert 2 * np.pi / frequency == pytest.approx(2 * length / wave_speed, rel=1e-14)
    assert 1 - seiche.grid_frequency(config) / frequency == pytest.approx((k * config.grid.dx) ** 2 / 24, rel=0.01)
