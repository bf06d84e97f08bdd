"""Conjugate gradients for unknowns that are distributed over processes, and the inner product of such unknowns.

SciPy's `cg`, `minimize` and `least_squares` take dot products and norms of the arrays that they see: here, those of one
block. No argument can replace these products. The same holds for JAX's `cg`, which also traces the operator into one
loop that cannot report. With a dot product that sums over processes, the method is the twenty lines below.

Reference: Hestenes and Stiefel (1952); Nocedal and Wright (2006), Numerical Optimization, algorithm 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np


def make_dot(transport) -> Callable[[Any, Any], float]:
    """The inner product of pytrees: fields [ny, nx] are summed over cells and blocks, numbers () count once.

    It is computed in float64 and is the same on all processes, which call it together.
    """

    def dot(a, b) -> float:
        shared = local = 0.0
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
            product = float(np.vdot(np.asarray(x, np.float64), np.asarray(y, np.float64)))
            shared, local = (shared + product, local) if np.ndim(x) == 0 else (shared, local + product)
        return shared + float(transport.reduce(np.asarray(local), "sum"))

    return dot


class Solution(NamedTuple):
    """The result of conjugate gradients."""

    step: Any  # pytree
    iterations: int
    residual: float  # norm of hessian(step) + gradient, over that of the gradient
    decrease: float  # of the quadratic cost <gradient, step> + <step, hessian(step)> / 2, positive
    outcome: str  # converged, iterations (the most allowed) or indefinite (the Hessian, or not a number)


def conjugate_gradients(hessian, gradient, dot, *, tolerance: float, iterations: int) -> Solution:
    """The step that solves hessian(step) = -gradient.

    Args:
        hessian: symmetric positive definite linear function of pytrees.
        gradient: pytree of arrays.
        dot: inner product of pytrees, the same number on all processes.
        tolerance: stop at this ratio of the norm of the residual to that of the gradient.
        iterations: most calls of `hessian`.

    Returns:
        Solution; after any number of iterations the step is a direction of descent.
    """
    step = jax.tree.map(np.zeros_like, gradient)
    residual = direction = jax.tree.map(lambda g: -g, gradient)
    first = square = dot(gradient, gradient)
    decrease, outcome, done = 0.0, "iterations", 0
    while done < iterations:
        if square <= tolerance**2 * first:
            outcome = "converged"
            break
        image = hessian(direction)
        curvature = dot(direction, image)
        if not (curvature > 0 and math.isfinite(curvature)):
            outcome = "indefinite"
            break
        length = square / curvature
        step = add(step, length, direction)
        residual = add(residual, -length, image)
        decrease += 0.5 * length * square
        before, square = square, dot(residual, residual)
        direction = add(residual, square / before, direction)
        done += 1
    else:
        outcome = "converged" if square <= tolerance**2 * first else outcome
    return Solution(step, done, math.sqrt(square / first) if first else 0.0, decrease, outcome)


def add(x, factor: float, y):
    """x + factor y, in the precision of x."""
    return jax.tree.map(lambda x, y: x + np.asarray(factor, x.dtype) * y, x, y)
