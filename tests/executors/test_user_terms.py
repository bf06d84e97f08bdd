"""User terms act as the terms of the model do, also if they are redefined or read a value that has changed."""

import logging
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from support.stepping import assert_close

import swmodel
from swmodel import Parametric
from swmodel import operators as op
from swmodel.cases.double_gyre import DoubleGyre
from swmodel.errors import UsageError
from swmodel.gradients import Problem
from swmodel.model import resolve

pytestmark = [pytest.mark.slow, pytest.mark.compiled_quickly]

SMALL_OPTIONS = {"grid.nx": 14, "grid.ny": 11, "grid.dx": 2e4, "grid.dy": 2e4}
SMALL_OPTIONS |= {"run.dtype": "float64", "physics.viscosity": 50}


def drag_rate(at):
    return 1e-4 * (1 + np.sin(at.x / 1e5) * np.cos(at.y / 1e5))


def damp(state, grid, t, damping):
    return {"u": -(op.mx_f(damping) * state.u), "v": -(op.my_f(damping) * state.v)}


def simulation(executor, fields=None, terms=(), **options):
    options = {name.replace("__", "."): value for name, value in options.items()}
    overrides = SMALL_OPTIONS | {"run.executor": executor, "time.dt": 600.0} | options
    return swmodel.Simulation("double_gyre", overrides, fields=fields, terms=terms)


@pytest.mark.promise("fields and terms from Python equal those of the model")
@pytest.mark.parametrize("executor", ["xla", "native"])
def test_user_drag_has_bits_of_built_in_drag(executor):
    """The native step adds both in the same place and reads coefficients in the same way; `xla` agrees to round-off."""
    frictionless = {"physics__linear_drag": 0.0, "physics__viscosity": 0.0}
    user_drag = simulation(executor, {"damping": drag_rate}, [damp], **frictionless)
    built_in_drag = simulation(executor, {"linear_drag": drag_rate}, **frictionless)
    for model in (user_drag, built_in_drag):
        model.advance(25)
    assert_close(user_drag.state, built_in_drag.state, 0 if executor == "native" else 1e-13)
    without_drag = simulation("reference", **frictionless)
    without_drag.advance(25)
    assert np.abs(without_drag.state.u - built_in_drag.state.u).max() > 1e-3 * np.abs(built_in_drag.state.u).max()


@pytest.mark.fault("a user's term is redefined under its name in one process")
def test_redefined_term_replaces_the_old_one():
    """If a cell of a notebook is executed again, the new function has the name, file and line of the old one."""
    velocities = []
    for drag in (1e-4, 3e-4, 1e-4):
        text = f"def damp(state, grid, t): return {{'u': -{drag} * state.u, 'v': -{drag} * state.v}}"
        exec(compile(text, "<cell>", "exec"), namespace := {})
        model = simulation("native", terms=[namespace["damp"]], physics__linear_drag=0.0)
        reference = simulation("reference", physics__linear_drag=drag)
        model.advance(5)
        reference.advance(5)
        assert_close(model.state, reference.state, 1e-12)
        velocities.append(np.array(model.state.u))
    assert np.array_equal(velocities[0], velocities[2])
    assert np.abs(velocities[1] - velocities[0]).max() > 1e-6 * np.abs(velocities[0]).max()


RATE, RATE_BY_NAME = 0.0, {"rate": 0.0}


def damp_by_global(state, grid, t):
    return {"u": -RATE * state.u}


def damp_by_dict(state, grid, t):
    return {"u": -RATE_BY_NAME["rate"] * state.u}


class Damping:
    rate = 0.0

    def damp(self, state, grid, t):
        return {"u": -self.rate * state.u}


def damp_with_parameters(state, grid, t, weights):
    return {"u": -RATE * weights[0] * state.u}


class DampedGyre(DoubleGyre):
    def damping(self, state, grid, t):
        return {"u": -RATE * state.u}


DAMPING = Damping()


def set_rate(rate):
    global RATE
    RATE = DAMPING.rate = RATE_BY_NAME["rate"] = rate


