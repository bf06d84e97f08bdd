"""Properties of the compiled step, for the 24 configurations of support/covering_array.py, each compiled once."""

from functools import cache, partial

import jax
import numpy as np
import pytest
from support import covering_array, stepping
from support.marks import night_and_release_params, night_params
from support.stepping import assert_close, has_same_bits, make_executor, run_chunks, run_single_steps
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.config import Config, ConfigError
from swmodel.config.options.discretisation import SchemeOptions, TimeOptions
from swmodel.executors.reference import ReferenceModel
from swmodel.executors.reference.tendency import TERMS as reference_terms
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of, failures
from swmodel.model.validate import check_config
from swmodel.model.varying_params import VaryingParams
from swmodel.ocean.terms import TERMS
from swmodel.ocean.timestep import RungeKutta
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

ROWS = list(covering_array.rows_by_name())
for_each_row = pytest.mark.parametrize("row", ROWS)
#: Largest errors relative to the largest value of a field.
MAX_RELATIVE_ERROR = {"float64": 1e-12, "float32": 1e-5}
STEPS = 5


def test_array_covers_every_pair_of_options():
    covered_pairs = set().union(*map(covering_array.pairs_of_levels, covering_array.rows()))
    assert covered_pairs & covering_array.FORBIDDEN == set()
    assert covering_array.required_pairs() - covered_pairs == set()
    assert 16 <= len(covering_array.rows()) <= 24


def test_pairs_that_the_array_lacks_are_refused():
    for pair in covering_array.FORBIDDEN:
        first_options, second_options = (covering_array.alternatives_of(level)[0] for level in pair)
        options = {"time__stepper": "gfb"} | first_options | second_options
        config = covering_array.configuration(covering_array.NY, covering_array.NX, **options)
        with pytest.raises(ConfigError):
            check_config(swmodel.load(config, environ={}))


def test_array_has_every_flux_stepper_and_term():
    """A new one must be added to FACTORS. A moving floor, with which there are no derivatives, has its own tests."""
    configs = [covering_array.configuration_of(row) for row in ROWS]
    fluxes, steppers = SchemeOptions.model_fields["vorticity_flux"], TimeOptions.model_fields["stepper"]
    assert {config.scheme.vorticity_flux for config in configs} == {*fluxes.annotation.__args__}
    assert {config.time.stepper for config in configs} == {*steppers.annotation.__args__}
    assert {name for config in configs for name in setup_of(config).scheme.term_names} == set(TERMS) - {"bed_motion"}


#: Keys of the equations that no row sets, by section: each acts like another of its section, or not on the step itself.
KEYS_WITHOUT_FACTOR = {
    "physics": "gravity reduced_gravity full_gravity depth density linear_drag",
    "body_force": "x_amplitude x_phase y",
    "open_boundaries": "level transport_y current_y tide nodal atlas atlas_folder",
    "tide": "nodal",
    "wind_drag": "air_density",
} | dict.fromkeys(("sponge", "scheme", "drying"), "")


def test_array_sets_every_key_of_the_equations():
    """A new key must be added to FACTORS, or to KEYS_WITHOUT_FACTOR."""
    keys_of_array = {key for row in ROWS for key in covering_array.overrides_of(row)}
    for section, omitted_keys in KEYS_WITHOUT_FACTOR.items():
        keys = Config.model_fields[section].annotation.model_fields
        assert {key for key in keys if f"{section}__{key}" not in keys_of_array} == {*omitted_keys.split()}, section


ONE_THREAD_ONE_STEP = {"threads": 1, "steps_per_sweep": 1}


@cache
def fields_after_steps(row):
    """State and memory after STEPS native steps in one call, with one thread and one step per sweep."""
    return run_chunks("native", covering_array.configuration_of(row), STEPS, **ONE_THREAD_ONE_STEP)


@pytest.mark.promise("the executor does not change the answer")
@for_each_row
def test_native_step_agrees_with_reference(row, monkeypatch):
    config = covering_array.configuration_of(row)
    monkeypatch.setitem(reference_terms, "user_drag", covering_array.user_drag_for_reference)
    reference = ReferenceModel(setup_of(config))
    expected = reference.advance(reference.start(), STEPS, config.time.dt).state
    assert_close(fields_after_steps(row)[: len(expected)], expected, MAX_RELATIVE_ERROR[config.run.dtype])


