"""The impact of each observation on a quantity J of the forecast, by the adjoint of the analysis.

Near the last trajectory the analysis is linear in the observations y: dx_a = K dy. All of them together change J by

    J(x_a) - J(x_b) = g · (x_a - x_b) = sum of d Kᵀ g,   g = (J'(x_a) + J'(x_b)) / 2,
    Kᵀ g = R^-1 H M L (1 + Lᵀ Mᵀ Hᵀ R^-1 H M L)^-1 Lᵀ g,   d = y - H M(x_a) + H M (x_a - x_b),

where M(x) is the model, and M without an argument its tangent along the last trajectory; H, R and L are as in `cost`. d
is the departure of the observations from the first guess, linearised along this trajectory. The term of an observation
in the sum is its impact. The first equality is exact for a quadratic J and a linear model, and otherwise correct to
second order. The second holds because x_a minimises the cost function of the assimilation.

Reference: Langland, R. H. and N. L. Baker (2004), Estimation of observation impact using the NRL atmospheric
variational data assimilation adjoint system, Tellus 56A, 189-201.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..gradients.corrections import extend_corrections
from ..gradients.quantities import parse_quantity
from ..ocean.table import CORRECTIONS
from .experiment import make_problem
from .gauss_newton import conjugate_gradients
from .settings import config_until_impact

#: Conjugate gradients stop at this residual of the equation for the impact, relative to its right-hand side.
RESIDUAL_RATIO = 1e-3


class ObservationImpact(NamedTuple):
    """The impact of observations on a quantity.

    Attributes:
        quantity: a `gradients.quantities.ScalarQuantity`.
        background, analysis: the quantity J in the runs from the first guess and from the analysis.
        linear_change: g · (x_a - x_b).
        sensitivity: Kᵀ g, the change of J per unit change of each observation, [n].
        impact: d Kᵀ g, the change of J that each observation causes, [n], in units of J.
    """

    quantity: Any
    background: float
    analysis: float
    linear_change: float
    sensitivity: np.ndarray
    impact: np.ndarray


def observation_impact(
    experiment, cost_function, w: dict, hessian, tick, residual_ratio: float = RESIDUAL_RATIO
) -> ObservationImpact:
    """The impact of each observation on the quantity `assimilation.impact`, `impact_days` days after the window.

    All processes call this together.

    Args:
        cost_function: the `cost.CostFunction` of the experiment, whose minimum is at w.
        hessian: (w, dw) -> the product of its Hessian at w with dw.
        tick: function of the transport that is called between pieces of computation; it may raise.
        residual_ratio: tolerance of conjugate gradients, which take at most as many iterations as a whole minimisation.
    """
    config, options = experiment.problem.config, experiment.problem.config.assimilation
    quantity = parse_quantity(options.impact, config, "assimilation.impact")
    forecast_config = config_until_impact(config)
    problem, observer = make_problem(
        forecast_config, experiment.problem.names, forecast_config.run.steps, tick, experiment.problem.memory
    )
    observer.operator = quantity
    setup, transport = problem.domain.setup, problem.transport

    def forecast_value(series):
        return transport.sum(series[-1])

    analysis_controls = cost_function.controls_at(w)
    (value_background, gradient_background), (value_analysis, gradient_analysis) = (
        problem.value_and_gradient(extend_corrections(controls, setup), forecast_value)
        for controls in (experiment.first_guess, analysis_controls)
    )
    mean_gradient = {name: 0.5 * (gradient_background[name] + gradient_analysis[name]) for name in analysis_controls}
    mean_gradient = {
        name: values[: len(analysis_controls[name])] if name in CORRECTIONS else values
        for name, values in mean_gradient.items()
    }
    right_side = cost_function.background_transpose(mean_gradient)
    solution = conjugate_gradients(
        lambda dw: hessian(w, dw),
        {name: -value for name, value in right_side.items()},
        cost_function.dot,
        tolerance=residual_ratio,
        max_iterations=options.outer * options.inner,
    )
    observations = experiment.observations
    analysed_values, model_increment = cost_function.tangent(w, w)
    sensitivity = cost_function.tangent(w, solution.step)[1] / observations.error**2
    impact = sensitivity * (observations.value - analysed_values + model_increment)
    return ObservationImpact(
        quantity, float(value_background), float(value_analysis), cost_function.dot(right_side, w), sensitivity, impact
    )
