"""The impact of each observation on a quantity J of the forecast: the adjoint of the analysis.

Near the last trajectory the analysis is linear in the observations y: dx_a = K dy. The change of J that they make is

    J(x_a) - J(x_b) = g · (x_a - x_b) = sum of d Kᵀ g,   g = (J'(x_a) + J'(x_b)) / 2,
    Kᵀ g = R^-1 H M L (1 + Lᵀ Mᵀ Hᵀ R^-1 H M L)^-1 Lᵀ g,   d = y - H M(x_a) + H M (x_a - x_b),

where d is the departure from the first guess along the last trajectory. An observation's d Kᵀ g is its impact. The
first equality holds for quadratic J in a linear model, and else to second order; the next one at the minimum of the
cost.

Reference: Langland, R. H. and N. L. Baker (2004), Estimation of observation impact using the NRL atmospheric
variational data assimilation adjoint system, Tellus 56A, 189-201.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..gradients.corrections import extended
from ..gradients.quantities import parse
from ..ocean.table import CORRECTIONS
from .experiment import problem_of
from .gauss_newton import conjugate_gradients
from .settings import until_impact

#: Residual of the equation for the impact, relative to its right side.
RESIDUAL = 1e-3


class Impact(NamedTuple):
    """The impact of observations on a quantity.

    Attributes:
        quantity: a `gradients.quantities.Quantity`.
        background, analysis: its values in the runs from first guess and analysis.
        linear: g · (x_a - x_b).
        sensitivity, impact: Kᵀ g and d Kᵀ g, [n].
    """

    quantity: Any
    background: float
    analysis: float
    linear: float
    sensitivity: np.ndarray
    impact: np.ndarray


def impact_of(experiment, function, w: dict, hessian, tick, residual: float = RESIDUAL) -> Impact:
    """The Impact on `assimilation.impact`, `impact_days` after the window; all processes call it together.

    Args:
        function: the `cost.CostFunction` of the experiment, with its minimum at w.
        hessian: (w, dw) -> the product of its Hessian at w with dw.
        residual: limit of conjugate gradients, which take at most as many iterations as the minimisation.
    """
    config, options = experiment.problem.config, experiment.problem.config.assimilation
    quantity = parse(options.impact, config, "assimilation.impact")
    longer = until_impact(config)
    problem, observer = problem_of(longer, experiment.problem.names, longer.run.steps, tick, experiment.problem.memory)
    observer.operator = quantity
    setup, transport = problem.domain.setup, problem.transport

    def value_of(series):
        return transport.sum(series[-1])

    x = function.at(w)
    (before, first), (after, last) = (
        problem.value_and_gradient(extended(each, setup), value_of) for each in (experiment.base, x)
    )
    slope = {name: 0.5 * (first[name] + last[name]) for name in x}
    slope = {name: bar[: len(x[name])] if name in CORRECTIONS else bar for name, bar in slope.items()}
    right = function.back(slope)
    found = conjugate_gradients(
        lambda dw: hessian(w, dw),
        {name: -value for name, value in right.items()},
        function.dot,
        tolerance=residual,
        iterations=options.outer * options.inner,
    )
    observations = experiment.observations
    modelled, change = function.tangent(w, w)
    sensitivity = function.tangent(w, found.step)[1] / observations.error**2
    impact = sensitivity * (observations.value - modelled + change)
    return Impact(quantity, float(before), float(after), function.dot(right, w), sensitivity, impact)
