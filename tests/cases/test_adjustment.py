"""Geostrophic adjustment: what is left of a step when the waves have gone (Gill 1982, section 7.2)."""

import numpy as np
import pytest
from support.known_answers import simulate, whole

from swmodel.cases import adjustment

COARSE = {"grid.nx": 360, "grid.ny": 3, "grid.dx": 4e4, "grid.dy": 4e4}


@pytest.fixture(scope="module", params=[{}, {"physics.f0": -1e-4, "physics.gravity": 1.0, "grid.dx": 13e3}])
def balanced(request):
    """(config, x, eta, v, near): sea level and current averaged over the fifth inertial period, near: |x| < 5 a."""
    simulation = simulate("adjustment", {**COARSE, **request.param}, 4 * adjustment.PERIOD)
    config = simulation.config
    steps = round(adjustment.PERIOD / simulation.dt)
    eta, v = 0.0, 0.0
    for _ in range(steps):
        simulation.advance(1)
        eta, v = eta + simulation.field("eta")[1] / steps, v + simulation.state.v[1] / steps
    x = whole(config).x[0]
    return config, x, eta, v, np.abs(x) < 5 * adjustment.radius(config)


def test_sea_level_and_current_come_to_balance(balanced):
    config, x, eta, v, near = balanced
    level, current = adjustment.adjusted_level(config, x), adjustment.adjusted_v(config, x)

    np.testing.assert_allclose(eta[near], level[near], atol=0.005 * config.case.step)
    np.testing.assert_allclose(v[near], current[near], atol=0.01 * np.abs(current).max())


def test_one_third_of_the_released_energy_stays_as_current(balanced):
    config, x, eta, v, near = balanced
    physics, dx = config.physics, config.grid.dx
    kinetic = 0.5 * physics.density * physics.depth * (v[near] ** 2).sum() * dx
    potential = 0.5 * physics.density * physics.gravity * (config.case.step**2 - eta[near] ** 2).sum() * dx

    assert potential == pytest.approx(adjustment.released_potential_energy(config), rel=0.02)
    assert kinetic / potential == pytest.approx(1 / 3, rel=0.02)
