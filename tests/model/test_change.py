"""Setting the state of a model: what changes is what was asked for, and the model goes on from it as if begun so."""

import numpy as np
import pytest

import swmodel
from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.ocean.coordinates import points

pytestmark = pytest.mark.slow

SMALL = {
    "grid.nx": 14,
    "grid.ny": 9,
    "run.steps": 5,
    "time.dt": 10.0,
    "physics.tracers": [{"name": "tracer", "initial": 2.0}],
}


def bump(at):
    return 0.1 * np.exp(-((at.x - 3e4) ** 2) / 1e8) * np.ones(at.y.shape)


def simulation(executor="reference", fields=None, **options):
    overrides = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation("jet", SMALL | {"run.executor": executor} | overrides, fields=fields)


def assert_same(ours, theirs):
    for name, a, b in zip(ours.state._fields, ours.state, theirs.state, strict=True):
        assert a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize(("executor", "stepper"), [("reference", "leapfrog"), ("native", "ab2"), ("native", "gfb")])
def test_what_is_set_before_the_first_step_is_what_the_model_would_have_begun_with(executor, stepper):
    u = np.linspace(0, 1, 9)[:, None]
    given = {"eta": bump, "u": u, "tracer": 3.0}
    ours, theirs = simulation(executor, time__stepper=stepper), simulation(executor, given, time__stepper=stepper)
    ours.set(eta=bump, u=u, tracer=3.0)
    assert_same(ours, theirs)
    for model in (ours, theirs):
        model.advance(4)
    assert_same(ours, theirs)


def test_the_rest_of_the_state_stays_and_concentrations_do():
    model = simulation(time__stepper="ab3")
    model.advance(3)
    before = model.state
    model.set(v=0.25)
    assert model.step == 3
    for name in ("h", "u", "tracer_content"):
        assert getattr(model.state, name).tobytes() == getattr(before, name).tobytes(), name
    np.testing.assert_array_equal(model.state.v[:-1], 0.25)
    np.testing.assert_array_equal(model.state.v[-1], 0.0)  # the northern wall
    concentration = before.tracer_content / before.h
    model.set(eta=bump)
    np.testing.assert_allclose(
        model.field("eta"), bump(points(model.config.grid, "centre", range(9), range(14))), atol=1e-5
    )
    np.testing.assert_allclose(model.state.tracer_content / model.state.h, concentration, rtol=1e-6)


def test_the_older_state_of_the_leapfrog_changes_as_the_new_one_does():
    """A uniform rise of sea level in a flat basin at rest stays one; else it would swing by twice as much."""
    model = swmodel.Simulation(swmodel.Case, SMALL | {"time.stepper": "leapfrog", "run.executor": "reference"})
    model.advance(3)
    model.set(eta=0.5)
    model.advance(4)
    np.testing.assert_allclose(model.field("eta"), 0.5, atol=1e-5)


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_the_state_can_be_written_as_it_is_read(executor):
    model, other = simulation(executor), simulation(executor)
    model.advance(2)
    h = model.state.h + np.float32(0.5)
    for each in (model, other):
        each.state = model.state._replace(h=h)
        np.testing.assert_array_equal(each.state.h, h)
    assert (model.step, other.step) == (2, 0)
    model.advance(1)


@pytest.mark.fault("an unusable state is set")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": 3.0}, "set: depth: is constant during a run: give it to Simulation, as fields="),
        ({"etta": 3.0}, "set: etta: no such field; .* eta, u, v, tracer$"),
        ({"eta": np.zeros((3, 3))}, r"fields: eta has shape \(3, 3\), the grid needs \(9, 14\)"),
        ({"eta": np.nan}, "set: sea level .eta.: must be finite on water, but is missing at row 0, column 0"),
        ({"eta": -1e3}, r"set: initial thickness h = depth \+ eta: must be above 0 m on water, but is -900 m"),
    ],
)
def test_what_cannot_be_set_is_refused_and_changes_nothing(given, message):
    model = simulation()
    before = model.state
    with pytest.raises(ConfigError, match=message):
        model.set(**given)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(model.state, before, strict=True))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda state: None, "needs a State of h, u, v, tracer"),
        (lambda state: state._replace(u=state.u[1:]), r"u is float32 \(8, 14\); needs float32 \(9, 14\)"),
        (lambda state: state._replace(u=state.u.astype(float)), r"u is float64 \(9, 14\); needs float32 \(9, 14\)"),
    ],
)
def test_what_is_no_state_is_refused(wrong, message):
    model = simulation()
    with pytest.raises(UsageError, match=rf"^Simulation.state: {message}"):
        model.state = wrong(model.state)


def with_value(field, value, place):
    changed = np.array(field)
    changed[place] = value
    return changed


@pytest.mark.fault("a state from Python is not finite, or has no water")
@pytest.mark.parametrize(("name", "value"), [("h", np.nan), ("u", np.inf), ("v", -np.inf), ("h", 0.0), ("h", -1.0)])
def test_a_state_that_no_step_can_start_from_is_refused_where_it_is_set(name, value):
    """With its place; on land thickness does not matter."""
    model = swmodel.Simulation("rest", {"grid.nx": 30, "grid.ny": 20, "run.executor": "reference"})
    before = model.state
    wet = model.dataset("mask").mask.values > 0
    land, (row, column) = tuple(np.argwhere(~wet)[0]), np.argwhere(wet)[7]
    with pytest.raises(
        UsageError, match=rf"^Simulation.state: {name} must be finite.* is {value} at row {row}, column {column}$"
    ):
        model.state = before._replace(**{name: with_value(getattr(before, name), value, (row, column))})
    assert all(ours.tobytes() == theirs.tobytes() for ours, theirs in zip(model.state, before, strict=True))
    if np.isfinite(value):
        model.state = before._replace(h=with_value(before.h, value, land))
