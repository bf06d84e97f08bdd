"""Wetting and drying: lakes at rest, mass, h >= 0, the gentle sea, bores, drag, a restart in mid-flood."""

import math

import jax
import numpy as np
import pytest
from scipy.optimize import brentq
from support.random_case import DRYING, configuration, flats, random_fields
from support.stepping import after, build, step_by_step
from support.unchecked import unchecked

import swmodel

pytestmark = pytest.mark.slow

G, NY, NX = 9.81, 9, 13
BOTH_DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])
BASIN = DRYING | {"grid__periodic_x": False}
FREE = {"physics__f0": 0.0, "physics__viscosity": 0.0, "physics__quadratic_drag": 0.0}


def islands(rng):
    """The depths of a rough bed with islands, and a ridge in the east."""
    depth = 2 + 0.3 * rng.standard_normal((NY, NX))
    depth[2:5, 3:6] = -1 - rng.random((3, 3))
    depth[6, 2], depth[:, -4] = -0.5, -5 - rng.random(NY)
    return depth


@BOTH_DTYPES
@pytest.mark.parametrize("executor", ["reference", "native", "xla"])
@pytest.mark.parametrize("level", [0.0, 0.37])
def test_lakes_stay_at_rest_around_dry_land(executor, dtype, level):
    """To the bit at eta = 0, and to round-off at another level and in a second lake, higher up behind the ridge."""
    depth, x = islands(np.random.default_rng(1)), np.arange(NX)
    eta = np.where(x > NX - 4, level + 3.1, level) + 0 * depth
    config = configuration(NY, NX, {"depth": depth, "eta": eta}, physics__manning=0.03, run__dtype=dtype, **BASIN)
    h, u, v = step_by_step(executor, config, 8)[:3]
    first = np.maximum(depth + eta, 0).astype(dtype)
    assert (first == 0).sum() > NY
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(h, first, rtol=0, atol=30 * eps)
    assert max(abs(u).max(), abs(v).max()) < 30 * eps
    if not level:
        lower = (x < NX - 5)[None, :]
        assert not (u * lower).any()
        assert not (v * lower).any()
        np.testing.assert_array_equal(h[:, :-5], first[:, :-5])


@pytest.mark.parametrize("sponge", [False, True])
@BOTH_DTYPES
@pytest.mark.parametrize("executor", ["reference", "native"])
def test_a_falling_column_keeps_its_mass_and_no_thickness_is_negative(executor, dtype, sponge):
    """A sponge takes water, but no more than there is."""
    rng = np.random.default_rng(3)
    depth, y, x = 1.5 * rng.standard_normal((NY, NX)) - 1, *np.mgrid[:NY, :NX]
    eta = np.where((abs(y - 4) < 3) & (abs(x - 5) < 3), 8.0, -9.0)
    options = BASIN | FREE | {"time__dt": 1.5} | ({"sponge__rate": 1e-2, "sponge__width": 200.0} if sponge else {})
    config = configuration(NY, NX, {"depth": depth, "eta": eta}, run__dtype=dtype, **options)
    model, carry = build(executor, config)
    masses, least, dry = [], [], []
    for _ in range(60):
        h = np.array(carry.state.h, np.float64)
        masses.append(math.fsum(h.ravel()))
        least.append(h.min())
        dry.append((h == 0).sum())
        carry = model.advance(carry, 1)
    assert min(least) >= 0
    assert dry[0] > 60 > 9 > dry[-1]
    assert sponge or np.ptp(masses) < 20 * np.finfo(dtype).eps * masses[0]
    assert abs(np.asarray(carry.state.u)).max() < 20


@pytest.mark.parametrize("advection", ["upwind", "weno5"])
@BOTH_DTYPES
@pytest.mark.parametrize("executor", ["reference", "native"])
def test_tracers_stay_bounded_and_conserved_where_cells_flood(executor, dtype, advection):
    rng = np.random.default_rng(3)
    depth, y, x = 1.5 * rng.standard_normal((NY, NX)) - 1, *np.mgrid[:NY, :NX]
    eta = np.where((abs(y - 4) < 3) & (abs(x - 5) < 3), 8.0, -9.0)
    tracers = tuple({"name": name, "advection": advection} for name in ("dye", "even"))
    options = BASIN | FREE | {"time__dt": 0.5, "physics__tracers": tracers, "run__dtype": dtype}
    fields = {"depth": depth, "eta": eta, "dye": np.where(x < 5, 1.0, 0.25), "even": 0.7 + 0 * depth}
    model, carry = build(executor, configuration(NY, NX, fields, **options))
    start = jax.tree.map(np.array, carry.state)
    carry = model.advance(carry, 60)
    content = [math.fsum((np.array(s.h, float) * np.array(s.dye, float)).ravel()) for s in (start, carry.state)]
    assert (np.asarray(start.h) == 0).sum() > (np.asarray(carry.state.h) == 0).sum() + 20
    np.testing.assert_allclose(*content, rtol=100 * np.finfo(dtype).eps)
    assert np.min(carry.state.dye) >= 0.25
    assert np.max(carry.state.dye) <= 1
    np.testing.assert_array_equal(carry.state.even, start.even)


