"""Errors of a first guess: balanced currents are geostrophic, L and its transpose fit, JAX may transform L."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.background_case import CONTROLS, DX, background_case
from support.small_domain import RINGS

from swmodel.assimilation.background import build_balance, geostrophic, inverse
from swmodel.assimilation.gauss_newton import Cost, Limits, Progress, make_dot, minimise
from swmodel.ocean.grid import as_patches
from swmodel.ocean.patch import Patch
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX = 9, 11
CURRENTS = {name: CONTROLS[name] for name in ("eta", "u", "v")}


def case(**options):
    return background_case((1, 1), NY, NX, **options)[0]


def dot(a, b):
    return sum(float(np.vdot(a[name], b[name])) for name in a)


def norm(a):
    return np.sqrt(dot(a, a))


def balance_error(cells, beta):
    """Largest error, over the largest speed, of the currents around a Gaussian hill three cells from walls and more."""
    size, radius, g, f0 = 600e3, 60e3, 9.81, 1e-4
    spacing = {"grid__dx": size / cells, "grid__dy": size / cells, "physics__f0": f0, "physics__beta": beta}
    _, config, transport, grid = background_case(
        (1, 1), cells, cells, land=False, controls={}, balanced=False, **spacing
    )
    balance = build_balance(config, transport, as_patches(grid, setup_of(config).margin))
    d = size / cells
    centres, faces = (np.arange(cells) + 0.5) * d, (np.arange(cells) + 1.0) * d

    def hill(y, x):
        x, y = x[None, :] - size / 2, y[:, None] - size / 2
        eta = np.exp(-(x**2 + y**2) / (2 * radius**2))
        return eta, -x / radius**2 * eta, -y / radius**2 * eta

    u, v = jax.jit(lambda eta: geostrophic(eta, balance, transport))(jnp.asarray(hill(centres, centres)[0]))
    exact_u = -g / (f0 + beta * centres[:, None]) * hill(centres, faces)[2]
    exact_v = g / (f0 + beta * faces[:, None]) * hill(faces, centres)[1]
    return max(np.abs(u - exact_u).max(), np.abs(v - exact_v)[:-1].max()) / np.abs(exact_u).max()


def test_balanced_currents_are_geostrophic_to_second_order():
    coarse, fine = balance_error(40, beta=1e-10), balance_error(80, beta=1e-10)
    assert fine < 0.02
    assert 1.9 < np.log2(coarse / fine) < 2.1


def test_balanced_currents_of_a_slope_are_exact_up_to_the_coast_and_zero_on_closed_faces():
    """A mean over the open faces only keeps the current along a wall, where half of the faces are closed."""
    config, transport, grid = background_case(
        (1, 1), NY, NX, land=False, controls={}, balanced=False, grid__periodic_x=False, physics__beta=0.0
    )[1:]
    balance = build_balance(config, transport, as_patches(grid, setup_of(config).margin))
    y, x = np.mgrid[:NY, :NX]
    u, v = geostrophic(jnp.asarray(1e-6 * (2 * y * config.grid.dy + 3 * x * config.grid.dx)), balance, transport)
    np.testing.assert_allclose(u[:, :-1], -9.81e4 * 2e-6, rtol=1e-12)
    np.testing.assert_allclose(v[:-1], 9.81e4 * 3e-6, rtol=1e-12)
    assert not np.any(u[:, -1])
    assert not np.any(v[-1])


def test_balance_fades_at_the_equator_and_is_whole_elsewhere():
    f = np.linspace(-1e-4, 1e-4, 401)[:, None]
    part = (inverse(Patch(f, (0, 0)), 1e-4).values * f).ravel()
    f = f.ravel()
    assert inverse(Patch(np.zeros((1, 1)), (0, 0)), 1e-4).values == 0
    assert inverse(Patch(np.zeros((1, 1)), (0, 0)), 0.0).values == 0
    assert np.all(np.abs(part[np.abs(f) > 3.1e-5] - 1) < 1e-4)
    assert np.all(part[np.abs(f) < 1e-6] < 0.02)
    assert np.all(np.diff(part[f >= 0]) >= -1e-15)


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_the_transpose_is_that_of_jax_and_fits(ring):
    background = case(**{f"grid__{name}": value for name, value in ring.items()})
    w, x = background.noise(1, 0), background.noise(1, 1)
    image, back = jax.jit(background.apply)(w), jax.jit(background.transpose)(x)
    assert abs(dot(x, image) - dot(back, w)) < 1e-12 * norm(x) * norm(image)
    of_jax = (jax.linear_transpose(background.apply, w), lambda x: jax.vjp(background.apply, w)[1](x))
    for (theirs,) in (jax.jit(transposed)(x) for transposed in of_jax):
        for name in back:
            np.testing.assert_allclose(theirs[name], back[name], rtol=1e-12, atol=1e-13)


def test_the_minimum_is_the_best_linear_estimate():
    """With sea level and currents observed in cells, 4D-Var without steps is B Hᵀ (H B Hᵀ + R)^-1 d."""
    background, error = case(controls=CURRENTS), 0.05
    dot, zero = make_dot(background.transport), jax.tree.map(jnp.zeros_like, background.noise(0, 0))
    cells = [("eta", 2, 3), ("eta", 7, 9), ("u", 6, 2), ("v", 1, 8)]
    data = jnp.asarray([0.4, -0.2, 0.3, 0.1])

    @jax.jit
    def observe(w):
        x = background.apply(w)
        return jnp.stack([x[name][j, i] for name, j, i in cells])

    @jax.jit
    def back(y):
        x = dict(zero)
        for (name, j, i), value in zip(cells, y, strict=True):
            x[name] = x[name].at[j, i].set(value)
        return background.transpose(x)

    def cost_and_gradient(w):
        departure = (data - observe(w)) / error
        gradient = jax.tree.map(jnp.subtract, w, back(departure / error))
        return Cost(0.5 * dot(w, w), 0.5 * float(departure @ departure), 4), gradient

    def hessian(w, dw):
        return jax.tree.map(jnp.add, dw, back(observe(dw) / error**2))

    limits = Limits(gradient=1e-10, residual=1e-12, inner=30)
    result = minimise(cost_and_gradient, hessian, dot, Progress(zero), limits)
    covariance = np.stack([observe(back(unit)) for unit in jnp.eye(4)])
    truth = back(jnp.asarray(np.linalg.solve(covariance + error**2 * np.eye(4), data)))
    assert (result.outcome, result.progress.iteration) == ("converged", 1)
    for name, field in truth.items():
        np.testing.assert_allclose(result.progress.w[name], field, atol=1e-8 * np.abs(field).max())


def test_land_and_closed_faces_stay_as_they_are():
    background, _, _, grid = background_case((1, 1), NY, NX)
    dx = background.draw(3, 0)
    for name, mask in (("eta", grid.wet), ("u", grid.open_u), ("v", grid.open_v), ("wind_x", grid.wet)):
        margin = (mask.shape[0] - NY) // 2
        open_ = mask[margin : margin + NY, margin : margin + NX] != 0
        assert np.all((np.asarray(dx[name]) != 0) == open_), name


def test_members_of_an_ensemble_have_the_covariance_asked_for():
    """Means over 400 members and all cells, within 5 standard deviations, of sigma² for the mean square."""
    background = case(controls=CURRENTS, balanced=False, land=False)
    draws = [background.draw(11, member) for member in range(400)]
    for name, (sigma, length) in CURRENTS.items():
        square = np.mean([np.sum(np.square(d[name])) / np.count_nonzero(d[name]) for d in draws])
        independent = 400 * NY * NX / (np.pi * (length / DX) ** 2)
        assert abs(square / sigma**2 - 1) < 5 * np.sqrt(2 / independent)


def test_records_have_the_correlation_in_time_and_that_in_space():
    """Covariances of two records at a point, and the transpose."""
    name, root = "wind_x_correction", np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])
    root = symmetric_root(root @ root.T)
    controls = {"eta": CONTROLS["eta"], name: (0.05, 5.1 * DX)}
    background, _, _, _ = background_case(
        (1, 1), 17, 19, land=False, controls=controls, balanced=False, roots={name: root}
    )
    w = background.noise(1, 0)
    x = background.apply(w)
    assert x[name].shape == (3, 17, 19)
    dot = make_dot(background.transport)
    np.testing.assert_allclose(dot(x, x), dot(background.transpose(x), w), rtol=1e-6)
    point = {"eta": jnp.zeros((17, 19)), name: jnp.zeros((3, 17, 19)).at[1, 8, 9].set(1.0)}
    covariance = background.apply(background.transpose(point))[name][:, 8, 9]
    np.testing.assert_allclose(covariance, 0.05**2 * (root @ root)[1], rtol=1e-4)
    assert np.std(w[name][0] - w[name][1]) > 1  # each record has noise of its own


def symmetric_root(covariance):
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(values)) @ vectors.T


def test_errors_of_the_water_outside_reach_the_open_sides():
    name = "outside_level"
    sides = {"open_sides__sides": ("west", "east"), "grid__periodic_x": False}
    background, _, _, _ = background_case(
        (1, 1), NY, NX, land=False, controls={name: (0.3, 3.2 * DX), "eta": (0.3, 3.2 * DX)}, balanced=False, **sides
    )
    drawn = [background.draw(1, member) for member in range(300)]
    outside, within = (np.std([each[key] for each in drawn], axis=0) for key in (name, "eta"))
    np.testing.assert_allclose(outside, 0.3, rtol=0.25)
    assert not within[:, [0, -1]].any()