@pytest.mark.fully_optimised
@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize(
    "row", [*ROWS[:16:8], *night_params(*ROWS[4::8], ROWS[16]), *night_and_release_params(ROWS[1::2] + ROWS[2::4], 3)]
)
def test_xla_step_agrees_with_native_step(row):
    config = covering_array.configuration_of(row)
    xla_fields, native_fields = (run_single_steps(executor, config, 2) for executor in ("xla", "native"))
    n_prognostic = len(setup_of(config).scheme.state_type._fields)
    assert_close(xla_fields[:n_prognostic], native_fields[:n_prognostic], MAX_RELATIVE_ERROR[config.run.dtype])


@pytest.mark.promise("threads do not change the answer")
@pytest.mark.promise("chunk length does not change the answer")
@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@for_each_row
def test_threads_calls_and_restarts_have_same_bits(row):
    """The runs are one call, calls of one and four steps on two threads, and a model that continues a stored carry.

    The native step uses both threads only if each computes at least as many rows as the halo has.
    """
    config = covering_array.configuration_of(row)
    assert 2 * setup_of(config).scheme.halo_width <= covering_array.NY
    expected = fields_after_steps(row)
    assert has_same_bits(run_chunks("native", config, 1, STEPS - 1, threads=2), expected)
    (first, carry), (second, _) = (make_executor("native", config, **ONE_THREAD_ONE_STEP) for _ in range(2))
    make_forcing = partial(VaryingParams, setup_of(config), first.transport)
    stored_carry = jax.tree.map(np.array, stepping.advance(first, carry, 2, make_forcing()))
    last_carry = stepping.advance(second, second.resume(stored_carry), STEPS - 2, make_forcing())
    assert has_same_bits(stepping.arrays_of_carry(last_carry), expected)


METHODS = {row: setup_of(covering_array.configuration_of(row)).method for row in ROWS}
#: The rows in which a sweep can take several steps, because a step has one pass.
ONE_PASS_ROWS = [row for row in ROWS if row[:6] != "drying" and not isinstance(METHODS[row], RungeKutta)]


@pytest.mark.parametrize("row", [*ONE_PASS_ROWS[::2], *night_params(*ONE_PASS_ROWS[1::2])])
def test_several_steps_in_a_sweep_have_same_bits(row):
    """The stepper's memory has equal values, but the zero tendency of a closed face may have either sign."""
    config = covering_array.configuration_of(row)
    n_prognostic = len(setup_of(config).scheme.state_type._fields)
    expected, fields = fields_after_steps(row), run_chunks("native", config, STEPS, threads=1, steps_per_sweep=2)
    assert has_same_bits(fields[:n_prognostic], expected[:n_prognostic])
    assert all(np.array_equal(a, b) for a, b in zip(fields, expected, strict=True))


#: A row whose adjoint step test_cuda.py needs, too, and one with the default stepper; at night also ab2 and drying.
DAY_ROWS, NIGHT_ROWS = [ROWS[5], ROWS[17]], [ROWS[0], ROWS[20]]
OTHER_ROWS = [row for row in ROWS if row not in (*DAY_ROWS, *NIGHT_ROWS)]


@pytest.mark.promise("derivatives are exact")
@pytest.mark.promise(
    "the native adjoint step is the transpose of the step, for every term, stepper and function that a term may use"
)
@pytest.mark.parametrize("row", [*DAY_ROWS, *night_params(*NIGHT_ROWS), *night_and_release_params(OTHER_ROWS, every=4)])
def test_native_derivatives_are_exact(row):
    """The Taylor slope is 2, or a difference quotient agrees if the scheme has kinks; tangent and adjoint agree.

    Rows with drying take only two steps, because derivatives in thin layers, and their rounding errors, grow fast.
    """
    config = covering_array.configuration_of(row)
    run = {"executor": "native", "dtype": "float64", "steps": 2 if row.startswith("drying") else 3}
    config = config.model_copy(update={"run": config.run.model_copy(update=run)})
    config = resolve_without_checks(config)  # a sponge on a periodic axis is refused, but can be computed
    checks = Checks(Problem(config, controls_of(config), lambda view, k: view.state))
    exactness = checks.taylor() | {"dot_product_error": checks.dot_product_error(), "dtype": "float64"}
    assert failures(exactness) == []
