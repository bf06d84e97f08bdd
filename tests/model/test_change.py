"""The state of a model: it goes on from what is set as if begun so; its Dataset is what xarray reads from files."""

import numpy as np
import pytest
import xarray as xr
import xgcm

import swmodel
from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.ocean.coordinates import points

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 14, "grid.ny": 9, "run.steps": 5, "time.dt": 10.0}
SMALL |= {"physics.tracers": [{"name": "tracer", "initial": 2.0}]}


def bump(at):
    return 0.1 * np.exp(-((at.x - 3e4) ** 2) / 1e8) * np.ones(at.y.shape)


def simulation(executor="reference", fields=None, **options):
    overrides = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation("jet", SMALL | {"run.executor": executor} | overrides, fields=fields)


def assert_same(ours, theirs):
    for name, a, b in zip(ours.state._fields, ours.state, theirs.state, strict=True):
        assert a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize(("executor", "stepper"), [("reference", "leapfrog"), ("native", "gfb")])
def test_set_at_start_equals_fields_given_at_start(executor, stepper):
    u = np.linspace(0, 1, 9)[:, None]
    given = {"eta": bump, "u": u, "tracer": 3.0}
    ours, theirs = simulation(executor, time__stepper=stepper), simulation(executor, given, time__stepper=stepper)
    ours.set(eta=bump, u=u, tracer=3.0)
    assert_same(ours, theirs)
    for model in (ours, theirs):
        model.advance(4)
    assert_same(ours, theirs)


def test_set_keeps_other_fields_and_concentrations():
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
    expected = bump(points(model.config.grid, "centre", range(9), range(14)))
    np.testing.assert_allclose(model.field("eta"), expected, atol=1e-5)
    np.testing.assert_allclose(model.state.tracer_content / model.state.h, concentration, rtol=1e-6)


def test_set_changes_older_state_of_leapfrog():
    """A uniform rise of sea level in a flat basin at rest stays one; else it would swing by twice as much."""
    model = swmodel.Simulation(swmodel.Case, SMALL | {"time.stepper": "leapfrog", "run.executor": "reference"})
    model.advance(3)
    model.set(eta=0.5)
    model.advance(4)
    np.testing.assert_allclose(model.field("eta"), 0.5, atol=1e-5)


@pytest.mark.fault("an unusable state is set")
def test_set_refuses_unusable_fields_and_changes_nothing():
    model = simulation()
    before = model.state
    for given, words in (
        ({"depth": 3.0}, "depth"),
        ({"etta": 3.0}, "etta: .* eta, u, v, tracer"),
        ({"eta": np.zeros((3, 3))}, r"eta has shape \(3, 3\)"),
        ({"eta": np.nan}, "eta.*row 0, column 0"),
        ({"eta": -1e3}, "-900 m"),
    ):
        with pytest.raises(ConfigError, match=words):
            model.set(**given)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(model.state, before, strict=True))


def with_value(state, name, value, place):
    changed = np.array(getattr(state, name))
    changed[place] = value
    return state._replace(**{name: changed})


@pytest.mark.fault("a state from Python is not finite, or has no water")
def test_unusable_state_is_refused_and_changes_nothing():
    """Values that no step can start from with their place; on land thickness does not matter."""
    model = swmodel.Simulation("rest", {"grid.nx": 30, "grid.ny": 20, "run.executor": "reference"})
    before, wet = model.state, model.dataset("mask").mask.values > 0
    land, (row, column) = tuple(np.argwhere(~wet)[0]), np.argwhere(wet)[7]
    wrong = [
        (None, "needs a State of h, u, v"),
        (before._replace(u=before.u[1:]), r"u is float64 \(19, 30\)"),
        (before._replace(u=before.u.astype("float32")), "u is float32"),
    ]
    for name, value in [("h", np.nan), ("u", np.inf), ("v", -np.inf), ("h", 0.0), ("h", -1.0)]:
        state = with_value(before, name, value, (row, column))
        wrong.append((state, f"{name} .* is {value} at row {row}, column {column}$"))
    for state, words in wrong:
        with pytest.raises(UsageError, match=rf"^Simulation.state: .*{words}"):
            model.state = state
        assert all(ours.tobytes() == theirs.tobytes() for ours, theirs in zip(model.state, before, strict=True))
    model.state = with_value(with_value(before, "h", -1.0, land), "u", 0.5, (row, column))
    assert model.state.u[row, column] == 0.5
    model.advance(1)


# The Dataset of a model

NAMES = ["h", "u", "v", "eta", "zeta", "speed", "sea_level"]
OPTIONS = {"grid.nx": 30, "grid.ny": 20, "run.executor": "reference", "run.steps": 8, "output.fields": NAMES}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run around an island, and the record of its end."""
    folder = tmp_path_factory.mktemp("run") / "rest"
    model = swmodel.Simulation("rest", OPTIONS, fields={"wind_x": 0.1})
    model.run(folder)
    with xr.open_dataset(folder / "output.nc") as stored:
        yield model, stored.isel(time=-1).load()


def test_dataset_equals_file(run):
    model, stored = run
    found = model.dataset([*NAMES, "depth", "mask", "f", "wind_x"])
    for name, ours in found.variables.items():
        theirs = stored[name]
        assert ours.dims == theirs.dims, name
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        for key in theirs.attrs.keys() & {"units", "standard_name", "long_name", "axis"}:
            assert ours.attrs[key] == theirs.attrs[key], (name, key)
    assert np.isnan(found.speed).sum() == (found.mask == 0).sum() > 0
    assert found.attrs["title"] == stored.attrs["title"]


def test_xgcm_reads_dataset(run):
    model, _ = run
    found = model.dataset()
    assert list(found) == NAMES
    grid = xgcm.Grid(found, padding={"X": "periodic", "Y": "fill"})
    slope = grid.diff(found.eta.fillna(0.0), "X")
    assert slope.dims == found.u.dims
    assert list(model.dataset("eta")) == ["eta"]
    with pytest.raises(UsageError, match="nope.* h, .*, depth, mask, f, wind_x"):
        model.dataset(["eta", "nope"])
