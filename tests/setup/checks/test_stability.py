"""The stability limits are those of the model's own time steppers, and of the fastest rates of a configuration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.made_cases import changed
from support.random_case import configuration
from support.unchecked import unchecked

from swmodel import Simulation, load
from swmodel.cases import jet
from swmodel.config.options.discretisation import Time
from swmodel.ocean import timestep
from swmodel.ocean.coordinates import points
from swmodel.ocean.state import Carry, State
from swmodel.ocean.timestep import method_of
from swmodel.setup.checks.extremes import slowed, survey
from swmodel.setup.checks.stability import UPWIND, Mode, dt_from_state, largest_dt, limit, rates, stable_dt
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

STEPPERS = {
    "ab2": Time(stepper="ab2"),
    "ab2, small epsilon": Time(stepper="ab2", ab2_epsilon=0.02),
    "ab3": Time(stepper="ab3"),
    "rk3": Time(stepper="rk3"),
    "rk4": Time(stepper="rk4"),
    "leapfrog": Time(stepper="leapfrog", robert_asselin=0.0),
    "leapfrog, filtered": Time(stepper="leapfrog", robert_asselin=0.1),
    "gfb": Time(stepper="gfb"),
}
MODES = {
    "waves": Mode(1.0),
    "rotation": Mode(0.0, 1j),
    "damping": Mode(0.0, -1.0),
    "damped waves": Mode(1.0, -1.0),
    "waves in a current": Mode(1.0, 0.1j),
}


def growth(time, mode, dt, steps):
    """How much a Mode grows in the second half of the steps, for each dt, by the model's stepper."""
    method = method_of(time.stepper, time.ab2_epsilon, time.robert_asselin)
    waves, other = mode.waves, complex(mode.other)

    def turned(x, y):
        return other.real * x - other.imag * y, other.imag * x + other.real * y

    def tendency(state, now, forward=None):
        h, u, level = state.h, state.u, state.h  # the last axis: real and imaginary part
        F_h = jnp.stack(turned(*h.T), -1) + waves * jnp.stack([u[:, 1], -u[:, 0]], -1)
        if forward is not None:
            level = forward.h + forward.dt * F_h
        return State(F_h, jnp.stack(turned(*u.T), -1) + waves * jnp.stack([level[:, 1], -level[:, 0]], -1), 0 * h)

    def step(carry, _):
        carry = timestep.step(method, tendency, carry, jnp.asarray(dt)[:, None])
        return carry, jnp.sqrt(sum((field**2).sum(-1) for field in carry.state))

    start = State(*(jnp.asarray([part] * len(dt)) for part in ([1.0, 0.0], [0.3, 0.5], [0.0, 0.0])))
    carry = Carry(start, method.remember(start), jnp.zeros((), jnp.int32))
    _, size = jax.jit(lambda carry: jax.lax.scan(step, carry, length=steps))(carry)
    return np.asarray(size[-20:].max(axis=0) / size[steps // 2 - 20 : steps // 2].max(axis=0))


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (name, mode)
        for name in STEPPERS
        for mode in ("waves", "rotation", "damping", "damped waves")
        if name != "leapfrog" or "damp" not in mode
    ]
    + [("gfb", "waves in a current")],
)
def test_solutions_grow_just_above_the_limit_and_not_just_below_it(name, mode):
    time, mode = STEPPERS[name], MODES[mode]
    below, above = growth(time, mode, limit(mode, time) * np.array([0.99, 1.01]), 2000)
    # A thousand steps at the growth that counts as none, 1e-6, make 1.001.
    assert below < 1.001
    assert above > 1.03


@pytest.mark.parametrize(
    ("name", "mode", "exact"),
    [
        ("ab3", "damping", 6 / 11),
        ("ab3", "rotation", 0.7236),
        ("rk3", "rotation", np.sqrt(3)),
        ("rk4", "rotation", np.sqrt(8)),
        ("rk4", "damping", 2.7853),
        ("leapfrog", "damping", 0.0),
        ("leapfrog, filtered", "damping", 2 * 0.1 / 1.1),
        ("ab2", "damping", 1 / 1.1),
        ("gfb", "waves", 1.7802),
    ],
)
def test_limits_known_from_textbooks(name, mode, exact):
    # The growth that counts as none moves tangential limits (rk3, rk4) by 1e-4 at most.
    assert limit(MODES[mode], STEPPERS[name]) == pytest.approx(exact, abs=1e-4)


