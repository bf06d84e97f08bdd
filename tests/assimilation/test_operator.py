"""The observation operator is exact for linear fields, and its adjoint is exact; synthetic observations of a run."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration

from swmodel import Simulation, resolve
from swmodel.assimilation.interpolation import make_operator
from swmodel.assimilation.observations import Observations, read_observations, write_observations
from swmodel.assimilation.synthetic import Altimeter, is_over_water, merge_observations, moorings, observe_run, tracks
from swmodel.errors import FilesError, UsageError
from swmodel.ocean.coordinates import edges, points
from swmodel.ocean.state import State
from swmodel.ocean.table import VARIABLES
from swmodel.parallel.decomposition import block_of_rank, blocks_of_layout
from swmodel.setup.positions.stencils import OBSERVED_QUANTITIES, bilinear_stencils

pytestmark = pytest.mark.slow

NY, NX = 9, 11
DT, STEPS, EVERY = 20.0, 12, 4
WHOLE_DOMAIN = block_of_rank(0, (1, 1), NY, NX)


def make_config(mask=None, periodic=(False, False), **overrides):
    """A configuration with the given mask; `periodic`: whether (y, x) are periodic."""
    fields = {"mask": np.ones((NY, NX)) if mask is None else mask}
    options = {"grid__periodic_y": periodic[0], "grid__periodic_x": periodic[1], "time__dt": DT, "run__steps": STEPS}
    return configuration(NY, NX, fields, **(options | overrides))


def observations_at(quantity, x, y, time=0.0):
    """Observations, without values, of quantities given by number."""
    x, y, number = np.asarray(x, float), np.asarray(y, float), np.asarray(quantity, np.int8)
    return Observations(*np.broadcast_arrays(number, np.asarray(time, float), x, y, np.nan, 1.0, ""))


def random_observations(config, n, margin=0.0):
    """n observations of random quantities, times and positions, at least `margin` cells from the domain's edges."""
    rng, (west, east, south, north) = np.random.default_rng(0), edges(config.grid)
    x = rng.uniform(west + margin * config.grid.dx, east - margin * config.grid.dx, n)
    y = rng.uniform(south + margin * config.grid.dy, north - margin * config.grid.dy, n)
    return observations_at(rng.integers(0, 3, n), x, y, rng.uniform(0, STEPS * DT, n))


def observed_values(observations, config, fields):
    """The observed values of fields {eta, u, v} that are constant in time, on one process."""
    depth = np.full((NY, NX), 50.0)
    operator = make_operator(observations, config, WHOLE_DOMAIN, STEPS)
    states = jax.tree.map(lambda f: jnp.stack([f, f]), State(fields["eta"] + depth, fields["u"], fields["v"]))
    return np.asarray(operator.collect(observe_series(operator, states, depth)))


@partial(jax.jit, static_argnums=0)
def observe_series(operator, states, depth):
    """The block's shares of the observed values in states with a leading axis of samples."""

    def observe_sample(k):
        return operator.observe(SimpleNamespace(state=jax.tree.map(lambda field: field[k], states), depth=depth), k)

    return jax.lax.map(observe_sample, jnp.arange(len(states.h)))


def linear_field(name, x, y):
    """A linear field that changes by 1 over 50 km along x, and by -1.5 along y."""
    return {"eta": 1, "u": -2, "v": 3}[name] * 0.1 + 2e-5 * x - 3e-5 * y


def linear_fields(config):
    """The linear fields {eta, u, v} at their points, [ny, nx]."""
    at = {q: points(config.grid, VARIABLES[q].location, range(NY), range(NX)) for q in OBSERVED_QUANTITIES}
    return {q: np.broadcast_to(linear_field(q, at[q].x, at[q].y), (NY, NX)).astype(float) for q in OBSERVED_QUANTITIES}


@pytest.mark.parametrize("origin", ["edge", "centre", "middle"])
def test_linear_fields_are_interpolated_exactly(origin):
    config = make_config(grid__origin=origin)
    network = random_observations(config, 200, margin=1.0)
    positions = zip(network.quantity, network.x, network.y, strict=True)
    expected = np.array([linear_field(OBSERVED_QUANTITIES[q], x, y) for q, x, y in positions])
    np.testing.assert_allclose(observed_values(network, config, linear_fields(config)), expected, rtol=0, atol=1e-13)


