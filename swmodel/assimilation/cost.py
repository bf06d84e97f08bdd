"""The cost of 4D-Var, its gradient and the product of its Gauss-Newton Hessian with a vector.

J        J(w) = <w, w>/2 + |R^(-1/2) (d - H M(x_b + L w))|²/2
gradient J'(w) = w - Lᵀ Mᵀ Hᵀ R^-1 (d - H M(x_b + L w))
Hessian  J''(w) dw = dw + Lᵀ Mᵀ Hᵀ R^-1 H M L dw
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .gauss_newton import Cost, make_dot


class CostFunction:
    """J on all processes of a run, which make it and call its methods together, with the same numbers on all.

    Attributes:
        sweeps: number of gradients and Hessian products so far.
    """

    def __init__(self, experiment):
        self.problem, self.background, self.base = experiment.problem, experiment.background, experiment.base
        observations = self.observations = experiment.observations
        transport, dtype, operator = self.problem.transport, self.problem.config.run.dtype, experiment.operator
        self.dot, self.number, self.sweeps = make_dot(transport), observations.size, 0
        value, error = jnp.asarray(observations.value, dtype), jnp.asarray(observations.error, dtype)
        self._seed = jnp.asarray(transport.rank == 0, dtype)

        def observed(series):
            return operator.collect(transport.sum(series))

        def weigh(series, seed):
            seen, back = jax.vjp(observed, series)
            return back(seed * seen / error**2)[0]

        self._observed, self._weigh = jax.jit(observed), jax.jit(weigh)
        self._misfit = lambda series: 0.5 * jnp.sum(((value - observed(series)) / error) ** 2)
        self._at = jax.jit(lambda background, base, w: add(base, background.apply(w)))
        self._apply = jax.jit(lambda background, base, dw: jax.tree.map(jnp.zeros_like, base) | background.apply(dw))
        self._transpose = jax.jit(lambda background, x: background.transpose(x))

    def start(self) -> dict:
        """w = 0: the first guess."""
        dtype = self.problem.config.run.dtype
        return {name: jnp.zeros(np.shape(self.base[name]), dtype) for name in self.background.names}

    def at(self, w: dict) -> dict:
        """x = x_b + L w."""
        return self._at(self.background, self.base, w)

    def observed(self, x: dict) -> np.ndarray:
        """H M(x): the model's values of the observed quantities, [n]."""
        return np.asarray(self._observed(self.problem.series(x)), np.float64)

    def tangent(self, w: dict, dw: dict) -> tuple[np.ndarray, np.ndarray]:
        """H M(x_b + L w), and H M L dw along its trajectory, [n]."""
        both = self.problem.tangent(self.at(w), self._apply(self.background, self.base, dw))
        values, changes = (np.asarray(self._observed(series), np.float64) for series in both)
        return values, changes

    def cost_and_gradient(self, w: dict):
        """(Cost, gradient)."""
        self.sweeps += 1
        misfit, x_bar = self.problem.value_and_gradient(self.at(w), self._misfit)
        return Cost(0.5 * self.dot(w, w), float(misfit), self.number), add(w, self.back(x_bar))

    def hessian(self, w: dict, dw: dict) -> dict:
        """The product of the Gauss-Newton Hessian at w with dw: symmetric and positive definite."""
        self.sweeps += 1
        x = self.at(w)
        _, d_series = self.problem.tangent(x, self._apply(self.background, self.base, dw))
        x_bar = self.problem.adjoint(x, self._weigh(d_series, self._seed))
        return add(dw, self.back(x_bar))

    def back(self, x_bar: dict) -> dict:
        """Lᵀ x_bar."""
        return self._transpose(self.background, {name: x_bar[name] for name in self.background.names})


def add(x: dict, dx: dict) -> dict:
    """x + dx, for the names in dx."""
    return x | {name: x[name] + change for name, change in dx.items()}
