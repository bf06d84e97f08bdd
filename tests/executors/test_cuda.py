"""The kernels of the executor `cuda` have the bits of the native step; a processor runs them (on_processor.py)."""

import jax
import numpy as np
import pytest
from support import covering, on_processor
from support.marks import at_night
from support.stepping import after
from support.unchecked import unchecked

from swmodel.executors.cuda import calls, executor, library
from swmodel.gradients import Problem
from swmodel.gradients.check import controls_of
from swmodel.setup.setup import setup_of

ROWS = [row for row in covering.named() if not setup_of(covering.configuration_of(row)).scheme.drying]


@pytest.fixture(autouse=True)
def on_this_processor(monkeypatch):
    on_processor.foreign_call()
    monkeypatch.setattr(executor, "register", lambda: None)
    monkeypatch.setattr(library, "load", on_processor.load)


@pytest.mark.parametrize("row", ROWS)
def test_kernels_have_the_bits_of_the_native_step(row, monkeypatch):
    """Halos are copied by kernels, or exchanged as between blocks."""
    config = covering.configuration_of(row)
    names = setup_of(config).scheme.state._fields
    truth = after("native", config, 5)
    for alone in (True, False):
        monkeypatch.setattr(calls, "is_alone", lambda _, alone=alone: alone)
        monkeypatch.setattr(executor, "is_alone", lambda _, alone=alone: alone)
        ours = after("cuda", config, 1, 4)
        for name, a, b in zip(names, ours, truth, strict=False):
            np.testing.assert_array_equal(a, b, err_msg=f"{name}, alone: {alone}")


#: Rows of three steppers; the others at night.
DERIVED = [row for number, row in enumerate(ROWS) if number in (1, 8, 14)]


@pytest.mark.parametrize("row", [*DERIVED, *at_night(*(row for row in ROWS if row not in DERIVED))])
def test_derivatives_of_kernels_have_the_bits_of_the_native_step(row):
    """Gradient and Hessian product; zeros may have another sign."""
    found = []
    for name in ("cuda", "native"):
        config = covering.configuration_of(row)
        run = config.run.model_copy(update={"executor": name, "steps": 5, "dtype": "float64"})
        config = unchecked(config.model_copy(update={"run": run}))
        problem = Problem(config, controls_of(config), lambda view, k: view.state)
        x, rng = problem.first_guess(), np.random.default_rng(3)
        dx = {name: rng.standard_normal(np.shape(field)) for name, field in x.items()}

        def value(series):
            return sum((field**2).sum() for field in jax.tree.leaves(series))

        value_of, gradient = problem.value_and_gradient(x, value)
        found.append((value_of, gradient, problem.hessian_vector(x, dx, value)))
    for ours, theirs in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_array_equal(ours, theirs)
