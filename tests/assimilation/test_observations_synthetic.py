"""Synthetic observations: the geometry of ground tracks, moorings on water, values with noise of the stated error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration

import swmodel
from swmodel.assimilation.interpolation import operator
from swmodel.assimilation.observations import Observations, read, write
from swmodel.assimilation.synthetic import Altimeter, moorings, observe_run, over_water, together, tracks
from swmodel.errors import FilesError, UsageError
from swmodel.model.resolve import resolve
from swmodel.ocean.coordinates import edges
from swmodel.setup.positions.stencils import QUANTITIES, stencils

pytestmark = pytest.mark.slow

NY, NX, KM, DAY = 60, 80, 1e3, 86400.0
ALTIMETER = Altimeter(repeat=2 * DAY, separation=100 * KM, spacing=7 * KM, error=0.02, angle=20.0)
MASK = np.ones((NY, NX))
MASK[20:40, 28:52] = 0


def make(ring=True, mask=MASK, **more):
    """A domain of 400 km x 300 km with an island, for 6 days."""
    options = {"grid__dx": 5 * KM, "grid__dy": 5 * KM, "grid__periodic_x": ring, "time__dt": 60.0, "run__steps": 8640}
    return configuration(NY, NX, {"mask": mask}, **(options | more))


def equal(a, b):
    for name, one, other in zip(Observations._fields, a, b, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("ring", [True, False])
def test_tracks_are_over_water_within_the_run_and_pass_the_checks_of_the_file(tmp_path, ring):
    config = make(ring)
    found = tracks(config, ALTIMETER)
    assert found.size > 1000
    assert over_water(config, found.x, found.y).all()
    assert (np.diff(found.time) >= 0).all()
    write(tmp_path / "obs.nc", observe_run(found, np.zeros(found.size), config), config)
    assert read(tmp_path / "obs.nc", config).size == found.size


@pytest.mark.parametrize(("kind", "sign", "ring"), [("ascending", 1, True), ("descending", -1, False)])
def test_tracks_are_straight_inclined_and_sampled_at_the_spacing_and_speed(kind, sign, ring):
    config = make(ring, mask=np.ones((NY, NX)))
    found, (west, east, _, _) = tracks(config, ALTIMETER), edges(config.grid)
    first = found.where(found.time < ALTIMETER.repeat)
    names = {name for name in first.platform if name.startswith(kind)}
    assert names
    for name in names:
        one = first.where(first.platform == name)
        dx, dy, dt = np.diff(one.x), np.diff(one.y), np.diff(one.time)
        dx = np.where(dx < 0, dx + east - west, dx) if ring else dx
        np.testing.assert_allclose(dt, ALTIMETER.spacing / ALTIMETER.speed, rtol=1e-6)
        np.testing.assert_allclose(dx, ALTIMETER.spacing * np.sin(np.radians(20)), rtol=1e-9)
        np.testing.assert_allclose(dy, sign * ALTIMETER.spacing * np.cos(np.radians(20)), rtol=1e-9)


def test_tracks_on_a_sphere_keep_their_course_their_spacing_and_their_separation(tmp_path):
    """Between neighbouring observations on the sphere, and of tracks in the middle of the latitudes."""
    band = {"west": 280.0, "dlon": 0.5, "south": 20.0, "dlat": 0.5, "radius": 6371e3, "periodic_x": False}
    options = {f"grid__{key}": value for key, value in band.items()}
    config = configuration(NY, NX, {"mask": np.ones((NY, NX))}, sphere=True, run__steps=8640, **options)
    found, angle, radius = tracks(config, ALTIMETER), np.radians(20), config.grid.radius
    for kind, sign in (("ascending", 1), ("descending", -1)):
        middles = []
        for name in {name for name in found.platform if name.startswith(kind)}:
            one = found.where((found.platform == name) & (found.time < ALTIMETER.repeat))
            lat = np.radians(one.y)
            north, east = radius * np.diff(lat), radius * np.cos((lat[1:] + lat[:-1]) / 2) * np.diff(np.radians(one.x))
            np.testing.assert_allclose(north, sign * ALTIMETER.spacing * np.cos(angle), rtol=1e-9)
            np.testing.assert_allclose(east, ALTIMETER.spacing * np.sin(angle), rtol=1e-5)
            if one.size and abs(one.y - 35.0).min() < 0.1:
                middles.append(np.interp(35.0, one.y[::sign], one.x[::sign]))
        steps = radius * np.cos(np.radians(35)) * np.diff(np.radians(np.sort(middles)))
        assert len(steps) > 10
        np.testing.assert_allclose(steps, ALTIMETER.separation, rtol=1e-3)
    write(tmp_path / "obs.nc", observe_run(found, np.zeros(found.size), config), config)
    again = read(tmp_path / "obs.nc", config)
    np.testing.assert_allclose([again.x, again.y], [found.x, found.y], rtol=1e-12)


def test_every_place_is_seen_again_after_the_repeat_period():
    found = tracks(make(), ALTIMETER)
    early = found.where(found.time < 4 * DAY)
    later = found.where(found.time >= 2 * DAY)
    np.testing.assert_array_equal(early.x, later.x[: early.size])
    np.testing.assert_array_equal(early.y, later.y[: early.size])
    np.testing.assert_allclose(early.time + 2 * DAY, later.time[: early.size], rtol=1e-14)
    equal(tracks(make(), ALTIMETER), found)
    assert not np.array_equal(tracks(make(), ALTIMETER, seed=4).x[:50], found.x[:50])


def test_moorings_stand_on_a_coarse_grid_of_water_and_look_at_regular_times():
    config = make()
    found = moorings(config, 4, 3, DAY, {"v": 0.1, "eta": 0.02})
    assert len(set(found.platform)) == 4 * 3 - 2, "two of the twelve are on the island"
    assert sorted(set(found.x)) == [50e3, 150e3, 250e3, 350e3]
    assert sorted(set(found.y)) == [50e3, 150e3, 250e3]
    np.testing.assert_array_equal(np.unique(found.time), np.arange(7) * DAY)
    assert found.size == 10 * 7 * 2
    assert [QUANTITIES[k] for k in found.quantity[:4]] == ["eta", "v", "eta", "v"]
    np.testing.assert_array_equal(found.error, np.where(found.quantity == 0, 0.02, 0.1))
    assert stencils(config, found.quantity, found.x, found.y).reached.all()


def test_values_are_those_of_the_formula_with_normal_noise_of_the_stated_error():
    config = make()
    at = together(tracks(config, ALTIMETER), moorings(config, 4, 3, DAY, {"u": 0.1, "v": 0.3}))

    def truth(name, time, x, y):
        return np.sin(x / 3e4 + time / 1e5) + {"eta": 0, "u": 10, "v": 20}[name] + y / 1e5

    exact = np.array([truth(QUANTITIES[q], t, x, y) for q, t, x, y in zip(*at[:4], strict=True)])
    found = observe_run(at, truth, config, seed=7)
    noise = (found.value - exact) / at.error
    n = at.size
    assert (np.diff(at.time) >= 0).all()
    assert abs(noise.mean()) < 3 / np.sqrt(n)
    assert abs(noise.var() - 1) < 3 * np.sqrt(2 / n)
    assert abs(np.mean(noise[1:] * noise[:-1])) < 3 / np.sqrt(n)
    equal(observe_run(at, exact, config, seed=7), found)
    assert not np.array_equal(observe_run(at, exact, config, seed=8).value, found.value)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 12 steps with its output every 4: configuration, output, simulation, states."""
    rng = np.random.default_rng(1)
    values = {"mask": (rng.random((NY, NX)) > 0.1).astype(float), "eta": 0.1 * rng.standard_normal((NY, NX))}
    options = {"time__dt": 20.0, "run__steps": 12, "output__every_steps": 4, "run__executor": "xla"}
    config = resolve(configuration(NY, NX, values, grid__periodic_y=False, **options))
    folder, simulation, states = tmp_path_factory.mktemp("run"), swmodel.Simulation(config), []
    simulation.run(folder / "run")
    simulation = swmodel.Simulation(config)
    for _ in range(4):
        states.append(simulation.state)
        simulation.advance(4)
    return config, folder / "run" / "output.nc", simulation, states