def von_neumann(time, speed, f, dt):
    """The largest growth per step, for each dt, of all waves on a C-grid in a steady current; dx = g = H = 1."""
    method = method_of(time.stepper, time.ab2_epsilon, time.robert_asselin)
    along, across = np.meshgrid(np.pi * np.arange(13) / 12, np.pi * np.arange(-11, 13) / 12)
    slope_x, slope_y = 2j * np.sin(along / 2), 2j * np.sin(across / 2)
    mean_x, mean_y, U, V = np.cos(along / 2), np.cos(across / 2), *speed

    def tendency(x, _, forward=None):
        h, u, v = x
        flux_x, flux_y = u + U * mean_x * h, v + V * mean_y * h
        F_h = -slope_x * flux_x - slope_y * flux_y
        q = slope_x * v - slope_y * u - f * mean_x * mean_y * h
        P = (h if forward is None else forward.h + forward.dt * F_h) + U * mean_x * u + V * mean_y * v
        F_u = mean_y * (f * mean_x * flux_y + q * V) - slope_x * P
        return State(F_h, F_u, -mean_x * (f * mean_y * flux_x + q * U) - slope_y * P)

    size = 3 * (1 + method.counts[1])
    now, *memory = np.split(np.eye(size)[:, :, None, None] * np.ones(along.shape), size // 3)
    found = []
    for each in np.atleast_1d(dt):
        carry = Carry(State(*now), tuple(State(*each) for each in memory), 9)
        after = method.combine(tendency, carry, method.weights(9, np.asarray(each)))
        matrix = np.array([field for state in (after.state, *after.memory) for field in state])
        found.append(np.abs(np.linalg.eigvals(np.moveaxis(matrix, (0, 1), (-2, -1)))).max())
    return np.array(found)


@pytest.mark.parametrize("name", ["ab2", "ab3", "rk3", "rk4", "leapfrog, filtered", "gfb"])
@pytest.mark.parametrize("speed", [(0.0, 0.0), (0.05, 0.05), (0.1, 0.0), (0.2, 0.2)])
def test_the_limit_in_a_current_is_within_two_percent_of_von_neumanns(name, speed):
    """All waves of both directions, with rotation; where the current runs along an axis, it is up to 5 % below."""
    time, waves = STEPPERS[name], 2 * np.sqrt(2)
    dt = limit(Mode(1.0), time) / slowed(np.float64(waves), np.sqrt(2) * np.hypot(*speed), name == "gfb", np)
    below, above = von_neumann(time, speed, 0.05, dt * np.array([0.98, 1.02 if speed[0] == speed[1] else 1.05]))
    assert below < 1 + 1e-4
    assert above > 1 + 1e-6


def rates_of(overrides, case="jet"):
    config = load(case, {"grid.nx": 12, "grid.ny": 9, **overrides}, {})
    return config, survey(setup_of(config))


QUIET = {"case.speed": 0.0, "case.perturbation": 0.0, "physics.depth": 40.0, "physics.gravity": 10.0}


def test_rates_of_a_layer_at_rest_with_friction_drag_and_sponge():
    cells = {**QUIET, "grid.dx": 300.0, "grid.dy": 400.0}  # 1/300² + 1/400² = 1/240²
    config, extremes = rates_of({**cells, "physics.beta": 1e-11})
    rate = rates(config, extremes)
    assert rate.waves == pytest.approx(2 * 20 / 240)
    assert rate.inertial == pytest.approx(2e-4 + 1e-11 * 8.5 * 400)
    assert rate.friction == pytest.approx(4 * 100.0 / 240**2)
    assert rate.drag == 0
    sponge = {"sponge.rate": 1e-3, "sponge.width": 2 * 3600.0, "sponge.sides": ["west", "east", "south"]}
    damping = {"physics.viscosity": 0.0, "physics.biharmonic_viscosity": 1e6, "physics.linear_drag": 1e-4}
    rate = rates(*rates_of({**cells, **damping, **sponge}))
    assert rate.friction == pytest.approx(16 * 1e6 / 240**4)
    # West and east meet in the channel of 3600 m. The fastest are the east faces of the last column, at the wall.
    west, east, south = ((1 - distance / 7200) ** 2 for distance in (3600, 0, 200))
    assert rate.drag == pytest.approx(1e-4 + 1e-3 * (west + east + south))


def test_advection_and_quadratic_drag_count_where_they_are():
    config, extremes = rates_of({"physics.quadratic_drag": 1e-3, "case.perturbation": 0.0, "grid.nx": 30})
    h = 100 + jet.balance(config)
    u = jet.jet(config, points(config.grid, "centre", range(config.grid.ny), [0]).y)
    c = np.sqrt(9.81 * h)
    rate = rates(config, extremes)
    assert rate.waves == pytest.approx(slowed(2 * c * np.sqrt(2) / 5e3, np.sqrt(2) * u / 5e3, True, np).max())
    assert rate.drag == pytest.approx((2e-3 * u / h).max())


@pytest.mark.parametrize(
    ("overrides", "process"),
    [
        ({"physics.viscosity": 2e6}, "friction, drag and sponge"),
        ({"physics.f0": 0.1, "time.stepper": "ab3"}, "the Coriolis force"),
        ({"physics.viscosity": 0.0}, "gravity waves and advection"),
    ],
)
def test_the_process_that_limits_the_time_step_is_named(overrides, process):
    config, extremes = rates_of({**QUIET, **overrides})
    dt, found = largest_dt(config, extremes)
    assert found == process
    if process.startswith("gravity"):
        assert dt * rates(config, extremes).waves == pytest.approx(limit(Mode(1.0, 0j), config.time))


def test_time_step_from_the_cfl_number_stays_within_half_the_limit_of_friction():
    config, extremes = rates_of({**QUIET, "grid.dx": 300.0, "grid.dy": 400.0, "time.cfl": 0.3})
    assert dt_from_state(config, extremes) == pytest.approx(0.3 * 240 / 20)
    config, extremes = rates_of({**QUIET, "time.cfl": 0.3, "physics.viscosity": 2e6})
    assert dt_from_state(config, extremes) == pytest.approx(
        0.5 * limit(Mode(0.0, -1.0 + 0j), config.time) / (8 * 2e6 / 5e3**2)
    )


def test_a_run_is_stable_just_below_the_largest_time_step_and_not_above_it():
    # A checkerboard in both directions: the fastest wave of the grid.
    waves = changed(jet.Jet, eta=lambda config, at: 1e-6 * np.cos(np.pi * at.i) * np.cos(np.pi * at.j))
    overrides = {**QUIET, "grid.nx": 8, "grid.ny": 8, "grid.periodic_y": True, "physics.beta": 0.0, "physics.f0": 0.0}
    overrides |= {"physics.viscosity": 0.0, "run.dtype": "float64", "run.steps": 200, "time.stepper": "rk4"}

    def height(factor):
        dt = factor * largest_dt(*rates_of(overrides, waves))[0]
        simulation = Simulation(unchecked(load(waves, {**overrides, "time.dt": dt}, {})))
        simulation.advance(200)
        return np.abs(simulation.field("eta")).max()

    assert height(0.99) < 1e-6
    assert height(1.01) > 0.1


@pytest.mark.fault("numbers at which formulas overflow or lose all digits")
def test_no_time_step_is_stable_with_a_rate_beyond_what_numbers_hold():
    """As of a state that blows up, about which a message is then made."""
    assert stable_dt(STEPPERS["ab3"], Mode(1.0), Mode(0.0, 1j * np.inf)) == 0
    assert stable_dt(STEPPERS["ab3"], Mode(np.nan)) == 0


OUTERMOST = {"west": np.s_[:, 0], "east": np.s_[:, -1], "south": np.s_[0], "north": np.s_[-1]}
SIDES = [("west",), ("east",), ("south",), ("north",), ("west", "south"), ("east", "north")]


@pytest.mark.fault("the reported stable time step is unstable with open sides")
@pytest.mark.night
@pytest.mark.parametrize("sides", SIDES, ids=" ".join)
@pytest.mark.parametrize("stepper", ["ab2", "ab3", "rk3", "rk4", "gfb"])
def test_just_below_the_limit_waves_leave_through_open_sides_and_do_not_grow(stepper, sides):
    """Over a flat floor, one deep in the corner only, and beside deep water outside, whose faces are the fastest."""
    flat = np.full((7, 8), 50.0)
    corner, shelf = flat / 20, flat.copy()
    corner[:2, :2] = corner[-2:, -2:] = 50.0
    for side in sides:
        shelf[OUTERMOST[side]] = 4000.0
    start = 1e-3 * np.random.default_rng(0).standard_normal((7, 8))
    options = {
        **{"grid__periodic_x": False, "grid__dx": 9e3, "grid__dy": 8e3, "open_sides__sides": sides},
        **{"run__executor": "reference", "time__stepper": stepper, "physics__viscosity": 0.0},
    }
    for depth in (flat, corner, shelf):
        fields = {"depth": depth, "eta": start}
        config = configuration(7, 8, fields, **options)
        largest, _ = largest_dt(config, survey(setup_of(config)))
        model = Simulation(configuration(7, 8, fields, **options, time__dt=0.95 * largest))
        model.take_steps(300)
        assert np.abs(model.field("eta")).max() < 5e-3


@pytest.mark.fault("the reported stable time step is unstable with open sides")
def test_the_limit_beside_deep_outside_water_is_no_shorter_than_it_has_to_be():
    """A twentieth above it the basin blows up."""
    depth = np.full((3, 8), 50.0)
    depth[:, 0] = 4000.0
    options = {"open_sides__sides": ("west",), "grid__periodic_x": False, "run__executor": "reference"}
    options["time__stepper"] = "ab2"
    config = configuration(3, 8, {"depth": depth}, **options)
    largest, process = largest_dt(config, survey(setup_of(config)))
    assert process == "waves through open sides"
    high = configuration(3, 8, {"depth": depth, "eta": depth / 1e6}, **options, time__dt=1.05 * largest)
    model = Simulation(unchecked(high))
    model.take_steps(300)
    assert not np.abs(model.field("eta")).max() < 1.0


def test_no_more_than_the_water_of_a_cell_leaves_it_in_a_stable_step():
    """The rate has two of its faces; so has that of each neighbour, and one of these is its own."""
    assert 3 * stable_dt(STEPPERS["gfb"], *(Mode(0, z) for z in UPWIND)) < 1
