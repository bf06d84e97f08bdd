"""User terms, with and without parameters: which terms are accepted or refused before the first step; Patches."""

import re
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from support.network import initial_parameters, stress
from support.refusals import problems_of

from swmodel import Case, ConfigError, Parametric, Simulation, Term, load, resolve
from swmodel import operators as op
from swmodel.config.loading.fixed_on_resume import differences
from swmodel.config.loading.toml import to_toml
from swmodel.model.validate import check_config
from swmodel.ocean.patch import Patch, east, north
from swmodel.ocean.variable import Variable

SMALL = {"grid.nx": 12, "grid.ny": 8, "time.dt": 1.0, "run.steps": 1, "run.executor": "xla"}


def damp(state, grid, t, rate=1e-3):
    return {"u": -rate * state.u}


def drag(state, grid, t, roughness):
    return {"u": -op.mx_f(roughness) * state.u}


def wide_stencil(state, grid, t):
    h = state.h
    for _ in range(20):
        h = op.mx_c(op.mx_f(h))
    return {"h": h}


def parametric_damping(state, grid, t, parameters):
    return {"u": -parameters["rate"] * state.u}


def viscosity(state, grid, t, parameters):
    return {"u": parameters * state.u}


def network_of(function, outputs=1):
    """A term with parameters that applies a function to h cell by cell and unpacks this number of outputs."""

    def network(state, grid, t, parameters):
        results = op.cell_by_cell(lambda neighbourhood: function(parameters, neighbourhood), [state.h], 1)
        (first, *_) = [results[number] for number in range(outputs)]
        return {"h": first}

    return Parametric(network, np.ones((2, 9)))


def config_with_terms(*terms, **fields):
    return load(Case, SMALL, {}, fields=fields, terms=terms)


def damp_at(rate):
    return lambda state, grid, t: {"u": -rate * state.u}


def test_checksum_of_term_follows_its_computation():
    same, other = [damp, damp_at(1e-3), partial(damp, rate=1e-3)], damp_at(1.0001e-3)
    networks = [Parametric(stress, initial_parameters(seed)) for seed in (0, 0, 1)]
    configs = [resolve(config_with_terms(term)) for term in (*same, other, *networks)]
    checksums = [config.python.terms[0].split()[1] for config in configs]
    assert checksums[0] == checksums[1] == checksums[2] != checksums[3]
    assert checksums[4] == checksums[5] != checksums[6]
    (message,) = differences(to_toml(configs[1]), to_toml(configs[3]))
    assert re.fullmatch(r"python.<lambda>: SHA-256 \w{12}\.\.\. before, SHA-256 \w{12}\.\.\. now", message)


