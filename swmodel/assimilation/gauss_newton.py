"""Minimise J(w) = <w, w>/2 + |R^(-1/2) (d - G(w))|²/2 by the Gauss-Newton method (incremental 4D-Var).

d are the observations, R is the covariance of their errors, and G(w) is what the model predicts for them. Each outer
iteration computes the gradient of J along the nonlinear trajectory of w and solves

    (1 + Lᵀ Mᵀ R^-1 M L) dw = -grad J

by conjugate gradients, where L is the square root of the background error covariance, and M the derivative of the
predictions with respect to the model's controls, along that trajectory. The next w is the first of w + dw, w + dw/2,
w + dw/4, ... that decreases J, so w always has the lowest cost so far.

Reference: Courtier, Thépaut and Hollingsworth (1994), Q. J. R. Meteorol. Soc. 120, 1367-1387 (incremental 4D-Var);
Gratton, Lawless and Nichols (2007), SIAM J. Optim. 18, 106-132 (it is Gauss-Newton).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from ..parallel.fixed_point import inner_product

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport


def make_dot(transport: Transport) -> Callable[[Any, Any], float]:
    """The inner product of pytrees: fields [..., ny, nx] are summed over all blocks; numbers () and [n] count once.

    The result has the same bits for any layout and on all processes, which must call the function together.
    """
    return lambda a, b: inner_product(transport, zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


class Solution(NamedTuple):
    """The result of conjugate gradients."""

    step: Any  # pytree
    iterations: int  # fewer than allowed if converged, or if the Hessian is not finite or not positive definite
    decrease: float  # by how much the step lowers the quadratic cost <gradient, step> + <step, hessian(step)> / 2


def conjugate_gradients(hessian, gradient, dot, *, tolerance: float, max_iterations: int) -> Solution:
    """The step that solves hessian(step) = -gradient; after one or more iterations it is a descent direction.

    The solvers of SciPy and JAX are not used because their dot products cover one block only; `dot` sums over all
    processes.

    Args:
        hessian: a symmetric positive definite linear function of pytrees such as `gradient`.
        tolerance: the iteration stops when the norm of the residual is at most this times the norm of the gradient.
        max_iterations: the largest number of calls of `hessian`.

    Reference: Hestenes and Stiefel (1952); Nocedal and Wright (2006), Numerical Optimization, algorithm 5.2.
    """
    step = jax.tree.map(np.zeros_like, gradient)
    residual = direction = jax.tree.map(lambda g: -g, gradient)
    initial_squared_norm = squared_norm = dot(gradient, gradient)
    decrease = 0.0
    for iteration in range(max_iterations):
        if squared_norm <= tolerance**2 * initial_squared_norm:
            return Solution(step, iteration, decrease)
        hessian_times_direction = hessian(direction)
        curvature = dot(direction, hessian_times_direction)
        if not (curvature > 0 and math.isfinite(curvature)):
            return Solution(step, iteration, decrease)
        step_length = squared_norm / curvature
        step = add_scaled(step, step_length, direction)
        residual = add_scaled(residual, -step_length, hessian_times_direction)
        decrease += 0.5 * step_length * squared_norm
        previous_squared_norm, squared_norm = squared_norm, dot(residual, residual)
        direction = add_scaled(residual, squared_norm / previous_squared_norm, direction)
    return Solution(step, max_iterations, decrease)


def add_scaled(x, factor: float, y):
    """x + factor y, in the precision of x."""
    return jax.tree.map(lambda x, y: x + np.asarray(factor, x.dtype) * y, x, y)


class Cost(NamedTuple):
    """The two parts of the cost J at one w, which are the same on all processes."""

    background: float  # <w, w>/2
    observations: float  # |R^(-1/2) (d - G(w))|²/2
    n_observations: int = 0

    @property
    def total(self) -> float:
        return self.background + self.observations

    @property
    def rms_misfit(self) -> float:
        """Root mean square of (observation - model) / error: about 1 if the observation errors are as assumed."""
        return math.sqrt(2 * self.observations / self.n_observations) if self.n_observations else math.nan


class Limits(NamedTuple):
    """When the minimisation and its inner iterations stop."""

    gradient_ratio: float = 1e-3  # stop when the norm of the gradient is at most this times that at the start
    max_outer: int = 10  # largest number of outer iterations
    max_inner: int = 50  # largest number of conjugate-gradient iterations in each outer iteration
    residual_ratio: float = 1e-2  # `tolerance` of `conjugate_gradients`
    max_halvings: int = 5  # largest number of halvings of a step that does not decrease J
    cost_precision: float = 1e-6  # relative round-off of J


class MinimiserState(NamedTuple):
    """All that an outer iteration needs, so that an interrupted minimisation continues with the same bits."""

    w: Any  # the w of lowest cost so far, pytree
    iteration: int = 0  # outer iterations done
    initial_gradient_norm: float = math.nan  # norm of the gradient at the start; NaN: unknown


class IterationReport(NamedTuple):
    """The result and statistics of one outer iteration."""

    state: MinimiserState  # after the iteration
    iteration: int  # its number; that of `state` is lower if no step decreased J
    cost: Cost
    gradient_norm: float
    inner_iterations: int = 0  # iterations of conjugate gradients; 0 at the start
    step_fraction: float = 1.0  # fraction of the full step that was taken: 1, 1/2, ...; 0 if none decreased J

    @property
    def gradient_ratio(self) -> float:
        """The ratio of the gradient's norm to that at the start."""
        return self.gradient_norm / self.state.initial_gradient_norm if self.state.initial_gradient_norm else 0.0


