"""Corrections of the weather at records in time: what a run does with them, and exact derivatives."""

import jax.numpy as jnp
import numpy as np
import pytest
from support.small_weather import weather

import swmodel
from swmodel.assimilation.experiment import believed, true_corrections
from swmodel.errors import UsageError
from swmodel.gradients import Problem, corrections
from swmodel.ocean.table import CORRECTIONS

pytestmark = pytest.mark.slow

#: Records of the weather and of corrections at the same times, between steps.
STRONG = {"case.weather": 0.1, "case.wind": 0.1, "forcing.every": 50e3}
WINDS = ("wind_x_correction", "wind_y_correction")


def thickness(view, k):
    return view.state.h - view.depth


def moved(x, seed, size):
    rng = np.random.default_rng(seed)
    return {name: jnp.asarray(x[name] + size * rng.standard_normal(np.shape(x[name]))) for name in x}


@pytest.mark.promise("derivatives by corrections in time are exact")
@pytest.mark.parametrize("executor", ["native", "xla"])
def test_tangent_adjoint_and_quotient_agree(executor):
    problem = Problem(weather(**STRONG, **{"run.executor": executor}), WINDS, thickness, every=5)
    x = moved(problem.first_guess(), 1, 0.1)
    d = moved({name: 0 * value for name, value in x.items()}, 2, 0.1)

    def value(series):
        return problem.transport.sum((series[1:] ** 2).sum())

    J, gradient = problem.value_and_gradient(x, value)
    slope, (series, tangent) = problem.dot(gradient, d), problem.tangent(x, d)
    np.testing.assert_allclose(float((2 * series * tangent)[1:].sum()), slope, rtol=1e-12)
    s = 1e-4
    both = [float(problem.value({name: x[name] + side * d[name] for name in x}, value)) for side in (s, -s)]
    np.testing.assert_allclose((both[0] - both[1]) / (2 * s), slope, rtol=1e-6)
    assert all(np.any(np.asarray(record) != 0) for record in gradient["wind_y_correction"])


@pytest.mark.promise("derivatives by corrections in time are exact")
def test_a_constant_correction_is_a_change_of_the_wind():
    for config in (weather(**STRONG), swmodel.load("stommel", {"run.steps": 9, "run.days": None}, environ={})):
        steady, corrected = (Problem(config, name, thickness) for name in ("wind_x", "wind_x_correction"))
        x, y = steady.first_guess(), corrected.first_guess()
        np.testing.assert_allclose(
            corrected.series({"wind_x_correction": y["wind_x_correction"] + 0.03})[-1],
            steady.series({"wind_x": x["wind_x"] + 0.03})[-1],
            rtol=0,
            atol=1e-6 if config.run.dtype == "float32" else 1e-12,
        )


def test_with_its_corrections_the_run_of_the_first_guess_is_the_truth():
    config = weather(**STRONG)
    truth = Problem(config, WINDS, thickness, every=5)
    guess = Problem(believed(config), WINDS, thickness, every=5)
    x = {name: jnp.asarray(value) for name, value in true_corrections(config, guess).items()}
    apart = np.abs(truth.series(truth.first_guess()) - guess.series(guess.first_guess())).max()
    # The last record of the truth lies after the run's end: there the corrections are those of the end.
    found = np.abs(truth.series(truth.first_guess())[:-1] - guess.series(x)[:-1]).max()
    assert found < 1e-9 * apart


@pytest.mark.parametrize("steps", [20, 21, 25])
def test_the_records_reach_as_far_as_the_steps(steps):
    """The last step begins before, at, and after a record."""
    problem = Problem(weather(**STRONG, **{"run.steps": steps, "assimilation.every_steps": 1}), WINDS, thickness)
    times = corrections.times(problem.domain.setup, "wind_x_correction")
    assert len(problem.first_guess()["wind_x_correction"]) == len(times)
    assert times[-2] <= (steps - 1) * 7200 < times[-1]


def test_without_the_forcing_it_is_said():
    with pytest.raises(UsageError, match="no control wind_z_correction"):
        Problem(weather(), ["wind_z_correction"], thickness)
    assert {"wind_x_correction", "u10_correction", "air_pressure_correction"} <= CORRECTIONS.keys()
