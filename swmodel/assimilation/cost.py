"""The cost of 4D-Var, its gradient and the product of its Gauss-Newton Hessian with a vector.

J        J(w) = <w, w>/2 + |R^(-1/2) (d - H M(x_b + L w))|²/2
gradient J'(w) = w - Lᵀ Mᵀ Hᵀ R^-1 (d - H M(x_b + L w))
Hessian  J''(w) dw = dw + Lᵀ Mᵀ Hᵀ R^-1 H M L dw

Here w is the vector to be found, x_b the first guess, L the square root of the covariance of its errors (`background`),
M the model, H the observation operator, d the observations and R the covariance of their errors, which is diagonal.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .gauss_newton import Cost, make_dot


class CostFunction:
    """The cost J(w). All processes create it and call its methods together.

    Numbers and values at observations are the same on all processes; fields are those of the process's block.

    Attributes:
        dot: inner product of two vectors w over all processes.
        sweeps: number of gradients and Hessian products so far.
    """

    def __init__(self, experiment):
        self.problem, self.background, self.first_guess = (
            experiment.problem,
            experiment.background,
            experiment.first_guess,
        )
        observations = self.observations = experiment.observations
        transport, dtype, operator = self.problem.transport, self.problem.config.run.dtype, experiment.operator
        self.dot, self.n_observations, self.sweeps = make_dot(transport), observations.size, 0
        rank_weight = float(transport.rank == 0)  # count each observation once: all processes have the same ones

        def collect(series):
            return operator.collect(transport.sum(series))

        def pull_back(series, values_bar):
            return jax.vjp(collect, series)[1](rank_weight * values_bar)[0]

        self._collect, pull_back = jax.jit(collect), jax.jit(pull_back)
        self._series_cotangents = lambda series, values_bar: pull_back(series, jnp.asarray(values_bar, dtype))
        self._jit_controls_at = jax.jit(
            lambda background, first_guess, w: add_increment(first_guess, background.apply(w))
        )
        self._jit_control_change = jax.jit(
            lambda background, first_guess, dw: jax.tree.map(jnp.zeros_like, first_guess) | background.apply(dw)
        )
        self._jit_background_transpose = jax.jit(lambda background, x: background.transpose(x))

    def zero_vector(self) -> dict:
        """w = 0, for which the controls are the first guess."""
        dtype = self.problem.config.run.dtype
        return {name: jnp.zeros(np.shape(self.first_guess[name]), dtype) for name in self.background.names}

    def controls_at(self, w: dict) -> dict:
        """The controls x = x_b + L w."""
        return self._jit_controls_at(self.background, self.first_guess, w)

    def model_values(self, x: dict) -> np.ndarray:
        """H M(x), the observed quantities in the model, [n]."""
        return self._values_in_series(self.problem.series(x))

    def tangent(self, w: dict, dw: dict) -> tuple[np.ndarray, np.ndarray]:
        """H M(x_b + L w), and H M L dw along its trajectory, both [n]."""
        series_and_change = self.problem.tangent(
            self.controls_at(w), self._jit_control_change(self.background, self.first_guess, dw)
        )
        values, changes = map(self._values_in_series, series_and_change)
        return values, changes

    def cost_and_gradient(self, w: dict):
        """J(w) as a Cost, and J'(w)."""
        self.sweeps += 1
        misfit, x_bar = self.problem.value_and_adjoint(self.controls_at(w), self._misfit_and_cotangents)
        return Cost(0.5 * self.dot(w, w), misfit, self.n_observations), add_increment(
            w, self.background_transpose(x_bar)
        )

    def hessian(self, w: dict, dw: dict) -> dict:
        """The product of dw with the Gauss-Newton Hessian at w, which is symmetric and positive definite."""
        self.sweeps += 1
        x = self.controls_at(w)
        _, d_series = self.problem.tangent(x, self._jit_control_change(self.background, self.first_guess, dw))
        x_bar = self.problem.adjoint(
            x, self._series_cotangents(d_series, self._values_in_series(d_series) / self.observations.error**2)
        )
        return add_increment(dw, self.background_transpose(x_bar))

    def _values_in_series(self, series) -> np.ndarray:
        """The observed quantities [n], summed over all processes from their shares of the series."""
        return np.asarray(self._collect(series), np.float64)

    def _misfit_and_cotangents(self, series):
        """|R^(-1/2) (d - H M(x))|²/2, in double precision, and its derivative with respect to the series."""
        error = self.observations.error
        scaled_misfits = (self._values_in_series(series) - self.observations.value) / error
        return 0.5 * float(np.sum(scaled_misfits**2)), self._series_cotangents(series, scaled_misfits / error)

    def background_transpose(self, x_bar: dict) -> dict:
        """Lᵀ x_bar, the derivative of a scalar with respect to w; x_bar is its derivative with respect to controls."""
        return self._jit_background_transpose(self.background, {name: x_bar[name] for name in self.background.names})


def add_increment(x: dict, dx: dict) -> dict:
    """x + dx for the names in dx, x for the others."""
    return x | {name: x[name] + change for name, change in dx.items()}
