"""LETKF equals the Kalman filter of the observations nearby, changes no bit elsewhere, and approaches the truth."""

import json
import signal

import netCDF4
import numpy as np
import pytest
from scipy.integrate import quad
from support.restarts import assert_same_data
from support.small_twin import LETKF_OPTIONS, SMALL_TWIN, letkf_config

from swmodel import load, resolve
from swmodel.assimilation import assimilate, filter, letkf
from swmodel.assimilation.experiment import prepare_experiment
from swmodel.assimilation.filter import EnsembleFilter
from swmodel.assimilation.letkf import normalise_departures
from swmodel.assimilation.localisation import NearbyObservations, find_nearby, taper
from swmodel.errors import Stopped, UsageError
from swmodel.ocean.coordinates import edges

pytestmark = pytest.mark.slow

#: Numbers of state variables, and of observations, which are fewer or more than the 23 members.
SIZES = [(5, 3), (7, 4), (6, 40)]


def random_case(n, p, n_members=23):
    """Random states [N, n] of N = `n_members` members, a linear operator H [p, n], p observations and their errors."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_members, n)) @ rng.standard_normal((n, n)) + rng.standard_normal(n)
    H, error = rng.standard_normal((p, n)), rng.uniform(0.3, 2.0, p)
    return x, H, rng.standard_normal(p), error


def analyse(x, *arguments, **options):
    """The analysis of one layer, [N, n]."""
    return letkf.analyse(x[..., None], *arguments, **options)[..., 0]


def pair_all(n_points, n_observations, weight=1.0):
    index = np.tile(np.arange(n_observations), n_points)
    return NearbyObservations(np.arange(n_points + 1) * n_observations, index, np.full(index.size, weight))


@pytest.mark.promise("LETKF equals the Kalman filter with the observations within its radius")
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("inflation", "weight"), [(1.0, 1.0), (1.3, 1.0), (1.0, 0.25)])
def test_mean_and_covariance_are_those_of_the_kalman_filter(sizes, inflation, weight):
    """They are x + K (y - H x) and (1 - K H) P for the inflated covariance P, K = P Hᵀ (H P Hᵀ + R/weight)^-1."""
    x, H, y, error = random_case(*sizes)
    analysed = analyse(x, normalise_departures(x @ H.T, y, error), pair_all(*sizes, weight), inflation)
    P, mean = inflation * np.cov(x.T), x.mean(axis=0)
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.diag(error**2 / weight))
    np.testing.assert_allclose(analysed.mean(axis=0), mean + K @ (y - H @ mean), rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.cov(analysed.T), P - K @ H @ P, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", SIZES)
def test_perturbations_are_transformed_by_the_symmetric_root_and_relaxed(sizes):
    """The root is (1 + Aᵀ A / (N - 1))^-1/2; relaxation restores part of the spread; infinite errors change no bit."""
    x, H, y, error = random_case(*sizes)
    scaled, nearby = normalise_departures(x @ H.T, y, error), pair_all(*sizes)
    perturbations = x - x.mean(axis=0)
    A = (perturbations @ H.T / error).T  # observed perturbations divided by the errors, [p, N]
    s, V = np.linalg.eigh(np.eye(len(x)) + A.T @ A / (len(x) - 1))
    analysis = analyse(x, scaled, nearby)
    expected = ((V / np.sqrt(s)) @ V.T) @ perturbations
    np.testing.assert_allclose(analysis - analysis.mean(axis=0), expected, rtol=0, atol=1e-10)
    for alpha in (0.0, 0.4, 1.0):
        relaxed = analyse(x, scaled, nearby, relaxation=alpha)
        np.testing.assert_allclose(relaxed.std(0), (1 - alpha) * analysis.std(0) + alpha * x.std(0), rtol=1e-12)
        np.testing.assert_allclose(relaxed.mean(axis=0), analysis.mean(axis=0), rtol=0, atol=1e-12)
    unobserved = analyse(x, normalise_departures(x @ H.T, y, np.inf * error), nearby, relaxation=0.7)
    np.testing.assert_array_equal(unobserved, x)


def test_taper_is_that_of_gaspari_and_cohn():
    """Values of eq. (4.10) at 0, c/2, c, 3c/2 and 2c; its Fourier transform in three dimensions is not negative."""
    c = 3.0
    values = taper(c * np.array([0, 0.5, 1, 1.5, 2, 2.1, 50]), 2 * c)
    np.testing.assert_allclose(values, [1, 263 / 384, 5 / 24, 19 / 1152, 0, 0, 0], rtol=0, atol=1e-15)
    assert (values[4:] == 0).all()
    for k in np.linspace(0.1, 20, 40):
        assert quad(lambda r, k=k: taper(r, 2 * c) * r * np.sin(k * r), 0, 2 * c, limit=200)[0] / k > -1e-9


PLANE = {"grid.dx": 90e3, "grid.dy": 110e3, "grid.periodic_y": False}
GRIDS = {
    "basin": PLANE | {"grid.periodic_x": False},
    "channel": PLANE | {"grid.periodic_x": True},
    "sphere": {"grid.kind": "latlon", "grid.west": -20.0, "grid.south": 40.0, "grid.dlon": 2.0, "grid.dlat": 1.0},
}


def make_grid(kind):
    return load("rest", {"grid.nx": 11, "grid.ny": 9} | GRIDS[kind], environ={}).grid


def distance(grid, kind, point, position):
    """The distance between two positions, m, by other formulas than the package: periodic images, and the haversine."""
    if kind == "sphere":
        (a, b), (c, d) = np.radians(point), np.radians(position)
        haversine = np.sin((d - b) / 2) ** 2 + np.cos(b) * np.cos(d) * np.sin((c - a) / 2) ** 2
        return 2 * grid.radius * np.arcsin(np.sqrt(haversine))
    shifts = [-1, 0, 1] if kind == "channel" else [0]
    return min(np.hypot(point[0] - position[0] + shift * grid.nx * grid.dx, point[1] - position[1]) for shift in shifts)


@pytest.mark.parametrize("kind", GRIDS)
def test_observations_near_a_point_are_those_within_the_radius(kind):
    grid, rng, radius = make_grid(kind), np.random.default_rng(3), 310e3
    west, east, south, north = edges(grid)
    points, positions = ((rng.uniform(west, east, n), rng.uniform(south, north, n)) for n in (37, 61))
    nearby = find_nearby(grid, points, positions, radius)
    for number, point in enumerate(zip(*points, strict=True)):
        weights = taper(np.array([distance(grid, kind, point, xy) for xy in zip(*positions, strict=True)]), radius)
        pairs = slice(nearby.start[number], nearby.start[number + 1])
        np.testing.assert_array_equal(nearby.index[pairs], np.flatnonzero(weights > 0))
        np.testing.assert_allclose(nearby.weight[pairs], weights[nearby.index[pairs]], rtol=0, atol=1e-9)


def make_filter(config, folder):
    experiment = prepare_experiment(config, folder, None, derivatives=False)
    return experiment, EnsembleFilter(config, experiment)


def apply_analysis(filter_, sample, n_observations=None):
    """Observe a sample and analyse its first `n_observations` observations, or all; returns their indices."""
    filter_.observe(sample)
    indices = np.flatnonzero(filter_.operator.sample == sample)[:n_observations]
    filter_.analyse(indices)
    return indices


def distances_to_observations(observations, indices, dx, shape, offset_y=0.0, offset_x=0.0):
    """Distances from some observations to the points of a grid of square cells, m, [observations, ny, nx]."""
    x, y = (axis[indices, None, None] for axis in (observations.x, observations.y))
    rows, columns = (dx * (np.arange(n) + 0.5 + shift) for n, shift in zip(shape, (offset_y, offset_x), strict=True))
    return np.hypot(columns - x, rows[:, None] - y)


def test_members_start_from_the_first_guess_and_its_errors(tmp_path, monkeypatch):
    """Their mean is the first guess, and their spread is sigma. The random numbers depend only on the seed."""
    options = {"ensemble.members": 60, "assimilation.length": 3e5}
    experiment, filter_ = make_filter(letkf_config(**options), tmp_path)
    fields = filter_.fields()
    max_eta = np.abs(np.asarray(experiment.first_guess["eta"])).max()
    rounding = 4 * np.finfo("float64").eps * float(filter_.depth.max() + max_eta)
    for name in ("eta", "u", "v"):
        np.testing.assert_allclose(fields[name].mean(axis=0), experiment.first_guess[name], rtol=0, atol=rounding)
    spread = filter_.moments(fields["eta"]).spread
    assert 0.8 < np.sqrt(np.mean(spread**2)) / 10.0 < 1.2
    assert (fields["u"][..., -1] == 0).all()  # closed faces in the east
    monkeypatch.setattr(filter, "MAX_GATHERED_NUMBERS", 60 * 7)  # gather strips of seven points
    np.testing.assert_equal(EnsembleFilter(letkf_config(**options), experiment).fields(), fields)
    other_filter = EnsembleFilter(letkf_config(**options, **{"ensemble.seed": 1}), experiment)
    assert (other_filter.fields()["eta"] != fields["eta"]).all()


@pytest.mark.promise("LETKF equals the Kalman filter with the observations within its radius")
def test_analysis_changes_no_bit_far_from_observations(tmp_path):
    _, filter_ = make_filter(letkf_config(**{"assimilation.localisation": 2.5e5}), tmp_path)
    before = filter_.fields()
    indices, after = apply_analysis(filter_, 0, n_observations=1), filter_.fields()
    for name, (offset_y, offset_x) in (("eta", (0, 0)), ("u", (0, 0.5)), ("v", (0.5, 0))):
        (distances,) = distances_to_observations(filter_.observations, indices, 100e3, (12, 10), offset_y, offset_x)
        changed = (after[name] != before[name]).any(axis=0)
        assert not changed[distances >= 2.5e5].any()
        assert changed[distances < 1e5].any()


@pytest.mark.night
def test_member_with_corrections_equals_the_run_with_them(tmp_path):
    """Records are half a day apart, with linear interpolation; the members advance by whole and partial intervals.

    An analysis corrects the records around its time and later ones, also in the outermost cells of an open boundary.
    """
    corrections = ("wind_x_correction", "wind_y_correction", "boundary_level_correction")
    options = {"assimilation.controls": ("eta", "u", "v", *corrections), "assimilation.balanced": False}
    options |= {"assimilation.correction_every": 43200.0, "assimilation.correction_length": 3e5, "grid.nx": 11}
    options |= {"assimilation.sigma_wind_correction": 0.1, "assimilation.sigma_boundary_level_correction": 1e-3}
    options |= {"assimilation.correlation_time": 86400.0, "assimilation.localisation": 2.5e5, "ensemble.members": 3}
    options |= {"open_boundaries.sides": ("west",)}
    config = resolve(load("double_gyre_winds", SMALL_TWIN | LETKF_OPTIONS | options, environ={}))
    experiment, filter_ = make_filter(config, tmp_path)
    filter_.members.take_steps(0)
    x = {name: values[1] for name, values in filter_.fields().items()}
    assert x["wind_x_correction"].std() > 0.05
    *_, expected = experiment.problem.states(x, 30)
    for step in (6, 12, 17, 30):
        filter_.members.take_steps(step - filter_.members.step)
    for field, reference in zip(filter_.members.state, expected, strict=True):
        np.testing.assert_allclose(field[1], reference, rtol=0, atol=1e-11 * np.abs(reference).max())
    filter_ = EnsembleFilter(config, experiment)
    before, changed = {name: values.copy() for name, values in filter_.corrections.items()}, {}
    filter_.members.take_steps(15)
    distances = distances_to_observations(filter_.observations, apply_analysis(filter_, 5), 100e3, (12, 11))
    for name in corrections:
        changed[name] = filter_.corrections[name] != before[name]
        records = changed[name].any(axis=(0, 2, 3))  # at 0, 0.5, 1 and 1.5 days; the analysis is at 0.625 days
        assert records.tolist() == [False, True, True, True], name
    cells = changed["boundary_level_correction"].any(axis=(0, 1))
    np.testing.assert_array_equal(cells, (distances < 2.5e5).any(axis=0))
    assert cells[:, 0].any()


def run_filter(config, folder, report=lambda event: None, **options):
    folder.mkdir(exist_ok=True)
    assimilate.compute(config, folder, options, report, "", lambda function: None)


@pytest.mark.night
def test_members_approach_the_truth(tmp_path):
    run_filter(letkf_config(), tmp_path)
    results = json.loads((tmp_path / "assimilation.json").read_text(), parse_constant=pytest.fail)
    assert [round(row["day"], 3) for row in results["cycles"]] == [0.25, 0.5, 0.75, 1, 1.25]
    assert sum(row["observations"] for row in results["cycles"]) == results["observations"]
    eta = results["twin"]["forecast"]["eta"]
    for time_index in (1, -1):
        assert eta["analysis"]["everywhere"][time_index] < 0.5 * eta["background"]["everywhere"][time_index]
    assert eta["spread"]["everywhere"][1] < 0.5 * eta["spread"]["everywhere"][0]
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        assert (file["eta_spread"][:] > 0).all()
        increment = file["eta_analysis"][:] - file["eta_background"][:]
        np.testing.assert_array_equal(file["eta_increment"][:], increment)
        misfits = file["departure_analysis"][:] / file["observation_error"][:]
        np.testing.assert_allclose(np.sqrt(np.mean(misfits**2)), results["misfit"]["analysis"])


@pytest.mark.night
def test_stopped_filter_continues_with_the_same_bits(tmp_path):
    """Continuing with another number of members is refused."""
    options = {"run.steps": 18, "ensemble.members": 5}
    whole_run, stopped_run, steps = tmp_path / "one", tmp_path / "two", []

    def stop_after_two(event):
        if event["step"] == 2:
            signal.raise_signal(signal.SIGTERM)

    run_filter(letkf_config(**options), whole_run)
    with pytest.raises(Stopped):
        run_filter(letkf_config(**options), stopped_run, stop_after_two)
    with pytest.raises(UsageError, match=r"ensemble\.members"):
        run_filter(letkf_config(**options | {"ensemble.members": 4}), stopped_run, resume=True)
    run_filter(letkf_config(**options), stopped_run, lambda event: steps.append(event["step"]), resume=True)
    assert steps == [3]
    assert_same_data(stopped_run / "analysis.nc", whole_run / "analysis.nc")
