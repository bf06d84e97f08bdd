"""Random turbulence has the spectrum asked for, in balance, the same for any division of the grid; it cascades."""

import numpy as np
import pytest
from support.marks import at_night

import swmodel
from swmodel.bench.known_answers.answer import simulate
from swmodel.cases import turbulence
from swmodel.setup import fields

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 50, "grid.ny": 37, "grid.dx": 10e3, "grid.dy": 12e3, "case.wavenumber": 6}
WALLS = {"grid.periodic_y": False}
CLOSED = WALLS | {"grid.periodic_x": False}


def load(overrides=()):
    return swmodel.load("turbulence", {**SMALL, **dict(overrides)}, environ={})


def values(config, name, rows=None, columns=None):
    rows = range(config.grid.ny) if rows is None else rows
    return fields.evaluate(config, name, rows, range(config.grid.nx) if columns is None else columns)


def spectrum(config, u, v):
    """K = 0, 1, ... wavelengths in the longer side, and the mean kinetic energy of waves within 1/2 of them."""
    grid = config.grid
    energy = sum(0.5 * np.abs(np.fft.fft2(a) / a.size) ** 2 for a in (u, v))
    m, n = np.fft.fftfreq(grid.nx, 1 / grid.nx)[None, :], np.fft.fftfreq(grid.ny, 1 / grid.ny)[:, None]
    length, height = grid.nx * grid.dx, grid.ny * grid.dy
    K = np.rint(np.hypot(m / length, n / height) * max(length, height)).astype(int)
    sums = np.bincount(K.ravel(), weights=energy.ravel())
    return np.arange(sums.size), sums


def divergence(grid, u, v):
    return (u - np.roll(u, 1, 1)) / grid.dx + (v - np.roll(v, 1, 0)) / grid.dy


@pytest.mark.parametrize("overrides", [{"case.speed": 2.0}, *at_night({"case.slope": -3.0, "case.wavenumber": 3})])
def test_energy_has_the_spectrum_and_blocks_have_same_bits(overrides):
    config, other, rows, columns = load(overrides), load(overrides | {"case.seed": 2}), range(-2, 9), range(31, 52)
    inside = np.ix_(np.array(rows) % config.grid.ny, np.array(columns) % config.grid.nx)
    for name in ("eta", "u", "v"):
        np.testing.assert_array_equal(values(config, name, rows, columns), values(config, name)[inside])
        assert np.abs(values(other, name) - values(config, name)).max() > 0.01
    shape = turbulence.flow_of(config).spectrum
    K, found = spectrum(config, values(config, "u"), values(config, "v"))
    within = (K > 0) & (shape.most >= K) & (found > 1e-20)
    expected = np.where(within, shape(np.maximum(K, 1)), 0)
    expected *= 0.5 * config.case.speed**2 / expected.sum()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * config.case.speed**2)
    assert abs(K[expected.argmax()] - config.case.wavenumber) <= 1


@pytest.mark.parametrize("overrides", [CLOSED, *at_night({}, WALLS)])
def test_flow_has_its_speed_no_divergence_and_balances_pressure(overrides):
    config = load({"physics.f0": 3e-4, "physics.gravity": 1.0, **overrides})
    (eta, u, v), grid = (values(config, name) for name in ("eta", "u", "v")), config.grid
    assert np.mean(u**2 + v**2) == pytest.approx(config.case.speed**2, rel=1e-12)
    np.testing.assert_allclose(divergence(grid, u, v), 0, atol=1e-12 * np.abs(u).max() / grid.dx)
    assert grid.periodic_x or np.abs(u[:, -1]).max() < 1e-14
    assert grid.periodic_y or np.abs(v[-1]).max() < 1e-14

    v_on_u = (v + np.roll(v, -1, 1) + np.roll(v, 1, 0) + np.roll(v, (1, -1), (0, 1))) / 4
    pressure, balance = (np.roll(eta, -1, 1) - eta) / grid.dx, config.physics.f0 * v_on_u
    inside = slice(None) if grid.periodic_x else slice(0, -1)  # the last face is the wall
    np.testing.assert_allclose(pressure[:, inside], balance[:, inside], atol=1e-12 * np.abs(pressure).max())


@pytest.mark.parametrize("overrides", at_night(WALLS, CLOSED))
def test_nonlinear_balance_leaves_the_flow_without_divergence(overrides):
    """The model's own tendency of the divergence, where the layer is so deep that its thickness hardly varies."""
    rates = {}
    for balance in ("linear", "nonlinear"):
        options = {"case.balance": balance, "physics.depth": 1e9, "scheme.vorticity_flux": "energy", "run.steps": 1}
        options |= {"physics.biharmonic_viscosity": 0.0, "time.stepper": "ab2", "time.dt": 1e-3, **overrides}
        simulation = simulate("turbulence", SMALL | options | {"run.executor": "reference"})
        before = simulation.state
        simulation.advance(1)
        u, v = ((after - start) / 1e-3 for after, start in zip(simulation.state[1:], before[1:], strict=True))
        rates[balance] = np.abs(divergence(simulation.config.grid, u, v)).max()
    assert rates["nonlinear"] < 1e-5 * rates["linear"]


@pytest.mark.night
def test_energy_goes_to_larger_scales_and_enstrophy_decays():
    overrides = {"grid.nx": 64, "grid.ny": 64, "grid.dx": 10e3, "grid.dy": 10e3, "case.wavenumber": 6}
    simulation = simulate("turbulence", {**overrides, "physics.biharmonic_viscosity": 3e9})
    energy, enstrophy, scale = [], [], []
    for day in range(0, 20, 5):
        simulation.advance(round(day * 86400 / simulation.dt) - simulation.step)
        K, found = spectrum(simulation.config, simulation.state.u, simulation.state.v)
        energy.append(simulation.diagnostics()["energy"])
        enstrophy.append(np.mean(simulation.field("zeta") ** 2))
        scale.append(found.sum() / (K * found).sum())
    assert np.all(np.diff([energy, enstrophy]) < 0)
    assert np.all(np.diff(scale) > 0)
    assert energy[-1] / energy[0] > 2 * enstrophy[-1] / enstrophy[0]
