"""LETKF: the Kalman filter where everything is seen, the function of Gaspari and Cohn, locality to the bit."""

import numpy as np
import pytest
from scipy.integrate import quad

import swmodel
from swmodel.assimilation import letkf
from swmodel.assimilation.letkf import seen_by
from swmodel.assimilation.localisation import Near, near, taper
from swmodel.ocean.coordinates import edges

pytestmark = pytest.mark.slow

#: Numbers of the state and of observations: fewer and more than the 23 members.
SIZES = [(5, 3), (7, 4), (6, 40)]


def random_case(states, observations, members=23, seed=0):
    """Members [N, n], a linear operator H [p, n], observations and their errors [p]."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((members, states)) @ rng.standard_normal((states, states)) + rng.standard_normal(states)
    H, error = rng.standard_normal((observations, states)), rng.uniform(0.3, 2.0, observations)
    return x, H, rng.standard_normal(observations), error


def analyse(x, *arguments, **more):
    """The analysis of one layer, [N, n]."""
    return letkf.analyse(x[..., None], *arguments, **more)[..., 0]


def everywhere(points, observations, weight=1.0):
    """All observations at all points, with one weight."""
    index = np.tile(np.arange(observations), points)
    return Near(np.arange(points + 1) * observations, index, np.full(index.size, weight))


@pytest.mark.promise("LETKF is the Kalman filter where that is known")
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("inflation", "weight"), [(1.0, 1.0), (1.3, 1.0), (1.0, 0.25)])
def test_mean_and_covariance_are_those_of_the_kalman_filter(sizes, inflation, weight):
    """P = inflated sample covariance, K = P Hᵀ (H P Hᵀ + R/weight)^-1: x + K (y - H x), (1 - K H) P."""
    x, H, y, error = random_case(*sizes)
    found = analyse(x, seen_by(x @ H.T, y, error), everywhere(sizes[0], sizes[1], weight), inflation)
    P, mean = inflation * np.cov(x.T), x.mean(axis=0)
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.diag(error**2 / weight))
    np.testing.assert_allclose(found.mean(axis=0), mean + K @ (y - H @ mean), rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.cov(found.T), P - K @ H @ P, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_root_is_the_symmetric_one(sizes):
    """Perturbations are multiplied by the symmetric root of (1 + Aᵀ A / (N - 1))^-1."""
    x, H, y, error = random_case(*sizes)
    A = ((x - x.mean(axis=0)) @ H.T / error).T
    s, V = np.linalg.eigh(np.eye(len(x)) + A.T @ A / (len(x) - 1))
    expected = ((V / np.sqrt(s)) @ V.T) @ (x - x.mean(axis=0))
    found = analyse(x, seen_by(x @ H.T, y, error), everywhere(*sizes))
    np.testing.assert_allclose(found - found.mean(axis=0), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("relaxation", [0.0, 0.4, 1.0])
def test_relaxation_gives_a_part_of_the_spread_back_and_leaves_the_mean(relaxation):
    x, H, y, error = random_case(6, 9)
    seen, around = seen_by(x @ H.T, y, error), everywhere(6, 9)
    plain, found = analyse(x, seen, around), analyse(x, seen, around, relaxation=relaxation)
    before, after = x.std(axis=0), plain.std(axis=0)
    np.testing.assert_allclose(found.std(axis=0), (1 - relaxation) * after + relaxation * before, rtol=1e-12)
    np.testing.assert_allclose(found.mean(axis=0), plain.mean(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_observations_with_infinite_errors_change_no_bit(sizes):
    x, H, y, error = random_case(*sizes)
    found = analyse(x, seen_by(x @ H.T, y, np.inf * error), everywhere(*sizes), relaxation=0.7)
    np.testing.assert_array_equal(found, x)


def test_gaspari_and_cohn():
    """Values of eq. (4.10) at 0, c/2, c, 3c/2 and 2c; two derivatives are continuous; the transform is not negative."""
    c = 3.0
    values = taper(c * np.array([0, 0.5, 1, 1.5, 2, 2.1, 50]), 2 * c)
    np.testing.assert_allclose(values, [1, 263 / 384, 5 / 24, 19 / 1152, 0, 0, 0], rtol=0, atol=1e-15)
    assert (values[4:] == 0).all()
    h = 1e-3
    for place in (c, 2 * c):
        left, right = (taper(place + sign * h * np.arange(4), 2 * c) for sign in (-1, 1))
        for order in (1, 2):
            slopes = [np.diff(side, order)[0] / (sign * h) ** order for sign, side in ((-1, left), (1, right))]
            assert abs(slopes[0] - slopes[1]) < 20 * h
    for k in np.linspace(0.1, 20, 40):  # the transform in three dimensions
        assert quad(lambda r, k=k: taper(r, 2 * c) * r * np.sin(k * r), 0, 2 * c, limit=200)[0] / k > -1e-9


GRIDS = {
    "basin": {"grid.periodic_x": False, "grid.periodic_y": False},
    "channel": {"grid.periodic_x": True, "grid.periodic_y": False},
    "sphere": {"grid.kind": "latlon", "grid.west": -20.0, "grid.south": 40.0, "grid.dlon": 2.0, "grid.dlat": 1.0},
}


def grid_of(kind):
    plane = {} if kind == "sphere" else {"grid.dx": 90e3, "grid.dy": 110e3}
    return swmodel.load("rest", {"grid.nx": 11, "grid.ny": 9} | plane | GRIDS[kind], environ={}).grid


def distance(grid, kind, one, other):
    """The distance of two positions by formulas of their own: with images of the ring, and the haversine formula."""
    if kind == "sphere":
        (a, b), (c, d) = np.radians(one), np.radians(other)
        half = np.sin((d - b) / 2) ** 2 + np.cos(b) * np.cos(d) * np.sin((c - a) / 2) ** 2
        return 2 * grid.radius * np.arcsin(np.sqrt(half))
    shifts = [-1, 0, 1] if kind == "channel" else [0]
    return min(np.hypot(one[0] - other[0] + shift * grid.nx * grid.dx, one[1] - other[1]) for shift in shifts)


@pytest.mark.parametrize("kind", GRIDS)
def test_the_observations_near_a_point_are_those_within_the_radius(kind):
    grid, rng, radius = grid_of(kind), np.random.default_rng(3), 310e3
    west, east, south, north = edges(grid)
    points, places = ((rng.uniform(west, east, n), rng.uniform(south, north, n)) for n in (37, 61))
    found = near(grid, points, places, radius)
    for number, point in enumerate(zip(*points, strict=True)):
        apart = np.array([distance(grid, kind, point, place) for place in zip(*places, strict=True)])
        own = slice(found.start[number], found.start[number + 1])
        np.testing.assert_array_equal(found.index[own], np.flatnonzero(taper(apart, radius) > 0))
        np.testing.assert_allclose(found.weight[own], taper(apart[found.index[own]], radius), rtol=0, atol=1e-9)


@pytest.mark.promise("LETKF is the Kalman filter where that is known")
def test_an_observation_beyond_the_radius_changes_no_bit():
    """Observations far from some points are added, among the others: these points keep their bits."""
    grid, rng, members = grid_of("basin"), np.random.default_rng(5), 8
    points = rng.uniform(0, 900e3, (2, 50))
    places = rng.uniform(0, 900e3, (2, 60))
    radius, x, Y, y, error = 300e3, *(rng.standard_normal(s) for s in ((members, 50), (members, 60), 60)), np.ones(60)
    kept = np.flatnonzero(places[0] < 550e3)
    whole = analyse(x, seen_by(Y, y, error), near(grid, points, places, radius), 1.1, 0.3)
    less = analyse(x, seen_by(Y[:, kept], y[kept], error[kept]), near(grid, points, places[:, kept], radius), 1.1, 0.3)
    others = np.delete(places, kept, axis=1)
    far = np.hypot(*(points[:, :, None] - others[:, None])).min(axis=1) >= radius
    assert 3 < far.sum() < 40
    np.testing.assert_array_equal(whole[:, far], less[:, far])
    assert (whole[:, ~far] != less[:, ~far]).any(axis=0).all()
