"""Geostrophic adjustment: what is left of a step when the waves have gone (Gill 1982, section 7.2)."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.cases import adjustment

COARSE = {"grid.nx": 360, "grid.ny": 3, "grid.dx": 4e4, "grid.dy": 4e4}


@pytest.mark.parametrize("overrides", [{}, {"physics.f0": -1e-4, "physics.gravity": 1.0, "grid.dx": 13e3}])
def test_sea_level_and_current_come_to_balance_with_a_third_of_the_energy(overrides):
    """Averaged over the fifth inertial period, within 5 a of the step."""
    simulation = simulate("adjustment", COARSE | overrides, 4 * adjustment.PERIOD)
    config, physics = simulation.config, simulation.config.physics
    steps = round(adjustment.PERIOD / simulation.dt)
    eta, v = 0.0, 0.0
    for _ in range(steps):
        simulation.advance(1)
        eta, v = eta + simulation.field("eta")[1] / steps, v + simulation.state.v[1] / steps
    x = whole(config).x[0]
    near = np.abs(x) < 5 * adjustment.radius(config)
    level, current = adjustment.adjusted_level(config, x), adjustment.adjusted_v(config, x)
    kinetic = 0.5 * physics.depth * (v[near] ** 2).sum()
    potential = 0.5 * physics.gravity * (config.case.step**2 - eta[near] ** 2).sum()

    np.testing.assert_allclose(eta[near], level[near], atol=0.005 * config.case.step)
    np.testing.assert_allclose(v[near], current[near], atol=0.01 * np.abs(current).max())
    assert kinetic / potential == pytest.approx(1 / 3, rel=0.02)
