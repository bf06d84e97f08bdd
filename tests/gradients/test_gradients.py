"""Derivatives of runs on one process: exact for every stepper and scheme, with respect to every control."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import DRYING, TIDE, configuration, flats, random_fields

from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of, failures
from swmodel.gradients.plan import Plan, plan
from swmodel.gradients.sweeps import exact_sum
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

pytestmark = pytest.mark.slow

NY, NX, STEPS = 5, 7, 6
FIELDS = random_fields(NY, NX, seed=3, amplitude=0.3)


def configure(fields=FIELDS, **options):
    usual = {"run__steps": STEPS, "run__executor": "native", "grid__periodic_x": False}
    return configuration(NY, NX, fields, **usual | options)


def last_state(view, k):
    return view.state


SIDES = {
    "open_sides__sides": ("west", "north"),
    "open_sides__constituents": ("M2",),
    "open_sides__amplitude": (0.3,),
    "open_sides__phase": (60.0,),
}
TERMS = {"physics__manning": 0.03, "physics__tracers": ({"name": "tracer"},), "body_force__x_amplitude": 1e-4}
#: Each kind of stepper, both executors, and what begins or varies in a way of its own.
RUNS = {
    "ab2, in time": {"time__stepper": "ab2", "in_time": True, "grid__periodic_x": True},
    "ab3, terms": TERMS
    | {"time__stepper": "ab3", "scheme__vorticity_flux": "enstrophy", "physics__slip": "no", "run__executor": "xla"}
    | {"physics__self_attraction": 0.1},
    "rk3, open sides": SIDES | {"time__stepper": "rk3"},
    "leapfrog, sponge": {"time__stepper": "leapfrog", "run__executor": "xla"}
    | {"sponge__rate": 1e-4, "sponge__width": 1e4, "physics__biharmonic_viscosity": 1e9},
    "weno5, leith": {"scheme__vorticity_flux": "weno5", "physics__leith": 1.0, "grid__periodic_x": True},
    "gfb, terms": TERMS | {"time__stepper": "gfb"},
    "gfb, tracer of fifth order": {
        "time__stepper": "gfb",
        "run__executor": "xla",
        "physics__tracers": ({"name": "tracer", "diffusivity": 100.0, "advection": "weno5"},),
    },
    "drying": DRYING | {"fields": flats(NY, NX, seed=5), "time__dt": 2.0, "run__executor": "xla"},
    "sphere, tide": TIDE | {"sphere": True, "time__stepper": "ab3", "physics__biharmonic_viscosity": 1e9},
}


@pytest.mark.promise("derivatives are exact")
@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_derivatives_are_exact(options):
    """Taylor slope 2, tangent and adjoint agree; along random directions in all controls. Hessians: tests/mpi."""
    config = configure(**options)
    checks = Checks(Problem(config, controls_of(config), last_state))
    results = {
        "dot_product_error": checks.dot_product_error(),
        "hessian_symmetry": 0.0,
        "dtype": "float64",
    }
    assert failures(results | checks.taylor()) == []


@pytest.mark.parametrize("smooth", [True, False])
def test_what_is_wrong_is_named(smooth):
    """A scheme with kinks is judged by a difference quotient in place of the slope."""
    wrong = {"dot_product_error": 1e-9, "hessian_symmetry": 1e-3, "taylor_slope": 1.0, "quotient_error": 1e-3}
    found = [words.split(" is ")[0] for words in failures(wrong | {"dtype": "float64", "smooth": smooth})]
    wrong.pop("quotient_error" if smooth else "taylor_slope")
    assert sorted(found) == sorted(wrong)


@pytest.mark.fault("derivatives with a time step that is not stable")
def test_a_time_step_that_is_not_stable_is_told_with_the_largest_one():
    with pytest.raises(ConfigError, match=r"^time.dt: 3000 s is above the largest stable time step of rk3, [\d.]+ s"):
        Problem(configure(time__stepper="rk3", time__dt=3000.0), ["eta"], last_state)


def test_a_derivative_has_coordinates_and_names():
    """That by a field lies at its points and is missing on land; one by a number is a number."""
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


def test_a_control_that_is_switched_off_has_the_derivative_of_its_first_difference():
    """Viscosity and wind are zero in the configuration; their terms are computed nevertheless."""
    still = dict.fromkeys(("wind_x", "wind_y"), np.zeros((NY, NX)))
    config = configure(FIELDS | still, physics__viscosity=0.0)
    problem = Problem(config, ["viscosity", "wind_x"], lambda view, k: jnp.sum(view.state.u**2))
    x = problem.first_guess()
    assert not any(np.any(value) for value in x.values())
    _, gradient = problem.value_and_gradient(x, energy_at_the_end)
    for name, size in (("viscosity", 1e-2), ("wind_x", 1e-3)):
        moved = [float(problem.series(x | {name: x[name] + side * size})[-1]) for side in (1, -1)]
        slope = float(jnp.sum(gradient[name]))
        np.testing.assert_allclose((moved[0] - moved[1]) / (2 * size), slope, rtol=1e-6)
        assert slope


def energy_at_the_end(series):
    return series[-1]


@pytest.mark.night
def test_a_number_for_a_field_is_the_same_everywhere():
    """So its derivative is the sum of those by the field."""
    problem = Problem(configure(), ["linear_drag", "depth"], lambda view, k: jnp.sum(view.state.u**2))
    field = {name: jnp.full((NY, NX), size) for name, size in (("linear_drag", 1e-5), ("depth", 60.0))}
    number = {name: value[0, 0] for name, value in field.items()}
    (value, by_field), (same, by_number) = (problem.value_and_gradient(x, energy_at_the_end) for x in (field, number))
    np.testing.assert_allclose(value, same, rtol=1e-14)
    for name in field:
        np.testing.assert_allclose(np.sum(by_field[name]), by_number[name], rtol=1e-11)


@pytest.mark.parametrize("every", [2, 4])
def test_samples_are_the_states_on_the_way(every):
    """Those at steps 0, every, 2 every, ...; also where the last step has none."""
    states, some = (Problem(configure(), ["eta"], last_state, every=each) for each in (1, every))
    x = some.first_guess()
    np.testing.assert_allclose(some.series(x).h, states.series(x).h[::every], rtol=1e-15)
    assert some.samples == STEPS // every + 1


@pytest.mark.promise("the memory of a derivative is bounded")
@pytest.mark.parametrize("options", [{"run__executor": "native"}, {"run__executor": "xla"}], ids=["native", "xla"])
def test_what_is_kept_does_not_change_the_gradient(options):
    """Bit for bit: everything, a checkpoint for each segment, and one for all."""
    config = configure(**options)
    problem = Problem(config, ["eta", "depth", "viscosity"], lambda view, k: jnp.sum(view.state.h**2), every=2)
    x, gradients = problem.first_guess(), []
    for kept in (Plan(STEPS, STEPS, 0), Plan(STEPS, 2, 2), Plan(STEPS, 2, 1)):
        problem._plans = {problem._sweeps: kept}
        gradients.append(problem.value_and_gradient(x, lambda series: jnp.sum(series)))
    for value, gradient in gradients[1:]:
        assert value == gradients[0][0]
        jax.tree.map(np.testing.assert_array_equal, gradient, gradients[0][1])


def test_a_sum_is_exact_in_any_order_and_not_finite_where_a_number_is_not():
    """One cell of 1 among a million of 1e-6."""
    field = np.random.default_rng(0).random((1000, 1000)) * 1e-6
    field[3, 5] = 1.0
    here = Serial(block(0, (1, 1), 1000, 1000))
    assert exact_sum(here, field) == pytest.approx(math.fsum(field.ravel()), rel=1e-15)
    assert exact_sum(here, field[::-1].T) == exact_sum(here, field)
    for number in (np.nan, np.inf):
        field[7, 7] = number
        assert np.isnan(exact_sum(here, field))


@pytest.mark.parametrize("step", [0.5, 1.0, 1.05, 2.5])
@pytest.mark.parametrize("steps", [1, 7, 1000])
def test_a_plan_keeps_within_its_room(steps, step):
    """Nothing is computed again where all fits; once at most where twice the root does. A step takes `step` carries:
    less than one of the native step forward with a stepper that remembers, more with one that does not."""
    least = 1 + math.ceil(step)
    for room in (least, 8, 15, 300, 2000):
        chosen = plan(steps, room, step)
        assert chosen.length >= 1
        assert chosen.length * step + min(chosen.checkpoints, chosen.segments - 1) <= room
        if room >= steps * step:
            assert chosen.runs() == 1
        elif step == 1 and room >= 2 * np.sqrt(steps) + 2:
            assert chosen.runs() < 2
    assert plan(1000, 12).runs() < 5  # a binomial schedule; with two levels only, it would be 8 and more
    with pytest.raises(UsageError, match="too little memory"):
        plan(1000, least - 1, step)


def test_what_cannot_be_is_said():
    with pytest.raises(UsageError, match=r"no control salinity; there are eta, u, v, depth"):
        Problem(configure(), ["eta", "salinity"], last_state)
    with pytest.raises(UsageError, match="every=0: must be at least one step between samples"):
        Problem(configure(), ["eta"], last_state, every=0)
    problem = Problem(configure(), ["eta"], last_state, memory=10**6)
    with pytest.raises(UsageError, match=r"1 MB of memory are too little: a process needs \d+ MB for derivatives"):
        problem.value_and_gradient(problem.first_guess(), lambda series: jnp.sum(series.h))
