"""The observation operator, exact for linear fields, and its adjoint; synthetic observations of a run."""

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


def make_config(mask=None, periodic=(False, False), **more):
    """A configuration with the given mask; `periodic`: whether (y, x) are periodic."""
    fields = {"mask": np.ones((NY, NX)) if mask is None else mask}
    options = {"grid__periodic_y": periodic[0], "grid__periodic_x": periodic[1], "time__dt": DT, "run__steps": STEPS}
    return configuration(NY, NX, fields, **(options | more))


def observations_at(quantity, x, y, time=0.0):
    """Observations, without values, of quantities given by number."""
    x, y, number = np.asarray(x, float), np.asarray(y, float), np.asarray(quantity, np.int8)
    return Observations(*np.broadcast_arrays(number, np.asarray(time, float), x, y, np.nan, 1.0, ""))


def random_observations(config, n, margin=0.0):
    """n data of random quantities, times and places, at least `margin` cells from the edges of the domain."""
    rng, (west, east, south, north) = np.random.default_rng(0), edges(config.grid)
    x = rng.uniform(west + margin * config.grid.dx, east - margin * config.grid.dx, n)
    y = rng.uniform(south + margin * config.grid.dy, north - margin * config.grid.dy, n)
    return observations_at(rng.integers(0, 3, n), x, y, rng.uniform(0, STEPS * DT, n))


def observed_values(observations, config, fields):
    """The observed values on one process, of fields {eta, u, v} that are constant in time."""
    depth = np.full((NY, NX), 50.0)
    observe = make_operator(observations, config, WHOLE_DOMAIN, STEPS)
    state = State(fields["eta"] + depth, fields["u"], fields["v"])
    return np.asarray(observe.collect(observe_series(observe, jax.tree.map(lambda f: jnp.stack([f, f]), state), depth)))


@partial(jax.jit, static_argnums=0)
def observe_series(observe, states, depth):
    """The shares that `observe` returns for states with a leading axis of samples."""

    def share(k):
        return observe.observe(SimpleNamespace(state=jax.tree.map(lambda field: field[k], states), depth=depth), k)

    return jax.lax.map(share, jnp.arange(len(states.h)))


def linear_field(name, x, y):
    """A linear field that changes by about one over 50 km."""
    return {"eta": 1, "u": -2, "v": 3}[name] * 0.1 + 2e-5 * x - 3e-5 * y


def linear_fields(config):
    """The linear fields {eta, u, v} at their points, [ny, nx]."""
    at = {q: points(config.grid, VARIABLES[q].location, range(NY), range(NX)) for q in OBSERVED_QUANTITIES}
    return {q: np.broadcast_to(linear_field(q, at[q].x, at[q].y), (NY, NX)).astype(float) for q in OBSERVED_QUANTITIES}


@pytest.mark.parametrize("origin", ["edge", "centre", "middle"])
def test_linear_fields_are_interpolated_exactly(origin):
    config = make_config(grid__origin=origin)
    at = random_observations(config, 200, margin=1.0)
    places = zip(at.quantity, at.x, at.y, strict=True)
    expected = np.array([linear_field(OBSERVED_QUANTITIES[q], x, y) for q, x, y in places])
    np.testing.assert_allclose(observed_values(at, config, linear_fields(config)), expected, rtol=0, atol=1e-13)


def test_at_walls_nearest_cells_count_and_flow_vanishes():
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
    observe = make_operator(observations_at(0, np.full(6, 20e3), np.full(6, 20e3), time), config, WHOLE_DOMAIN, EVERY)
    zero = np.zeros((4, NY, NX))
    states = State(zero + np.arange(4.0)[:, None, None], zero, zero)
    found = observe.collect(observe_series(observe, states, zero[0]))
    np.testing.assert_allclose(found, [3, 0, 1, 2, 0, 1], rtol=1e-14)


