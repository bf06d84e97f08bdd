"""Correlations by diffusion: self-adjoint, of variance 1, of the length asked for, of the analytic form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gamma, kv
from support.background_case import DX, DY, background_case
from support.small_domain import RINGS

from swmodel.assimilation.diffusion import series

pytestmark = pytest.mark.slow

ONE = {"eta": (1.0, 3 * DX), "u": (1.0, 3 * DX), "v": (1.0, 3 * DX)}
#: Each size and each kind of ring once.
SIZES = list(zip([(11, 13), (1, 12), (9, 1), (2, 5)], RINGS, strict=True))


def case(ny, nx, ring=None, controls=ONE, **options):
    ring = {f"grid__{name}": value for name, value in (ring or {}).items()}
    return background_case((1, 1), ny, nx, controls=controls, **{"balanced": False} | ring | options)[0]


def random(seed, shape):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape))


def test_nothing_passes_through_land():
    """A wall of land between two basins."""
    mask = np.ones((9, 12))
    mask[:, 6] = 0
    background = case(9, 12, land=mask, samples=2, grid__periodic_x=False)
    w = {name: jnp.zeros((9, 12)).at[:, :6].set(random(4, (9, 6))) for name in ONE}
    found = jax.device_get(jax.jit(background.apply)(w))
    for name, field in found.items():
        assert np.any(field[:, :5]), name
        assert not np.any(field[:, 6:]), name
    assert not np.any(found["u"][:, 5])


@pytest.mark.parametrize("ring", [True, False])
def test_on_a_sphere_variances_are_one_and_correlations_those_of_distances_in_metres(ring):
    """Variances exactly, at all locations; a length away in x and in y correlations are alike."""
    ny, nx, radius = 24, 28, 60e3
    grid = {"grid__south": 20.0, "grid__dlat": 1.5, "grid__radius": radius, "grid__periodic_x": ring}
    length = 6 * radius * np.radians(1.5)
    more = grid | ({} if ring else {"grid__dlon": 2.0})
    background = case(ny, nx, controls=dict.fromkeys(ONE, (1.0, length)), land=False, sphere=True, **more)
    covariance = jax.jit(lambda w: background.apply(background.transpose(w)))

    def with_point(name, row, column):
        delta = {each: jnp.zeros((ny, nx)) for each in ONE}
        delta[name] = delta[name].at[row, column].set(1)
        return np.asarray(covariance(delta)[name])

    for name, location in (("eta", "centre"), ("u", "u"), ("v", "v")):
        for row, column in ((0, 3), (5, nx - 1), (ny - 1, 14), (20, 20)):
            closed = {"v": row == ny - 1, "u": column == nx - 1 and not ring}.get(location, False)
            variance = with_point(name, row, column)[row, column]
            assert variance == pytest.approx(0.0 if closed else 1.0, abs=2e-4)
    if not ring:
        found = with_point("eta", 12, 12)
        cells = length / (radius * np.cos(np.radians(20 + 1.5 * 12.5)) * np.radians(2.0))
        assert found[18, 12] == pytest.approx(np.exp(-0.5), abs=0.05)
        assert np.interp(12 + cells, np.arange(nx), found[12]) == pytest.approx(found[18, 12], abs=0.03)


@pytest.mark.parametrize(("order", "cells"), [(4, 8), (10, 5)])
def test_far_from_coasts_correlations_are_the_matern_function(order, cells):
    """To 0.2 (dx/l)², twice as fine a grid four times as well; and the length is l to the same precision."""
    n, middle = 91, 45
    controls = {"eta": (1.0, cells * DX)}
    background = case(n, n, controls=controls, land=False, order=order, tolerance=1e-8, grid__dy=DX)
    delta = jnp.zeros((n, n)).at[middle, middle].set(1)
    correlation = np.asarray(jax.jit(lambda x: background.apply(background.transpose(x)))({"eta": delta})["eta"])
    y, x = np.mgrid[:n, :n] - middle
    scaled = np.hypot(x, y) / cells * np.sqrt(2 * order - 4)
    scaled[middle, middle] = 1
    matern = scaled ** (order - 1) * kv(order - 1, scaled) / 2 ** (order - 2) / gamma(order - 1)
    matern[middle, middle] = 1
    near = np.hypot(x, y) < 20
    assert np.abs(correlation - matern)[near].max() < 0.2 / cells**2
    length = (2 - correlation[middle, middle + 1] - correlation[middle, middle - 1]) ** -0.5
    assert abs(length / cells - 1) < 0.45 / cells**2


@pytest.mark.parametrize(("cells", "tolerance"), [(2, 1e-10), (5, 1e-5), (100, 1e-3)])
def test_the_series_is_as_exact_as_asked_for(cells, tolerance):
    config = background_case((1, 1), 7, 9, controls={"gravity": (1.0, None)}, balanced=False)[1]
    coefficients = series(cells * DX, config, 10, tolerance)
    place = np.linspace(-1, 1, 20001)
    steepness = (cells * DX) ** 2 / 16 * 4 * (DX**-2 + DY**-2)
    exact = (1 + steepness * (place + 1) / 2) ** -5.0
    error = np.abs(np.polynomial.chebyshev.chebval(place, coefficients) - exact).max()
    assert tolerance / 1000 < error < 2 * tolerance


def standard_deviations(background, size):
    """Square roots of diag(L Lᵀ) by field, on open faces and water, from L of every unit vector."""
    unit = jnp.eye(np.prod(size)).reshape(-1, *size)
    images = jax.jit(jax.vmap(lambda w: background.apply(dict.fromkeys(background.fields, w))))(unit)
    deviations = {name: np.sqrt(np.sum(np.square(image), axis=0)) for name, image in images.items()}
    return {name: field[field > 0] for name, field in deviations.items()}


@pytest.mark.parametrize(("size", "ring"), SIZES, ids=str)
def test_without_land_the_variance_is_exactly_one(size, ring):
    background = case(*size, ring, land=False)
    for name, deviation in standard_deviations(background, size).items():
        closed = (name == "u" and not background.links.x[1].any()) or (name == "v" and not background.links.y[2].any())
        assert len(deviation) or closed or 1 in size
        np.testing.assert_allclose(deviation, 1, rtol=1e-12, err_msg=name)


@pytest.mark.night
def test_with_land_the_variance_is_one_to_the_error_of_the_randomisation():
    background = case(21, 23, samples=256)
    for name, deviation in standard_deviations(background, (21, 23)).items():
        assert np.sqrt(np.mean((deviation - 1) ** 2)) < 0.03, name
        assert np.abs(deviation - 1).max() < 0.15, name


@pytest.mark.night
def test_fields_of_different_lengths_are_smoothed_together_as_they_are_alone():
    sigma = np.random.default_rng(2).random((9, 11))
    controls = {"eta": (sigma, 2 * DX), "depth": (3.0, 6 * DX), "u": (0.5, 3 * DX)}
    together = case(9, 11, controls=controls)
    w = {name: random(n, (9, 11)) for n, name in enumerate(controls)}
    found = jax.jit(together.apply)(w)
    for name, control in controls.items():
        alone = case(9, 11, controls={name: control})
        expected = jax.jit(alone.apply)({name: w[name]})[name]
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-14)
