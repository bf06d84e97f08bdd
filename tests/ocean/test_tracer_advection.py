"""Tracers with gfb: no new extremes and constants to the bit, the content conserved; weno5 is of fifth order."""

import itertools

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.stepping import DTYPES, after, same_bits, step_by_step

import swmodel
from swmodel.executors.registry import EXECUTORS
from swmodel.ocean.operators import mx_f
from swmodel.ocean.patch import Patch
from swmodel.ocean.terms.tracer_advection import Faces, reconstructed
from swmodel.ocean.weno import eastward

pytestmark = pytest.mark.slow

NY, NX = 9, 11
DYE, SALT = (
    {"name": "dye", "advection": "weno5"},
    {"name": "salt", "initial": 35.1, "diffusivity": 300.0, "advection": "weno5"},
)
INK, ACID = DYE | {"name": "ink", "advection": "upwind"}, SALT | {"name": "acid", "advection": "upwind"}


def stormy(dtype, options, **given):
    """A sea with islands and a current of about 1 m/s, 0.1 cells a step, with tracers of both orders."""
    fields = random_fields(NY, NX, land=0.2) | given
    slow = {"physics__gravity": 0.1, "time__dt": 200.0, "physics__tracers": (DYE, SALT, INK, ACID)}
    return configuration(NY, NX, fields, run__dtype=dtype, **slow, **options)


def noise(smallest):
    """Patches of one and zero, noise, and numbers down to the smallest of a precision."""
    rng = np.random.default_rng(7)
    tiny = smallest * rng.random((NY, NX))
    return np.choose(rng.integers(0, 4, (NY, NX)), [np.zeros((NY, NX)), np.ones((NY, NX)), rng.random((NY, NX)), tiny])


@pytest.mark.parametrize(
    ("executor", "dtype"), [(each, dtype) for each in EXECUTORS for dtype in DTYPES[each == "xla" :]]
)
def test_no_step_makes_a_new_extreme_and_a_constant_stays_to_the_bit(executor, dtype):
    options = {"grid__periodic_x": False, "sponge__rate": 1e-4, "sponge__width": 2e4}
    first = noise(4 * np.finfo(dtype).tiny)
    config = stormy(dtype, options, dye=first, ink=first)
    wet = random_fields(NY, NX, land=0.2)["mask"] > 0
    states = [step_by_step(executor, config, steps) for steps in (0, 1, 2, 3, 4, 9, 40)]
    for before, now in itertools.pairwise(states):
        for tracer in (3, 5):
            found, was = now[tracer][wet], before[tracer][wet]
            assert was.min() <= found.min() <= found.max() <= was.max()
            assert np.abs(found - states[0][tracer][wet]).max() > (0.01 if now is states[1] else 0.1)
        assert same_bits(now[4:7:2], before[4:7:2])


@pytest.mark.parametrize(("executor", "dtype", "bound"), [("reference", "float64", 1e-13), ("native", "float32", 1e-5)])
@pytest.mark.parametrize("sphere", [False, True])
def test_the_content_of_the_sea_is_conserved(sphere, executor, dtype, bound):
    names = ("dye", "salt", "ink", "acid")
    start = dict(zip(names, (noise(0.1), noise(0.7)) * 2, strict=True))
    model = swmodel.Simulation(stormy(dtype, {"sphere": sphere, "run__executor": executor}, **start))
    before, fields = model.diagnostics(), model.fields(names)
    model.advance(60)
    now = model.diagnostics()
    for name in names:
        assert now[name] == pytest.approx(before[name], rel=bound)
        assert np.abs(model.field(name) - fields[name]).max() > 0.05


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_the_reconstruction_is_of_fifth_order(way):
    def error(n):
        edges = np.arange(n + 1) * 2 * np.pi / n
        means = (np.cos(edges[:-1]) - np.cos(edges[1:]))[None] * n / (2 * np.pi)
        c, one = Patch(np.pad(means, ((0, 0), (6, 6)), mode="wrap"), (0, -6)), Patch(np.ones((1, 1)), (0, 0))
        axis = Faces(way * one, None, one, eastward, mx_f, lambda a: eastward(a, 1) - a)
        upwind = c if way > 0 else eastward(c, 1)
        found = (way * reconstructed(axis, c, c) + upwind).on((1, n))
        return np.abs(found - np.sin(edges[1:])).max()

    assert error(16) / error(32) == pytest.approx(32, rel=0.1)


def carried(n, advection):
    """The mean error of a smooth blob that a current along the diagonal has carried once around."""
    at = 2 * np.pi * (np.arange(n) + 0.5) / n
    blob = np.exp(3 * (np.cos(at) + np.cos(at)[:, None] - 2))
    fields = {"depth": np.full((n, n), 20.0), "u": np.ones((n, n)), "v": np.ones((n, n)), "dye": blob}
    quiet = {"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0, "physics__f0": 0.0, "grid__periodic_y": True}
    size = {"grid__dx": 96e3 / n, "grid__dy": 96e3 / n, "time__dt": 2400.0 / n, "physics__gravity": 0.01}
    tracers = ({"name": "dye", "advection": advection},)
    found = after("native", configuration(n, n, fields, physics__tracers=tracers, **quiet, **size), 40 * n)
    return np.abs(found[3] - blob).mean()


def test_a_smooth_blob_keeps_its_form():
    coarse, fine = carried(16, "weno5"), carried(32, "weno5")
    assert fine < coarse / 6
    assert fine < carried(32, "upwind") / 20


def rain(state, grid, t):
    return {"h": 1e-3 + 0 * state.h}


def test_rain_dilutes():
    """A term of the user's own that adds water adds none of the tracer."""
    options = {"grid.nx": 9, "grid.ny": 8, "time.dt": 20.0, "time.stepper": "gfb"}
    options |= {"run.executor": "xla", "run.dtype": "float64"}
    config = swmodel.load("rest", options | {"physics.tracers": [DYE | {"initial": 2.0}]}, {}, terms=[rain])
    model = swmodel.Simulation(config)
    before = model.diagnostics()
    model.advance(50)
    now = model.diagnostics()
    assert now["mass"] > 1.0001 * before["mass"]
    assert now["dye"] == pytest.approx(before["dye"], rel=1e-13)
