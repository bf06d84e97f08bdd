"""Tracers do not affect each other; no step creates extremes, constants stay constant, content is conserved."""

import itertools

import numpy as np
import pytest
import xarray
from support.random_case import configuration, random_fields
from support.stepping import has_same_bits, run_chunks, run_single_steps

import swmodel
from swmodel.ocean.operators import mx_f
from swmodel.ocean.patch import Patch, neighbour_x
from swmodel.ocean.terms.tracer_advection import AxisFaces, antidiffusive_flux

pytestmark = pytest.mark.slow

NY, NX = 9, 11
#: Two tracers with different initial values and diffusivities.
DYE = {"name": "dye", "initial": 2.0, "diffusivity": 300.0}
SALT = {"name": "salt", "initial": 35.0, "diffusivity": 70.0}
SMALL = {"grid.nx": 12, "grid.ny": 9, "grid.dx": 5e3, "grid.dy": 5e3, "time.dt": 20.0, "run.dtype": "float64"}


def config_with_tracers(*tracers, **options):
    """A configuration with these tracers; the case gives the field of the dye."""
    fields = random_fields(NY, NX, land=0.2, amplitude=0.3)
    fields["dye"] = fields.pop("tracer")
    return configuration(NY, NX, fields, physics__tracers=tracers, grid__periodic_x=False, **options)


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("stepper", ["ab3", "gfb"])
def test_two_tracers_equal_runs_with_one_each(stepper):
    options = {"sponge__rate": 1e-4, "sponge__width": 2e4, "time__stepper": stepper}
    configs = (config_with_tracers(*each, **options) for each in ((DYE, SALT), (DYE,), (SALT,)))
    both, dye, salt = (run_chunks("reference", config, 7) for config in configs)
    assert has_same_bits(both[:4], dye[:4])
    assert has_same_bits([*both[:3], both[4]], salt[:4])
    assert np.ptp(both[4] / (1.0 if stepper == "gfb" else both[0])) == pytest.approx(35.0)  # zero on land
    without_diffusion = run_chunks("reference", config_with_tracers(DYE | {"diffusivity": 0.0}, **options), 7)
    assert not has_same_bits(dye[3:4], without_diffusion[3:4])


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("stepper", ["ab3", "rk3", "leapfrog"])
def test_content_is_conserved_and_uniform_tracer_stays_uniform(stepper):
    uniform = {"name": "uniform", "initial": 3.7, "diffusivity": 3e3}
    config = config_with_tracers(DYE, uniform, time__stepper=stepper)
    (*_, before, _), (h, _, _, after, uniform) = (run_chunks("reference", config, steps)[:5] for steps in (0, 60))
    assert after.sum() == pytest.approx(before.sum(), rel=1e-13)
    wet = random_fields(NY, NX, land=0.2)["mask"] > 0
    np.testing.assert_allclose(uniform[wet], 3.7 * h[wet], rtol=1e-13)


def test_wave_of_concentration_decays_by_its_diffusivity():
    """In water at rest, c = cos(kx) decays as exp(- kappa (2 sin(k dx/2) / dx)² t)."""
    wave = np.cos(2 * np.pi * np.arange(NX) / NX) + np.zeros((NY, 1))
    fields = {"depth": np.full((NY, NX), 50.0), "dye": wave}
    options = {"grid__periodic_y": True, "physics__viscosity": 0.0, "time__stepper": "rk4", "time__dt": 100.0}
    config = configuration(NY, NX, fields, physics__tracers=(DYE,), **options)
    decay = 300.0 * (2 * np.sin(np.pi / NX) / 4e3) ** 2
    h, _, _, content = run_chunks("reference", config, 200)[:4]
    np.testing.assert_allclose(content / h, wave * np.exp(-decay * 2e4), atol=1e-10)


def test_tracers_of_configuration_file_are_computed_and_written(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'case.name = "jet"\noutput = {fields = ["h", "dye", "salt"], every_steps = 4}\ntime.stepper = "gfb"\n'
        '[[tracer]]\nname = "dye"\ndiffusivity = 30\nadvection = "weno5"\n[[tracer]]\nname = "salt"\ninitial = 35\n'
    )
    fields = {"dye": lambda at: at.x / at.length_x + 0 * at.y}
    config = swmodel.load(file, SMALL | {"run.steps": 8, "run.executor": "reference"}, {}, fields=fields)
    model = swmodel.Simulation(config)
    initial_dye = model.field("dye")
    model.run(tmp_path / "run")
    with xarray.open_dataset(tmp_path / "run" / "output.nc") as data:
        np.testing.assert_array_equal(data["dye"][-1], model.field("dye"))
        np.testing.assert_allclose(data["salt"], 35.0)
    from_output = SMALL | {"run.executor": "reference", "input.dye": f"{tmp_path}/run/output.nc:dye@0"}
    np.testing.assert_array_equal(swmodel.Simulation(swmodel.load(file, from_output, {})).field("dye"), initial_dye)