def test_walls_have_the_nearest_sea_level_and_no_flow_through_them():
    config = make_config()
    fields = {name: 1.0 + field for name, field in linear_fields(config).items()}
    fields["u"][:, -1] = fields["v"][-1] = 0.0
    dx, dy = config.grid.dx, config.grid.dy
    west = observations_at([0, 1, 2], [0.2 * dx, 0.2 * dx, 0.2 * dx], [2.5 * dy, 2.5 * dy, 3 * dy])
    expected = [fields["eta"][2, 0], 0.2 * fields["u"][2, 0], fields["v"][2, 0]]
    np.testing.assert_allclose(observed_values(west, config, fields), expected, rtol=1e-14)
    corner = observations_at([0, 1, 2], 3 * [(NX - 0.1) * dx], 3 * [(NY - 0.2) * dy])
    expected = [fields["eta"][-1, -1], 0.1 * fields["u"][-1, -2], 0.2 * fields["v"][-2, -1]]
    np.testing.assert_allclose(observed_values(corner, config, fields), expected, rtol=1e-13)


def test_weight_of_a_dry_cell_goes_to_the_other_cells():
    mask = np.ones((NY, NX))
    mask[3, 4] = 0
    config = make_config(mask)
    fields = linear_fields(config)
    x, y = (4.5 - 0.25) * config.grid.dx, (3.5 - 0.25) * config.grid.dy
    weights, eta = np.array([1 / 16, 3 / 16, 3 / 16]), fields["eta"]
    expected = weights @ [eta[2, 3], eta[2, 4], eta[3, 3]] / weights.sum()
    np.testing.assert_allclose(observed_values(observations_at(0, [x], [y]), config, fields), [expected], rtol=1e-13)


def test_observation_is_of_the_sample_nearest_in_time():
    """Values are in the order of the observations."""
    config = make_config()
    time = np.array([STEPS * DT, 0.0, 1.4 * EVERY * DT, 1.6 * EVERY * DT, 0.49 * EVERY * DT, 0.5 * EVERY * DT])
    operator = make_operator(observations_at(0, np.full(6, 20e3), np.full(6, 20e3), time), config, WHOLE_DOMAIN, EVERY)
    zeros = np.zeros((4, NY, NX))
    states = State(zeros + np.arange(4.0)[:, None, None], zeros, zeros)
    values = operator.collect(observe_series(operator, states, zeros[0]))
    np.testing.assert_allclose(values, [3, 0, 1, 2, 0, 1], rtol=1e-14)


