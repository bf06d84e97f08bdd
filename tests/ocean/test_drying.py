"""Wetting and drying: lakes at rest, mass and tracers, h >= 0, the smooth sea, momentum, drag, and wind."""

import math

import jax
import numpy as np
import pytest
from support.numpy_dynamics import state_and_memory_after_start
from support.random_case import DRYING, configuration, drying_flats, random_fields
from support.stepping import make_executor, run_chunks

pytestmark = pytest.mark.slow

NY, NX = 9, 13
BASIN = DRYING | {"grid__periodic_x": False}
WITHOUT_FORCES = {"physics__f0": 0.0, "physics__viscosity": 0.0, "physics__quadratic_drag": 0.0}
TRACERS = tuple({"name": name, "advection": "weno5"} for name in ("dye", "uniform"))
#: Options of the only native step of this file; in single precision rounding is larger.
NATIVE_OPTIONS = WITHOUT_FORCES | {"run__dtype": "float32", "physics__tracers": TRACERS}


def depth_with_islands(rng):
    depth = 2 + 0.3 * rng.standard_normal((NY, NX))
    depth[2:5, 3:6] = -1 - rng.random((3, 3))
    depth[6, 2], depth[:, -4] = -0.5, -5 - rng.random(NY)
    return depth


@pytest.mark.parametrize(
    ("executor", "level", "options"),
    [("reference", 0.37, {}), ("native", 0.0, NATIVE_OPTIONS), ("native", 0.37, NATIVE_OPTIONS)],
)
def test_lakes_stay_at_rest_around_dry_land(executor, level, options):
    """Rest is exact to the bit at eta = 0, and to round-off at another level and in a higher lake behind the ridge."""
    depth, x = depth_with_islands(np.random.default_rng(1)), np.arange(NX)
    eta = np.where(x > NX - 4, level + 3.1, level) + 0 * depth
    config = configuration(NY, NX, {"depth": depth, "eta": eta}, **BASIN | options)
    h, u, v = run_chunks(executor, config, 8)[:3]
    initial_h, eps = np.maximum(depth + eta, 0).astype(h.dtype), np.finfo(h.dtype).eps
    assert (initial_h == 0).sum() > NY
    np.testing.assert_allclose(h, initial_h, rtol=0, atol=30 * eps)
    assert max(abs(u).max(), abs(v).max()) < 30 * eps
    if not level:
        lower = (x < NX - 5)[None, :]
        assert not (u * lower).any()
        assert not (v * lower).any()
        np.testing.assert_array_equal(h[:, :-5], initial_h[:, :-5])


def falling_column(**options):
    """A column of water over a rough bed, most of which is dry."""
    depth, y, x = 1.5 * np.random.default_rng(3).standard_normal((NY, NX)) - 1, *np.mgrid[:NY, :NX]
    fields = {"depth": depth, "eta": np.where((abs(y - 4) < 3) & (abs(x - 5) < 3), 8.0, -9.0)}
    fields |= {"dye": np.where(x < 5, 1.0, 0.25), "uniform": 0.7 + 0 * depth}
    return configuration(NY, NX, fields, **BASIN | WITHOUT_FORCES | options)


@pytest.mark.parametrize(
    ("executor", "options"),
    [
        ("native", NATIVE_OPTIONS),
        ("reference", NATIVE_OPTIONS | {"run__dtype": "float64"}),
        ("reference", {"sponge__rate": 1e-2, "sponge__width": 200.0}),
    ],
    ids=["native", "reference", "sponge"],
)
def test_falling_column_keeps_its_mass_and_tracers(executor, options):
    """No thickness is negative, also where a sponge takes water. Tracers stay within their bounds."""
    model, carry = make_executor(executor, falling_column(time__dt=1.0, **options))
    states = [jax.tree.map(np.array, carry.state)]
    for _ in range(90):
        carry = model.advance(carry, 1)
        states.append(jax.tree.map(np.array, carry.state))
    initial, final, eps = states[0], states[-1], np.finfo(states[-1].h.dtype).eps
    assert min(state.h.min() for state in states) >= 0
    assert (initial.h == 0).sum() > 60 > 9 > (final.h == 0).sum()
    assert abs(final.u).max() < 20
    if "physics__tracers" in options:
        masses = [math.fsum(state.h.ravel()) for state in states]
        assert np.ptp(masses) < 20 * eps * masses[0]
        contents = [math.fsum((state.h.astype(float) * state.dye).ravel()) for state in states]
        np.testing.assert_allclose(contents, contents[0], rtol=100 * eps)
        assert 0.25 <= min(state.dye.min() for state in states) <= max(state.dye.max() for state in states) <= 1
        assert all(np.array_equal(state.uniform, initial.uniform) for state in states)


def test_smooth_sea_is_same_with_and_without_drying():
    """It is the same to round-off, because the water is deep and its level is nearly plane."""
    fields = random_fields(NY, NX, amplitude=0.01) | {"linear_drag": np.zeros((NY, NX))}
    options = {"time__stepper": "gfb", "physics__quadratic_drag": 0.0, "grid__periodic_x": False}
    drying = {"drying__active": True, "drying__thickness": 0.01}
    configs = (configuration(NY, NX, fields, **options | each) for each in ({}, drying))
    without_drying, with_drying = (state_and_memory_after_start(config)[:3] for config in configs)
    for field, expected in zip(with_drying, without_drying, strict=True):
        np.testing.assert_allclose(field, expected, rtol=0, atol=1e-15)


