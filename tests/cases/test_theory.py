"""Waves, vortices and turbulence agree with theories that `swmodel verify` does not cover."""

import numpy as np
import pytest
from support.marks import night_params

import swmodel
from swmodel.cases import seamount, seiche, turbulence
from swmodel.setup import fields
from swmodel.verification.comparison import grid_points, simulate

pytestmark = pytest.mark.slow

DAY = 86400.0


@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.parametrize("nodes", [{}, {"case.nodes_x": 3, "case.nodes_y": 2, "physics.gravity": 1.0}])
def test_seiche_has_the_frequency_of_its_mode_on_the_c_grid(nodes):
    """Self-attraction beta multiplies frequencies by sqrt(1 - beta), the C-grid by 1 - (k dx)²/24 for waves along x."""
    basin = {"grid.nx": 25, "grid.ny": 17, "grid.dx": 4e3, "grid.dy": 3e3, "physics.self_attraction": 0.09, **nodes}
    basin |= {"case.amplitude": 1e-6, "time.cfl": 0.2, "run.executor": "reference"}
    simulation = simulate("seiche", basin)
    config = simulation.config
    # After three and a quarter periods sea level passes through zero, where it is most sensitive to the phase.
    simulation.advance(round(3.25 * 2 * np.pi / seiche.frequency(config) / simulation.dt))
    shape, eta = seiche.mode_shape(config, grid_points(config)), simulation.field("eta")
    amplitude = (eta * shape).sum() / (shape**2).sum()
    n_periods = round(seiche.grid_frequency(config) * simulation.time / (2 * np.pi) - 0.25) + 0.25
    measured = (2 * np.pi * n_periods + np.arcsin(-amplitude / config.case.amplitude)) / simulation.time

    assert measured == pytest.approx(seiche.grid_frequency(config), rel=1e-6)
    assert np.abs(eta - amplitude * shape).max() < 1e-6 * config.case.amplitude
    if not nodes:
        slowdown = (np.pi / (25 * 4e3) * config.grid.dx) ** 2 / 24
        period = 2 * 25 * 4e3 / np.sqrt(config.physics.gravity * config.physics.depth * (1 - 0.09))
        assert 2 * np.pi / seiche.frequency(config) == pytest.approx(period, rel=1e-14)
        assert 1 - seiche.grid_frequency(config) / seiche.frequency(config) == pytest.approx(slowdown, rel=0.01)


@pytest.mark.night
def test_potential_vorticity_is_conserved_over_a_seamount(optimised_steps):
    """Over the upper two thirds of the seamount it is that of the inflow after seven days; the cyclone drifts away."""
    sea = {"physics.gravity": 1.0, "physics.depth": 5e3, "case.height": 0.03, "scheme.vorticity_flux": "enstrophy"}
    simulation = simulate("seamount", {"grid.nx": 96, "grid.ny": 48, "grid.dx": 10e3, "grid.dy": 10e3, **sea}, 7 * DAY)
    config, corners, zeta = simulation.config, grid_points(simulation.config, "corner"), simulation.field("zeta")
    summit = seamount.seamount_height(config, corners) > config.case.height / 3
    expected = seamount.squeezed_vorticity(config, corners)
    anomaly = simulation.field("q") * config.physics.depth / config.physics.f0 - 1
    cyclone, max_vorticity = np.sign(config.physics.f0) * zeta, np.abs(expected).max()
    distance = corners.x[0, np.unravel_index(cyclone.argmax(), cyclone.shape)[1]] + config.grid.nx * config.grid.dx / 6
    assert np.abs(anomaly[summit]).max() < 0.02 * config.case.height
    np.testing.assert_allclose(zeta[summit], expected[summit], rtol=0, atol=0.05 * max_vorticity)
    assert cyclone.max() == pytest.approx(max_vorticity, rel=0.1)
    assert distance == pytest.approx(config.case.speed * 7 * DAY, rel=0.25)


def whole_field(config, name):
    grid = config.grid
    return np.broadcast_to(fields.evaluate(config, name, range(grid.ny), range(grid.nx)), (grid.ny, grid.nx))


SMALL_GRID = {"grid.nx": 50, "grid.ny": 37, "grid.dx": 10e3, "grid.dy": 12e3, "case.wavenumber": 6}
WALLS = {"grid.periodic_y": False}
CLOSED_BASIN = WALLS | {"grid.periodic_x": False}


def turbulence_config(overrides):
    return swmodel.load("turbulence", SMALL_GRID | overrides, environ={})


