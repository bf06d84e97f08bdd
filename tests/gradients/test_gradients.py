"""Derivatives of runs: bounded memory, names, the derivative of a larger loss, parameters of terms, and wrong input.

Tests in tests/executors check with a covering array that derivatives are exact for every stepper, flux and term.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.network import initial_parameters, stress
from support.processes import run_python
from support.quick_compilation import QUICK_ENVIRONMENT, cleared_program_cache
from support.random_case import configuration, random_fields

import swmodel
from swmodel import Parametric
from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.executors.native import calls
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, failures
from swmodel.gradients.plan import Plan, make_plan
from swmodel.model import resolve

pytestmark = pytest.mark.slow

NY, NX, STEPS = 5, 7, 6
FIELDS = random_fields(NY, NX, seed=3, amplitude=0.3)
FIELDS["mask"][2, 3] = 0  # an island
#: The controls of most tests, which share a compiled adjoint step.
CONTROLS = ["eta", "depth", "viscosity", "wind_x"]


def make_config(fields=FIELDS, **options):
    defaults = {"run__steps": STEPS, "run__executor": "native", "grid__periodic_x": False, "time__stepper": "ab2"}
    return configuration(NY, NX, fields, **defaults | options)


def last_state(view, k):
    return view.state


def kinetic_energy(view, k):
    return jnp.sum(view.state.u**2)


def last_value(series):
    return series[-1]


@pytest.mark.parametrize("is_smooth", [True, False])
def test_messages_name_the_inexact_derivatives(is_smooth):
    """For a scheme with kinks, a difference quotient is checked instead of the Taylor slope."""
    results = {"dot_product_error": 1e-9, "hessian_symmetry": 1e-3, "taylor_slope": 1.0, "quotient_error": 1e-3}
    names = [message.split(" is ")[0] for message in failures(results | {"dtype": "float64", "smooth": is_smooth})]
    results.pop("quotient_error" if is_smooth else "taylor_slope")
    assert sorted(names) == sorted(results)


def test_switched_off_controls_have_derivatives():
    """Viscosity and wind are zero in the configuration; their derivatives equal difference quotients."""
    config = make_config(FIELDS | dict.fromkeys(("wind_x", "wind_y"), np.zeros((NY, NX))), physics__viscosity=0.0)
    problem = Problem(config, CONTROLS, kinetic_energy)
    x = problem.first_guess()
    assert not any(np.any(x[name]) for name in ("viscosity", "wind_x"))
    _, gradient = problem.value_and_gradient(x, last_value)
    for name, step in (("viscosity", 1e-2), ("wind_x", 1e-3)):
        values = [float(problem.series(x | {name: x[name] + sign * step})[-1]) for sign in (1, -1)]
        derivative = float(jnp.sum(gradient[name]))
        np.testing.assert_allclose((values[0] - values[1]) / (2 * step), derivative, rtol=1e-6)
        assert derivative


def test_trajectory_is_sampled_after_every_n_steps():
    """Samples are after steps 0, every, 2 every, ..., also if the last step is none of these."""
    dense_problem, *sparser_problems = (Problem(make_config(), ["eta"], last_state, every=every) for every in (1, 2, 4))
    x = dense_problem.first_guess()
    for problem in sparser_problems:
        np.testing.assert_allclose(problem.series(x).h, dense_problem.series(x).h[:: problem.every], rtol=1e-15)
        assert problem.samples == STEPS // problem.every + 1


def test_derivatives_have_coordinates_and_names():
    """A derivative with respect to a field is located at its points and missing on land; others are numbers."""
    config, dry = configuration(6, 8), random_fields(6, 8)["mask"] == 0
    problem = Problem(config, ["eta", "u", "gravity"], last_state)
    ones = problem.transport.put(np.ones((6, 8)))
    dataset = problem.dataset({"eta": ones, "u": ones, "gravity": 2.0, "net": None})
    assert (dataset.eta.dims, dataset.u.dims) == (("y_c", "x_c"), ("y_c", "x_f"))
    assert (dataset.eta.attrs["units"], dataset.u.attrs["units"]) == ("m", "m s-1")
    np.testing.assert_allclose(np.diff(dataset.x_f), config.grid.dx)
    assert float(dataset.gravity) == 2.0
    assert dry.any()
    np.testing.assert_array_equal(np.isnan(dataset.eta), dry)


@pytest.mark.promise("the memory of a derivative is bounded")
def test_checkpoints_do_not_change_a_bit_of_the_gradient(monkeypatch):
    """All states are kept, or a checkpoint per segment, or a single one; the fields fit into the cache or not."""
    problem, gradients = Problem(make_config(), CONTROLS, lambda view, k: jnp.sum(view.state.h**2), every=2), []
    for plan in (Plan(STEPS, STEPS, 0), Plan(STEPS, 2, 2), Plan(STEPS, 2, 1)):
        with monkeypatch.context() as patch:
            patch.setattr("swmodel.gradients.problem.fit_plan", lambda *_, plan=plan: plan)
            gradients.append(problem.value_and_gradient(problem.first_guess(), jnp.sum))
    monkeypatch.setattr(calls, "CACHE_BYTES", 0)
    with cleared_program_cache():
        problem = Problem(make_config(), CONTROLS, lambda view, k: jnp.sum(view.state.h**2), every=2)
        gradients.append(problem.value_and_gradient(problem.first_guess(), jnp.sum))
    for value, gradient in gradients[1:]:
        assert value == gradients[0][0]
        jax.tree.map(np.testing.assert_array_equal, gradient, gradients[0][1])
    np.testing.assert_array_equal(gradient["eta"][FIELDS["mask"] == 0], 0)  # land has no sea level


@pytest.mark.promise("derivatives are exact")
def test_gradient_of_a_larger_loss_follows_from_the_chain_rule():
    """JAX differentiates the loss around `value` and `series`, whose derivatives have the bits of the adjoint."""
    problem = Problem(make_config(), CONTROLS, lambda view, k: view.state.h)
    x = problem.first_guess()

    def value(series):
        return problem.transport.sum(jnp.sum(series[-1] ** 2))

    J, gradient = problem.value_and_gradient(x, value)
    jax_gradient = jax.grad(lambda x: problem.value(x, value))(x)
    jax.tree.map(np.testing.assert_array_equal, jax_gradient, gradient)
    loss_gradient = jax.grad(lambda x: 3 * jnp.log(problem.value(x, value)))(x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, 3 * b / J, rtol=1e-5), loss_gradient, gradient)
    series, pull_back = jax.vjp(problem.series, x)
    jax.tree.map(np.testing.assert_array_equal, pull_back(series)[0], problem.adjoint(x, series))
    for call in (lambda: jax.jit(problem.series)(x), lambda: jax.grad(lambda a: problem.value(x, max, a))(1.0)):
        with pytest.raises(UsageError, match="compiles its own programs"):
            call()


def derivative_of_a_larger_loss():
    """The derivative with respect to a factor of the wind that is the same on all processes."""
    problem = Problem(make_config(run__dtype="float64"), ["wind_x"], lambda view, k: view.state.u)
    wind = problem.first_guess()["wind_x"]

    def loss(factor):
        u = problem.series({"wind_x": problem.transport.shared(factor) * wind})[-1]
        return jnp.log(problem.transport.total(jnp.sum(u**2)))

    return float(jax.grad(loss)(jnp.float64(1.5)))


@pytest.mark.mpi
@pytest.mark.night
def test_gradient_of_a_larger_loss_is_the_same_on_two_processes(ranks):
    (expected,), derivatives = ranks(1, derivative_of_a_larger_loss), ranks(2, derivative_of_a_larger_loss)
    np.testing.assert_allclose(derivatives, expected, rtol=1e-12)


@pytest.mark.parametrize("carries_per_step", [0.5, 1.0, 1.05, 2.5])
@pytest.mark.parametrize("steps", [1, 7, 1000])
def test_checkpoint_plan_stays_within_the_memory_bound(steps, carries_per_step):
    """All steps run once if all carries fit; if steps take one carry, less than twice if 2 sqrt(steps) + 2 carries fit.

    A step takes as much memory as `carries_per_step` carries: less than one if a carry has memory of the stepper.
    """
    min_carries = 1 + math.ceil(carries_per_step)
    for max_carries in (min_carries, 8, 15, 300, 2000):
        plan = make_plan(steps, max_carries, carries_per_step)
        assert plan.segment_steps >= 1
        assert plan.segment_steps * carries_per_step + min(plan.checkpoints, plan.n_segments - 1) <= max_carries
        if max_carries >= steps * carries_per_step:
            assert plan.forward_runs() == 1
        elif carries_per_step == 1 and max_carries >= 2 * np.sqrt(steps) + 2:
            assert plan.forward_runs() < 2
    assert make_plan(1000, 12).forward_runs() < 5  # by a binomial schedule; with two levels it would be 8 or more
    with pytest.raises(UsageError, match="too little memory"):
        make_plan(1000, min_carries - 1, carries_per_step)


#: Cells along each axis, steps, and the bytes of h, u and v before each step in float64: 246 MB.
CELLS, N_STEPS, TRAJECTORY_BYTES = 400, 64, 64 * 3 * 8 * 400**2
MEMORY_PROGRAM = """
import sys
from swmodel.parallel import environment
environment.prepare_environment()
import jax, jax.numpy as jnp, swmodel
from swmodel.gradients import Problem
cells, steps, bound, piece = map(int, sys.argv[1:])
settings = {"grid.nx": cells, "grid.ny": cells, "run.steps": steps, "run.dtype": "float64", "time.stepper": "ab2"}
config = swmodel.load("jet", settings, environ={})
def observe(view, k):
    return (view.state.h - view.depth) ** 2