def test_momentum_is_conserved_in_thin_layers():
    """Both components are conserved to round-off in breaking cells on a torus without forces."""
    rng = np.random.default_rng(4)
    fields = dict(zip(("eta", "u", "v"), rng.random((3, NY, NX)) - 0.5, strict=True))
    fields |= {"eta": 0.175 + 0.1 * fields["eta"], "depth": np.zeros((NY, NX))}
    config = configuration(NY, NX, fields, grid__periodic_y=True, **DRYING | WITHOUT_FORCES)
    momenta = []
    for steps in (0, 6):
        h, u, v = run_chunks("reference", config, steps)[:3]
        momenta.append([(0.5 * (h + np.roll(h, -1, axis)) * a).sum() for a, axis in ((u, 1), (v, 0))])
    assert 0.1 < h.min() < h.max() < 0.25  # all faces are open, all cells break
    np.testing.assert_allclose(*momenta, rtol=0, atol=1e-13)


def test_drag_in_thin_layers_never_reverses_a_current():
    """However fast the drag is, it only reduces the current."""
    rates, dt = 10.0 ** np.linspace(-4, 8, NY)[:, None] + np.zeros((NY, NX)), 4.0
    fields = {"depth": 0 * rates, "eta": 0.2 + 0 * rates, "linear_drag": rates, "u": 0.3 + 0 * rates}
    config = configuration(NY, NX, fields, **DRYING | WITHOUT_FORCES | {"grid__periodic_y": True, "time__dt": dt})
    u_after_1, u_after_5 = (run_chunks("reference", config, steps)[1] for steps in (1, 5))
    np.testing.assert_allclose(u_after_1, 0.3 * (1 - rates * dt / np.maximum(1, 0.5 + rates * dt)), rtol=0, atol=1e-16)
    assert (u_after_5 > -1e-16).all()
    assert (u_after_5 < u_after_1 + 1e-16).all()


#: Wind stress along x, Pa; the thickness h_dry, m; the largest acceleration of thin water by this wind, m s-2.
WIND_STRESS, H_DRY = -3.0, 1e-3
MAX_WIND_ACCELERATION = 2.25 * abs(WIND_STRESS) / (1000 * 20 * H_DRY)


def windy_coast(depth, eta, tau=WIND_STRESS, **options):
    fields = {"depth": depth, "eta": eta, "wind_x": tau + 0 * depth}
    drying = BASIN | WITHOUT_FORCES | {"drying__thickness": H_DRY, "physics__density": 1000.0, "physics__manning": 0.0}
    grid = {"grid__dx": 100.0, "grid__dy": 100.0, "time__dt": 4.0}
    return configuration(*depth.shape, fields, **drying | grid | options)


def test_acceleration_by_wind_is_bounded_over_thin_water():
    """The bed is rough, with thin layers and puddles; without the bound it would be over three times as large."""
    fields = drying_flats(NY, NX)
    depth, eta = fields["depth"], np.maximum(fields["eta"], 2.5 * H_DRY - fields["depth"])
    u, u_without_wind = (run_chunks("reference", windy_coast(depth, eta, tau), 1)[1] for tau in (WIND_STRESS, 0.0))
    largest = abs(u - u_without_wind).max() / 4.0
    assert 0.1 * MAX_WIND_ACCELERATION < largest <= MAX_WIND_ACCELERATION
    assert abs(WIND_STRESS) / (1000 * 2.5 * H_DRY) > 3 * MAX_WIND_ACCELERATION


def test_wind_pushes_no_water_up_a_step_above_its_level():
    """Therefore the water on the step drains into the lower pool, against the wind, until the face closes."""
    depth = np.array([-0.25, 0.0, -9.0]) + np.zeros((3, 1))
    config = windy_coast(depth, np.array([0.3, 0.1, -9.0]) + 0 * depth)
    h, u, _ = run_chunks("reference", config, 300)[:3]
    assert (u >= 0).all()
    assert (h[:, 0] < 2 * H_DRY).all()


@pytest.mark.parametrize("manning", [0.0, 0.025])
def test_wind_drives_water_up_steps_of_the_bed(manning):
    """It does where the set-up over a cell, tau dx/(rho g h), exceeds the step; the wind's work bounds the speed."""
    n_land, step = 8, 0.05
    depth = step * (np.arange(3 * n_land) - n_land) + np.zeros((3, 1))
    config = windy_coast(depth, np.maximum(-depth, 0.0), physics__manning=manning)
    h, u, _ = run_chunks("reference", config, 600)[:3]
    assert (h[:, :n_land] > 20 * H_DRY).all()
    assert abs(u).max() < math.sqrt(2 * MAX_WIND_ACCELERATION * depth.shape[1] * 100.0)


def test_wind_over_deep_water_does_not_depend_on_drying():
    """Results have the same bits where at least 20 h_dry of water stand above all sills."""
    depth = 2 + 0.3 * np.random.default_rng(6).random((NY, NX))
    eta = 1e-3 * np.random.default_rng(7).standard_normal((NY, NX))
    runs = [run_chunks("reference", windy_coast(depth, eta, drying__thickness=h), 30) for h in (1e-3, 0.08)]
    assert np.ptp(runs[0][1]) > 0.01
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, other)
