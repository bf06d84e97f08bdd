"""The double gyre turns as the wind drives it, carries Sverdrup's transport, and spends what the wind gives it."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.bench.known_answers.flows import streamfunction
from swmodel.cases import double_gyre

pytestmark = pytest.mark.night

COARSE = {"grid.nx": 25, "grid.ny": 50, "grid.dx": 40e3, "grid.dy": 40e3, "physics.viscosity": 1300.0}
DAY = 86400.0


def test_weak_gyres_are_antisymmetric_and_carry_sverdrups_transport():
    """A wind so weak that the gyres become steady: they turn as it drives them."""
    weak = {"case.wind": 0.005, "physics.linear_drag": 2e-7, "time.cfl": 0.3}
    simulation = simulate("double_gyre", COARSE | weak, 800 * DAY)
    psi, config = streamfunction(simulation), simulation.config
    y = (whole(config, "corner").j[:, 0] + 1) * config.grid.dy
    transport = config.physics.depth * np.gradient(psi, config.grid.dx, axis=1)[:, 12:21].mean(axis=1)
    expected = double_gyre.sverdrup_transport(config, y)

    assert psi[:24, :-1].min() > 0 > psi[25:-1, :-1].max()
    np.testing.assert_allclose(psi[:-1], -psi[-2::-1], rtol=0, atol=0.005 * psi.max())
    np.testing.assert_allclose(transport, expected, rtol=0, atol=0.03 * np.abs(expected).max())


def power(simulation):
    """Work of the wind and losses to drag and friction, W: the products of velocity and force in the energy's sums."""
    config = simulation.config
    grid, physics = config.grid, config.physics
    h, u, v = simulation.state
    east, north = (np.ones((grid.ny, grid.nx)) for _ in "uv")
    east[:, -1], north[-1] = 0, 0
    wind = config.case.wind_x(config, whole(config)) * u
    drag = -physics.linear_drag * physics.density * (between(h, 1) * u**2 + between(h, 0) * v**2)
    inner = east * north  # free slip: no tangential stress at the walls
    along = [(a - np.roll(a, 1, axis)) / d for a, axis, d in ((u, 1, grid.dx), (v, 0, grid.dy))]
    across = [inner * (np.roll(a, -1, axis) - a) / d for a, axis, d in ((u, 0, grid.dy), (v, 1, grid.dx))]
    friction_u = (np.roll(along[0], -1, 1) - along[0]) / grid.dx + (across[0] - np.roll(across[0], 1, 0)) / grid.dy
    friction_v = (across[1] - np.roll(across[1], 1, 1)) / grid.dx + (np.roll(along[1], -1, 0) - along[1]) / grid.dy
    friction = physics.viscosity * physics.density * (between(h, 1) * u * friction_u + between(h, 0) * v * friction_v)
    return np.array([field.sum() * grid.dx * grid.dy for field in (wind, drag, friction)])


def between(a, axis):
    """Mean of neighbours, on the east or north side."""
    return 0.5 * (a + np.roll(a, -1, axis))


def test_wind_work_goes_into_energy_drag_and_friction():
    simulation = simulate("double_gyre", {**COARSE, "time.stepper": "rk4", "time.cfl": 0.1}, 50 * DAY)
    before, powers, pairs = simulation.diagnostics()["energy"], [power(simulation)], 50
    for _ in range(2 * pairs):
        simulation.advance(1)
        powers.append(power(simulation))
    simpson = np.tile([2.0, 4.0], pairs + 1)[: 2 * pairs + 1]
    simpson[[0, -1]] = 1.0
    wind, drag, friction = simpson @ np.array(powers) * simulation.dt / 3
    gained = simulation.diagnostics()["energy"] - before

    assert wind > 0 > max(drag, friction)
    assert gained == pytest.approx(wind + drag + friction, abs=1e-9 * wind)