def spectrum(config, u, v):
    """K = 0, 1, ... wavelengths in the longer side, and the mean kinetic energy per mass of waves within K ± 1/2."""
    grid = config.grid
    energy = sum(0.5 * np.abs(np.fft.fft2(a) / a.size) ** 2 for a in (u, v))
    m, n = np.fft.fftfreq(grid.nx, 1 / grid.nx)[None, :], np.fft.fftfreq(grid.ny, 1 / grid.ny)[:, None]
    length, height = grid.nx * grid.dx, grid.ny * grid.dy
    K = np.rint(np.hypot(m / length, n / height) * max(length, height)).astype(int)
    sums = np.bincount(K.ravel(), weights=energy.ravel())
    return np.arange(sums.size), sums


def divergence(grid, u, v):
    return (u - np.roll(u, 1, 1)) / grid.dx + (v - np.roll(v, 1, 0)) / grid.dy


@pytest.mark.parametrize("overrides", [{"case.speed": 2.0}, *night_params({"case.slope": -3.0, "case.wavenumber": 3})])
def test_energy_has_the_spectrum_of_the_formula_and_blocks_have_the_same_bits(overrides):
    config, other_config = turbulence_config(overrides), turbulence_config(overrides | {"case.seed": 2})
    rows, columns = range(-2, 9), range(31, 52)
    inside = np.ix_(np.array(rows) % config.grid.ny, np.array(columns) % config.grid.nx)
    for name in ("eta", "u", "v"):
        np.testing.assert_array_equal(fields.evaluate(config, name, rows, columns), whole_field(config, name)[inside])
        assert np.abs(whole_field(other_config, name) - whole_field(config, name)).max() > 0.01
    formula = turbulence.make_flow(config).spectrum
    K, energy = spectrum(config, whole_field(config, "u"), whole_field(config, "v"))
    within = (K > 0) & (formula.max_wavenumber >= K) & (energy > 1e-20)
    expected = np.where(within, formula(np.maximum(K, 1)), 0)
    expected *= 0.5 * config.case.speed**2 / expected.sum()
    np.testing.assert_allclose(energy, expected, rtol=0, atol=1e-12 * config.case.speed**2)
    assert abs(K[expected.argmax()] - config.case.wavenumber) <= 1


@pytest.mark.parametrize("overrides", [CLOSED_BASIN, *night_params({}, WALLS)])
def test_flow_has_its_speed_no_divergence_and_a_balanced_pressure(overrides):
    config = turbulence_config({"physics.f0": 3e-4, "physics.gravity": 1.0, **overrides})
    (eta, u, v), grid = (whole_field(config, name) for name in ("eta", "u", "v")), config.grid
    assert np.mean(u**2 + v**2) == pytest.approx(config.case.speed**2, rel=1e-12)
    np.testing.assert_allclose(divergence(grid, u, v), 0, atol=1e-12 * np.abs(u).max() / grid.dx)
    assert grid.periodic_x or np.abs(u[:, -1]).max() < 1e-14
    assert grid.periodic_y or np.abs(v[-1]).max() < 1e-14

    v_on_u = (v + np.roll(v, -1, 1) + np.roll(v, 1, 0) + np.roll(v, (1, -1), (0, 1))) / 4
    pressure, balance = (np.roll(eta, -1, 1) - eta) / grid.dx, config.physics.f0 * v_on_u
    inside = slice(None) if grid.periodic_x else slice(0, -1)  # the last face is the wall
    np.testing.assert_allclose(pressure[:, inside], balance[:, inside], atol=1e-12 * np.abs(pressure).max())


@pytest.mark.parametrize("overrides", [CLOSED_BASIN, *night_params(WALLS)])
def test_nonlinear_balance_keeps_the_flow_free_of_divergence(overrides):
    """One step of the model gives the growth of divergence, in a layer so deep that its thickness hardly varies."""
    growth_rates = {}
    for balance in ("linear", "nonlinear"):
        options = {"case.balance": balance, "physics.depth": 1e9, "scheme.vorticity_flux": "energy", "run.steps": 1}
        options |= {"physics.biharmonic_viscosity": 0.0, "time.stepper": "ab2", "time.dt": 1e-3, **overrides}
        simulation = simulate("turbulence", SMALL_GRID | options | {"run.executor": "reference"})
        initial_state = simulation.state
        simulation.advance(1)
        u, v = ((after - start) / 1e-3 for after, start in zip(simulation.state[1:], initial_state[1:], strict=True))
        growth_rates[balance] = np.abs(divergence(simulation.config.grid, u, v)).max()
    assert growth_rates["nonlinear"] < 1e-5 * growth_rates["linear"]
