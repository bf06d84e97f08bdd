"""The vortex in cyclogeostrophic balance stays as it is except for an error of second order in the spacing."""

import numpy as np
import pytest
from support.known_answers import order, refined, simulate

import swmodel
from swmodel.cases import vortex

GRID = {"nx": 48, "ny": 48, "dx": 13e3, "dy": 13e3}


def changes(factor, overrides):
    """Largest change of eta, u and v in half a day over the largest value of each."""
    simulation = simulate("vortex", {**refined(GRID, factor), **overrides}, 0.0)
    before = simulation.fields(["eta", "u", "v"])
    simulation.advance(round(43200 / simulation.dt))
    after = simulation.fields(["eta", "u", "v"])
    return [np.abs(after[name] - before[name]).max() / np.abs(before[name]).max() for name in before]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"case.speed": -1.5, "scheme.vorticity_flux": "enstrophy"},
        {"case.speed": 2.0, "scheme.vorticity_flux": "arakawa_lamb", "time.stepper": "rk3"},
        {"physics.gravity": 1.0, "physics.depth": 400.0, "physics.f0": -1e-4},
    ],
)
def test_error_is_of_second_order(overrides):
    coarse, fine = changes(1, overrides), changes(2, overrides)

    assert max(fine) < 0.01
    assert [order(*pair) for pair in zip(coarse, fine, strict=True)] == pytest.approx([2, 2, 2], abs=0.2)


@pytest.mark.parametrize("overrides", [{}, {"case.speed": -3.0, "physics.gravity": 1.0, "grid.nx": 60}])
def test_pressure_balances_the_rotation(overrides):
    config = swmodel.load("vortex", overrides, environ={})
    R = vortex.core_radius(config)
    r, d = np.linspace(0.1, 5, 200) * R, 1e-4 * R
    v = vortex.azimuthal_velocity(config, r)
    slope = (vortex.sea_level(config, r + d) - vortex.sea_level(config, r - d)) / (2 * d)
    force = v**2 / r + config.physics.f0 * v

    np.testing.assert_allclose(config.physics.gravity * slope, force, rtol=0, atol=1e-6 * np.abs(force).max())


def test_velocity_is_largest_at_the_radius():
    config = swmodel.load("vortex", {"case.speed": 0.7}, environ={})
    r = np.linspace(0, 3, 3001) * vortex.core_radius(config)
    v = vortex.azimuthal_velocity(config, r)

    assert v.max() == pytest.approx(0.7)
    assert r[v.argmax()] == vortex.core_radius(config)