@pytest.mark.parametrize("executor", ["reference", "native", "xla"])
def test_a_gentle_sea_is_that_without_drying(executor):
    """To round-off: its water is deep, and its level bends little."""
    fields = random_fields(NY, NX, amplitude=0.01) | {"linear_drag": np.zeros((NY, NX))}
    options = {"time__stepper": "gfb", "physics__quadratic_drag": 0.0, "grid__periodic_x": False}
    drying = {"drying__active": True, "drying__thickness": 0.01}
    without, ours = (
        step_by_step(executor, configuration(NY, NX, fields, **options | more), 4)[:3] for more in ({}, drying)
    )
    for field, truth in zip(ours, without, strict=True):
        np.testing.assert_allclose(field, truth, rtol=0, atol=1e-15)


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_momentum_is_conserved_in_thin_water_on_a_flat_bed(executor):
    """To round-off, in both directions, by cells that break; on a torus without forces."""
    rng = np.random.default_rng(4)
    fields = dict(zip(("eta", "u", "v"), rng.random((3, NY, NX)) - 0.5, strict=True))
    fields |= {"eta": 0.175 + 0.1 * fields["eta"], "depth": np.zeros((NY, NX))}
    config = configuration(NY, NX, fields, grid__periodic_y=True, **DRYING | FREE)
    sums = []
    for steps in (0, 6):
        h, u, v = step_by_step(executor, config, steps)[:3]
        sums.append([(0.5 * (h + np.roll(h, -1, axis)) * a).sum() for a, axis in ((u, 1), (v, 0))])
    assert 0.1 < h.min() < h.max() < 0.25  # all faces are open, all cells break
    np.testing.assert_allclose(*sums, rtol=0, atol=1e-13)


def stoker(left, right):
    """The speed of the shock of a broken dam, m s-1. Reference: Stoker, J. J. (1957), Water Waves, section 10.8."""

    def shock(h):
        return math.sqrt(G * h * (h + right) / (2 * right))

    def excess(h):
        return 2 * (math.sqrt(G * left) - math.sqrt(G * h)) * h - shock(h) * (h - right)

    middle = brentq(excess, right * 1.001, left)
    return shock(middle), middle


@pytest.mark.parametrize(("right", "axis"), [(0.1, "x"), (0.01, "y")])
def test_a_bore_has_the_speed_of_its_shock(right, axis):
    """Within one percent, after a dam of 1 m has broken."""
    n, d, dt = 240, 0.1, 0.016
    place, (speed, middle) = (np.arange(n) + 0.5) * d, stoker(1.0, right)
    eta = np.where(place < 10, 0.0, right - 1) + np.zeros((5, 1))
    eta = eta if axis == "x" else eta.T
    ring = {"grid__periodic_x": axis == "y", "grid__periodic_y": axis == "x"}
    options = DRYING | FREE | ring | {"grid__dx": d, "grid__dy": d, "time__dt": dt, "drying__thickness": 1e-4}
    config = configuration(*eta.shape, {"depth": np.ones(eta.shape), "eta": eta}, **options)
    fronts = []
    for steps in (60, 160):
        h = after("native", config, steps)[0]
        h = (h if axis == "x" else h.T)[2] - (middle + right) / 2
        last = np.flatnonzero(h > 0)[-1]
        fronts.append(place[last] + d * h[last] / (h[last] - h[last + 1]))
    assert (fronts[1] - fronts[0]) / (100 * dt) == pytest.approx(speed, rel=0.01)


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_drag_in_thin_water_never_reverses_a_current(executor):
    """Each rate of drag takes a part of a current, however fast it is."""
    rates, dt = 10.0 ** np.linspace(-4, 8, NY)[:, None] + np.zeros((NY, NX)), 4.0
    fields = {"depth": 0 * rates, "eta": 0.2 + 0 * rates, "linear_drag": rates, "u": 0.3 + 0 * rates}
    options = DRYING | FREE | {"grid__periodic_y": True, "time__dt": dt}
    once, later = (step_by_step(executor, configuration(NY, NX, fields, **options), steps)[1] for steps in (1, 5))
    np.testing.assert_allclose(once, 0.3 * (1 - rates * dt / np.maximum(1, 0.5 + rates * dt)), rtol=0, atol=1e-16)
    assert (later > -1e-16).all()
    assert (later < once + 1e-16).all()


@pytest.mark.parametrize(("executor", "dtype"), [("reference", "float64"), ("native", "float32")])
def test_a_restart_in_mid_flood_is_invisible(tmp_path, executor, dtype):
    options = DRYING | {"run__executor": executor, "run__dtype": dtype, "run__steps": 9}
    config = unchecked(configuration(NY, NX, flats(NY, NX), **options))
    whole = swmodel.Simulation(config)
    whole.advance(5)
    whole.write_restart(tmp_path / "five.nc")
    before = np.asarray(whole.state.h)
    whole.advance(4)
    rest = swmodel.Simulation(config, restart=tmp_path / "five.nc")
    rest.advance(4)
    wet, later = (h > config.drying.thickness for h in (before, np.asarray(whole.state.h)))
    assert (wet != later).any()
    for mine, truth in zip(jax.tree.leaves(rest.carry), jax.tree.leaves(whole.carry), strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(truth).tobytes()