def test_blocks_have_the_bits_of_one_and_the_exact_adjoint():
    """<H x, y> = <x, Hᵀ y> to round-off, summed over blocks; the gradient is zero on land and closed faces."""
    rng = np.random.default_rng(3)
    mask = (rng.random((NY, NX)) > 0.2).astype(float)
    config = make_config(mask, periodic=(False, True))
    at = random_observations(config, 300)
    at = at.select(bilinear_stencils(config, at.quantity, at.x, at.y).is_covered)
    history, depth = State(*rng.standard_normal((3, STEPS // EVERY + 1, NY, NX))), rng.random((NY, NX))

    def pulled(part):
        observe = make_operator(at, config, part, EVERY)
        cut = (..., *(slice(a.start, a.stop) for a in (part.y, part.x)))
        states = jax.tree.map(lambda field: jnp.asarray(field[cut]), history)
        series, pull = jax.vjp(lambda states: observe_series(observe, states, depth[cut]), states)
        bar = np.random.default_rng(5).standard_normal(series.shape)
        (gradient,) = pull(jnp.asarray(bar))
        linear = series - observe_series(observe, jax.tree.map(jnp.zeros_like, states), depth[cut])
        left, right = np.vdot(linear, bar), sum(np.vdot(a, b) for a, b in zip(states, gradient, strict=True))
        assert (np.asarray(gradient.h)[:, mask[cut] == 0] == 0).all()
        return observe, series, left, right, gradient

    whole, expected, *_, gradient = pulled(WHOLE_DOMAIN)
    assert (np.asarray(gradient.u)[:, (mask * np.roll(mask, -1, 1)) == 0] == 0).all()
    assert (np.asarray(gradient.v)[:, -1] == 0).all()
    _, parts, left, right, _ = zip(*(pulled(part) for part in blocks_of_layout((3, 2), NY, NX)), strict=True)
    assert {part.shape for part in parts} == {expected.shape}, "every process computes arrays of the same shapes"
    np.testing.assert_array_equal(sum(parts), expected)
    np.testing.assert_array_equal(whole.collect(sum(parts)), whole.collect(expected))
    assert abs(sum(left) - sum(right)) < 1e-12 * abs(sum(left))


WIDE_SHAPE, KM, DAY = (60, 80), 1e3, 86400.0
ALTIMETER = Altimeter(repeat=2 * DAY, separation=100 * KM, spacing=7 * KM, error=0.02, angle=20.0)
MASK = np.ones(WIDE_SHAPE)
MASK[20:40, 28:52] = 0


def wide_domain(ring=True, mask=MASK):
    """Six days in a domain of 400 km x 300 km with an island."""
    options = {"grid__dx": 5 * KM, "grid__dy": 5 * KM, "grid__periodic_x": ring, "time__dt": 60.0, "run__steps": 8640}
    return configuration(*WIDE_SHAPE, {"mask": mask}, **options)


BAND = {"west": 280.0, "dlon": 0.5, "south": 20.0, "dlat": 0.5, "radius": 6371e3, "periodic_x": False}


def track_steps(track, config):
    """Distances to the east and to the north, m, between successive observations of a track."""
    dx, dy = np.diff(track.x), np.diff(track.y)
    if config.grid.kind == "latlon":
        lat, radius = np.radians(track.y), config.grid.radius
        return radius * np.cos((lat[1:] + lat[:-1]) / 2) * np.radians(dx), radius * np.radians(dy)
    west, east, _, _ = edges(config.grid)
    return np.where((dx < 0) & config.grid.periodic_x, dx + east - west, dx), dy


@pytest.mark.parametrize("kind", ["ring", "walls", "sphere"])
def test_tracks_are_straight_and_sampled_over_water(tmp_path, kind):
    """Angle, spacing and speed are those of the satellite; on a sphere the separation is that at mid-latitude."""
    open_water, sphere = np.ones(WIDE_SHAPE), {f"grid__{key}": value for key, value in BAND.items()}
    config = configuration(*WIDE_SHAPE, {"mask": open_water}, sphere=True, run__steps=8640, **sphere)
    config = config if kind == "sphere" else wide_domain(kind == "ring", open_water)
    found, angle = tracks(config, ALTIMETER), np.radians(20)
    for course, sign in (("ascending", 1), ("descending", -1)):
        first, middles = found.select(found.time < ALTIMETER.repeat), []
        for name in (name for name in np.unique(first.platform) if name.startswith(course)):
            one = first.select(first.platform == name)
            east, north = track_steps(one, config)
            np.testing.assert_allclose(np.diff(one.time), ALTIMETER.spacing / ALTIMETER.speed, rtol=1e-6)
            np.testing.assert_allclose(north, sign * ALTIMETER.spacing * np.cos(angle), rtol=1e-9)
            np.testing.assert_allclose(east, ALTIMETER.spacing * np.sin(angle), rtol=1e-5 if kind == "sphere" else 1e-9)
            if kind == "sphere" and abs(one.y - 35.0).min() < 0.1:
                middles.append(np.interp(35.0, one.y[::sign], one.x[::sign]))
        assert len(middles) > 11 or kind != "sphere"
        apart = BAND["radius"] * np.cos(np.radians(35)) * np.diff(np.radians(np.sort(middles)))
        np.testing.assert_allclose(apart, ALTIMETER.separation, rtol=1e-3)
    if kind != "sphere":
        config = wide_domain(kind == "ring")
        found = tracks(config, ALTIMETER)
    assert found.size > 1000
    assert is_over_water(config, found.x, found.y).all()
    assert (np.diff(found.time) >= 0).all()
    write_observations(tmp_path / "obs.nc", observe_run(found, np.zeros(found.size), config), config)
    again = read_observations(tmp_path / "obs.nc", config)
    np.testing.assert_allclose([again.x, again.y], [found.x, found.y], rtol=1e-12)


def test_moorings_stand_in_water_and_observe_at_regular_times():
    config = wide_domain()
    found = moorings(config, 4, 3, DAY, {"v": 0.1, "eta": 0.02})
    assert len(set(found.platform)) == 4 * 3 - 2, "two of the twelve are on the island"
    assert sorted(set(found.x)) == [50e3, 150e3, 250e3, 350e3]
    assert sorted(set(found.y)) == [50e3, 150e3, 250e3]
    np.testing.assert_array_equal(np.unique(found.time), np.arange(7) * DAY)
    assert found.size == 10 * 7 * 2
    assert [OBSERVED_QUANTITIES[k] for k in found.quantity[:4]] == ["eta", "v", "eta", "v"]
    np.testing.assert_array_equal(found.error, np.where(found.quantity == 0, 0.02, 0.1))
    assert bilinear_stencils(config, found.quantity, found.x, found.y).is_covered.all()


def test_values_have_normal_noise_of_the_stated_error():
    config = wide_domain()
    at = merge_observations(tracks(config, ALTIMETER), moorings(config, 4, 3, DAY, {"u": 0.1, "v": 0.3}))

    def truth(name, time, x, y):
        return np.sin(x / 3e4 + time / 1e5) + {"eta": 0, "u": 10, "v": 20}[name] + y / 1e5

    exact = np.array([truth(OBSERVED_QUANTITIES[q], t, x, y) for q, t, x, y in zip(*at[:4], strict=True)])
    found, n = observe_run(at, truth, config, seed=7), at.size
    noise = (found.value - exact) / at.error
    assert (np.diff(at.time) >= 0).all()
    assert abs(noise.mean()) < 3 / np.sqrt(n)
    assert abs(noise.var() - 1) < 3 * np.sqrt(2 / n)
    assert abs(np.mean(noise[1:] * noise[:-1])) < 3 / np.sqrt(n)
    np.testing.assert_equal(observe_run(at, exact, config, seed=7), found)
    assert not np.array_equal(observe_run(at, exact, config, seed=8).value, found.value)


def test_observed_output_equals_the_observation_operator(tmp_path):
    """Output with too few records or another number of cells is refused."""
    rng = np.random.default_rng(1)
    values = {"mask": (rng.random((NY, NX)) > 0.1).astype(float), "eta": 0.1 * rng.standard_normal((NY, NX))}
    options = {"time__dt": DT, "run__steps": STEPS, "output__every_steps": EVERY, "run__executor": "reference"}
    config = resolve(configuration(NY, NX, values, grid__periodic_y=False, **options))
    Simulation(config).run(tmp_path / "run")
    path, simulation, states = tmp_path / "run" / "output.nc", Simulation(config), []
    depth = simulation.state.h - simulation.field("eta")
    for _ in range(4):
        states.append(simulation.state)
        simulation.advance(EVERY)
    at = moorings(config, 5, 4, 30.0, {"eta": 1e-9, "u": 1e-9, "v": 1e-9})
    observe = make_operator(at, config, simulation.block, EVERY)
    seen = observe.collect(observe_series(observe, jax.tree.map(lambda *each: jnp.stack(each), *states), depth))
    noise = 1e-9 * np.random.default_rng(0).standard_normal(at.size)
    np.testing.assert_allclose(observe_run(at, path, config).value - noise, seen, rtol=0, atol=1e-13)
    assert np.abs(seen).max() > 0.01

    with pytest.raises(UsageError, match="800 s"):
        observe_run(at.select([0])._replace(time=np.array([800.0])), path, config)
    with pytest.raises(UsageError, match="cells"):
        observe_run(at, path, config.model_copy(update={"grid": config.grid.model_copy(update={"nx": NX + 1})}))
    with pytest.raises(FilesError, match=r"none\.nc"):
        observe_run(at, tmp_path / "none.nc", config)
