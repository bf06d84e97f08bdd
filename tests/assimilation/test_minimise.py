"""Conjugate gradients and the Gauss-Newton method solve small problems exactly, and each outcome has its name."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg
from support.rank_threads import run_rank_threads

from swmodel.assimilation import gauss_newton
from swmodel.assimilation.gauss_newton import Cost, Limits, MinimiserState, conjugate_gradients, make_dot, minimise
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport.serial import SerialTransport

dot = make_dot(SerialTransport(block_of_rank(0, (1, 1), 3, 4)))
TIGHT_LIMITS = Limits(gradient_ratio=1e-13, max_outer=20, max_inner=50, residual_ratio=1e-14, cost_precision=1e-15)
ONES = MinimiserState(np.ones(3))


@pytest.mark.promise("4D-Var does not depend on the number of processes")
def test_dot_sums_fields_over_blocks_and_numbers_once():
    rng = np.random.default_rng(3)
    a, b = ({"eta": rng.standard_normal((5, 7)), "gravity": rng.standard_normal()} for _ in range(2))

    def dot_on_rank(transport):
        block = tuple(slice(span.start, span.stop) for span in (transport.block.y, transport.block.x))
        return make_dot(transport)(*(x | {"eta": x["eta"][block]} for x in (a, b)))

    expected = np.sum(a["eta"] * b["eta"]) + a["gravity"] * b["gravity"]
    (value,) = {result for layout in ((1, 1), (2, 2), (1, 3)) for result in run_rank_threads(dot_on_rank, layout, 5, 7)}
    assert value == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("iterations", [1, 5])
def test_conjugate_gradients_agree_with_scipy(iterations):
    rng = np.random.default_rng(0)
    root, gradient = rng.standard_normal((8, 8)), rng.standard_normal(8)
    matrix = np.eye(8) + root @ root.T
    cg = conjugate_gradients(lambda x: matrix @ x, gradient, dot, tolerance=0.0, max_iterations=iterations)
    expected, _ = scipy.sparse.linalg.cg(matrix, -gradient, rtol=0.0, maxiter=iterations)
    np.testing.assert_allclose(cg.step, expected, rtol=1e-12)
    assert cg.iterations == iterations
    assert cg.decrease == pytest.approx(-gradient @ cg.step - cg.step @ matrix @ cg.step / 2, rel=1e-10)


# A nonlinear model with two kinds of controls and small departures: y + 0.3 sin(y) + number² with y = MATRIX field.
MATRIX = np.random.default_rng(5).standard_normal((15, 12)) / 3
ERROR = 0.1


def flatten(w):
    return np.append(w["field"], w["number"])


def unflatten(x):
    return {"field": x[:12].reshape(3, 4), "number": x[12]}


def nonlinear_model(w):
    image = MATRIX @ w["field"].ravel()
    return image + 0.3 * np.sin(image) + w["number"] ** 2


def jacobian(w):
    derivative = 1 + 0.3 * np.cos(MATRIX @ w["field"].ravel())
    return np.column_stack([derivative[:, None] * MATRIX, np.full(15, 2 * w["number"])])


TRUE_CONTROLS = unflatten(np.append(np.random.default_rng(6).standard_normal(12), 0.7))
OBSERVATIONS = nonlinear_model(TRUE_CONTROLS) + 0.01 * np.random.default_rng(7).standard_normal(15)
START = MinimiserState(unflatten(np.append(np.zeros(12), 0.3)))


def cost_and_gradient(w):
    departure = (OBSERVATIONS - nonlinear_model(w)) / ERROR
    gradient = flatten(w) - jacobian(w).T @ departure / ERROR
    return Cost(0.5 * dot(w, w), 0.5 * float(departure @ departure), 15), unflatten(gradient)


def hessian(w, dw):
    return unflatten(flatten(dw) + jacobian(w).T @ (jacobian(w) @ flatten(dw)) / ERROR**2)


def test_gauss_newton_finds_the_same_minimum_as_scipy():
    events = []
    result = minimise(cost_and_gradient, hessian, dot, START, TIGHT_LIMITS, report=events.append)

    def residuals(x):
        return np.concatenate([x, (OBSERVATIONS - nonlinear_model(unflatten(x))) / ERROR])

    expected = scipy.optimize.least_squares(residuals, flatten(START.w), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert result.outcome in ("converged", "precision")
    np.testing.assert_allclose(flatten(result.state.w), expected.x, rtol=1e-6, atol=1e-8)
    assert result.cost.total == pytest.approx(expected.cost, rel=1e-12)
    assert (np.diff([event.cost.total for event in events]) <= 0).all()
    last = events[-1].cost
    assert last.total == last.background + last.observations
    assert last.rms_misfit == pytest.approx(np.sqrt(2 * last.observations / 15), rel=1e-14)


def test_stalled_minimisation_returns_the_best_iterate():
    """Later gradients have the wrong sign. If rounding hides decreases of cost, the outcome is "precision"."""
    costs, events = [], []

    def reverse_later_gradients(w):
        cost, gradient = cost_and_gradient(w)
        costs.append(cost.total)
        return cost, gradient if len(costs) == 1 else unflatten(-flatten(gradient))

    result = minimise(reverse_later_gradients, hessian, dot, START, TIGHT_LIMITS, report=events.append)
    assert (result.outcome, events[-1].step_fraction) == ("stalled", 0)
    assert result.cost.total == min(costs)
    assert cost_and_gradient(result.state.w)[0] == result.cost
    assert len(costs) == 2 + TIGHT_LIMITS.max_halvings + 1

    def round_cost(w):
        cost, gradient = cost_and_gradient(w)
        return Cost(0.0, float(np.round(cost.total, 3))), gradient

    assert minimise(round_cost, hessian, dot, START, TIGHT_LIMITS._replace(cost_precision=1e-3)).outcome == "precision"


@pytest.mark.parametrize("bound", [np.inf, 1.0])
def test_step_too_long_is_halved(bound):
    """A Hessian four times too small makes the step four times too long; the cost after it may be infinite."""

    def cost(w):
        return Cost(0.0, 0.5 * dot(w, w) if np.abs(w).max() <= bound else np.inf), w

    events = []
    result = minimise(cost, lambda w, dw: 0.25 * dw, dot, ONES, TIGHT_LIMITS, report=events.append)
    assert [event.step_fraction for event in events[1:]] == [0.25]
    assert result.outcome == "converged"
    np.testing.assert_array_equal(result.state.w, 0)


@pytest.mark.parametrize(
    ("cost", "gradient", "curvature", "outcome"),
    [
        (np.nan, 1.0, 1.0, "not finite"), (1.0, np.nan, 1.0, "not finite"), (1.0, 0.0, 1.0, "converged"),
        (1.0, 1.0, -1.0, "indefinite"), (1.0, 1.0, np.inf, "indefinite"),
    ],
)  # fmt: skip
def test_minimisation_without_a_first_step_names_the_reason(cost, gradient, curvature, outcome):
    result = minimise(lambda w: (Cost(0.0, cost), gradient * w), lambda w, dw: curvature * dw, dot, ONES, TIGHT_LIMITS)
    assert result.outcome == outcome
    assert outcome in gauss_newton.OUTCOME_MEANINGS
    np.testing.assert_array_equal(result.state.w, 1)
