"""Synthetic observations: the geometry of ground tracks, moorings in water, values with noise of the stated error."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration

import swmodel
from swmodel.assimilation.interpolation import operator
from swmodel.assimilation.observations import read, write
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


BAND = {"west": 280.0, "dlon": 0.5, "south": 20.0, "dlat": 0.5, "radius": 6371e3, "periodic_x": False}


def steps_of(track, config):
    """The distances east and north, m, between neighbouring observations of a track."""
    dx, dy = np.diff(track.x), np.diff(track.y)
    if config.grid.kind == "latlon":
        lat, radius = np.radians(track.y), config.grid.radius
        return radius * np.cos((lat[1:] + lat[:-1]) / 2) * np.radians(dx), radius * np.radians(dy)
    west, east, _, _ = edges(config.grid)
    return np.where((dx < 0) & config.grid.periodic_x, dx + east - west, dx), dy


@pytest.mark.parametrize("kind", ["ring", "walls", "sphere"])
def test_tracks_are_straight_and_sampled_over_water(tmp_path, kind):
    """Inclined, at the spacing and speed of the satellite, on a sphere with their separation in the middle."""
    open_water, sphere = np.ones((NY, NX)), {f"grid__{key}": value for key, value in BAND.items()}
    config = configuration(NY, NX, {"mask": open_water}, sphere=True, run__steps=8640, **sphere)
    config = config if kind == "sphere" else make(kind == "ring", open_water)
    found, angle = tracks(config, ALTIMETER), np.radians(20)
    for course, sign in (("ascending", 1), ("descending", -1)):
        first, middles = found.where(found.time < ALTIMETER.repeat), []
        for name in (name for name in np.unique(first.platform) if name.startswith(course)):
            one = first.where(first.platform == name)
            east, north = steps_of(one, config)
            np.testing.assert_allclose(np.diff(one.time), ALTIMETER.spacing / ALTIMETER.speed, rtol=1e-6)
            np.testing.assert_allclose(north, sign * ALTIMETER.spacing * np.cos(angle), rtol=1e-9)
            np.testing.assert_allclose(east, ALTIMETER.spacing * np.sin(angle), rtol=1e-5 if kind == "sphere" else 1e-9)
            if kind == "sphere" and abs(one.y - 35.0).min() < 0.1:
                middles.append(np.interp(35.0, one.y[::sign], one.x[::sign]))
        assert len(middles) > 11 or kind != "sphere"
        apart = BAND["radius"] * np.cos(np.radians(35)) * np.diff(np.radians(np.sort(middles)))
        np.testing.assert_allclose(apart, ALTIMETER.separation, rtol=1e-3)
    if kind != "sphere":
        config = make(kind == "ring")
        found = tracks(config, ALTIMETER)
    assert found.size > 1000
    assert over_water(config, found.x, found.y).all()
    assert (np.diff(found.time) >= 0).all()
    write(tmp_path / "obs.nc", observe_run(found, np.zeros(found.size), config), config)
    again = read(tmp_path / "obs.nc", config)
    np.testing.assert_allclose([again.x, again.y], [found.x, found.y], rtol=1e-12)


def test_tracks_repeat_after_their_period():
    found = tracks(make(), ALTIMETER)
    early, later = found.where(found.time < 4 * DAY), found.where(found.time >= 2 * DAY)
    np.testing.assert_array_equal(early.x, later.x[: early.size])
    np.testing.assert_array_equal(early.y, later.y[: early.size])
    np.testing.assert_allclose(early.time + 2 * DAY, later.time[: early.size], rtol=1e-14)
    np.testing.assert_equal(tracks(make(), ALTIMETER), found)
    assert not np.array_equal(tracks(make(), ALTIMETER, seed=4).x[:50], found.x[:50])


def test_moorings_stand_in_water_and_observe_at_regular_times():
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


def test_values_have_normal_noise_of_the_stated_error():
    config = make()
    at = together(tracks(config, ALTIMETER), moorings(config, 4, 3, DAY, {"u": 0.1, "v": 0.3}))

    def truth(name, time, x, y):
        return np.sin(x / 3e4 + time / 1e5) + {"eta": 0, "u": 10, "v": 20}[name] + y / 1e5

    exact = np.array([truth(QUANTITIES[q], t, x, y) for q, t, x, y in zip(*at[:4], strict=True)])
    found, n = observe_run(at, truth, config, seed=7), at.size
    noise = (found.value - exact) / at.error
    assert (np.diff(at.time) >= 0).all()
    assert abs(noise.mean()) < 3 / np.sqrt(n)
    assert abs(noise.var() - 1) < 3 * np.sqrt(2 / n)
    assert abs(np.mean(noise[1:] * noise[:-1])) < 3 / np.sqrt(n)
    np.testing.assert_equal(observe_run(at, exact, config, seed=7), found)
    assert not np.array_equal(observe_run(at, exact, config, seed=8).value, found.value)


def test_observed_output_is_what_the_operator_sees(tmp_path):
    """Outputs without these records or cells are refused."""
    rng = np.random.default_rng(1)
    values = {"mask": (rng.random((NY, NX)) > 0.1).astype(float), "eta": 0.1 * rng.standard_normal((NY, NX))}
    options = {"time__dt": 20.0, "run__steps": 12, "output__every_steps": 4, "run__executor": "reference"}
    config = resolve(configuration(NY, NX, values, grid__periodic_y=False, **options))
    path, simulation, states = tmp_path / "run" / "output.nc", swmodel.Simulation(config), []
    simulation.run(tmp_path / "run")
    simulation = swmodel.Simulation(config)
    for _ in range(4):
        states.append(simulation.state)
        simulation.advance(4)
    at, depth = moorings(config, 9, 7, 30.0, {"eta": 1e-9, "u": 1e-9, "v": 1e-9}), simulation.state.h
    depth, observe = depth - simulation.field("eta"), operator(at, config, simulation.block, 4)
    views = [SimpleNamespace(state=jax.tree.map(jnp.asarray, state), depth=jnp.asarray(depth)) for state in states]
    seen = observe.collect(jnp.stack([observe.observe(view, k) for k, view in enumerate(views)]))
    noise = 1e-9 * np.random.default_rng(0).standard_normal(at.size)
    np.testing.assert_allclose(observe_run(at, path, config).value - noise, seen, rtol=0, atol=1e-13)
    assert np.abs(seen).max() > 0.01

    with pytest.raises(UsageError, match="0 to 240 s, .* 800 s"):
        observe_run(at.where([0])._replace(time=np.array([800.0])), path, config)
    with pytest.raises(UsageError, match="cells"):
        observe_run(at, path, config.model_copy(update={"grid": config.grid.model_copy(update={"nx": NX + 1})}))
    with pytest.raises(FilesError, match=r"none\.nc"):
        observe_run(at, tmp_path / "none.nc", config)
