"""Random turbulence has the spectrum asked for, in balance, the same for any division of the grid; it cascades."""

import numpy as np
import pytest

import swmodel
from swmodel.bench.known_answers.answer import simulate
from swmodel.cases import turbulence
from swmodel.setup import fields

pytestmark = pytest.mark.night

SMALL = {"grid.nx": 50, "grid.ny": 37, "grid.dx": 10e3, "grid.dy": 12e3, "case.wavenumber": 6}
WALLS = {"grid.periodic_y": False}
CLOSED = WALLS | {"grid.periodic_x": False}
DAY = 86400.0


def load(overrides=()):
    return swmodel.load("turbulence", {**SMALL, **dict(overrides)}, environ={})


def values(config, name, rows=None, columns=None):
    rows = range(config.grid.ny) if rows is None else rows
    return fields.evaluate(config, name, rows, range(config.grid.nx) if columns is None else columns)


def measured(config, u, v):
    """K = 0, 1, ... wavelengths in the longer side, and the mean kinetic energy of waves within 1/2 of them."""
    grid = config.grid
    energy = sum(0.5 * np.abs(np.fft.fft2(a) / a.size) ** 2 for a in (u, v))
    m, n = np.fft.fftfreq(grid.nx, 1 / grid.nx)[None, :], np.fft.fftfreq(grid.ny, 1 / grid.ny)[:, None]
    length, height = grid.nx * grid.dx, grid.ny * grid.dy
    K = np.rint(np.hypot(m / length, n / height) * max(length, height)).astype(int)
    sums = np.bincount(K.ravel(), weights=energy.ravel())
    return np.arange(sums.size), sums


@pytest.mark.parametrize("overrides", [{}, WALLS | {"case.balance": "nonlinear", "case.slope": -3.0}])
def test_values_have_the_same_bits_on_any_block(overrides):
    config, rows, columns = load(overrides), range(-2, 9), range(31, 52)
    inside = np.ix_(np.array(rows) % config.grid.ny, np.array(columns) % config.grid.nx)

    for name in ("eta", "u", "v"):
        np.testing.assert_array_equal(values(config, name, rows, columns), values(config, name)[inside])
        assert np.abs(values(load({**overrides, "case.seed": 2}), name) - values(config, name)).max() > 0.01


@pytest.mark.parametrize(
    "overrides", [{"case.seed": 2, "case.speed": 2.0, "grid.nx": 20}, {"case.slope": -3.0, "case.wavenumber": 3}]
)
def test_energy_is_that_of_the_spectrum(overrides):
    config = load(overrides)
    u, v = values(config, "u"), values(config, "v")
    shape = turbulence.flow_of(config).spectrum
    K, found = measured(config, u, v)
    within = (K > 0) & (shape.most >= K) & (found > 1e-20)
    expected = np.where(within, shape(np.maximum(K, 1)), 0)
    expected *= 0.5 * config.case.speed**2 / expected.sum()

    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * config.case.speed**2)
    assert abs(K[expected.argmax()] - config.case.wavenumber) <= 1


@pytest.mark.parametrize("overrides", [{}, WALLS, CLOSED])
def test_the_flow_has_the_speed_asked_for_no_divergence_and_passes_no_wall(overrides):
    config = load(overrides)
    u, v, grid = values(config, "u"), values(config, "v"), config.grid
    divergence = (u - np.roll(u, 1, 1)) / grid.dx + (v - np.roll(v, 1, 0)) / grid.dy

    assert np.mean(u**2 + v**2) == pytest.approx(config.case.speed**2, rel=1e-12)
    np.testing.assert_allclose(divergence, 0, atol=1e-12 * np.abs(u).max() / grid.dx)
    assert grid.periodic_x or np.abs(u[:, -1]).max() < 1e-14
    assert grid.periodic_y or np.abs(v[-1]).max() < 1e-14


@pytest.mark.parametrize("overrides", [{}, CLOSED])
def test_pressure_balances_the_coriolis_force_on_the_grid(overrides):
    config = load({"physics.f0": 3e-4, "physics.gravity": 1.0, **overrides})
    eta, v = values(config, "eta"), values(config, "v")
    v_on_u = (v + np.roll(v, -1, 1) + np.roll(v, 1, 0) + np.roll(v, (1, -1), (0, 1))) / 4
    pressure = config.physics.gravity * (np.roll(eta, -1, 1) - eta) / config.grid.dx
    inside = slice(None) if config.grid.periodic_x else slice(0, -1)  # the last face is the wall

    balance = config.physics.f0 * v_on_u
    np.testing.assert_allclose(pressure[:, inside], balance[:, inside], atol=1e-12 * np.abs(pressure).max())


@pytest.mark.parametrize("overrides", [WALLS, CLOSED])
def test_nonlinear_balance_leaves_the_flow_without_divergence(overrides):
    """The model's own tendency of the divergence, where the layer is so deep that its thickness hardly varies."""
    rates = {}
    for balance in ("linear", "nonlinear"):
        options = {"case.balance": balance, "physics.depth": 1e9, "scheme.vorticity_flux": "energy", "run.steps": 1}
        options |= {"physics.biharmonic_viscosity": 0.0, "time.stepper": "ab2", "time.dt": 1e-3, **overrides}
        simulation = simulate("turbulence", {**SMALL, **options}, 0.0)
        grid, before = simulation.config.grid, simulation.state
        simulation.advance(1)
        u, v = ((after - start) / 1e-3 for after, start in zip(simulation.state[1:], before[1:], strict=True))
        rates[balance] = (u - np.roll(u, 1, 1)) / grid.dx + (v - np.roll(v, 1, 0)) / grid.dy

    assert np.abs(rates["nonlinear"]).max() < 1e-5 * np.abs(rates["linear"]).max()


def test_energy_goes_to_larger_scales_and_enstrophy_decays():
    overrides = {"grid.nx": 64, "grid.ny": 64, "grid.dx": 10e3, "grid.dy": 10e3, "case.wavenumber": 6}
    simulation = simulate("turbulence", {**overrides, "physics.biharmonic_viscosity": 3e9}, 0.0)
    config, energy, enstrophy, scale = simulation.config, [], [], []
    for day in range(0, 20, 5):
        simulation.advance(round(day * DAY / simulation.dt) - simulation.step)
        u, v, zeta = simulation.state.u, simulation.state.v, simulation.field("zeta")
        K, spectrum = measured(config, u, v)
        energy.append(simulation.diagnostics()["energy"])
        enstrophy.append(np.mean(zeta**2))
        scale.append(spectrum.sum() / (K * spectrum).sum())

    assert np.all(np.diff(energy) < 0)
    assert np.all(np.diff(enstrophy) < 0)
    assert np.all(np.diff(scale) > 0)
    assert energy[-1] / energy[0] > 2 * enstrophy[-1] / enstrophy[0]