WENO5_TRACERS = DYE | {"diffusivity": 0.0, "advection": "weno5"}, SALT | {"initial": 35.1, "advection": "weno5"}
TRACERS_AND_UPWIND_NAMES = zip(WENO5_TRACERS, ("ink", "acid"), strict=True)
UPWIND_TRACERS = tuple(each | {"name": name, "advection": "upwind"} for each, name in TRACERS_AND_UPWIND_NAMES)


def stormy_config(dtype, options, **tracer_fields):
    """A sea with islands and a current of about 1 m/s, 0.05 cells per step, with tracers of both orders."""
    fields = random_fields(NY, NX, land=0.2) | tracer_fields
    common = {"physics__gravity": 0.1, "time__dt": 200.0, "physics__tracers": (*WENO5_TRACERS, *UPWIND_TRACERS)}
    return configuration(NY, NX, fields, run__dtype=dtype, **common, **options)


def extreme_values(smallest):
    """A random mixture of zeros, ones, noise, and noise of size `smallest`."""
    rng = np.random.default_rng(7)
    tiny = smallest * rng.random((NY, NX))
    return np.choose(rng.integers(0, 4, (NY, NX)), [np.zeros((NY, NX)), np.ones((NY, NX)), rng.random((NY, NX)), tiny])


@pytest.mark.parametrize(("executor", "dtype"), [("reference", "float64"), ("native", "float32")])
def test_no_step_creates_new_extremes_and_uniform_tracers_stay_uniform(executor, dtype):
    options = {"grid__periodic_x": False, "sponge__rate": 1e-4, "sponge__width": 2e4}
    initial = extreme_values(4 * np.finfo(dtype).tiny)
    config = stormy_config(dtype, options, dye=initial, ink=initial)
    wet = random_fields(NY, NX, land=0.2)["mask"] > 0
    states = [run_single_steps(executor, config, steps) for steps in (0, 1, 2, 3, 4, 9, 40)]
    for before, after in itertools.pairwise(states):
        for tracer in (3, 5):
            c_after, c_before = after[tracer][wet], before[tracer][wet]
            assert c_before.min() <= c_after.min() <= c_after.max() <= c_before.max()
            assert np.abs(c_after - states[0][tracer][wet]).max() > (0.01 if after is states[1] else 0.1)
        assert has_same_bits(after[4:7:2], before[4:7:2])


def test_content_is_conserved_on_sphere():
    names = ("dye", "salt", "ink", "acid")
    initial = dict(zip(names, (extreme_values(0.1), extreme_values(0.7)) * 2, strict=True))
    model = swmodel.Simulation(stormy_config("float64", {"sphere": True, "run__executor": "reference"}, **initial))
    before, old_fields = model.diagnostics(), model.fields(names)
    model.advance(60)
    after = model.diagnostics()
    for name in names:
        assert after[name] == pytest.approx(before[name], rel=1e-13)
        assert np.abs(model.field(name) - old_fields[name]).max() > 0.05


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_reconstruction_is_of_fifth_order(direction):
    def error(n):
        edges = np.arange(n + 1) * 2 * np.pi / n
        means = (np.cos(edges[:-1]) - np.cos(edges[1:]))[None] * n / (2 * np.pi)
        c, one = Patch(np.pad(means, ((0, 0), (6, 6)), mode="wrap"), (0, -6)), Patch(np.ones((1, 1)), (0, 0))
        axis = AxisFaces(direction * one, None, one, False, neighbour_x, mx_f, lambda a: neighbour_x(a, 1) - a)
        upwind = c if direction > 0 else neighbour_x(c, 1)
        face_values = (direction * antidiffusive_flux(axis, c, c) + upwind).block_values((1, n))
        return np.abs(face_values - np.sin(edges[1:])).max()

    assert error(16) / error(32) == pytest.approx(32, rel=0.1)


def rain(state, grid, t):
    return {"h": 1e-3 + 0 * state.h}


def test_rain_dilutes_tracer():
    """A user term that adds water adds no tracer."""
    options = {"grid.nx": 9, "grid.ny": 8, "time.dt": 20.0, "time.stepper": "gfb"}
    options |= {"run.executor": "xla", "run.dtype": "float64"}
    config = swmodel.load("rest", options | {"physics.tracers": [WENO5_TRACERS[0]]}, {}, terms=[rain])
    model = swmodel.Simulation(config)
    before = model.diagnostics()
    model.advance(50)
    after = model.diagnostics()
    assert after["mass"] > 1.0001 * before["mass"]
    assert after["dye"] == pytest.approx(before["dye"], rel=1e-13)
