"""Derivatives with respect to records in time (corrections of the weather, an incident wave) are exact."""

import jax.numpy as jnp
import numpy as np
import pytest
from support.marks import night_params
from support.small_twin import weather_twin

import swmodel
from swmodel.assimilation.experiment import prior_config, true_corrections
from swmodel.errors import UsageError
from swmodel.gradients import Problem, corrections, incident_wave
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

#: Records of the weather and of corrections are at the same times, between steps.
STRONG_WIND_OPTIONS = {"case.weather": 0.1, "case.wind": 0.1, "forcing.every": 50e3}
WINDS = ("wind_x_correction", "wind_y_correction")


def thickness(view, k):
    return view.state.h - view.depth


def energy(view, k):
    return jnp.sum(thickness(view, k) ** 2 + view.state.u**2)


def problem_with_corrections(names=WINDS, **options):
    return Problem(weather_twin(**STRONG_WIND_OPTIONS, **options), names, thickness, every=5)


def problem_with_open_boundaries():
    options = {"open_boundaries.sides": ("west", "south"), "run.executor": "xla"}
    return problem_with_corrections(["boundary_level_correction"], **options)


def problem_of_flooded_beach(names=(incident_wave.CONTROL,), observe=energy):
    """A wave enters and floods a beach; its records are between steps."""
    options = {"grid.nx": 25, "grid.ny": 9, "grid.dx": 0.224, "grid.dy": 0.398, "run.dtype": "float64"}
    options |= {"run.days": 2.0 / 86400, "case.height": 0.7, "forcing.every": 0.07, "run.executor": "native"}
    return Problem(swmodel.load("monai", options, environ={}), names, observe, every=4)


@pytest.mark.promise("derivatives by corrections in time are exact")
@pytest.mark.parametrize(
    ("make", "size", "bound"),
    [
        (problem_with_corrections, 0.1, (1e-12, 1e-6)),
        (problem_with_open_boundaries, 1e-3, (1e-12, 1e-6)),
        *night_params((problem_of_flooded_beach, 1e-4, (1e-11, 1e-5))),
    ],
    ids=["winds", "outside level", "incident wave"],
)
def test_tangent_adjoint_and_finite_differences_agree(make, size, bound):
    problem, rng = make(), np.random.default_rng(1)
    x = problem.first_guess()
    x, d = ({name: jnp.asarray(base + size * rng.standard_normal(base.shape)) for name, base in at.items()}
            for at in (x, {name: 0 * value for name, value in x.items()}))  # fmt: skip

    def value(series):
        return problem.transport.sum((series[1:] ** 2).sum())

    J, gradient = problem.value_and_gradient(x, value)
    slope, (series, tangent) = problem.dot(gradient, d), problem.tangent(x, d)
    np.testing.assert_allclose(float((2 * series * tangent)[1:].sum()), slope, rtol=bound[0])
    s = 1e-4 if size == 0.1 else 1e-3
    both = [float(problem.value({name: x[name] + side * d[name] for name in x}, value)) for side in (s, -s)]
    np.testing.assert_allclose((both[0] - both[1]) / (2 * s), slope, rtol=bound[1])
    (by_record, *_) = gradient.values()
    assert all(np.any(np.asarray(record) != 0) for record in by_record[1:-2])


@pytest.mark.promise("derivatives by corrections in time are exact")
@pytest.mark.parametrize("case", ["weather", "stommel"])
def test_constant_correction_is_a_change_of_the_wind(case):
    """The wind itself varies in time, or does not."""
    options = {"run.steps": 9, "run.days": None, "run.dtype": "float64", "run.executor": "xla"}
    config = weather_twin(**STRONG_WIND_OPTIONS | options)
    config = config if case == "weather" else swmodel.load(case, options, environ={})

    def moved(name):
        problem = Problem(config, [name], thickness)
        return problem.series({name: problem.first_guess()[name] + 0.03})[-1]

    np.testing.assert_allclose(moved("wind_x_correction"), moved("wind_x"), rtol=0, atol=1e-12)


def test_first_guess_with_its_corrections_runs_as_the_truth():
    config = weather_twin(**STRONG_WIND_OPTIONS)
    truth, guess = (Problem(each, WINDS, thickness, every=5) for each in (config, prior_config(config)))
    x = {name: jnp.asarray(value) for name, value in true_corrections(config, guess).items()}
    apart = np.abs(truth.series(truth.first_guess()) - guess.series(guess.first_guess())).max()
    # The last record of the truth is after the end of the run, where the corrections are those at the end.
    found = np.abs(truth.series(truth.first_guess())[:-1] - guess.series(x)[:-1]).max()
    assert found < 1e-9 * apart


@pytest.mark.parametrize("steps", [20, 21, 25])
def test_records_reach_as_far_as_the_steps(steps):
    """The last step begins before, at, and after a record."""
    options = STRONG_WIND_OPTIONS | {"run.steps": steps, "assimilation.every_steps": 1}
    problem = Problem(weather_twin(**options), WINDS, thickness)
    times = corrections.record_times(problem.domain.setup, "wind_x_correction")
    assert len(problem.first_guess()["wind_x_correction"]) == len(times)
    assert times[-2] <= (steps - 1) * 7200 < times[-1]


def test_records_need_their_forcing():
    for name in ("wind_z_correction", "boundary_level_correction"):
        with pytest.raises(UsageError, match=name):
            Problem(weather_twin(), [name], thickness)
    with pytest.raises(UsageError, match=incident_wave.CONTROL):
        Problem(swmodel.load("vortex", {"run.executor": "xla"}), [incident_wave.CONTROL], energy).first_guess()


@pytest.mark.night
def test_first_incident_wave_is_that_of_the_configuration():
    problem, plain = problem_of_flooded_beach(observe=thickness), problem_of_flooded_beach(["eta"], thickness)
    case, x, at = problem.config.case, problem.first_guess(), type("At", (), {"x": np.zeros((2, 1))})
    times = corrections.record_times(setup_of(problem.config), incident_wave.CONTROL)
    known = [case.boundary_level(problem.config, at, t)[0, 0] for t in times]
    np.testing.assert_allclose(x[incident_wave.CONTROL], known, atol=1e-15)
    np.testing.assert_allclose(problem.series(x)[-1], plain.series(plain.first_guess())[-1], rtol=0, atol=1e-13)