class MinimisationResult(NamedTuple):
    """The w of lowest cost, its cost, and why the minimisation ended, one of OUTCOME_MEANINGS."""

    state: MinimiserState
    cost: Cost
    outcome: str


OUTCOME_MEANINGS = {
    "converged": "the gradient is below its limit",
    "precision": "the cost cannot be decreased by more than its round-off",
    "iterations": "the gradient is above its limit after the last outer iteration",
    "stalled": "no step along the descent direction decreases the cost; check the gradient (swmodel check-gradient)",
    "indefinite": "along the first direction the curvature is not positive or not finite",
    "not finite": "the cost or its gradient is not finite at the start",
}


def minimise(
    cost_and_gradient, hessian, dot, start: MinimiserState, limits: Limits, report: Callable = lambda event: None
) -> MinimisationResult:
    """Minimise J, starting from `start.w`.

    All processes must call this together. They take the same decisions, because costs and inner products have the same
    bits on all of them.

    Args:
        cost_and_gradient: w -> (Cost, gradient of the total cost).
        hessian: (w, dw) -> the product of the Gauss-Newton Hessian of the total cost at w with dw.
        dot: inner product over processes (`make_dot`).
        start: MinimiserState(w), or the state in which an earlier call ended, to continue from.
        report: function that receives an IterationReport at the start and after each outer iteration.
    """
    state, (cost, gradient) = start, cost_and_gradient(start.w)
    norm = math.sqrt(dot(gradient, gradient))
    if not (math.isfinite(cost.total) and math.isfinite(norm)):
        return MinimisationResult(state, cost, "not finite")
    if not math.isfinite(state.initial_gradient_norm):
        state = state._replace(initial_gradient_norm=norm)
    report(IterationReport(state, state.iteration, cost, norm))
    while norm > limits.gradient_ratio * state.initial_gradient_norm:
        if state.iteration >= limits.max_outer:
            return MinimisationResult(state, cost, "iterations")
        solution = conjugate_gradients(
            partial(hessian, state.w), gradient, dot, tolerance=limits.residual_ratio, max_iterations=limits.max_inner
        )
        if solution.iterations == 0:
            return MinimisationResult(state, cost, "indefinite")
        search_result = line_search(cost_and_gradient, dot, state.w, solution.step, cost, limits.max_halvings)
        iteration = state.iteration + 1
        if search_result is None:
            report(IterationReport(state, iteration, cost, norm, solution.iterations, 0.0))
            is_at_precision = solution.decrease <= limits.cost_precision * cost.total
            return MinimisationResult(state, cost, "precision" if is_at_precision else "stalled")
        w, cost, gradient, norm, step_fraction = search_result
        state = state._replace(w=w, iteration=iteration)
        report(IterationReport(state, iteration, cost, norm, solution.iterations, step_fraction))
    return MinimisationResult(state, cost, "converged")


def line_search(cost_and_gradient, dot, w, step, cost: Cost, max_halvings: int):
    """The first of w + step, w + step/2, ... with a lower cost than `cost`; None if none of them has.

    Returns (w, its Cost, the gradient, the norm of the gradient, the fraction of the step).
    """
    for halving in range(max_halvings + 1):
        step_fraction = 0.5**halving
        trial = add_scaled(w, step_fraction, step)
        trial_cost, gradient = cost_and_gradient(trial)
        norm = math.sqrt(max(dot(gradient, gradient), 0.0)) if math.isfinite(trial_cost.total) else math.inf
        if trial_cost.total < cost.total and math.isfinite(norm):
            return trial, trial_cost, gradient, norm, step_fraction
    return None
