"""User-defined terms, with and without parameters: what they may be, and what is refused before the first step."""

import re
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from support.network import stress, weights

import swmodel
from swmodel import Case, ConfigError, Parametric, Term, load, resolve
from swmodel import operators as op
from swmodel.config.loading.decisive import differences
from swmodel.config.loading.own_terms import with_fresh_terms
from swmodel.config.loading.toml import to_toml
from swmodel.model.resolve import resolved
from swmodel.model.validate import check_config
from swmodel.ocean.patch import Patch
from swmodel.ocean.variable import Variable
from swmodel.setup.setup import setup_of

SMALL = {"grid.nx": 12, "grid.ny": 8, "time.dt": 1.0, "run.steps": 1, "run.executor": "xla"}


def damp(state, grid, t, rate=1e-3):
    return {"u": -rate * state.u}


def rough(state, grid, t, roughness):
    return {"u": -op.mx_f(roughness) * state.u}


def far(state, grid, t):
    h = state.h
    for _ in range(20):
        h = op.mx_c(op.mx_f(h))
    return {"h": h}


def slow(state, grid, t, parameters):
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


class Icy(Case):
    strength: float = swmodel.option(1e-3, "1", "strength of the drag")

    def ice(self, config, at):
        return 1.0 * (at.x > 20e3)

    def ice_drag(self, state, grid, t, ice, gravity):
        return {"u": -self.strength * op.mx_f(ice) * state.u, "h": 0.0 * gravity * state.eta}


def made(*terms, **fields):
    return load(Case, SMALL, {}, fields=fields, terms=terms)


def problems(*terms, **fields):
    with pytest.raises(ConfigError) as caught:
        made(*terms, **fields)
    return list(caught.value.problems)


def test_schemes_are_shared_but_not_between_runs_of_a_term():
    """Programs are kept by the scheme; one that was made of a term may not serve another run."""
    icy, other = load(Icy, SMALL, {}), load(Icy, SMALL | {"case.strength": 2.0}, {})
    assert setup_of(icy).scheme == resolved(setup_of(icy)).scheme != setup_of(other).scheme
    for config in (icy, made(damp)):
        setup = setup_of(config)
        assert setup.scheme == setup_of(config.model_copy()).scheme
        assert with_fresh_terms(setup).scheme != with_fresh_terms(setup).scheme


def test_what_a_term_computes_is_recorded():
    def closing_over(number):
        return lambda state, grid, t: {"u": -number * state.u}

    same = [damp, closing_over(1e-3), partial(damp, rate=1e-3)]
    checksums = [resolve(made(term)).python.terms[0].split()[1] for term in same]
    assert checksums[0] == checksums[1] == checksums[2]
    before, now = (to_toml(resolve(made(closing_over(number)))) for number in (1e-3, 1.0001e-3))
    (told,) = differences(before, now)
    assert re.fullmatch(r"python.<lambda>: SHA-256 \w{12}\.\.\. before, SHA-256 \w{12}\.\.\. now", told)


#: {words of the message: what a term must not return}
WRONG = {
    "returns a NoneType": lambda state: None,
    'tendency of "eta"': lambda state: {"eta": state.h},
    "returns a bool": lambda state: {"u": True},
    "of shape (1, 9": lambda state: {"u": state.u.map(lambda x: x[None])},
    "TypeError: map": lambda state: {"u": state.u.map(lambda x: x[1:])},
    "a Patch on the block": lambda state: {"u": state.u.moved(3, 0)},
    "not finite for u": lambda state: {"u": state.u / (0 * state.h), "v": 1.0},
    "tendency of u depends on the block": lambda state: {"u": state.u.map(lambda x: x - x.mean())},
    "tendency of h depends on the block": lambda state: {"h": state.h.map(lambda x: np.roll(x, 3, 1))},
    "returns float32": lambda state: {"u": state.u.map(np.float32)},
    "has no w": lambda state: {"u": state.w},
    "TypeError: an array of shape (8, 12)": lambda state: {"u": state.u * np.ones((8, 12))},
    "branch": lambda state: {"u": state.u if state.u > 0 else 0.0},
    "IndexError": lambda state: {"u": [0][len("abc")] * state.u},
}


