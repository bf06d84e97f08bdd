"""The impact of observations is the adjoint of the analysis: that of dense matrices, and of difference quotients."""

import json

import jax
import netCDF4
import numpy as np
import pytest
from support.small_weather import weather

from swmodel.assimilation import assimilate
from swmodel.assimilation.cost import CostFunction
from swmodel.assimilation.error_statistics import by_station
from swmodel.assimilation.experiment import prepare, problem_of
from swmodel.assimilation.gauss_newton import Limits, Progress, minimise
from swmodel.assimilation.impact import impact_of
from swmodel.assimilation.settings import check_assimilation
from swmodel.errors import UsageError
from swmodel.gradients.corrections import extended
from swmodel.gradients.quantities import parse

pytestmark = pytest.mark.slow

OF = {"assimilation.impact": "eta:3.1e5,5.2e5", "assimilation.impact_days": 0.5}
EXACT = Limits(gradient=1e-9, outer=3, inner=200, residual=1e-8)


def ignore(*_):
    """Tick."""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    return prepare(weather(**OF), tmp_path_factory.mktemp("twin"), None)


@pytest.fixture(scope="module")
def forecast(experiment):
    """The run with the half day after the window, which observes the quantity, as a function of its controls."""
    config = experiment.problem.config
    longer = config.model_copy(update={"run": config.run.model_copy(update={"steps": config.run.steps + 6})})
    problem, observer = problem_of(longer, experiment.problem.names, longer.run.steps, ignore)
    observer.operator = parse(OF["assimilation.impact"], config)
    return problem


@pytest.fixture(scope="module")
def analysed(experiment):
    """The cost, its minimum, and the impact there."""
    function = CostFunction(experiment)
    w = minimise(
        function.cost_and_gradient, function.hessian, function.dot, Progress(function.start()), EXACT
    ).progress.w
    return function, w, impact_of(experiment, function, w, function.hessian, ignore, residual=1e-11)


def flat(w):
    return np.concatenate([np.ravel(w[name]) for name in sorted(w)])


def last(series):
    return series[-1]


@pytest.mark.promise("impacts are those of the gain")
def test_it_is_that_of_the_gain_of_dense_matrices(experiment, forecast, analysed):
    function, w, found = analysed
    problem, observations, x = experiment.problem, experiment.observations, function.at(w)
    _, back = jax.vjp(experiment.operator.collect, problem.series(x))
    unit = np.eye(observations.size)
    rows = np.stack([flat(function.back(problem.adjoint(x, back(one)[0]))) for one in unit])  # H M L
    covariance = rows @ rows.T + np.diag(observations.error**2)
    both = [forecast.value_and_gradient(extended(at, forecast.domain.setup), last)[1] for at in (experiment.base, x)]
    slope = {name: 0.5 * (both[0][name] + both[1][name])[: len(x[name])] for name in x}  # without later records
    expected = np.linalg.solve(covariance, rows @ flat(function.back(slope)))
    np.testing.assert_allclose(found.sensitivity, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.promise("impacts are those of the gain")
def test_it_is_the_derivative_of_the_analysis_and_sums_to_its_change(experiment, forecast, analysed):
    _, start, found = analysed
    assert found.sensitivity.shape == (experiment.observations.size,)
    values = []
    chosen = int(np.argmax(np.abs(found.sensitivity)))
    for side in (1, -1):
        value = experiment.observations.value.copy()
        value[chosen] += side * experiment.observations.error[chosen]
        moved = experiment._replace(observations=experiment.observations._replace(value=value))
        function = CostFunction(moved)
        limits = EXACT._replace(outer=1)
        w = minimise(function.cost_and_gradient, function.hessian, function.dot, Progress(start), limits).progress.w
        values.append(float(forecast.value(extended(function.at(w), forecast.domain.setup), last)))
    quotient = (values[0] - values[1]) / (2 * experiment.observations.error[chosen])
    np.testing.assert_allclose(quotient, found.sensitivity[chosen], rtol=1e-5)
    np.testing.assert_allclose(found.impact.sum(), found.linear, rtol=1e-6)
    np.testing.assert_allclose(found.linear, found.analysis - found.background, rtol=1e-4)


@pytest.mark.night
def test_stations_share_the_impact_and_are_in_the_files(experiment, analysed, tmp_path):
    config = weather(**OF | {"assimilation.impact": "energy", "assimilation.outer": 1, "case.forecast": 0.0})
    assimilate.compute(config, tmp_path, {}, ignore, "", ignore)
    results = json.loads((tmp_path / "assimilation.json").read_text())
    stations, impact = results["stations"], results["impact"]
    np.testing.assert_allclose(impact["linear"], impact["analysis"] - impact["background"], rtol=1e-4)  # quadratic
    np.testing.assert_allclose(sum(row["impact"] for row in stations), impact["sum"], rtol=1e-12)
    assert sum(row["observations"] for row in stations) == experiment.observations.size
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        np.testing.assert_allclose(file["observation_impact"][:].sum(), impact["sum"], rtol=1e-12)
        assert file["wind_x_correction_analysis"].dimensions == ("time", "y_c", "x_c")
        np.testing.assert_allclose(file["time"][:], [0, 50e3, 100e3, 150e3])
    assert "impact of" in assimilate.summary(tmp_path)
    rows = by_station(experiment.observations, {"analysis": np.zeros(experiment.observations.size)}, None)
    assert all(row["misfit"]["analysis"] == 0 for row in rows)


@pytest.mark.parametrize("wrong", ["speed", "eta:none", "eta:-1e9,0"])
def test_a_quantity_that_is_none_is_said(wrong):
    with pytest.raises(UsageError, match=f"^assimilation.impact {wrong}: "):
        check_assimilation(weather(**{"assimilation.impact": wrong}))
    assert parse("mass", weather()).units == "kg"
