"""The native step computes user terms with all functions as `xla` does, and refuses terms that cannot be traced."""

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.stepping import run_single_steps

from swmodel.config import load
from swmodel.errors import UsageError
from swmodel.executors.native import request_of
from swmodel.ocean import terms
from swmodel.ocean.operators import mx_f, my_f
from swmodel.ocean.terms.term import Term
from swmodel.setup.setup import Setup, setup_of

pytestmark = pytest.mark.slow

NY, NX = 9, 20


def with_term(monkeypatch, tendency):
    """A configuration, and its scheme with one more term, which has the name of its function."""
    name = tendency.__name__
    monkeypatch.setitem(terms.TERMS, name, Term(name, tendency))
    config = configuration(NY, NX, random_fields(NY, NX, land=0.1), grid__periodic_y=True)
    return config, setup_of(config).scheme.with_terms([name])


def tendency_of_all_functions(flow, params, now):
    x, y = mx_f(flow.h) / 60, my_f(flow.h) / 70
    xp = x.values.__array_namespace__()
    conditional = x.map(lambda a: xp.where(a > 1, xp.exp(-a), xp.sin(a) + xp.log(a)))
    clipped = (x - 0.9).map(lambda a: xp.maximum(a, xp.minimum(0.5 * a, -0.1)))
    powers = y.map(lambda a: xp.cbrt(a - 1) + xp.sqrt(a) + abs(a - 1.1) + a**3 + a**0.4 + xp.cos(a))
    masked = conditional - flow.grid.open_u * clipped  # a multiply-add with a mask
    distant = flow.u.shift(0, -3) * flow.h.shift(0, 3) / 50
    squared = x
    for _ in range(12):  # so that the coefficient in front is squared, too
        squared = squared * squared * flow.grid.dx.u / 8e3 + 0.1
    depth = flow.grid.depth
    comparisons = depth.map(lambda a: xp.where(a > 50, a, 1.0) + xp.where(a <= 50, a, 2.0) + xp.where(a != 3, a, 1.0))
    static = params["gravity"] * depth + flow.grid.f
    condition_on_number = flow.h.map(lambda a: xp.where(params["gravity"].values >= 1, 2.0, a))
    return {
        "u": 1e-4 * (masked * flow.u + 0.1 * distant + squared * flow.u) + 1e-7 * mx_f(comparisons * static) * flow.u,
        "v": 1e-4 * (powers / (1 + y) * flow.v) * condition_on_number,
    }


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("float64", 1e-12)])
def test_user_term_agrees_with_xla(dtype, bound):
    config = configuration(NY, NX, random_fields(NY, NX, land=0.1), grid__periodic_y=True, run__dtype=dtype)
    config_with_term = load(config, terms=[Term("all_functions", tendency_of_all_functions)])
    native, xla = (run_single_steps(executor, config_with_term, 5)[:3] for executor in ("native", "xla"))
    for a, b, without_term in zip(native, xla, run_single_steps("native", config, 5)[:3], strict=True):
        assert np.abs(a - b).max() < bound * np.abs(b).max()
        assert np.abs(b - without_term).max() > 1e-4 * np.abs(b).max()


UNTRACEABLE_TERMS = {
    "a branch on the value of a field": lambda flow, params, now: {"u": flow.u} if flow.h.values > 3 else {},
    "a loop over cells": lambda flow, params, now: {"u": flow.u.map(lambda a: sum(list(a)))},
    "single cells of a field": lambda flow, params, now: {"u": flow.u * flow.h.values[3, 4]},
    "does not support ufuncs": lambda flow, params, now: {"u": flow.u.map(np.tanh)},
}


@pytest.mark.fault("a term has code that cannot be traced: a branch, a loop, a single cell")
@pytest.mark.parametrize("reason", UNTRACEABLE_TERMS)
def test_untraceable_term_is_refused_with_its_line(monkeypatch, reason):
    tendency = UNTRACEABLE_TERMS[reason]
    config, scheme = with_term(monkeypatch, tendency)
    vars(scheme)["halo_width"] = 1  # otherwise it is found by a test on arrays, in which some of these terms fail
    with pytest.raises(UsageError) as error:
        _ = request_of(Setup(config, scheme)).step_code
    message = str(error.value)
    assert message.startswith(f"{__file__}:{tendency.__code__.co_firstlineno}: ")
    assert reason in message
    assert "; a term may use + - * /, abs, powers with" in message
    assert "\n" not in message


def test_too_long_term_is_refused(monkeypatch):
    def long_chain(flow, params, now):
        x = flow.u
        for _ in range(500):
            x = x * x + flow.u
        return {"u": x}

    with pytest.raises(UsageError, match="longer chain of operations than the native step"):
        _ = request_of(Setup(*with_term(monkeypatch, long_chain))).step_code
