"""Derivatives by the native step are those of JAX's step: every kind of term and stepper, coasts, both precisions."""

import jax
import numpy as np
import pytest
from support.random_case import CLOSURES, COEFFICIENTS, DRYING, configuration, flats, random_fields

from swmodel.executors.native import calls
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of
from swmodel.model import resolve
from swmodel.parallel.transport import programs

pytestmark = pytest.mark.night

NY, NX = 7, 9
TERMS = {"physics__manning": 0.03, "physics__tracers": ({"name": "tracer"},), "body_force__x_amplitude": 1e-4}


@pytest.mark.promise(
    "the native step back is the transpose of the step, for every term, stepper and function that a term may use"
)
@pytest.mark.parametrize(
    ("dtype", "options", "coefficients"),
    [
        ("float64", {"time__stepper": "ab3", "physics__slip": "no", "grid__periodic_y": True, **TERMS}, ()),
        ("float64", {"time__stepper": "gfb"}, COEFFICIENTS),
        ("float64", {"time__stepper": "gfb", "physics__slip": "no"}, CLOSURES),
        ("float32", {"time__stepper": "leapfrog", "scheme__vorticity_flux": "enstrophy"}, COEFFICIENTS),
    ],
    ids=["ab3, terms, no wall in y", "gfb, fields", "gfb, closures", "leapfrog, fields"],
)
def test_derivatives_by_the_native_step_are_those_of_jax(dtype, options, coefficients):
    """Gradient and Hessian-vector product, of states on the way too."""
    found = {}
    for executor in ("xla", "native"):
        fields = random_fields(NY, NX, seed=3, amplitude=0.3, coefficients=coefficients)
        run = {"run__steps": 5, "run__executor": executor, "run__dtype": dtype, "grid__periodic_x": False}
        config = configuration(NY, NX, fields, **run, **options)
        problem = Problem(config, controls_of(config), lambda view, k: view.state, every=2)
        checks = Checks(problem)
        found[executor] = checks.gradient, problem.hessian_vector(checks.x, checks.d, *checks.loss)
        assert executor == "xla" or all(problem._sweeps.trajectory.native._available.values())  # no step of JAX instead
    bound = {"float32": 3e-5, "float64": 1e-12}[dtype]
    for ours, truth in zip(found["native"], found["xla"], strict=True):
        for name, expected in truth.items():
            assert np.abs(ours[name] - expected).max() <= bound * np.abs(expected).max(), name
            assert np.any(expected), name


def test_derivatives_of_cells_that_flood_and_fall_dry_are_those_of_jax_and_of_short_differences():
    """And the tangent; to six digits those of differences, so short that no cell changes what it does."""
    found, fields = {}, flats(NY, NX, coefficients=("manning",))
    for executor in ("xla", "native"):
        options = {"run__steps": 4, "run__executor": executor, "grid__periodic_x": False, "time__dt": 2.0}
        config = configuration(NY, NX, fields, **DRYING | options)
        problem = Problem(config, ("eta", "u", "depth", "manning"), lambda view, k: view.state)
        checks = Checks(problem)
        tangent = problem.tangent(checks.x, checks.d)[1]
        found[executor] = checks.gradient, problem.hessian_vector(checks.x, checks.d, *checks.loss), tangent._asdict()
        assert executor == "xla" or all(problem._sweeps.trajectory.native._available.values())
    for ours, truth in zip(found["native"], found["xla"], strict=True):
        for name, expected in truth.items():
            assert np.abs(ours[name] - expected).max() <= 1e-10 * np.abs(expected).max(), name
            assert np.any(expected), name
    results = checks.taylor()
    assert not results["smooth"]
    assert results["quotient_error"] < 1e-5
    ahead, behind = (jax.tree.map(lambda x, d, s=s: x + s * d, checks.x, checks.d) for s in (1e-3, -1e-3))
    difference = problem.value(ahead, *checks.loss) - problem.value(behind, *checks.loss)
    assert difference / 2e-3 == pytest.approx(checks.slope, rel=1e-6)  # steps of 1e-6 of each control
    assert checks.dot_product_error() < 1e-10
    wet = problem.series(checks.x).h > config.drying.thickness
    assert (wet[:-1] & ~wet[1:]).any()
    assert (wet[1:] & ~wet[:-1]).any()


def test_recording_past_the_cache_does_not_change_a_bit(monkeypatch):
    config = configuration(9, 40, random_fields(9, 40, seed=3, amplitude=0.3), run__steps=4, run__executor="native")
    gradients = []
    for beyond in (calls.BEYOND_CACHE, 0):
        monkeypatch.setattr(calls, "BEYOND_CACHE", beyond)
        programs.jitted.cache_clear()
        gradients.append(Checks(Problem(config, ("eta", "u", "v"), lambda view, k: view.state)).gradient)
    programs.jitted.cache_clear()
    assert all(np.array_equal(one, gradients[1][name]) and np.any(one) for name, one in gradients[0].items())


def test_in_blocks_narrower_than_a_step_back_reads_jax_takes_it_and_a_line_says_so(caplog):
    """With open sides it reads a cell further back than forward."""
    resolve.say_slower.cache_clear()
    sides = {"open_sides__sides": ("west",), "grid__periodic_x": False, "run__executor": "native"}
    config = configuration(3, NX, random_fields(3, NX, amplitude=0.3), run__steps=3, **sides)
    checks = Checks(Problem(config, ("eta", "outside_level"), lambda view, k: view.state))
    (line,) = [record.getMessage() for record in caplog.records]
    assert "a step back reads 4 cells away, but a block has 3 rows or columns" in line
    assert checks.taylor()["taylor_slope"] == pytest.approx(2, abs=0.02)
    resolve.say_slower.cache_clear()
