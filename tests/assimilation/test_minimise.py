"""Conjugate gradients and Gauss-Newton: exact answers of small problems, and what is said where there is none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg
from jax.flatten_util import ravel_pytree
from support.ranks import run_ranks

from swmodel.assimilation.gauss_newton import OUTCOMES, Cost, Limits, Progress, conjugate_gradients, make_dot, minimise
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

pytestmark = pytest.mark.slow

DOT = make_dot(Serial(block(0, (1, 1), 3, 4)))
TIGHT = Limits(gradient=1e-13, outer=20, inner=50, residual=1e-14, precision=1e-15)


def linear(n=8, seed=0):
    """A symmetric positive definite matrix and a gradient."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    return np.eye(n) + root @ root.T, rng.standard_normal(n)


def test_fields_are_summed_over_blocks_and_numbers_count_once():
    rng = np.random.default_rng(3)
    a, b = ({"eta": rng.standard_normal((5, 7)), "gravity": rng.standard_normal()} for _ in range(2))

    def on_a_rank(transport):
        rows, columns = transport.block.y, transport.block.x
        cut = (slice(rows.start, rows.stop), slice(columns.start, columns.stop))
        return make_dot(transport)(*({"eta": x["eta"][cut], "gravity": x["gravity"]} for x in (a, b)))

    truth = np.sum(a["eta"] * b["eta"]) + a["gravity"] * b["gravity"]
    for layout in ((1, 1), (2, 1), (2, 2), (1, 3)):
        values = run_ranks(on_a_rank, layout, 5, 7)
        assert len(set(values)) == 1
        assert values[0] == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("iterations", [1, 5])
def test_the_iterates_are_those_of_scipy(iterations):
    matrix, gradient = linear()
    ours = conjugate_gradients(lambda x: matrix @ x, gradient, DOT, tolerance=0.0, iterations=iterations)
    theirs, _ = scipy.sparse.linalg.cg(matrix, -gradient, rtol=0.0, maxiter=iterations)
    np.testing.assert_allclose(ours.step, theirs, rtol=1e-12)
    assert ours.iterations == iterations
    assert ours.decrease == pytest.approx(-gradient @ ours.step - ours.step @ matrix @ ours.step / 2, rel=1e-10)


# A nonlinear model with two kinds of unknowns, observed with small departures: G(w) = A w + c sin(A w) + number².


MATRIX = np.random.default_rng(5).standard_normal((15, 12)) / 3
TRUE = {"field": np.random.default_rng(6).standard_normal((3, 4)), "number": np.array(0.7)}


def model(w):
    image = jnp.asarray(MATRIX) @ w["field"].ravel()
    return image + 0.3 * jnp.sin(image) + w["number"] ** 2


OBSERVED = np.asarray(model(TRUE)) + 0.01 * np.random.default_rng(7).standard_normal(15)
ERROR = 0.1
START = Progress({"field": np.zeros((3, 4)), "number": np.array(0.3)})


def observations(w):
    return 0.5 * jnp.sum(((OBSERVED - model(w)) / ERROR) ** 2)


@jax.jit
def total_gradient(w):
    return jax.tree.map(jnp.add, w, jax.grad(observations)(w))


def cost_and_gradient(w):
    return Cost(0.5 * DOT(w, w), float(observations(w)), 15), total_gradient(w)


@jax.jit
def hessian(w, dw):
    _, tangent = jax.jvp(model, (w,), (dw,))
    return jax.tree.map(jnp.add, dw, jax.vjp(model, w)[1](tangent / ERROR**2)[0])


def test_gauss_newton_finds_the_minimum_that_scipy_finds():
    events = []
    result = minimise(cost_and_gradient, hessian, DOT, START, TIGHT, report=events.append)
    flat, unravel = ravel_pytree(START.w)

    def residuals(x):
        return np.concatenate([x, np.asarray((OBSERVED - model(unravel(x))) / ERROR)])

    truth = scipy.optimize.least_squares(residuals, flat, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert result.outcome in ("converged", "precision")
    np.testing.assert_allclose(ravel_pytree(result.progress.w)[0], truth.x, rtol=1e-6)
    assert result.cost.total == pytest.approx(truth.cost, rel=1e-12)
    costs = [event.cost.total for event in events]
    assert all(later <= earlier for earlier, later in zip(costs, costs[1:], strict=False))
    last = events[-1]
    assert last.cost.total == last.cost.background + last.cost.observations
    assert last.cost.misfit == pytest.approx(np.sqrt(2 * last.cost.observations / 15), rel=1e-14)


def test_a_stall_is_said_and_the_best_is_kept():
    """The gradient has the wrong sign after the first iteration."""
    calls = []

    def wrong(w):
        cost, gradient = cost_and_gradient(w)
        calls.append(cost.total)
        return cost, gradient if len(calls) == 1 else jax.tree.map(jnp.negative, gradient)

    events = []
    result = minimise(wrong, hessian, DOT, START, TIGHT, report=events.append)
    assert result.outcome == "stalled"
    assert result.cost.total == min(calls)
    assert cost_and_gradient(result.progress.w)[0] == result.cost
    assert events[-1].part == 0
    assert len(calls) == 2 + TIGHT.halvings + 1


@pytest.mark.parametrize("bound", [np.inf, 1.0])
def test_a_step_too_long_is_halved(bound):
    """A Hessian four times too small proposes a step four times too long, to where the cost is not finite."""

    def cost(w):
        return Cost(0.0, 0.5 * DOT(w, w) if np.abs(w).max() <= bound else np.inf), w

    events = []
    result = minimise(cost, lambda w, dw: 0.25 * dw, DOT, Progress(np.ones(3)), TIGHT, report=events.append)
    assert [event.part for event in events[1:]] == [0.25]
    assert result.outcome == "converged"
    np.testing.assert_array_equal(result.progress.w, 0)


def test_at_round_off_the_cost_is_said_to_be_exhausted():
    """J is known to 1e-3 only: near the minimum it does not decrease."""

    def coarse(w):
        cost, gradient = cost_and_gradient(w)
        return Cost(0.0, float(np.round(cost.total, 3))), gradient

    result = minimise(coarse, hessian, DOT, START, TIGHT._replace(precision=1e-3))
    assert result.outcome == "precision"


@pytest.mark.parametrize(
    ("cost", "product", "outcome"),
    [
        (lambda w: (Cost(0.0, np.nan), w), lambda w, dw: dw, "not finite"),
        (lambda w: (Cost(0.0, 1.0), np.nan * w), lambda w, dw: dw, "not finite"),
        (lambda w: (Cost(0.0, 1.0), w), lambda w, dw: -dw, "indefinite"),
        (lambda w: (Cost(0.0, 1.0), w), lambda w, dw: np.inf * dw, "indefinite"),
        (lambda w: (Cost(0.0, 1.0), 0 * w), lambda w, dw: dw, "converged"),
    ],
)
def test_what_cannot_start_has_a_name(cost, product, outcome):
    result = minimise(cost, product, DOT, Progress(np.ones(3)), TIGHT)
    assert result.outcome == outcome
    assert outcome in OUTCOMES
    np.testing.assert_array_equal(result.progress.w, 1)