problem = Problem(config, ["eta"], observe, every=steps // 16, memory=bound)
if piece:
    problem.split_into_pieces(piece, lambda *of: None)
value, gradient = problem.value_and_gradient(problem.first_guess(), lambda series: jnp.sum(series[-1]))
print(float(value), problem.dot(gradient, gradient), environment.peak_memory())
"""


def gradient_and_peak_memory(bound, piece=0):
    """The value and squared gradient of the sum of eta², and the peak memory of the process that computes it, bytes."""
    *result, peak = run_python(MEMORY_PROGRAM, CELLS, N_STEPS, bound, piece, **QUICK_ENVIRONMENT)
    return result, int(peak)


@pytest.mark.promise("the memory of a derivative is bounded")
def test_peak_memory_stays_within_the_bound():
    """The bound leaves room for 0.4 of the trajectory, and for all else, such as 17 samples of eta², 22 MB."""
    result, unbounded_peak = gradient_and_peak_memory(10**12)
    bound = int(unbounded_peak - 0.6 * TRAJECTORY_BYTES)
    bounded_result, peak = gradient_and_peak_memory(bound, piece=5)
    assert peak <= bound < unbounded_peak
    assert bounded_result == result


@pytest.mark.night
def test_narrow_blocks_use_the_adjoint_step_of_jax(caplog):
    """With open boundaries the adjoint step reads one cell further than the forward step; a message reports this."""
    resolve.log_slower_executor.cache_clear()
    sides = {"open_boundaries__sides": ("west",), "grid__periodic_x": False, "run__executor": "native"}
    config = configuration(3, 9, random_fields(3, 9, amplitude=0.3), run__steps=3, **sides)
    checks = Checks(Problem(config, ("eta", "boundary_level"), last_state))
    assert len(caplog.messages) == 1
    assert checks.taylor()["taylor_slope"] == pytest.approx(2, abs=0.02)
    resolve.log_slower_executor.cache_clear()


@pytest.mark.fault("derivatives with an unstable time step, or with respect to undeclared controls")
def test_unstable_step_and_undeclared_controls_are_refused():
    with pytest.raises(ConfigError, match=r"^time.dt: 3000 s"):
        Problem(make_config(time__dt=3000.0), ["eta"], last_state)
    with pytest.raises(UsageError, match=r"salinity"):
        Problem(make_config(), ["eta", "salinity"], last_state)
    with pytest.raises(UsageError, match="every=0"):
        Problem(make_config(), ["eta"], last_state, every=0)
    problem = Problem(make_config(), ["eta"], last_state)
    for names in ["viscosity"], ["eta", "viscosity"]:
        with pytest.raises(UsageError, match="viscosity"):
            problem.series(dict.fromkeys(names, 0.0))
    problem = Problem(make_config(), CONTROLS, last_state, memory=10**6)
    with pytest.raises(UsageError, match=r"1 MB of memory .* needs \d+ MB"):
        problem.value_and_gradient(problem.first_guess(), lambda series: jnp.sum(series.h))


def problem_with_network(names):
    """A Problem whose run has a network as a term."""
    fields = random_fields(8, 9, seed=3, amplitude=0.3)
    config = configuration(8, 9, fields, run__steps=6, run__executor="xla", grid__periodic_x=False)
    return Problem(swmodel.load(config, terms=[Parametric(stress, initial_parameters())]), names, last_state)


def energy(series):
    return jnp.sum(series.u[-1] ** 2) + jnp.sum(series.v[-1] ** 2)


def add_scaled(x, d, step):
    """x + step d; leaves without a derivative stay unchanged."""
    return jax.tree.map(lambda a, b: a if b is None else a + step * b, x, d, is_leaf=lambda a: a is None or callable(a))


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_derivatives_with_respect_to_a_network_are_exact():
    """So are those with respect to the initial state: the Taylor slope is 2, and tangent and adjoint agree."""
    problem = problem_with_network(["stress", "eta"])
    x = problem.first_guess()
    for name, leaf in initial_parameters().items():
        assert np.array_equal(x["stress"][name], leaf), name
    d = {"stress": initial_parameters(1) | {"activation": None}, "eta": 0.1 * x["eta"] ** 2}
    value, gradient = problem.value_and_gradient(x, energy)
    assert gradient["stress"]["activation"] is None
    dJ = problem.dot(gradient, d)
    remainders = [abs(float(problem.value(add_scaled(x, d, s), energy) - value) - s * dJ) for s in (1e-3, 2.5e-4)]
    assert math.log(remainders[0] / remainders[1], 4) == pytest.approx(2, abs=0.02)
    series, tangent = problem.tangent(x, d)
    left = problem.dot(tangent._asdict(), series._asdict())
    assert problem.dot(d, problem.adjoint(x, series)) == pytest.approx(left, rel=1e-12)


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_divergence_of_a_stress_conserves_momentum():
    """A random network does not change the sum of h u over a periodic domain in an Euler step, the first of ab2."""
    fields = {name: random_fields(8, 9)[name] for name in ("eta", "u", "v")} | {"depth": np.full((8, 9), 50.0)}
    config = configuration(8, 9, fields, run__executor="xla", grid__periodic_y=True, time__stepper="ab2")
    networks = ([], [Parametric(stress, initial_parameters())])
    without_closure, with_closure = (swmodel.Simulation(swmodel.load(config, terms=terms)) for terms in networks)
    h = without_closure.state.h
    for model in (without_closure, with_closure):
        model.advance(1)
    for axis, name in ((1, "u"), (0, "v")):
        change = (h + np.roll(h, -1, axis)) * (getattr(with_closure.state, name) - getattr(without_closure.state, name))
        assert abs(change.sum()) < 1e-12 * np.abs(change).sum()


@pytest.mark.fault("a network has the wrong inputs, outputs, parameters or precision, or is not finite")
def test_messages_name_the_parameters_that_do_not_fit():
    problem = problem_with_network(["stress"])
    wrong_bias = initial_parameters() | {"bias": np.zeros(5)}
    for parameters, message in ((wrong_bias, r"\['bias'\] .*\(5,\).*\(3,\)"), ([np.zeros(3)] * 2, "2 .*3")):
        with pytest.raises(UsageError, match=f"^stress: .*{message}"):
            problem.value({"stress": parameters}, energy)
    with pytest.raises(UsageError, match="network; .*gravity, .*stress"):
        problem_with_network(["network"])