RATES = 1e-5, 1e-3, 1e-5
#: Terms by the place from which they read a rate, and their case.
TERMS_THAT_READ_A_RATE = {
    "global": ([damp_by_global], "double_gyre"),
    "dict": ([damp_by_dict], "double_gyre"),
    "bound method": ([DAMPING.damp], "double_gyre"),
    "parameters": ([Parametric(damp_with_parameters, np.ones(2))], "double_gyre"),
    "case": ([], DampedGyre),
}


def result_of_run(api, case, terms):
    """The velocity after six steps; with "functional" after one step, and with "problem" a gradient."""
    options = SMALL_OPTIONS | {"run.steps": 6, "run.executor": "native" if api == "native" else "xla"}
    config = swmodel.load(case, options, {}, fields={"u": 0.1}, terms=terms)
    if api == "functional":
        carry, static, step = swmodel.functional(config)
        return np.array(step(carry, static, 0).state.u)
    if api == "problem":
        problem = Problem(config, ["eta"], lambda view, k: view.state)
        return problem.value_and_gradient(problem.first_guess(), lambda series: jnp.sum(series.u[-1] ** 2))[1]["eta"]
    model = swmodel.Simulation(config)
    model.advance(6)
    return np.array(model.state.u)


@cache
def result_for_constant(api, rate):
    """The result with a separate function for each rate."""
    return result_of_run(api, "double_gyre", [lambda state, grid, t: {"u": -rate * state.u}])


@pytest.mark.fault("a sweep over a value that a term reads (global, dict, method, case) always gives the first answer")
@pytest.mark.night
@pytest.mark.parametrize(
    ("api", "place"),
    [("xla", place) for place in TERMS_THAT_READ_A_RATE]
    + [("native", "global"), ("functional", "global"), ("problem", "case")],
)
def test_changed_value_that_a_term_reads_is_used(api, place):
    """To round-off the result is that of a function with the value as a constant, not that of an earlier program."""
    terms, case = TERMS_THAT_READ_A_RATE[place]
    assert np.abs(result_for_constant(api, RATES[0]) - result_for_constant(api, RATES[1])).max() > 0
    for rate in RATES:
        set_rate(rate)
        np.testing.assert_allclose(result_of_run(api, case, terms), result_for_constant(api, rate), rtol=1e-13)


def damp_deep_water(state, grid, t):
    return {"u": np.where(state.h > RATE, -1e-6, 0.0) * state.u}


@pytest.mark.fault("a term changes between two programs of one run")
@pytest.mark.night
@pytest.mark.parametrize(("term", "before", "after"), [(damp_by_global, 1e-3, 2e-3), (damp_deep_water, 100.0, 5000.0)])
def test_term_that_changes_during_a_run_is_refused(tmp_path, term, before, after):
    """Otherwise the program that finds maxima would use another value than the program that took the first steps."""
    set_rate(before)
    model = simulation("xla", terms=[term], run__steps=4, output__maxima=["speed"])
    model.advance(2)
    set_rate(after)
    with pytest.raises(UsageError, match=rf"test_user_terms.py:\d+: {term.__name__} .*has changed"):
        model.run(tmp_path / "run")


def tanh(state, grid, t):
    return {"u": -1e-6 * np.tanh(state.u)}


@pytest.mark.night
def test_term_that_the_native_step_cannot_compute_runs_on_xla(caplog):
    resolve.log_slower_executor.cache_clear()
    with caplog.at_level(logging.WARNING, "swmodel"):
        assert simulation("auto", terms=[tanh]).config.run.executor == "xla"
    (message,) = [record.getMessage() for record in caplog.records]
    assert f"{__file__}:" in message
    assert "a term may use + - * /, abs, powers with" in message
    with pytest.raises(swmodel.ConfigError, match=r"test_user_terms.py:\d+: .*tanh"):
        simulation("native", terms=[tanh])
    with pytest.raises(UsageError, match="^run.executor: the reference does not have the term tanh"):
        simulation("reference", terms=[tanh])