def test_what_is_seen_of_an_output_is_what_the_operator_sees_of_the_states(run):
    config, path, simulation, states = run
    at = moorings(config, 9, 7, 30.0, {"eta": 1e-9, "u": 1e-9, "v": 1e-9})
    depth = simulation.state.h - simulation.field("eta")
    observe = operator(at, config, simulation.block, 4)
    stacked = jax.tree.map(lambda *fields: jnp.stack(fields), *states)

    class View:
        def __init__(self, k):
            self.state, self.depth = jax.tree.map(lambda field: field[k], stacked), jnp.asarray(depth)

    seen = observe.collect(jnp.stack([observe.observe(View(k), k) for k in range(4)]))
    noise = 1e-9 * np.random.default_rng(0).standard_normal(at.size)
    np.testing.assert_allclose(observe_run(at, path, config).value - noise, seen, rtol=0, atol=1e-13)
    assert np.abs(seen).max() > 0.01


def test_an_output_that_does_not_hold_what_is_to_be_seen_is_refused(run, tmp_path):
    config, path, *_ = run
    at = moorings(config, 3, 3, 60.0, {"eta": 0.1})
    with pytest.raises(UsageError, match="records from 0 to 240 s, the observations are from 800 to 800 s"):
        observe_run(at.where([0])._replace(time=np.array([800.0])), path, config)
    with pytest.raises(UsageError, match="cells, the configuration"):
        observe_run(at, path, config.model_copy(update={"grid": config.grid.model_copy(update={"nx": NX + 1})}))
    with pytest.raises(FilesError, match="cannot be read"):
        observe_run(at, tmp_path / "none.nc", config)
