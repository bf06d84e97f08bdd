"""The kernels of the executor `cuda` have the bits of the native step; a processor runs them (on_processor.py)."""

import re

import jax
import numpy as np
import pytest
from support import covering, on_processor
from support.marks import at_night
from support.stepping import after
from support.unchecked import unchecked

from swmodel import load
from swmodel.executors.cuda import calls, executor, kernels, library
from swmodel.executors.native import request_of
from swmodel.executors.native.kernel import Kernel
from swmodel.gradients import Problem
from swmodel.gradients.check import controls_of
from swmodel.ocean.state import Carry
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
from swmodel.setup.setup import setup_of

ROWS = [row for row in covering.named() if not setup_of(covering.configuration_of(row)).scheme.drying]


@pytest.fixture(autouse=True)
def on_this_processor(monkeypatch):
    on_processor.foreign_call()
    monkeypatch.setattr(executor, "register", lambda: None)
    monkeypatch.setattr(library, "load", on_processor.load)


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("row", [*ROWS[::3], *at_night(*(row for number, row in enumerate(ROWS) if number % 3))])
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


#: The benchmark that is published, by stepper.
PUBLISHED = [pytest.param({"time.stepper": stepper}, id=stepper) for stepper in ("ab2", "gfb")]


@pytest.mark.parametrize("options", PUBLISHED)
def test_kernels_of_the_benchmark_fit_into_the_registers(options):
    """NVRTC compiles them for three generations of GPUs, and no value spills into memory, nor in the adjoint step."""
    request = request_of(setup_of(load("published_jet", options, environ={})))
    for derivative in (), ("adjoint",):
        made, rows = request._replace(derivative=derivative), 1 if derivative else kernels.ROWS
        text, _ = kernels.text_of(made.made, made.dtype, rows)
        assert [library.compiled(text, f"sm_{number}")[1] for number in (70, 80, 90)] == [0, 0, 0]


@pytest.mark.parametrize("options", PUBLISHED)
def test_loop_over_kernels_is_lowered_for_gpus(options):
    """Its turns have the foreign call alone, and no operation on a whole field."""
    setup = setup_of(load("published_jet", options | {"grid.nx": 70, "grid.ny": 37, "time.dt": 10.0}, environ={}))
    transport = Serial(block(0, (1, 1), *setup.shape))
    kernel = Kernel(setup.scheme, setup.method, setup.scheme.margin, executor.STEPS)
    static = kernel.static_of(*setup.static(transport.block), setup.shape)
    state = setup.state(transport.block)
    given = Carry(state, setup.method.remember(state), np.int32(0)), static, np.float32(10.0), np.int32(25)
    loop = jax.jit(executor.make_loop(kernel, transport)).trace(*given)
    (turn, _) = re.findall(r"do \{(.*?)stablehlo.return", loop.lower(lowering_platforms=("cuda",)).as_text(), re.DOTALL)
    assert turn.count("@swmodel_cuda_step") == 1
    assert "37x70x" not in turn


#: A row of its derivatives by day, and one at night; the others before a release, as a compiler takes minutes for each.
DERIVED, AT_NIGHT = ROWS[1:2], ROWS[14:15]


REST = [row for row in ROWS if row not in DERIVED + AT_NIGHT]


@pytest.mark.promise("derivatives are exact")
@pytest.mark.parametrize("row", [*DERIVED, *at_night(*AT_NIGHT), *at_night(*REST, mark=pytest.mark.release)])
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
