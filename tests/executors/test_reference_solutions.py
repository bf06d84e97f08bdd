"""The NumPy reference reproduces analytic solutions, and its steppers have their orders of accuracy."""

import numpy as np
import pytest
from support.numpy_dynamics import FLUXES
from support.small_domain import NX, NY, make_reference, random_seabed, random_state

from swmodel.executors.reference.steppers import STEPPERS
from swmodel.ocean.state import State


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("flux", FLUXES)
def test_lake_stays_at_rest(stepper, flux):
    """It stays exactly at its resting level, and to round-off of the pressure at a raised level."""
    rng = np.random.default_rng(9)
    fields = random_seabed(rng)
    fields["depth"][:, 5] = 0.5
    physics = {"f0": 1.3, "viscosity": 0.1, "biharmonic_viscosity": 0.02, "quadratic_drag": 0.1}
    options = {"physics": physics, "scheme": {"vorticity_flux": flux}, "time": {"stepper": stepper}}
    for level in (0.0, 0.37):
        reference = make_reference(fields | {"eta": np.full((NY, NX), level)}, **options)
        before = reference.start()
        after = reference.advance(before, 10, 0.01)
        bound = 1e-13 if level else 0
        np.testing.assert_array_equal(before.state.h, fields["depth"] + level * fields["mask"])
        np.testing.assert_allclose(after.state.h, before.state.h, rtol=0, atol=bound)
        np.testing.assert_allclose(after.state.u, 0, atol=bound)
        np.testing.assert_allclose(after.state.v, 0, atol=bound)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("along", ["u", "v"])
@pytest.mark.parametrize("wall", ["periodic", "free", "no"])
def test_viscous_decay(order, along, wall):
    """cos ky (free slip), sin ky (no slip): du/dt = - nu K² u (- nu4 K⁴ u) with K = sin(k dy/2) / (dy/2)."""
    cells, d, nu = 11, 0.7, 0.3
    k = (2 if wall == "periodic" else 1) * np.pi / (cells * d)
    profile = (np.sin if wall == "no" else np.cos)(k * d * (np.arange(cells) + 0.5))
    physics = {"slip": "no" if wall == "no" else "free", ("viscosity", "biharmonic_viscosity")[order - 1]: nu}
    grid = {"ny": cells, "nx": cells, "dy": d, "dx": d, "periodic_x": True, "periodic_y": True}
    grid["periodic_y" if along == "u" else "periodic_x"] = wall == "periodic"
    field = np.broadcast_to(profile[:, None] if along == "u" else profile, (cells, cells))
    zero = np.zeros_like(field)
    state = State(zero + 1, field, zero) if along == "u" else State(zero + 1, zero, field)
    tendency = getattr(make_reference(grid=grid, physics=physics).tendency(state), along)
    decay = nu * (np.sin(k * d / 2) / (d / 2)) ** (2 * order)
    np.testing.assert_allclose(tendency, -decay * field, rtol=0, atol=2e-14)


def test_sponge_rate_depends_on_distance_of_each_point():
    rate, width, dx, dy = 0.3, 2.0, 0.9, 0.7
    sponge = {"rate": rate, "width": width, "sides": ("east", "south")}
    reference = make_reference(grid={"periodic_x": False}, physics={"depth": 100.0, "gravity": 1e-12}, sponge=sponge)
    dh = reference.tendency(State(*(np.full((NY, NX), value) for value in (101.0, 0.0, 0.0)))).h
    from_east, from_south = (np.arange(NX)[::-1] + 0.5) * dx, (np.arange(NY)[:, None] + 0.5) * dy
    expected = rate * (np.clip(1 - from_east / width, 0, 1) ** 2 + np.clip(1 - from_south / width, 0, 1) ** 2)
    np.testing.assert_allclose(dh, -expected, rtol=1e-13)
    x = np.arange(NX)
    state = State(np.full((NY, NX), 100.0), np.where(x == NX - 3, 1.0, 0.0) + np.zeros((NY, 1)), np.zeros((NY, NX)))
    du = reference.tendency(state).u[-1, NX - 3]
    np.testing.assert_allclose(du, -rate * (1 - 2 * dx / width) ** 2, rtol=1e-11)


# Time


ORDER_OF_STEPPERS = [(stepper, {}, order) for stepper, order in {"ab3": 2, "rk3": 3, "rk4": 4, "gfb": 2}.items()]
ORDER_OF_STEPPERS += [("ab2", {"ab2_epsilon": 0.0}, 2), ("ab2", {"ab2_epsilon": 0.1}, 1)]
ORDER_OF_STEPPERS += [("leapfrog", {"robert_asselin": 0.0}, 2), ("leapfrog", {"robert_asselin": 0.2}, 1)]


def smooth_flow(stepper, **options):
    """A nonlinear flow with drag, friction and coasts, smooth in time."""
    rng = np.random.default_rng(11)
    physics = {"gravity": 0.5, "f0": 1.0, "viscosity": 0.05, "quadratic_drag": 0.5}
    return make_reference(random_seabed(rng), physics=physics, time={"stepper": stepper} | options), random_state(rng)


@pytest.mark.parametrize(("stepper", "options", "order"), ORDER_OF_STEPPERS)
def test_error_of_a_stepper_falls_with_its_order(stepper, options, order):
    exact, state = smooth_flow("rk4")
    end = exact.advance(exact.start(state), 256, 0.2 / 256).state
    reference, _ = smooth_flow(stepper, **options)
    errors = []
    for steps in (32, 64):
        carry = reference.advance(reference.start(state), steps, 0.2 / steps)
        assert carry.step == steps
        errors.append(np.abs(carry.state.u - end.u).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
