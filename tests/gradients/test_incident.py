"""Derivatives by the records of an incident wave are exact, also where it floods a beach."""

import jax.numpy as jnp
import numpy as np
import pytest

import swmodel
from swmodel.errors import UsageError
from swmodel.gradients import Problem, corrections, incident
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.night

GRID = {"grid.nx": 25, "grid.ny": 9, "grid.dx": 0.224, "grid.dy": 0.398}
SIZE = GRID | {"run.dtype": "float64", "run.days": 2.0 / 86400}
SHALLOW = {"case.height": 0.7, "forcing.every": 0.07}  # records between steps


def energy(view, k):
    return jnp.sum((view.state.h - view.depth) ** 2 + view.state.u**2)


def test_tangent_adjoint_and_quotient_agree():
    config = swmodel.load("monai", SIZE | SHALLOW | {"run.executor": "native"}, environ={})
    problem = Problem(config, [incident.NAME], energy, every=4)
    x = problem.first_guess()
    rng = np.random.default_rng(1)
    d = {name: jnp.asarray(1e-4 * rng.standard_normal(value.shape)) for name, value in x.items()}

    def value(series):
        return problem.transport.sum(series[1:].sum())

    J, gradient = problem.value_and_gradient(x, value)
    slope = problem.dot(gradient, d)
    _, tangent = problem.tangent(x, d)
    np.testing.assert_allclose(float(tangent[1:].sum()), slope, rtol=1e-11)
    s = 1e-3
    moved = [float(problem.value({name: x[name] + side * d[name] for name in x}, value)) for side in (s, -s)]
    np.testing.assert_allclose((moved[0] - moved[1]) / (2 * s), slope, rtol=1e-5)
    assert np.all(np.asarray(gradient[incident.NAME])[1:-2] != 0)


def test_the_first_guess_is_the_wave_of_the_configuration_and_runs_as_it():
    config = swmodel.load("monai", SIZE | SHALLOW | {"run.executor": "native"}, environ={})
    problem = Problem(config, [incident.NAME], lambda view, k: view.state.h)
    setup = setup_of(problem.config)
    case, x = problem.config.case, problem.first_guess()
    at = np.arange(2)[:, None]
    known = [
        case.outside_level(problem.config, type("At", (), {"x": 0 * at}), t)[0, 0]
        for t in corrections.times(setup, incident.NAME)
    ]
    np.testing.assert_allclose(x[incident.NAME], known, atol=1e-15)
    plain = Problem(config, ["eta"], lambda view, k: view.state.h)
    np.testing.assert_allclose(problem.series(x)[-1], plain.series(plain.first_guess())[-1], rtol=1e-12)


def test_without_such_a_wave_it_is_said():
    with pytest.raises(UsageError, match=incident.NAME):
        Problem("tidal_flat", [incident.NAME], energy).first_guess()
