"""Parameters of terms are controls: derivatives by them are exact, and what they were is found again."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.network import stress, weights
from support.random_case import configuration, random_fields

import swmodel
from swmodel import Parametric, load
from swmodel import operators as op
from swmodel.errors import UsageError
from swmodel.gradients import Problem

pytestmark = pytest.mark.slow

NY, NX = 8, 9


def problem_of(names):
    fields = random_fields(NY, NX, seed=3, amplitude=0.3, land=0.1)
    config = configuration(NY, NX, fields, run__steps=6, run__executor="xla", grid__periodic_x=False)
    return Problem(load(config, terms=[Parametric(stress, weights())]), names, lambda view, k: view.state)


def energy(series):
    return jnp.sum(series.u[-1] ** 2) + jnp.sum(series.v[-1] ** 2)


def moved(x, d, size):
    """x + size d; leaves without a derivative stay."""
    return jax.tree.map(lambda a, b: a if b is None else a + size * b, x, d, is_leaf=lambda a: a is None or callable(a))


def direction(x, seed):
    return {"stress": weights(seed) | {"activation": None}, "eta": 0.1 * x["eta"] ** 2}


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_derivatives_by_a_network_are_exact():
    """And by the initial state: Taylor slope 2; tangent and adjoint agree."""
    problem = problem_of(["stress", "eta"])
    x = problem.first_guess()
    for name, leaf in weights().items():
        assert np.array_equal(x["stress"][name], leaf), name
    d = direction(x, 1)
    value, gradient = problem.value_and_gradient(x, energy)
    assert gradient["stress"]["activation"] is None
    slope = problem.dot(gradient, d)
    rests = [abs(float(problem.value(moved(x, d, s), energy) - value) - s * slope) for s in (1e-3, 2.5e-4)]
    assert math.log(rests[0] / rests[1], 4) == pytest.approx(2, abs=0.02)
    series, tangent = problem.tangent(x, d)
    left = problem.dot(tangent._asdict(), series._asdict())
    assert problem.dot(d, problem.adjoint(x, series)) == pytest.approx(left, rel=1e-12)


def friction(state, grid, t, weights):
    """Fluxes through faces that are linear in the slopes of 3 x 3 cells around."""

    def flux(slope):
        return op.cell_by_cell(lambda around: weights @ around, [slope], 1)[0]

    through_x, through_y = flux(op.dx_c(state.u) * grid.rdx.centre), flux(op.dy_f(state.u) * grid.rdy.corner)
    return {"u": op.dx_f(through_x) * grid.rdx.u + op.dy_c(through_y) * grid.rdy.u}


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_training_finds_the_viscosity_of_the_data():
    """Its middle weight to 1 %, and nothing else: by two steps of Gauss-Newton through the run from zero."""
    options = {"grid__periodic_y": True, "physics__viscosity": 0.0, "run__steps": 4, "run__executor": "xla"}
    fields = {"wind_x": 0.1 * np.ones((NY, NX)), "u": np.random.default_rng(0).standard_normal((NY, NX))}
    config = configuration(NY, NX, fields, **options)
    true = swmodel.Simulation(load(config, {"run.executor": "reference"}, fields={"viscosity": 300.0}))
    true.advance(4)
    problem = Problem(load(config, terms=[Parametric(friction, np.zeros((1, 9)))]), ["friction"], lambda v, k: v.state)
    found = np.zeros(9)
    for _ in range(2):
        x, columns = {"friction": found[None]}, []
        for one in np.eye(9):
            series, tangent = problem.tangent(x, {"friction": one[None]})
            columns.append(tangent.u[-1].ravel())
        wrong = (true.state.u - series.u[-1]).ravel()
        found = found + np.linalg.lstsq(np.stack(columns, 1), wrong)[0]
    np.testing.assert_allclose(found, 300.0 * (np.arange(9) == 4), atol=3.0)


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_divergence_of_a_stress_conserves_momentum():
    """The sum of h u over a ring, in the first step of ab2, Euler's: whatever the network says."""
    fields = {name: random_fields(NY, NX)[name] for name in ("eta", "u", "v")} | {"depth": np.full((NY, NX), 50.0)}
    config = configuration(NY, NX, fields, run__executor="xla", grid__periodic_y=True)
    plain, closed = (swmodel.Simulation(load(config, terms=terms)) for terms in ([], [Parametric(stress, weights())]))
    h = plain.state.h
    for model in (plain, closed):
        model.advance(1)
    for axis, name in ((1, "u"), (0, "v")):
        change = (h + np.roll(h, -1, axis)) * (getattr(closed.state, name) - getattr(plain.state, name))
        assert abs(change.sum()) < 1e-12 * np.abs(change).sum()


@pytest.mark.fault("a network that does not fit: inputs, outputs, precision, not finite")
def test_parameters_that_do_not_fit_are_named():
    problem = problem_of(["stress"])
    for wrong, words in (
        (weights() | {"bias": np.zeros(5)}, r"\['bias'\] .*\(5,\).*\(3,\)"),
        ([np.zeros(3)] * 2, "2 .*3"),
    ):
        with pytest.raises(UsageError, match=f"^stress: .*{words}"):
            problem.value({"stress": wrong}, energy)
    with pytest.raises(UsageError, match="network; .*gravity, .*stress"):
        problem_of(["network"])