def test_blocks_have_the_bits_of_the_whole_domain_and_the_exact_adjoint():
    """<H x, y> = <x, Hᵀ y> to round-off, summed over blocks; the gradient is zero on land and closed faces."""
    rng = np.random.default_rng(3)
    mask = (rng.random((NY, NX)) > 0.2).astype(float)
    config = make_config(mask, periodic=(False, True))
    network = random_observations(config, 300)
    network = network.select(bilinear_stencils(config, network.quantity, network.x, network.y).is_covered)
    history, depth = State(*rng.standard_normal((3, STEPS // EVERY + 1, NY, NX))), rng.random((NY, NX))

    def observe_block(block):
        operator = make_operator(network, config, block, EVERY)
        indices = (..., *(slice(span.start, span.stop) for span in (block.y, block.x)))
        states = jax.tree.map(lambda field: jnp.asarray(field[indices]), history)
        series, pull_back = jax.vjp(lambda states: observe_series(operator, states, depth[indices]), states)
        cotangents = np.random.default_rng(5).standard_normal(series.shape)
        (gradient,) = pull_back(jnp.asarray(cotangents))
        linear_part = series - observe_series(operator, jax.tree.map(jnp.zeros_like, states), depth[indices])
        left, right = np.vdot(linear_part, cotangents), sum(map(np.vdot, states, gradient))
        assert (np.asarray(gradient.h)[:, mask[indices] == 0] == 0).all()
        return operator, series, left, right, gradient

    whole_operator, expected, *_, gradient = observe_block(WHOLE_DOMAIN)
    assert (np.asarray(gradient.u)[:, (mask * np.roll(mask, -1, 1)) == 0] == 0).all()
    assert (np.asarray(gradient.v)[:, -1] == 0).all()
    _, shares, left, right, _ = zip(*(observe_block(block) for block in blocks_of_layout((3, 2), NY, NX)), strict=True)
    assert {share.shape for share in shares} == {expected.shape}, "every process computes arrays of the same shapes"
    np.testing.assert_array_equal(sum(shares), expected)
    np.testing.assert_array_equal(whole_operator.collect(sum(shares)), whole_operator.collect(expected))
    assert abs(sum(left) - sum(right)) < 1e-12 * abs(sum(left))


WIDE_SHAPE, KM, DAY = (60, 80), 1e3, 86400.0
ALTIMETER = Altimeter(repeat=2 * DAY, separation=100 * KM, spacing=7 * KM, error=0.02, angle=20.0)
MASK = np.ones(WIDE_SHAPE)
MASK[20:40, 28:52] = 0


def wide_domain(periodic_x=True, mask=MASK):
    """Six days in a domain of 400 km x 300 km with an island."""
    options = {"grid__dx": 5e3, "grid__dy": 5e3, "grid__periodic_x": periodic_x, "time__dt": 60.0, "run__steps": 8640}
    return configuration(*WIDE_SHAPE, {"mask": mask}, **options)


SPHERE = {"west": 280.0, "dlon": 0.5, "south": 20.0, "dlat": 0.5, "radius": 6371e3, "periodic_x": False}


def track_steps(track, config):
    """Distances to the east and to the north, m, between successive observations of a track."""
    dx, dy = np.diff(track.x), np.diff(track.y)
    if config.grid.kind == "latlon":
        lat, radius = np.radians(track.y), config.grid.radius
        return radius * np.cos((lat[1:] + lat[:-1]) / 2) * np.radians(dx), radius * np.radians(dy)
    west, east, _, _ = edges(config.grid)
    return np.where((dx < 0) & config.grid.periodic_x, dx + east - west, dx), dy


@pytest.mark.parametrize("kind", ["periodic", "walls", "sphere"])
def test_tracks_are_straight_and_sampled_over_water(tmp_path, kind):
    """Angle, spacing and speed are those of the satellite; on a sphere so is the separation, at mid-latitude."""
    open_water, sphere = np.ones(WIDE_SHAPE), {f"grid__{key}": value for key, value in SPHERE.items()}
    config = configuration(*WIDE_SHAPE, {"mask": open_water}, sphere=True, run__steps=8640, **sphere)
    config = config if kind == "sphere" else wide_domain(kind == "periodic", open_water)
    observations, angle = tracks(config, ALTIMETER), np.radians(20)
    for prefix, sign in (("ascending", 1), ("descending", -1)):
        first_cycle, middle_longitudes = observations.select(observations.time < ALTIMETER.repeat), []
        for name in (name for name in np.unique(first_cycle.platform) if name.startswith(prefix)):
            track = first_cycle.select(first_cycle.platform == name)
            east, north = track_steps(track, config)
            np.testing.assert_allclose(np.diff(track.time), ALTIMETER.spacing / ALTIMETER.speed, rtol=1e-6)
            np.testing.assert_allclose(north, sign * ALTIMETER.spacing * np.cos(angle), rtol=1e-9)
            np.testing.assert_allclose(east, ALTIMETER.spacing * np.sin(angle), rtol=1e-5 if kind == "sphere" else 1e-9)
            if kind == "sphere" and abs(track.y - 35.0).min() < 0.1:
                middle_longitudes.append(np.interp(35.0, track.y[::sign], track.x[::sign]))
        assert len(middle_longitudes) > 11 or kind != "sphere"
        separations = SPHERE["radius"] * np.cos(np.radians(35)) * np.diff(np.radians(np.sort(middle_longitudes)))
        np.testing.assert_allclose(separations, ALTIMETER.separation, rtol=1e-3)
    if kind != "sphere":
        config = wide_domain(kind == "periodic")
        observations = tracks(config, ALTIMETER)
    assert observations.size > 1000
    assert is_over_water(config, observations.x, observations.y).all()
    assert (np.diff(observations.time) >= 0).all()
    write_observations(tmp_path / "obs.nc", observe_run(observations, np.zeros(observations.size), config), config)
    stored = read_observations(tmp_path / "obs.nc", config)
    np.testing.assert_allclose([stored.x, stored.y], [observations.x, observations.y], rtol=1e-12)


def test_moorings_stand_in_water_and_observe_at_regular_times():
    config = wide_domain()
    observations = moorings(config, 4, 3, DAY, {"v": 0.1, "eta": 0.02})
    assert len(set(observations.platform)) == 4 * 3 - 2, "two of the twelve are on the island"
    assert sorted(set(observations.x)) == [50e3, 150e3, 250e3, 350e3]
    assert sorted(set(observations.y)) == [50e3, 150e3, 250e3]
    np.testing.assert_array_equal(np.unique(observations.time), np.arange(7) * DAY)
    assert observations.size == 10 * 7 * 2
    assert [OBSERVED_QUANTITIES[k] for k in observations.quantity[:4]] == ["eta", "v", "eta", "v"]
    np.testing.assert_array_equal(observations.error, np.where(observations.quantity == 0, 0.02, 0.1))
    assert bilinear_stencils(config, observations.quantity, observations.x, observations.y).is_covered.all()


def test_synthetic_values_have_independent_noise_of_the_stated_error():
    config = wide_domain()
    network = merge_observations(tracks(config, ALTIMETER), moorings(config, 4, 3, DAY, {"u": 0.1, "v": 0.3}))

    def truth(name, time, x, y):
        return np.sin(x / 3e4 + time / 1e5) + {"eta": 0, "u": 10, "v": 20}[name] + y / 1e5

    true_values = np.array([truth(OBSERVED_QUANTITIES[q], t, x, y) for q, t, x, y in zip(*network[:4], strict=True)])
    observations, n = observe_run(network, truth, config, seed=7), network.size
    noise = (observations.value - true_values) / network.error
    assert (np.diff(network.time) >= 0).all()
    assert abs(noise.mean()) < 3 / np.sqrt(n)
    assert abs(noise.var() - 1) < 3 * np.sqrt(2 / n)
    assert abs(np.mean(noise[1:] * noise[:-1])) < 3 / np.sqrt(n)
    np.testing.assert_equal(observe_run(network, true_values, config, seed=7), observations)
    assert not np.array_equal(observe_run(network, true_values, config, seed=8).value, observations.value)


def test_observations_of_output_equal_the_observation_operator(tmp_path):
    """Output with too few records or another number of cells is refused."""
    rng = np.random.default_rng(1)
    fields = {"mask": (rng.random((NY, NX)) > 0.1).astype(float), "eta": 0.1 * rng.standard_normal((NY, NX))}
    options = {"time__dt": DT, "run__steps": STEPS, "output__every_steps": EVERY, "run__executor": "reference"}
    config = resolve(configuration(NY, NX, fields, grid__periodic_y=False, **options))
    Simulation(config).run(tmp_path / "run")
    path, simulation, states = tmp_path / "run" / "output.nc", Simulation(config), []
    depth = simulation.state.h - simulation.field("eta")
    for _ in range(4):
        states.append(simulation.state)
        simulation.advance(EVERY)
    network = moorings(config, 5, 4, 30.0, {"eta": 1e-9, "u": 1e-9, "v": 1e-9})
    operator = make_operator(network, config, simulation.block, EVERY)
    expected = operator.collect(observe_series(operator, jax.tree.map(lambda *each: jnp.stack(each), *states), depth))
    noise = 1e-9 * np.random.default_rng(0).standard_normal(network.size)
    np.testing.assert_allclose(observe_run(network, path, config).value - noise, expected, rtol=0, atol=1e-13)
    assert np.abs(expected).max() > 0.01

    with pytest.raises(UsageError, match="800 s"):
        observe_run(network.select([0])._replace(time=np.array([800.0])), path, config)
    with pytest.raises(UsageError, match="cells"):
        observe_run(network, path, config.model_copy(update={"grid": config.grid.model_copy(update={"nx": NX + 1})}))
    with pytest.raises(FilesError, match=r"none\.nc"):
        observe_run(network, tmp_path / "none.nc", config)