#: {words of the message: function whose value a term must not return}
WRONG_TERMS = {
    "returns a NoneType": lambda state: None,
    'tendency of "eta"': lambda state: {"eta": state.h},
    "returns a bool": lambda state: {"u": True},
    "of shape (1, 9": lambda state: {"u": state.u.map(lambda x: x[None])},
    "TypeError: map": lambda state: {"u": state.u.map(lambda x: x[1:])},
    "a Patch on the block": lambda state: {"u": state.u.shift(3, 0)},
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
@pytest.mark.parametrize("words", WRONG_TERMS)
def test_wrong_term_is_refused_with_its_line(words):
    def term(state, grid, t):
        return WRONG_TERMS[words](state)

    (problem,) = problems_of(config_with_terms, term)
    assert re.match(rf"terms: {re.escape(__file__)}:\d+: term:? ", problem), problem
    assert words in problem


#: {words of the message: object that is not a usable term}
UNUSABLE_TERMS = {
    "3 is not a term": 3,
    "is not a term": Case,
    "(state, t)": lambda state, t: {},
    "depth is not a coefficient": lambda state, grid, t, depth: {},
    "drag asks for roughness": drag,
    "wide_stencil reads cells further than 16": wide_stencil,
    "wind is a term of swmodel": Term("wind", damp),
    "ice_drag has options": Term("ice_drag", damp, options=Case),
    # With parameters.
    "network: TypeError": network_of(lambda w, x: w @ x[:8]),
    "network: IndexError": network_of(lambda w, x: w @ x, outputs=3),
    "array with 0 axes": network_of(lambda w, x: (w @ x)[0]),
    "returns float32": network_of(lambda w, x: (w @ x).astype("float32")),
    "not finite for h": network_of(lambda w, x: jnp.log(-(w @ x))),
    "parameters['rate'] must be finite": Parametric(parametric_damping, {"rate": np.array([1.0, np.nan])}),
    "arrays of floating-point numbers": Parametric(parametric_damping, {"rate": 3.0}),
    "viscosity is the name of a field": Parametric(viscosity, np.ones(2)),
    "(state, grid, t, parameters)": Parametric(lambda state, grid, t: {}, np.ones(2)),
    "3 is not a term; ": Parametric(3, np.ones(2)),
}


@pytest.mark.fault("a term from Python that returns no tendency, a wrong shape or precision, or raises")
@pytest.mark.fault("a network has the wrong inputs, outputs, parameters or precision, or is not finite")
def test_unusable_terms_are_refused():
    for words, term in UNUSABLE_TERMS.items():
        (problem,) = problems_of(config_with_terms, term)
        assert words in problem
    with pytest.raises(ConfigError, match=r"^terms: .*\[function\]"):
        load(Case, SMALL, {}, terms=damp)
    (problem,) = problems_of(config_with_terms, damp, partial(damp, rate=1.0))
    assert "damp" in problem
    assert problems_of(config_with_terms, roughness=1.0)[0].startswith("fields: no field roughness")
    fields_with_holes = {"roughness": lambda at: np.where(at.j == 2, np.nan, 1.0) + 0 * at.x}
    with pytest.raises(ConfigError, match=r"^roughness .*row 2"):
        Simulation(Case, SMALL, fields=fields_with_holes, terms=[drag])


def test_rate_of_term_limits_time_step():
    rate = Variable("ice_drag_rate", "centre", "s-1", "", "rate of the drag of ice")

    def tendency(flow, params, now):
        return {"u": -op.mx_f(params["ice_drag_rate"]) * flow.u}

    term = Term("ice_drag", tendency, (rate,), rate=lambda values, dx, dy: values["ice_drag_rate"])
    check_config(config_with_terms(term, ice_drag_rate=1e-3))
    with pytest.raises(ConfigError, match=r"^time.dt: .*friction"):
        check_config(config_with_terms(term, ice_drag_rate=10.0))


def test_network_gets_neighbour_cells_row_by_row():
    """The neighbours in the first input come before those in the second, each from the south-west."""
    h, u = (Patch(jnp.asarray(values), (0, 0)) for values in np.random.default_rng(0).random((2, 8, 12)))
    for number, (rows, columns, source) in {0: (-1, -1, h), 5: (0, 1, h), 16: (1, 0, u)}.items():
        (result,) = op.cell_by_cell(lambda neighbourhood, n=number: neighbourhood[n : n + 1], [h, u], 1)
        expected = np.roll(source.values, (-rows, -columns), (0, 1))[1:-1, 1:-1]
        np.testing.assert_array_equal(result.values, expected)


@pytest.mark.fault("an executor that cannot take parameters")
def test_executor_that_cannot_take_parameters_is_refused():
    term = Parametric(parametric_damping, {"rate": jnp.ones((), jnp.bfloat16)})
    with pytest.raises(ConfigError, match=r"test_user_terms.py:\d+: parametric_damping has parameters, .*xla"):
        check_config(load(Case, SMALL | {"run.executor": "native"}, {}, terms=[term]))
    assert resolve(load(Case, SMALL | {"run.executor": "auto"}, {}, terms=[term])).run.executor == "xla"


# Arithmetic and functions of Patches: on their common cells, by the library of their arrays


RANDOM_VALUES = np.random.default_rng(3).uniform(0.5, 1.5, (2, 5, 6))
FUNCTIONS = {
    "sqrt": lambda a, b: np.sqrt(a) * np.cbrt(b),
    "power": lambda a, b: a**2 + np.power(b, 3) + np.square(a),
    "absolute": lambda a, b: abs(a - 1.0) + np.abs(b - a),
    "exp, log, cos": lambda a, b: np.exp(a) - np.log(b) * np.cos(a),
    "maximum": lambda a, b: np.maximum(a, b) - np.minimum(1.0, b),
    "where": lambda a, b: np.where(a > b, a, 2.0) + np.where(a <= 1.0, b, 0.5 * a) + np.where(b < a, 1.0, b),
    "equal": lambda a, b: np.where(a == b, 1.0, a) + np.where(a != b, b, 2.0) + np.where(np.equal(a, a), a, b),
    "and, or": lambda a, b: np.where((a > 1.0) & (b > 1.0), a, b) + np.where((a > 1.0) | np.less(b, 1.0), a, b),
    "tanh": lambda a, b: np.tanh(a) * np.arctan2(a, b),
    "numbers first": lambda a, b: 2.0 / a - 3 / b + np.float64(2) * a + (1 - b) - np.float64(1) / a,
    "numbers last": lambda a, b: a / 2 - b * np.float64(3) + np.where(b >= 1, a, 0.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("xp", "dtype"), [(np, "float64"), (np, "float32"), (jnp, "float32")])
def test_functions_of_patches_are_those_of_their_values(name, xp, dtype):
    function, (a, b) = FUNCTIONS[name], RANDOM_VALUES
    expected = function(a[:, 1:], b[:, :-1])
    result = function(east(Patch(xp.asarray(a, dtype), (0, 0))), Patch(xp.asarray(b, dtype), (0, 0)))
    assert isinstance(result.values, np.ndarray) == (xp is np)
    assert result.values.dtype == dtype
    assert result.start == (0, 0)
    np.testing.assert_allclose(result.values, expected, rtol=1e-15 if dtype == "float64" else 2e-6)


def test_patches_are_combined_on_common_cells():
    a, b = RANDOM_VALUES
    patch_a, patch_b = Patch(a, (0, 0)), Patch(b, (0, 0))
    result = np.where(north(patch_a) > 1.0, east(patch_b), patch_a)
    assert result.start == (0, 0)
    np.testing.assert_array_equal(result.values, np.where(a[1:, :-1] > 1, b[:-1, 1:], a[:-1, :-1]))


REFUSED_OPERATIONS = {
    "array of shape": (lambda a: a * RANDOM_VALUES[0], lambda a: jnp.asarray(RANDOM_VALUES[0]) * a),
    "np.add": (lambda a: np.add(a, 1.0, out=RANDOM_VALUES[0]), lambda a: np.add.reduce(a)),
    "np.roll": (lambda a: np.roll(a, 1, 0),),
    "branch": (lambda a: a if a > 0 else -a, lambda a: a if a == 0 else -a, lambda a: a > 0.5 and a < 1.0),
}


def test_patch_refuses_unsupported_operations():
    for words, operation in ((words, each) for words, group in REFUSED_OPERATIONS.items() for each in group):
        with pytest.raises(TypeError, match=words):
            operation(Patch(RANDOM_VALUES[1], (0, 0)))
