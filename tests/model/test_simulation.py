"""The Simulation as Python users have it: what has no effect is refused, and a blow-up is never silent."""

import re
from itertools import product

import numpy as np
import pytest
from support.unchecked import unchecked

import swmodel
from swmodel.errors import NumericalError, SetupError, UsageError
from swmodel.model import simulation as module
from swmodel.model.health import unusable
from swmodel.ocean.evaluation import derived
from swmodel.ocean.state import State
from swmodel.parallel.transport import connect

SMALL = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "run.steps": 5}
EXECUTORS = ["reference", "native"]


def simulation(**options):
    options = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(unchecked(swmodel.load("jet", options, environ={})))


@pytest.fixture(scope="module")
def model():
    return simulation()


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
@pytest.mark.parametrize("steps", [-1, 2.5, "3", None, True, 2**31])
def test_what_is_no_number_of_steps_is_refused_and_changes_nothing(model, steps):
    before, state = model.step, model.state
    bound = "at most 2147483647 from here" if steps == 2**31 else "0 or more"
    with pytest.raises(UsageError, match=re.escape(f"advance({steps!r}): needs a whole number of steps, {bound}")):
        model.advance(steps)
    assert model.step == before == int(model.carry.step)
    assert all(np.array_equal(*pair) for pair in zip(model.state, state, strict=True))


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
@pytest.mark.parametrize("name", ["config", "params", "dt", "step", "viscosity"])
def test_what_would_have_no_effect_cannot_be_set(model, name):
    with pytest.raises(UsageError, match=name):
        setattr(model, name, 3)
    assert getattr(model, name, None) != 3
    with pytest.raises(ValueError, match="read-only"):
        model.state.h[0, 0] = 77.0


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_carry_that_is_set_is_what_goes_on(executor):
    model, other = simulation(run__executor=executor), simulation(run__executor=executor, case__perturbation=1.0)
    other.advance(3)
    eta = other.field("eta")
    assert not np.array_equal(model.field("eta"), eta)
    model.carry = other.carry
    assert model.step == 3
    np.testing.assert_array_equal(model.field("eta"), eta)


def test_progress_is_shown_where_it_is_asked_for(tmp_path, capfd):
    for asked in (False, True):
        simulation().run(tmp_path / f"{asked}", progress=asked)
        told = "".join(capfd.readouterr())
        assert ("step 5/5" in told) is asked


def test_a_carry_of_another_kind_is_refused(model):
    for wrong in (None, model.state, model.carry._replace(memory=()), simulation(grid__nx=16).carry):
        with pytest.raises(UsageError, match="the shapes and the precision of the present one"):
            model.carry = wrong


def test_unknown_fields_are_named_with_those_that_there_are(model):
    for ask in (model.field, model.fields, model.means, lambda name: model.fields(["eta", name])):
        with pytest.raises(UsageError, match=f"^no field nope; there are {', '.join(derived(model.scheme))}$"):
            ask("nope")
    assert list(model.fields("eta")) == ["eta"]


def test_what_is_no_configuration_is_refused():
    with pytest.raises(UsageError, match="needs a Config .* or the name of a case or file"):
        swmodel.Simulation({"grid.nx": 3})


def test_a_path_is_the_name_of_a_file(tmp_path):
    (tmp_path / "my.toml").write_text(
        '[case]\nname = "rest"\n[grid]\nnx = 14\nny = 9\n[run]\nexecutor = "reference"\nsteps = 1\n'
    )
    assert swmodel.Simulation(tmp_path / "my.toml").config.case.name == "rest"


@pytest.mark.fault("a configuration for several processes in a single Python process")
def test_more_processes_than_there_are_end_no_interpreter():
    with pytest.raises(
        SetupError, match="a run on 4 processes, but MPI knows of 1: start the program with mpiexec -n 4"
    ):
        connect("mpi", (4, 1), 12, 12)


BLOWN_UP = (
    r"the solution blew up by step {step} \(day \d\.\d{{3}}\): [huv] is \S+ m( s-1)? at row \d+, column \d+; "
    r"start again with a smaller time step \(time\.dt = (\S+) s\) or more friction"
)


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_blow_up_is_raised_by_advance_once_and_leaves_no_file(tmp_path, monkeypatch, executor):
    """Warnings, which would be errors in tests, there are none."""
    monkeypatch.chdir(tmp_path)
    model = simulation(time__dt=4000.0, run__executor=executor)
    with pytest.raises(NumericalError) as caught:
        model.advance(60)
    match = re.fullmatch(BLOWN_UP.format(step=60), str(caught.value))
    assert match, caught.value
    assert not np.isfinite(model.field("h")).all()
    assert list(tmp_path.iterdir()) == []
    stable = simulation(time__dt=float(match[2]), run__executor=executor)
    stable.advance(60)


def broken(**options):
    """A simulation that has blown up since the last look at its state, one step before the next."""
    model = simulation(**options)
    h = np.array(model.state.h)
    h[4, 5] = np.nan
    model.carry = model.carry._replace(state=State(h, model.state.u, model.state.v))
    for _ in range(module.LOOK_EVERY - 1):
        model.advance(1)
    return model


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
@pytest.mark.parametrize(
    "use",
    [
        lambda model, path: model.advance(1),
        lambda model, path: model.field("eta"),
        lambda model, path: model.state,
        lambda model, path: model.write_restart(path / "restart.nc"),
    ],
)
def test_after_few_steps_a_blow_up_is_met_at_the_first_use_of_the_state(tmp_path, use):
    model = broken()
    with pytest.raises(NumericalError, match=r"the solution blew up by step (49|50) \(day .*\): [huv] is nan m"):
        use(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_look_after_steps_finds_what_health_refuses_and_nothing_else(executor):
    """On water, and on the island, where thickness does not matter."""
    config = swmodel.load("rest", {"grid.nx": 30, "grid.ny": 20, "run.executor": executor}, environ={})
    model = swmodel.Simulation(config)
    carry, margin, found = model.carry, model.scheme.width + 1, {}
    health = model.health()
    land = tuple(np.argwhere(np.asarray(model.grid.wet)[margin:-margin, margin:-margin] == 0)[0])
    cases = product((None, land, (0, 3), (19, 29)), "huv", (0.0, -1.0, np.nan, -np.inf))
    for place, name, value in cases:
        fields = carry.state._asdict() | {name: np.array(getattr(model.state, name))}
        if place:
            fields[name][place] = value
        model.carry = carry._replace(state=State(**fields))
        refused = not (health.look().neg_min_h < 0).all()
        count = unusable(model.carry.state, model.grid.wet, model.scheme, model.transport)
        assert bool(model.get(count)) == refused, (place, name, value)
        found[place, name, value] = refused
    assert found[(0, 3), "h", 0.0]
    assert not found[land, "h", 0.0]
    assert found[land, "u", -np.inf]
    assert sum(found.values()) == 3 * 3 * 2 + 2 * 2
