"""WENO: its order, what it keeps, and what it dissipates."""

import numpy as np
import pytest

import swmodel
from swmodel.ocean import weno

pytestmark = pytest.mark.slow

WENO = {"weno5": 3, "weno7": 4}


def middle(n, r):
    """The largest error of values between n intervals of a smooth periodic field, from its means over them."""
    edge = 2 * np.pi * np.arange(n + 1) / n
    integral = -np.cos(edge + 0.3) + 0.2 * np.sin(2 * edge)
    u = np.diff(integral) / (2 * np.pi / n)
    change = np.roll(u, -1) - u
    D = {k: np.roll(change, -k) for k in range(1 - r, r)}
    exact = np.sin(edge[1:] + 0.3) + 0.4 * np.cos(2 * edge[1:])
    return np.abs(u + weno.weighted(D, u, r) - exact).max()


@pytest.mark.parametrize(("r", "n"), [(3, 40), (4, 24)])
def test_the_order_of_the_value_between_is_twice_that_of_a_stencil_less_one(r, n):
    order = np.log2(middle(n, r) / middle(2 * n, r))
    assert order > 2 * r - 1.3, order


@pytest.mark.parametrize("r", [2, 3, 4])
def test_the_ideal_mean_is_exact_for_polynomials(r):
    """And the factors of each stencil, for those of its own degree."""
    powers = np.arange(1, 2 * r)
    for power in powers:
        means = {k: ((k + 0.5) ** (power + 1) - (k - 0.5) ** (power + 1)) / (power + 1) for k in range(-r, r + 1)}
        D = {k: means[k + 1] - means[k] for k in range(1 - r, r)}
        changes = [sum(factor * D[k] for k, factor in each.items()) for each in weno.CANDIDATES[r]]
        exact = 0.5**power - means[0]
        if power < 2 * r - 1:
            assert np.dot(weno.IDEAL[r], changes) == pytest.approx(exact, rel=1e-12)
        if power < r:
            assert changes == pytest.approx([exact] * r, rel=1e-12)


@pytest.mark.parametrize("r", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_front_gives_values_between_its_sides_and_tiny_numbers_give_numbers(r, dtype):
    rng = np.random.default_rng(3)
    for size in 10.0 ** np.arange(-25, 1):
        noise = {k: (size * rng.standard_normal(200)).astype(dtype) for k in range(1 - r, r)}
        assert np.isfinite(weno.weighted(noise, np.zeros(1, dtype), r)).all()
    for place in range(1 - r, r - 1):
        D = {k: np.full(1, 1e-6 * (k == place), dtype) for k in range(1 - r, r)}
        assert -1e-8 < weno.weighted(D, np.zeros(1, dtype), r)[0] < 1.01e-6


@pytest.mark.parametrize("flux", WENO)
def test_a_jet_loses_potential_enstrophy_and_energy_without_viscosity(flux):
    options = {"scheme.vorticity_flux": flux, "physics.viscosity": 0.0, "run.dtype": "float64"}
    options |= {"grid.nx": 64, "grid.ny": 64, "time.stepper": "rk4", "time.dt": 60.0}
    model = swmodel.Simulation("jet", options)
    found = []
    for _ in range(12):
        found.append(model.diagnostics())
        model.advance(120)
    enstrophy, energy, mass = (
        np.array([each[name] for each in found]) for name in ("potential_enstrophy", "energy", "mass")
    )
    assert (np.diff(enstrophy) < 1e-9 * enstrophy[0]).all()
    assert enstrophy[-1] < 0.999 * enstrophy[0]
    assert 0.5 * energy[0] < energy[-1] < energy[0]
    np.testing.assert_allclose(mass, mass[0], rtol=1e-13)


@pytest.mark.parametrize("flux", WENO)
def test_a_sea_at_rest_stays_at_rest_to_the_bit(flux):
    model = swmodel.Simulation("sea", {"grid.nx": 24, "grid.ny": 16, "scheme.vorticity_flux": flux})
    before = [np.array(field) for field in model.state]
    model.advance(20)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.state, strict=True))