@pytest.mark.fault("a term from Python that returns no tendency, a wrong shape or precision, or raises")
@pytest.mark.fault("a term that branches on a field, gives NaN everywhere, or depends on the block of a cell")
@pytest.mark.parametrize("words", WRONG)
def test_wrong_term_is_refused_with_its_line(words):
    def term(state, grid, t):
        return WRONG[words](state)

    (found,) = problems(term)
    assert re.match(rf"terms: {re.escape(__file__)}:\d+: term:? ", found), found
    assert words in found


#: {words of the message: what is no term}
NO_TERMS = {
    "3 is no term": 3,
    "is no term": Icy,
    "(state, t)": lambda state, t: {},
    "depth is no coefficient": lambda state, grid, t, depth: {},
    "rough asks for roughness": rough,
    "far reads cells further than 16": far,
    "wind is a term of swmodel": Term("wind", damp),
    "mine has options": Term("mine", damp, options=Case),
    # With parameters.
    "network: TypeError": network_of(lambda w, x: w @ x[:8]),
    "network: IndexError": network_of(lambda w, x: w @ x, outputs=3),
    "array with 0 axes": network_of(lambda w, x: (w @ x)[0]),
    "returns float32": network_of(lambda w, x: (w @ x).astype("float32")),
    "not finite for h": network_of(lambda w, x: jnp.log(-(w @ x))),
    "parameters['rate'] must be finite": Parametric(slow, {"rate": np.array([1.0, np.nan])}),
    "arrays of floating-point numbers": Parametric(slow, {"rate": 3.0}),
    "viscosity is the name of a field": Parametric(viscosity, np.ones(2)),
    "(state, grid, t, parameters)": Parametric(lambda state, grid, t: {}, np.ones(2)),
    "3 is no term; ": Parametric(3, np.ones(2)),
}


@pytest.mark.fault("a term from Python that returns no tendency, a wrong shape or precision, or raises")
@pytest.mark.fault("a network that does not fit: inputs, outputs, precision, not finite")
def test_what_is_no_term_is_refused():
    for words, term in NO_TERMS.items():
        (found,) = problems(term)
        assert words in found
    with pytest.raises(ConfigError, match=r"^terms: .*\[function\]"):
        load(Case, SMALL, {}, terms=damp)
    (found,) = problems(damp, partial(damp, rate=1.0))
    assert "damp" in found
    assert problems(roughness=1.0)[0].startswith("fields: no field roughness")
    holes = {"roughness": lambda at: np.where(at.j == 2, np.nan, 1.0) + 0 * at.x}
    with pytest.raises(ConfigError, match=r"^roughness .*row 2"):
        swmodel.Simulation(Case, SMALL, fields=holes, terms=[rough])


def test_rate_of_a_term_limits_time_step():
    rate = Variable("mine_rate", "centre", "s-1", "", "rate of mine")

    def tendency(flow, params, now):
        return {"u": -op.mx_f(params["mine_rate"]) * flow.u}

    term = Term("mine", tendency, (rate,), rate=lambda values, dx, dy: values["mine_rate"])
    check_config(made(term, mine_rate=1e-3))
    with pytest.raises(ConfigError, match=r"^time.dt: .*friction"):
        check_config(made(term, mine_rate=10.0))


@pytest.mark.slow
def test_parameters_of_a_network_are_recorded():
    texts = [resolve(made(Parametric(stress, weights(seed)))).python.terms for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    assert setup_of(made(Parametric(stress, weights()))).scheme.width == 3  # it reaches as far as it reads


def test_network_gets_cells_row_by_row():
    """One input after the other, from the south-west."""
    h, u = (Patch(jnp.asarray(values), (0, 0)) for values in np.random.default_rng(0).random((2, 8, 12)))
    for number, (rows, columns, source) in {0: (-1, -1, h), 5: (0, 1, h), 16: (1, 0, u)}.items():
        (found,) = op.cell_by_cell(lambda around, n=number: around[n : n + 1], [h, u], 1)
        expected = np.roll(source.values, (-rows, -columns), (0, 1))[1:-1, 1:-1]
        np.testing.assert_array_equal(found.values, expected)


@pytest.mark.fault("an executor that cannot take parameters")
def test_executor_without_parameters_is_refused():
    term = Parametric(slow, {"rate": np.ones(())})
    with pytest.raises(ConfigError, match=r"test_own_terms.py:\d+: slow has parameters, .*xla"):
        check_config(load(Case, SMALL | {"run.executor": "native"}, {}, terms=[term]))
    assert resolve(load(Case, SMALL | {"run.executor": "auto"}, {}, terms=[term])).run.executor == "xla"
