"""Derivatives of runs on one process: bounded memory, names, derivatives with respect to parameters of terms, refusals.

tests/executors tests with a covering array that they are exact for every stepper, flux and term.
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
    usual = {"run__steps": STEPS, "run__executor": "native", "grid__periodic_x": False, "time__stepper": "ab2"}
    return configuration(NY, NX, fields, **usual | options)


def last_state(view, k):
    return view.state


def kinetic_energy(view, k):
    return jnp.sum(view.state.u**2)


def last_value(series):
    return series[-1]


@pytest.mark.parametrize("smooth", [True, False])
def test_inexact_derivatives_are_named(smooth):
    """A scheme with kinks is judged by a difference quotient instead of the slope."""
    wrong = {"dot_product_error": 1e-9, "hessian_symmetry": 1e-3, "taylor_slope": 1.0, "quotient_error": 1e-3}
    found = [words.split(" is ")[0] for words in failures(wrong | {"dtype": "float64", "smooth": smooth})]
    wrong.pop("quotient_error" if smooth else "taylor_slope")
    assert sorted(found) == sorted(wrong)


def test_switched_off_controls_have_derivatives():
    """Viscosity and wind are zero in the configuration; their derivatives equal difference quotients."""
    config = make_config(FIELDS | dict.fromkeys(("wind_x", "wind_y"), np.zeros((NY, NX))), physics__viscosity=0.0)
    problem = Problem(config, CONTROLS, kinetic_energy)
    x = problem.first_guess()
    assert not any(np.any(x[name]) for name in ("viscosity", "wind_x"))
    _, gradient = problem.value_and_gradient(x, last_value)
    for name, size in (("viscosity", 1e-2), ("wind_x", 1e-3)):
        moved = [float(problem.series(x | {name: x[name] + side * size})[-1]) for side in (1, -1)]
        slope = float(jnp.sum(gradient[name]))
        np.testing.assert_allclose((moved[0] - moved[1]) / (2 * size), slope, rtol=1e-6)
        assert slope


def test_trajectory_is_sampled_every_n_steps():
    """Samples are at steps 0, every, 2 every, ..., also if there is none at the last step."""
    states, *others = (Problem(make_config(), ["eta"], last_state, every=every) for every in (1, 2, 4))
    x = states.first_guess()
    for some in others:
        np.testing.assert_allclose(some.series(x).h, states.series(x).h[:: some.every], rtol=1e-15)
        assert some.samples == STEPS // some.every + 1


def test_derivatives_have_coordinates_and_names():
    """A derivative with respect to a field is at its points and missing on land; that of a number is a number."""
    config, dry = configuration(6, 8), random_fields(6, 8)["mask"] == 0
    problem = Problem(config, ["eta", "u", "gravity"], last_state)
    ones = problem.transport.put(np.ones((6, 8)))
    found = problem.dataset({"eta": ones, "u": ones, "gravity": 2.0, "net": None})
    assert (found.eta.dims, found.u.dims) == (("y_c", "x_c"), ("y_c", "x_f"))
    assert (found.eta.attrs["units"], found.u.attrs["units"]) == ("m", "m s-1")
    np.testing.assert_allclose(np.diff(found.x_f), config.grid.dx)
    assert float(found.gravity) == 2.0
    assert dry.any()
    np.testing.assert_array_equal(np.isnan(found.eta), dry)


@pytest.mark.promise("the memory of a derivative is bounded")
def test_checkpoints_do_not_change_a_bit_of_the_gradient(monkeypatch):
    """All states are kept, or a checkpoint per segment, or a single one; the record fits into the cache or not."""
    problem, gradients = Problem(make_config(), CONTROLS, lambda view, k: jnp.sum(view.state.h**2), every=2), []
    for kept in (Plan(STEPS, STEPS, 0), Plan(STEPS, 2, 2), Plan(STEPS, 2, 1)):
        with monkeypatch.context() as patch:
            patch.setattr("swmodel.gradients.problem.fit_plan", lambda *_, kept=kept: kept)
            gradients.append(problem.value_and_gradient(problem.first_guess(), jnp.sum))
    monkeypatch.setattr(calls, "CACHE_BYTES", 0)
    with cleared_program_cache():
        problem = Problem(make_config(), CONTROLS, lambda view, k: jnp.sum(view.state.h**2), every=2)
        gradients.append(problem.value_and_gradient(problem.first_guess(), jnp.sum))
    for value, found in gradients[1:]:
        assert value == gradients[0][0]
        jax.tree.map(np.testing.assert_array_equal, found, gradients[0][1])
    np.testing.assert_array_equal(found["eta"][FIELDS["mask"] == 0], 0)  # land has no sea level


@pytest.mark.promise("derivatives are exact")
def test_gradient_of_a_larger_loss_is_that_of_its_parts():
    """JAX differentiates the loss around `value` and `series`, which use the adjoint and give its bits."""
    problem = Problem(make_config(), CONTROLS, lambda view, k: view.state.h)
    x = problem.first_guess()

    def value(series):
        return problem.transport.sum(jnp.sum(series[-1] ** 2))

    answer, gradient = problem.value_and_gradient(x, value)
    same = jax.grad(lambda x: problem.value(x, value))(x)
    jax.tree.map(np.testing.assert_array_equal, same, gradient)
    larger = jax.grad(lambda x: 3 * jnp.log(problem.value(x, value)))(x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, 3 * b / answer, rtol=1e-5), larger, gradient)
    series, pull_back = jax.vjp(problem.series, x)
    jax.tree.map(np.testing.assert_array_equal, pull_back(series)[0], problem.adjoint(x, series))
    for inside in (lambda: jax.jit(problem.series)(x), lambda: jax.grad(lambda a: problem.value(x, max, a))(1.0)):
        with pytest.raises(UsageError, match="compiles its own programs"):
            inside()


def slope_of_a_larger_loss():
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
    (alone,), two = ranks(1, slope_of_a_larger_loss), ranks(2, slope_of_a_larger_loss)
    np.testing.assert_allclose(two, alone, rtol=1e-12)


@pytest.mark.parametrize("step", [0.5, 1.0, 1.05, 2.5])
@pytest.mark.parametrize("steps", [1, 7, 1000])
def test_checkpoint_plan_stays_within_memory_bound(steps, step):
    """All steps run once if all carries fit, and at most twice if twice the square root of their number fits.

    A step takes the memory of `step` carries: less than one if a carry has memory of the stepper.
    """
    least = 1 + math.ceil(step)
    for room in (least, 8, 15, 300, 2000):
        chosen = make_plan(steps, room, step)
        assert chosen.segment_steps >= 1
        assert chosen.segment_steps * step + min(chosen.checkpoints, chosen.n_segments - 1) <= room
        if room >= steps * step:
            assert chosen.forward_runs() == 1
        elif step == 1 and room >= 2 * np.sqrt(steps) + 2:
            assert chosen.forward_runs() < 2
    assert make_plan(1000, 12).forward_runs() < 5  # a binomial schedule; with only two levels it would be 8 or more
    with pytest.raises(UsageError, match="too little memory"):
        make_plan(1000, least - 1, step)


#: Cells each way, steps, and the bytes of h, u, v before each step, float64: 245 MB.
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
    """The gradient of the sum of eta², in pieces, and the peak memory of its process, bytes."""
    *result, peak = run_python(MEMORY_PROGRAM, CELLS, N_STEPS, bound, piece, **QUICK_ENVIRONMENT)
    return result, int(peak)


@pytest.mark.promise("the memory of a derivative is bounded")
def test_peak_memory_stays_within_the_bound():
    """In several pieces, with a bound that leaves room for 0.4 of the trajectory.

    Everything else also counts, such as the observed fields of 17 samples, 22 MB, and their cotangents.
    """
    result, most = gradient_and_peak_memory(10**12)
    bound = int(most - 0.6 * TRAJECTORY_BYTES)
    same, peak = gradient_and_peak_memory(bound, piece=5)
    assert peak <= bound < most
    assert same == result


@pytest.mark.night
def test_narrow_blocks_use_the_adjoint_step_of_jax(caplog):
    """With open boundaries the adjoint step reads one cell further than the forward step; a message says so."""
    resolve.log_slower_executor.cache_clear()
    sides = {"open_boundaries__sides": ("west",), "grid__periodic_x": False, "run__executor": "native"}
    config = configuration(3, 9, random_fields(3, 9, amplitude=0.3), run__steps=3, **sides)
    checks = Checks(Problem(config, ("eta", "boundary_level"), last_state))
    assert len(caplog.messages) == 1
    assert checks.taylor()["taylor_slope"] == pytest.approx(2, abs=0.02)
    resolve.log_slower_executor.cache_clear()


@pytest.mark.fault("derivatives with a time step that is not stable, or controls that were not declared")
def test_unstable_step_and_undeclared_controls_are_refused():
    with pytest.raises(ConfigError, match=r"^time.dt: 3000 s"):
        Problem(make_config(time__dt=3000.0), ["eta"], last_state)
    with pytest.raises(UsageError, match=r"salinity"):
        Problem(make_config(), ["eta", "salinity"], last_state)
    with pytest.raises(UsageError, match="every=0"):
        Problem(make_config(), ["eta"], last_state, every=0)
    problem = Problem(make_config(), ["eta"], last_state)
    for wrong in ["viscosity"], ["eta", "viscosity"]:
        with pytest.raises(UsageError, match="viscosity"):
            problem.series(dict.fromkeys(wrong, 0.0))
    problem = Problem(make_config(), CONTROLS, last_state, memory=10**6)
    with pytest.raises(UsageError, match=r"1 MB of memory .* needs \d+ MB"):
        problem.value_and_gradient(problem.first_guess(), lambda series: jnp.sum(series.h))


def with_network(names):
    """A Problem whose run has a network as a term."""
    fields = random_fields(8, 9, seed=3, amplitude=0.3)
    config = configuration(8, 9, fields, run__steps=6, run__executor="xla", grid__periodic_x=False)
    return Problem(swmodel.load(config, terms=[Parametric(stress, initial_parameters())]), names, last_state)


def energy(series):
    return jnp.sum(series.u[-1] ** 2) + jnp.sum(series.v[-1] ** 2)


def perturbed(x, d, size):
    """x + size d; leaves without a derivative stay."""
    return jax.tree.map(lambda a, b: a if b is None else a + size * b, x, d, is_leaf=lambda a: a is None or callable(a))


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_derivatives_by_a_network_are_exact():
    """Also with respect to the initial state: the Taylor slope is 2; tangent and adjoint agree."""
    problem = with_network(["stress", "eta"])
    x = problem.first_guess()
    for name, leaf in initial_parameters().items():
        assert np.array_equal(x["stress"][name], leaf), name
    d = {"stress": initial_parameters(1) | {"activation": None}, "eta": 0.1 * x["eta"] ** 2}
    value, gradient = problem.value_and_gradient(x, energy)
    assert gradient["stress"]["activation"] is None
    slope = problem.dot(gradient, d)
    rests = [abs(float(problem.value(perturbed(x, d, s), energy) - value) - s * slope) for s in (1e-3, 2.5e-4)]
    assert math.log(rests[0] / rests[1], 4) == pytest.approx(2, abs=0.02)
    series, tangent = problem.tangent(x, d)
    left = problem.dot(tangent._asdict(), series._asdict())
    assert problem.dot(d, problem.adjoint(x, series)) == pytest.approx(left, rel=1e-12)


@pytest.mark.promise("derivatives with respect to a network are exact")
def test_divergence_of_a_stress_conserves_momentum():
    """The sum of h u along a periodic axis, for any network, in the first step of ab2, which is an Euler step."""
    fields = {name: random_fields(8, 9)[name] for name in ("eta", "u", "v")} | {"depth": np.full((8, 9), 50.0)}
    config = configuration(8, 9, fields, run__executor="xla", grid__periodic_y=True, time__stepper="ab2")
    networks = ([], [Parametric(stress, initial_parameters())])
    plain, closed = (swmodel.Simulation(swmodel.load(config, terms=terms)) for terms in networks)
    h = plain.state.h
    for model in (plain, closed):
        model.advance(1)
    for axis, name in ((1, "u"), (0, "v")):
        change = (h + np.roll(h, -1, axis)) * (getattr(closed.state, name) - getattr(plain.state, name))
        assert abs(change.sum()) < 1e-12 * np.abs(change).sum()


@pytest.mark.fault("a network that does not fit: inputs, outputs, precision, not finite")
def test_parameters_that_do_not_fit_are_named():
    problem = with_network(["stress"])
    biased = initial_parameters() | {"bias": np.zeros(5)}
    for wrong, words in ((biased, r"\['bias'\] .*\(5,\).*\(3,\)"), ([np.zeros(3)] * 2, "2 .*3")):
        with pytest.raises(UsageError, match=f"^stress: .*{words}"):
            problem.value({"stress": wrong}, energy)
    with pytest.raises(UsageError, match="network; .*gravity, .*stress"):
        with_network(["network"])
