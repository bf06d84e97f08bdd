"""Terms with parameters: what they may be, and what is said of a network that does not fit, before the first step."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.network import stress, weights

from swmodel import Case, ConfigError, Parametric, functional, load, resolve
from swmodel import operators as op
from swmodel.errors import UsageError
from swmodel.model.validate import check_config
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 8, "time.dt": 1.0, "run.steps": 1, "run.executor": "xla"}


def damp(state, grid, t, parameters):
    return {"u": -parameters["rate"] * state.u}


def viscosity(state, grid, t, size):
    return {"u": size * state.u}


def network_of(function, outputs=1):
    """A term that applies a function to h cell by cell, and takes apart so many outputs."""

    def network(state, grid, t, weights):
        found = op.cell_by_cell(lambda around: function(weights, around), [state.h], 1)
        (first, *_) = [found[number] for number in range(outputs)]
        return {"h": first}

    return Parametric(network, np.ones((2, 9)))


def made(*terms, **options):
    return load(Case, SMALL | options, {}, terms=terms)


def problem(*terms):
    with pytest.raises(ConfigError) as caught:
        made(*terms)
    (found,) = caught.value.problems
    return found


def test_what_a_network_computes_is_recorded_with_the_values_of_its_parameters():
    texts = [resolve(made(Parametric(stress, weights(seed)))).python.terms for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    assert setup_of(made(Parametric(stress, weights()))).scheme.width == 3  # it reaches as far as it reads


@pytest.mark.night
def test_cells_around_are_given_row_by_row():
    """One input after the other, from the south-west."""

    def pick(state, grid, t, which):
        (found,) = op.cell_by_cell(lambda around: (which @ around)[None], [state.h, 10.0 * state.h], 1)
        return {"h": found}

    carry, static, step = functional(Case, SMALL | {"time.stepper": "rk3"}, terms=[Parametric(pick, np.zeros(18))])
    eta = jnp.asarray(np.random.default_rng(0).standard_normal((8, 12)), "float32")
    carry = carry._replace(state=carry.state._replace(h=100 + 0 * eta))
    quiet = static._replace(params=static.params | {"gravity": 0 * static.params["gravity"]})
    h = carry.state.h + eta

    def change(which):
        given = carry._replace(state=carry.state._replace(h=h))
        return step(given, step.with_parameters(quiet, pick=1e-6 * which), 0).state.h - h

    for number, (rows, columns, size) in {0: (-1, -1, 1), 5: (0, 1, 1), 16: (1, 0, 10)}.items():
        expected = size * np.roll(np.asarray(h), (-rows, -columns), (0, 1))[1:-1, 1:-1]
        found = change(np.eye(18)[number] * 1e6 * 1e-3)[1:-1, 1:-1] / 1e-3
        np.testing.assert_allclose(found, expected, rtol=2e-2)


@pytest.mark.fault("a network that does not fit: inputs, outputs, precision, not finite")
@pytest.mark.parametrize(
    ("term", "message"),
    [
        (network_of(lambda w, x: w @ x[:8]), "network: TypeError: dot_general requires contracting dimensions"),
        (network_of(lambda w, x: w @ x, outputs=3), "network: IndexError: list index out of range, in: (first, *_)"),
        (network_of(lambda w, x: (w @ x)[0]), "ValueError: cell_by_cell: the function returns an array with 0 axes"),
        (network_of(lambda w, x: (w @ x).astype("float32")), "returns float32 of shape"),
        (network_of(lambda w, x: jnp.log(-(w @ x))), "not finite for h, of fields from 1 to 2"),
        (Parametric(damp, {"rate": np.array([1.0, np.nan])}), "damp: parameters['rate'] must be finite"),
        (
            Parametric(damp, {"rate": 3.0}),
            "damp: its parameters must be a pytree with arrays of floating-point numbers",
        ),
        (Parametric(viscosity, np.ones(2)), "viscosity is the name of a field"),
        (
            Parametric(lambda state, grid, t: {}, np.ones(2)),
            "needs a function of (state, grid, t, parameters)",
        ),
        (Parametric(3, np.ones(2)), "terms: 3 is no term; needs a function of (state, grid, t, parameters)"),
    ],
)
def test_a_network_that_does_not_fit_is_said_with_its_line_before_the_first_step(term, message):
    found = problem(term)
    assert message in found
    assert re.match(rf"terms: ({re.escape(__file__)}:\d+|3)", found), found


@pytest.mark.fault("an executor that cannot take parameters")
def test_who_cannot_compute_it_says_so():
    term = Parametric(damp, {"rate": np.ones(())})
    with pytest.raises(ConfigError, match=r"test_parametric.py:\d+: damp has parameters, .*; use xla"):
        check_config(made(term, **{"run.executor": "native"}))
    assert resolve(made(term, **{"run.executor": "auto"})).run.executor == "xla"


@pytest.mark.night
@pytest.mark.slow
def test_the_pure_step_takes_other_parameters_and_is_differentiated_by_them():
    """Of one step of Euler's, du/d(rate) = - dt u."""
    carry, static, step = functional(Case, SMALL, terms=[Parametric(damp, {"rate": np.zeros((1, 1)), "name": "mine"})])
    carry = carry._replace(state=carry.state._replace(u=1.0 + carry.state.u))
    with pytest.raises(UsageError, match="^no term drag with parameters; there are damp$"):
        step.with_parameters(static, drag=1.0)

    def speed(rate):
        return jnp.sum(step(carry, step.with_parameters(static, damp={"rate": rate}), 0).state.u)

    wet = float(jnp.sum(carry.state.u * 0 + 1))
    assert float(jax.grad(lambda rate: speed(rate))(jnp.zeros((1, 1), "float32"))[0, 0]) == pytest.approx(-wet, rel=0.2)
