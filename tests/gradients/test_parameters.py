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

NY, NX, STEPS = 8, 9, 6


def problem_of(term, names, **options):
    fields = random_fields(NY, NX, seed=3, amplitude=0.3, land=0.1)
    usual = {"run__steps": STEPS, "run__executor": "xla", "grid__periodic_x": False}
    config = configuration(NY, NX, fields, **usual | options)
    return Problem(load(config, terms=[term]), names, lambda view, k: view.state)


def energy(series):
    return jnp.sum(series.u[-1] ** 2) + jnp.sum(series.v[-1] ** 2)


def moved(x, d, size):
    return {name: jax.tree.map(lambda a, b: a if b is None else a + size * b, x[name], d[name], is_leaf=is_none)
            for name in x}  # fmt: skip


def is_none(leaf):
    return leaf is None or callable(leaf)


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_derivatives_by_a_network_and_the_initial_state_are_exact():
    """Taylor slope 2; tangent and adjoint agree."""
    problem = problem_of(Parametric(stress, weights()), ["stress", "eta"])
    x = problem.first_guess()
    jax.tree.map(np.testing.assert_array_equal, without(x["stress"]), without(weights()))
    d = direction(x, 1)
    value, gradient = problem.value_and_gradient(x, energy)
    assert gradient["stress"]["activation"] is None
    slope = problem.dot(gradient, d)
    rests = [abs(float(problem.value(moved(x, d, s), energy) - value) - s * slope) for s in (1e-3, 2.5e-4)]
    assert math.log(rests[0] / rests[1], 4) == pytest.approx(2, abs=0.02)

    series, tangent = problem.tangent(x, d)
    left = problem.dot(tangent._asdict(), series._asdict())
    assert problem.dot(d, problem.adjoint(x, series)) == pytest.approx(left, rel=1e-12)


@pytest.mark.promise("derivatives with respect to a network are exact")
@pytest.mark.night
def test_second_derivatives_by_a_network_and_the_initial_state_are_symmetric():
    problem = problem_of(Parametric(stress, weights()), ["stress", "eta"])
    x = problem.first_guess()
    d, e = direction(x, 1), direction(x, 2)
    forth, back = (problem.dot(a, problem.hessian_vector(x, b, energy)) for a, b in ((d, e), (e, d)))
    assert forth == pytest.approx(back, rel=1e-10)


def direction(x, seed):
    return {"stress": weights(seed) | {"activation": None}, "eta": 0.1 * x["eta"] ** 2}


def without(tree):
    return {name: leaf for name, leaf in tree.items() if name != "activation"}


def friction(state, grid, t, weights):
    """Fluxes through faces that are linear in the slopes of 3 x 3 cells around."""

    def flux(slope):
        return op.cell_by_cell(lambda around: weights @ around, [slope], 1)[0]

    through_x, through_y = flux(op.dx_c(state.u) * grid.rdx.centre), flux(op.dy_f(state.u) * grid.rdy.corner)
    return {"u": op.dx_f(through_x) * grid.rdx.u + op.dy_c(through_y) * grid.rdy.u}


def viscous(state, grid, t, viscosity):
    return {"u": op.diffusion_u(state.u, viscosity, grid)}


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_a_network_that_can_be_a_viscosity_finds_the_one_that_the_data_have():
    """Its middle weight to 1 %, and nothing else: by two steps of Gauss-Newton through the run from zero."""
    options = {"grid__periodic_x": True, "grid__periodic_y": True, "physics__viscosity": 0.0}
    fields = {"wind_x": 0.1 * np.ones((NY, NX)), "u": np.random.default_rng(0).standard_normal((NY, NX))}
    config = configuration(NY, NX, fields, run__steps=4, run__executor="xla", **options)
    true = swmodel.Simulation(load(config, fields={"viscosity": 300.0}))
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
@pytest.mark.night
def test_momentum_is_conserved_by_the_divergence_of_a_stress():
    """The sum of h u over a ring, in the first step of ab2, Euler's: whatever the network says."""
    fields = {name: random_fields(NY, NX)[name] for name in ("eta", "u", "v")} | {"depth": np.full((NY, NX), 50.0)}
    config = configuration(NY, NX, fields, run__executor="xla", grid__periodic_y=True)
    after = []
    for terms in ([], [Parametric(stress, weights())]):
        model = swmodel.Simulation(load(config, terms=terms))
        h = model.state.h
        model.advance(1)
        after.append(model.state)
    for axis, name in ((1, "u"), (0, "v")):
        change = (h + np.roll(h, -1, axis)) * (getattr(after[1], name) - getattr(after[0], name))
        assert abs(change.sum()) < 1e-12 * np.abs(change).sum()


@pytest.mark.fault("a network that does not fit: inputs, outputs, precision, not finite")
def test_parameters_that_do_not_fit_are_named():
    problem = problem_of(Parametric(stress, weights()), ["stress"])
    x = {"stress": weights() | {"bias": np.zeros(5)}}
    with pytest.raises(UsageError, match=r"^stress: parameters\['bias'\] has shape \(5,\); must be \(3,\)$"):
        problem.value(x, energy)
    with pytest.raises(UsageError, match="^stress: 2 arrays of parameters instead of 3$"):
        problem.value({"stress": [np.zeros((3, 18)), np.zeros(3)]}, energy)
    with pytest.raises(UsageError, match="^no control network; there are eta, .*, gravity, .*stress$"):
        problem_of(Parametric(stress, weights()), ["network"])
