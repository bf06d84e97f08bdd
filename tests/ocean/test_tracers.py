"""Tracers, as many as one wants: each is what it would be alone, whatever executes, restarts or differentiates it."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from support.random_case import configuration, random_fields
from support.stepping import after, same_bits, step_by_step

import swmodel
from swmodel.config import ConfigError, from_toml, to_toml
from swmodel.config.loading.decisive import differences
from swmodel.executors.registry import EXECUTORS
from swmodel.files.restart.folder import path_of
from swmodel.gradients import Problem

pytestmark = pytest.mark.slow

NY, NX = 9, 11
#: Two tracers with initial fields and diffusivities of their own.
DYE, SALT = (
    {"name": "dye", "initial": 2.0, "diffusivity": 300.0},
    {"name": "salt", "initial": 35.0, "diffusivity": 70.0},
)
SMALL = {"grid.nx": 12, "grid.ny": 9, "grid.dx": 5e3, "grid.dy": 5e3, "time.dt": 20.0, "run.dtype": "float64"}


def of(*tracers, salt=None, **options):
    """A configuration with these tracers; the case gives the field of the dye, and of the salt if there is one."""
    fields = random_fields(NY, NX, land=0.2, amplitude=0.3)
    fields["dye"] = fields.pop("tracer")
    fields |= {} if salt is None else {"salt": salt}
    return configuration(NY, NX, fields, physics__tracers=tracers, grid__periodic_x=False, **options)


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize(("executor", "stepper"), [*((each, "ab3") for each in EXECUTORS), ("native", "gfb")])
def test_two_tracers_are_to_the_bit_those_of_two_runs_with_one_each(executor, stepper):
    options = {"sponge__rate": 1e-4, "sponge__width": 2e4, "time__stepper": stepper}
    both, dye, salt = (step_by_step(executor, of(*each, **options), 7) for each in ((DYE, SALT), (DYE,), (SALT,)))
    assert same_bits(both[:4], dye[:4])
    assert same_bits([*both[:3], both[4]], salt[:4])
    assert np.ptp(both[4] / (1.0 if stepper == "gfb" else both[0])) == pytest.approx(35.0)  # on land there is none
    assert not same_bits(dye[3:4], after(executor, of(DYE | {"diffusivity": 0.0}, **options), 7)[3:4])


@pytest.mark.parametrize(
    ("executor", "options"),
    [
        ("native", {"sphere": True, "time__stepper": "ab3"}),
        ("xla", {"open_sides__sides": ("west", "north"), "time__stepper": "rk3"}),
    ],
    ids=["native-sphere", "xla-open"],
)
def test_diffusion_agrees_with_the_reference(executor, options):
    config = of(DYE, SALT, **options)
    truth, ours = (step_by_step(each, config, 5) for each in ("reference", executor))
    for expected, found in zip(truth, ours, strict=False):
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def test_diffusion_conserves_the_content_and_leaves_a_constant():
    config = of(DYE, SALT | {"diffusivity": 5e4}, physics__gravity=1e-3, time__stepper="ab3")
    before, now = (after("reference", config, steps) for steps in (0, 50))
    assert now[3].sum() == pytest.approx(before[3].sum(), rel=1e-13)
    wet = now[4] > 0
    np.testing.assert_allclose(now[4][wet], 35.0 * now[0][wet], rtol=1e-12)


def test_a_wave_of_the_concentration_decays_as_its_diffusivity_says():
    """In water at rest, c = cos(kx) decays as exp(- kappa (2 sin(k dx/2) / dx)² t)."""
    wave = np.cos(2 * np.pi * np.arange(NX) / NX) + np.zeros((NY, 1))
    fields = {"depth": np.full((NY, NX), 50.0), "dye": wave}
    options = {"grid__periodic_y": True, "physics__viscosity": 0.0, "time__stepper": "rk4", "time__dt": 100.0}
    config = configuration(NY, NX, fields, physics__tracers=(DYE,), **options)
    decay = 300.0 * (2 * np.sin(np.pi / NX) / 4e3) ** 2
    h, _, _, content = after("native", config, 200)[:4]
    np.testing.assert_allclose(content / h, wave * np.exp(-decay * 2e4), atol=1e-10)


@pytest.mark.night
def test_the_gradient_by_the_second_initial_field_is_exact_and_that_of_a_run_of_its_own():
    found = {}
    salt = np.linspace(30.0, 36.0, NY * NX).reshape(NY, NX)
    for executor, tracers in (("xla", (SALT,)), ("native", (SALT,)), ("native", (DYE, SALT))):
        config = of(*tracers, salt=salt, run__executor=executor, run__steps=4)
        problem = Problem(config, ["salt"], lambda view, k: jnp.sum(view.state.salt[2:4] ** 2))
        value, gradient = problem.value_and_gradient(problem.first_guess(), lambda series: series[-1])
        found[executor, len(tracers)] = np.asarray(gradient["salt"])
    assert np.any(found["native", 1])
    np.testing.assert_array_equal(found["native", 2], found["native", 1])
    np.testing.assert_allclose(found["native", 1], found["xla", 1], rtol=1e-11, atol=1e-9)


def test_a_run_with_two_tracers_goes_on_from_its_restart_with_the_same_bits_and_writes_them(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'case.name = "jet"\noutput = {fields = ["h", "dye", "salt"], every_steps = 4}\n'
        'restart.every_steps = 3\ntime.stepper = "gfb"\n'
        '[[tracer]]\nname = "dye"\ndiffusivity = 30\nadvection = "weno5"\n[[tracer]]\nname = "salt"\ninitial = 35\n'
    )
    fields = {"dye": lambda at: at.x / at.length_x + 0 * at.y}
    config = swmodel.load(file, SMALL | {"run.steps": 8, "run.executor": "reference"}, {}, fields=fields)
    assert from_toml(to_toml(swmodel.load(file, {}, {}))) == swmodel.load(file, {}, {})
    swmodel.Simulation(config).run(tmp_path / "whole")
    part = swmodel.Simulation(config, restart=path_of(tmp_path / "whole", 6))
    part.advance(2)
    end = swmodel.Simulation(config, restart=path_of(tmp_path / "whole", 8))
    assert all((a == b).all() for a, b in zip(part.state, end.state, strict=True))
    with xarray.open_dataset(tmp_path / "whole" / "output.nc") as data:
        np.testing.assert_array_equal(data["dye"][-1], end.field("dye"))
        assert data["salt"].long_name == "concentration of the tracer salt"
        np.testing.assert_allclose(data["salt"], 35.0)
    with xarray.open_dataset(tmp_path / "whole" / "diagnostics.nc") as data:
        assert {"dye", "salt"} <= set(data.variables)


def test_a_file_gives_the_initial_field_of_a_tracer(tmp_path):
    first = {**SMALL, "physics.tracers": [DYE], "output.fields": ["dye"], "run.steps": 1, "run.executor": "reference"}
    field = {"dye": lambda at: at.x / at.length_x + 0 * at.y}
    swmodel.Simulation(swmodel.load("rest", first, {}, fields=field)).run(tmp_path / "first")
    read = {"input.dye": f"{tmp_path / 'first' / 'output.nc'}:dye@0"}
    model, truth = (swmodel.Simulation(swmodel.load("rest", first | more, {}, fields=given)) for more, given in (
        (read, None), ({}, field)))  # fmt: skip
    np.testing.assert_array_equal(model.field("dye"), truth.field("dye"))


def test_a_configuration_of_0_8_0_is_that_of_one_tracer_called_tracer(tmp_path):
    now = swmodel.load("rest", {"physics.tracers": [{"name": "tracer", "initial": 1.5}]}, {})
    old = tmp_path / "old.toml"
    old.write_text('case.name = "rest"\ninput.tracer = ""\n[tracer]\ntransport = "upwind"\ninitial = 1.5\n')
    assert swmodel.load(old, {}, {}) == now
    assert swmodel.load("rest", {}, {"SWMODEL_TRACER_TRANSPORT": "upwind", "SWMODEL_TRACER_INITIAL": "1.5"}) == now
    text = re.sub(r"tracers = \[.*?\n\]\n", "", to_toml(now), flags=re.DOTALL)
    text += '[tracer]\ntransport = "upwind"\ninitial = 1.5\n'
    assert from_toml(text) == now
    assert differences(text, to_toml(now)) == []
    none = swmodel.load("rest", {}, {})
    text = to_toml(none).replace("tracers = []\n", "") + '[tracer]\ntransport = "none"\ninitial = 0.0\n'
    assert from_toml(text.replace('eta = ""', 'eta = ""\ntracer = ""')) == none
    assert differences(text, to_toml(none)) == []


REFUSED = {
    '[[tracer]]\nname = "a"\n[[tracer]]\nname = "a"': 'called "a"',
    '[[tracer]]\nname = "eta"': '"eta"',
    '[[tracer]]\nname = "a b"': "letters",
    "[[tracer]]\ninitial = 3.0": "name",
    '[[tracer]]\nname = "a"\ncolour = "red"': "colour",
    '[[tracer]]\nname = "a"\ndiffusivity = -1.0': "diffusivity",
    '[tracer]\ntransport = "upwind"\n[input]\ndye = "dye.nc"': "input.dye",
    '[tracer]\ntransport = "diffusion"': "tracer.transport",
    'physics.tracers = [{name = "a"}]\n[tracer]\ntransport = "upwind"': "[[tracer]]",
    'output.fields = ["dye"]\n[[tracer]]\nname = "a"': "output.fields",
}


@pytest.mark.parametrize("tables", REFUSED)
def test_tables_that_cannot_be_meant_are_refused_in_one_line(tmp_path, tables):
    file = tmp_path / "run.toml"
    file.write_text(f'case.name = "rest"\n{tables}\n')
    with pytest.raises(ConfigError) as caught:
        swmodel.load(file, {}, {})
    (line,) = caught.value.problems
    assert REFUSED[tables] in line
    assert f"{file}:" in line
