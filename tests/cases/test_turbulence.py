"""Random turbulence starts with the spectrum asked for, the same for any division of the grid, and cascades."""

import numpy as np
import pytest
from support.known_answers import simulate, whole

import swmodel
from swmodel.cases import turbulence
from swmodel.config import fields

SMALL = {"grid.nx": 50, "grid.ny": 37, "grid.dx": 10e3, "grid.dy": 12e3, "case.wavenumber": 6}
DAY = 86400.0


def load(overrides=()):
    return swmodel.load("turbulence", {**SMALL, **dict(overrides)}, environ={})


def values(config, name, rows=None, columns=None):
    rows = range(config.grid.ny) if rows is None else rows
    return fields.evaluate(config, name, rows, range(config.grid.nx) if columns is None else columns)


def measured(config, u, v):
    """Mean kinetic energy by wavenumber of the fields u and v, as in `turbulence.spectrum`."""
    grid = config.grid
    energy = sum(0.5 * np.abs(np.fft.fft2(a) / a.size) ** 2 for a in (u, v))
    m, n = np.fft.fftfreq(grid.nx, 1 / grid.nx)[None, :], np.fft.fftfreq(grid.ny, 1 / grid.ny)[:, None]
    return turbulence.energy_by_wavenumber(turbulence.wavenumbers(grid, m, n), energy)


@pytest.mark.parametrize("name", ["eta", "u", "v"])
@pytest.mark.parametrize("rows", [range(-2, 9), range(5, 6), range(20, 40)])
@pytest.mark.parametrize("columns", [range(-2, 3), range(31, 52)])
def test_values_have_the_same_bits_on_any_block(name, rows, columns):
    config = load()
    block = values(config, name, rows, columns)
    grid = config.grid

    np.testing.assert_array_equal(
        block, values(config, name)[np.ix_(np.array(rows) % grid.ny, np.array(columns) % grid.nx)]
    )


@pytest.mark.parametrize(
    "overrides", [{}, {"case.seed": 2, "case.speed": 2.0, "grid.nx": 20}, {"grid.ny": 64, "grid.dy": 1e3}]
)
def test_energy_is_that_of_the_spectrum(overrides):
    config = load(overrides)
    u, v = values(config, "u"), values(config, "v")
    K, expected = turbulence.spectrum(config)
    found = measured(config, u, v)[1][: K.size]

    assert np.mean(u**2 + v**2) == pytest.approx(config.case.speed**2, rel=1e-12)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * config.case.speed**2)
    assert abs(K[expected.argmax()] - config.case.wavenumber) <= 1


def test_velocity_is_the_curl_of_the_streamfunction():
    config = load()
    psi, grid = turbulence.streamfunction(config, whole(config, "corner")), config.grid

    np.testing.assert_allclose(values(config, "u"), (np.roll(psi, 1, 0) - psi) / grid.dy, atol=1e-12)
    np.testing.assert_allclose(values(config, "v"), (psi - np.roll(psi, 1, 1)) / grid.dx, atol=1e-12)


def test_pressure_balances_the_coriolis_force_on_the_grid():
    config = load({"physics.f0": 3e-4, "physics.gravity": 1.0})
    eta, v = values(config, "eta"), values(config, "v")
    v_on_u = (v + np.roll(v, -1, 1) + np.roll(v, 1, 0) + np.roll(v, (1, -1), (0, 1))) / 4
    pressure = config.physics.gravity * (np.roll(eta, -1, 1) - eta) / config.grid.dx

    np.testing.assert_allclose(pressure, config.physics.f0 * v_on_u, atol=1e-12 * np.abs(pressure).max())


def test_seeds_differ_and_resolutions_agree():
    coarse, fine = load(), load({"grid.nx": 150, "grid.ny": 111, "grid.dx": 10e3 / 3, "grid.dy": 4e3})
    eta = values(coarse, "eta")

    # Every third centre of the fine grid is one of the coarse grid; slopes and means over a cell differ with its size.
    assert np.abs(values(fine, "eta", range(1, 111, 3), range(1, 150, 3)) - eta).max() < 0.1 * np.abs(eta).max()
    assert np.corrcoef(values(load({"case.seed": 2}), "eta").ravel(), eta.ravel())[0, 1] < 0.5


def test_energy_goes_to_larger_scales_and_enstrophy_decays():
    overrides = {"grid.nx": 64, "grid.ny": 64, "grid.dx": 10e3, "grid.dy": 10e3, "case.wavenumber": 6}
    simulation = simulate("turbulence", {**overrides, "physics.biharmonic_viscosity": 3e9}, 0.0)
    config, energy, enstrophy, scale = simulation.config, [], [], []
    for _ in range(4):
        u, v, zeta = simulation.state.u, simulation.state.v, simulation.field("zeta")
        K, spectrum = measured(config, u, v)
        energy.append(simulation.diagnostics()["energy"])
        enstrophy.append(np.mean(zeta**2))
        scale.append(spectrum.sum() / (K * spectrum).sum())
        simulation.advance(round(5 * DAY / simulation.dt))

    assert np.all(np.diff(energy) < 0)
    assert np.all(np.diff(enstrophy) < 0)
    assert np.all(np.diff(scale) > 0)
    assert energy[-1] / energy[0] > 2 * enstrophy[-1] / enstrophy[0]
