"""Derivatives with respect to records in time, of corrections or of an incident wave, are exact."""

import jax.numpy as jnp
import numpy as np
import pytest
from support.marks import night_params
from support.small_twin import winds_twin

import swmodel
from swmodel.assimilation.experiment import prior_config, true_corrections
from swmodel.errors import UsageError
from swmodel.gradients import Problem, corrections, incident_wave
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

#: Records of the weather and of corrections have the same times, which lie between steps.
STRONG_WIND_OPTIONS = {"case.weather": 0.1, "case.wind": 0.1, "forcing.every": 50e3}
WINDS = ("wind_x_correction", "wind_y_correction")


def thickness(view, k):
    return view.state.h - view.depth


def energy(view, k):
    return jnp.sum(thickness(view, k) ** 2 + view.state.u**2)


def problem_with_corrections(names=WINDS, **options):
    return Problem(winds_twin(**STRONG_WIND_OPTIONS, **options), names, thickness, every=5)


def problem_with_open_boundaries():
    options = {"open_boundaries.sides": ("west", "south"), "run.executor": "xla"}
    return problem_with_corrections(["boundary_level_correction"], **options)


def problem_of_flooded_beach(names=(incident_wave.CONTROL,), observe=energy):
    """A wave enters and floods a beach; times of its records lie between steps."""
    options = {"grid.nx": 25, "grid.ny": 9, "grid.dx": 0.224, "grid.dy": 0.398, "run.dtype": "float64"}
    options |= {"run.days": 2.0 / 86400, "case.height": 0.7, "forcing.every": 0.07, "run.executor": "native"}
    return Problem(swmodel.load("monai", options, environ={}), names, observe, every=4)


@pytest.mark.promise("derivatives with respect to corrections in time are exact")
@pytest.mark.parametrize(
    ("make_problem", "amplitude", "tolerances"),
    [
        (problem_with_corrections, 0.1, (1e-12, 1e-6)),
        (problem_with_open_boundaries, 1e-3, (1e-12, 1e-6)),
        *night_params((problem_of_flooded_beach, 1e-4, (1e-11, 1e-5))),
    ],
    ids=["winds", "boundary level", "incident wave"],
)
def test_tangent_adjoint_and_finite_differences_agree(make_problem, amplitude, tolerances):
    problem, rng = make_problem(), np.random.default_rng(1)
    x = problem.first_guess()
    x, d = ({name: jnp.asarray(base + amplitude * rng.standard_normal(base.shape)) for name, base in controls.items()}
            for controls in (x, {name: 0 * value for name, value in x.items()}))  # fmt: skip

    def value(series):
        return problem.transport.sum((series[1:] ** 2).sum())

    J, gradient = problem.value_and_gradient(x, value)
    derivative, (series, tangent) = problem.dot(gradient, d), problem.tangent(x, d)
    np.testing.assert_allclose(float((2 * series * tangent)[1:].sum()), derivative, rtol=tolerances[0])
    s = 1e-4 if amplitude == 0.1 else 1e-3
    values = [float(problem.value({name: x[name] + sign * d[name] for name in x}, value)) for sign in (s, -s)]
    np.testing.assert_allclose((values[0] - values[1]) / (2 * s), derivative, rtol=tolerances[1])
    (derivatives_by_record, *_) = gradient.values()
    assert all(np.any(np.asarray(record) != 0) for record in derivatives_by_record[1:-2])


@pytest.mark.promise("derivatives with respect to corrections in time are exact")
@pytest.mark.parametrize("case", ["weather", "stommel"])
def test_constant_correction_is_a_change_of_the_wind(case):
    """In `weather` the wind itself varies in time, in `stommel` it does not."""
    options = {"run.steps": 9, "run.days": None, "run.dtype": "float64", "run.executor": "xla"}
    config = winds_twin(**STRONG_WIND_OPTIONS | options)
    config = config if case == "weather" else swmodel.load(case, options, environ={})

    def final_thickness(name):
        problem = Problem(config, [name], thickness)
        return problem.series({name: problem.first_guess()[name] + 0.03})[-1]

    np.testing.assert_allclose(final_thickness("wind_x_correction"), final_thickness("wind_x"), rtol=0, atol=1e-12)


def test_first_guess_with_the_true_corrections_runs_as_the_truth():
    config = winds_twin(**STRONG_WIND_OPTIONS)
    truth, guess = (Problem(run_config, WINDS, thickness, every=5) for run_config in (config, prior_config(config)))
    x = {name: jnp.asarray(value) for name, value in true_corrections(config, guess).items()}
    difference_without_corrections = np.abs(truth.series(truth.first_guess()) - guess.series(guess.first_guess())).max()
    # The last record is after the end of the run, but the true correction there is that at the end: samples differ.
    difference = np.abs(truth.series(truth.first_guess())[:-1] - guess.series(x)[:-1]).max()
    assert difference < 1e-9 * difference_without_corrections


@pytest.mark.parametrize("steps", [20, 21, 25])
def test_last_record_is_after_the_start_of_the_last_step(steps):
    """The last step ends before a record, passes it, or starts after it."""
    options = STRONG_WIND_OPTIONS | {"run.steps": steps, "assimilation.every_steps": 1}
    problem = Problem(winds_twin(**options), WINDS, thickness)
    times = corrections.record_times(problem.domain.setup, "wind_x_correction")
    assert len(problem.first_guess()["wind_x_correction"]) == len(times)
    assert times[-2] <= (steps - 1) * 7200 < times[-1]


def test_controls_without_their_forcing_are_refused():
    for name in ("wind_z_correction", "boundary_level_correction"):
        with pytest.raises(UsageError, match=name):
            Problem(winds_twin(), [name], thickness)
    with pytest.raises(UsageError, match=incident_wave.CONTROL):
        Problem(swmodel.load("vortex", {"run.executor": "xla"}), [incident_wave.CONTROL], energy).first_guess()


@pytest.mark.night
def test_first_guess_of_the_incident_wave_is_that_of_the_configuration():
    problem, eta_run = problem_of_flooded_beach(observe=thickness), problem_of_flooded_beach(["eta"], thickness)
    case, x, at = problem.config.case, problem.first_guess(), type("At", (), {"x": np.zeros((2, 1))})
    times = corrections.record_times(setup_of(problem.config), incident_wave.CONTROL)
    levels = [case.boundary_level(problem.config, at, t)[0, 0] for t in times]
    np.testing.assert_allclose(x[incident_wave.CONTROL], levels, atol=1e-15)
    np.testing.assert_allclose(problem.series(x)[-1], eta_run.series(eta_run.first_guess())[-1], rtol=0, atol=1e-13)
