"""Theorems about machine code, for the 24 configurations of support/covering.py, each compiled once in a test run."""

import jax
import numpy as np
import pytest
from support import covering
from support.marks import at_night
from support.stepping import after, build, exchange, fields_of, same_bits, step_by_step
from support.unchecked import unchecked

import swmodel
from swmodel.config import Config, ConfigError
from swmodel.config.options.discretisation import Scheme, Time
from swmodel.executors.reference import Reference
from swmodel.executors.reference.tendency import TERMS as reference_terms
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of, failures
from swmodel.model.forcing import Forcing
from swmodel.model.validate import check_config
from swmodel.ocean.terms import TERMS
from swmodel.ocean.timestep import RungeKutta
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

of_each_row = pytest.mark.parametrize("row", covering.named())
#: Largest errors relative to the largest value of a field.
BOUNDS = {"float64": 1e-12, "float32": 1e-5}
STEPS = 4


def test_array_covers_every_pair_of_options():
    held = set().union(*map(covering.pairs, covering.rows()))
    assert held & covering.FORBIDDEN == set()
    assert covering.wanted() - held == set()
    assert 16 <= len(covering.rows()) <= 24


def test_pairs_that_the_array_lacks_are_refused():
    for pair in covering.FORBIDDEN:
        options = {"time__stepper": "gfb"}
        for level in pair:
            options |= covering.TURNS[level][0] if level in covering.TURNS else covering.FACTORS[level[0]][level[1]]
        with pytest.raises(ConfigError):
            check_config(swmodel.load(covering.configuration(covering.NY, covering.NX, **options), environ={}))


def test_array_has_every_flux_stepper_and_term():
    """A new one joins FACTORS."""
    configs = [covering.configuration_of(row) for row in covering.named()]
    fluxes, steppers = (
        set(options.model_fields[name].annotation.__args__)
        for options, name in ((Scheme, "vorticity_flux"), (Time, "stepper"))
    )
    assert {config.scheme.vorticity_flux for config in configs} == fluxes
    assert {config.time.stepper for config in configs} == steppers
    assert {name for config in configs for name in setup_of(config).scheme.terms} == set(TERMS)


#: Keys of the equations that the array leaves out: numbers and components like others in it, and what becomes of them.
LIKE_OTHERS = {
    "physics": "gravity reduced_gravity full_gravity depth density linear_drag",
    "body_force": "x_amplitude x_phase y",
    "open_sides": "level transport_y current_y tide nodal",
    "sponge": "",
    "tide": "nodal",
    "wind_drag": "air_density",
    "scheme": "face_thickness",
    "drying": "",
}


def test_array_sets_every_key_of_the_equations():
    """A new key joins FACTORS, or LIKE_OTHERS."""
    given = {key for row in covering.named() for key in covering.overrides_of(row)}
    for section, others in LIKE_OTHERS.items():
        keys = Config.model_fields[section].annotation.model_fields
        assert {key for key in keys if f"{section}__{key}" not in given} == {*others.split()}, section


def assert_close(ours, truth, bound):
    for number, (a, b) in enumerate(zip(ours, truth, strict=True)):
        assert np.abs(a - b).max() <= bound * np.abs(b).max(), number


@pytest.mark.promise("the executor does not change the answer")
@of_each_row
def test_native_step_agrees_with_reference(row, monkeypatch):
    config = covering.configuration_of(row)
    monkeypatch.setitem(reference_terms, "own_drag", covering.own_drag_of_reference)
    reference = Reference(setup_of(config))
    truth = reference.advance(reference.start(), STEPS, config.time.dt).state
    ours = after("native", config, STEPS)[: len(truth)]
    assert_close(ours, truth, BOUNDS[config.run.dtype])


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("row", [*list(covering.named())[::2], *at_night(*list(covering.named())[1::2])])
@pytest.mark.parametrize("executor", ["xla"])
def test_xla_step_agrees(row, executor):
    config = covering.configuration_of(row)
    theirs = step_by_step("native", config, 2)
    ours = step_by_step(executor, config, 2)
    prognostic = len(setup_of(config).scheme.state._fields)
    assert_close(ours[:prognostic], theirs[:prognostic], BOUNDS[config.run.dtype])


@pytest.mark.promise("threads do not change the answer")
@pytest.mark.promise("chunk length does not change the answer")
@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@of_each_row
def test_threads_calls_and_restarts_have_same_bits(row):
    """One call; two threads in calls of one and three steps; and another model that goes on from a stored carry.

    Where the number of threads is asked for, each has a block of at least as many rows as the halo.
    """
    config = covering.configuration_of(row)
    assert 2 * setup_of(config).scheme.width <= covering.NY
    once = after("native", config, STEPS, threads=1)
    assert same_bits(after("native", config, 1, STEPS - 1, threads=2), once)
    first, carry = build("native", config)
    stored = jax.tree.map(np.array, advanced(first, carry, config, 2))
    second, _ = build("native", config)
    assert same_bits(fields_of(advanced(second, second.resume(stored), config, STEPS - 2)), once)


def advanced(model, carry, config, steps):
    """The carry after some steps, with the coefficients that hold then."""
    forcing, last = Forcing(setup_of(config), model.transport), int(carry.step) + steps
    while int(carry.step) < last:
        exchange(model, forcing, int(carry.step))
        carry = model.advance(carry, forcing.until(last) - int(carry.step))
    return carry


SWEPT = [
    row
    for row in covering.named()
    if not row.startswith("drying") and not isinstance(setup_of(covering.configuration_of(row)).method, RungeKutta)
]


@pytest.mark.parametrize("row", SWEPT)
def test_several_steps_in_a_sweep_have_same_bits(row):
    """The memory has the same values; the zero tendency of a closed face may have either sign."""
    config = covering.configuration_of(row)
    prognostic = len(setup_of(config).scheme.state._fields)
    once, swept = (after("native", config, 5, steps_per_sweep=many) for many in (1, 2))
    assert same_bits(swept[:prognostic], once[:prognostic])
    assert all(np.array_equal(a, b) for a, b in zip(swept, once, strict=True))


#: Rows of three steppers; test_derive.py transposes the product of options without a compiler.
DERIVED = [list(covering.named())[number] for number in (15, 17, 20)]


@pytest.mark.promise("derivatives are exact")
@pytest.mark.promise(
    "the native adjoint step is the transpose of the step, for every term, stepper and function that a term may use"
)
@pytest.mark.parametrize("row", [*DERIVED, *at_night(*(row for row in covering.named() if row not in DERIVED))])
def test_native_derivatives_are_exact(row):
    """Taylor slope 2, or a difference quotient where the scheme has kinks; tangent and adjoint agree.

    Through films derivatives grow from step to step, and so does what they lose by rounding.
    """
    config = covering.configuration_of(row)
    run = {"executor": "native", "dtype": "float64", "steps": 2 if row.startswith("drying") else 3}
    config = config.model_copy(update={"run": config.run.model_copy(update=run)})
    config = unchecked(config)  # a sponge on a ring is refused, but has its equations
    checks = Checks(Problem(config, controls_of(config), lambda view, k: view.state))
    found = {"dot_product_error": checks.dot_product_error(), "dtype": "float64"}
    assert failures(found | checks.taylor()) == []
