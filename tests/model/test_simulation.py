"""The Simulation as Python users have it: what has no effect is refused, and a blow-up is never silent."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.unchecked import unchecked

import swmodel
from swmodel.errors import NumericalError, SetupError, UsageError
from swmodel.files.status import read_status
from swmodel.model import run
from swmodel.model import simulation as module
from swmodel.model.health import unusable
from swmodel.ocean.evaluation import derived
from swmodel.ocean.state import State
from swmodel.parallel.environment import peak_memory
from swmodel.parallel.transport import connect

SMALL = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "run.steps": 5}
EXECUTORS = ["reference", "native"]


def simulation(**options):
    options = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(unchecked(swmodel.load("jet", options, environ={})))


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
def test_simulation_refuses_what_has_no_effect(tmp_path):
    model = simulation()
    for name in ("config", "dt", "step", "viscosity"):
        with pytest.raises(UsageError, match=name):
            setattr(model, name, 3)
    with pytest.raises(ValueError, match="read-only"):
        model.state.h[0, 0] = 77.0
    for wrong in (None, model.state, model.carry._replace(memory=()), simulation(grid__nx=16).carry):
        with pytest.raises(UsageError, match="shapes"):
            model.carry = wrong
    for ask in (model.field, model.fields, model.means, lambda name: model.fields(["eta", name])):
        with pytest.raises(UsageError, match=f"nope; .* {', '.join(derived(model.scheme))}$"):
            ask("nope")
    with pytest.raises(UsageError, match="Config"):
        swmodel.Simulation({"grid.nx": 3})
    (tmp_path / "my.toml").write_text('case.name = "rest"\ngrid = {nx = 14, ny = 9}\nrun.steps = 1\n')
    assert swmodel.Simulation(tmp_path / "my.toml").config.case.name == "rest"


@pytest.mark.fault("a configuration for several processes in a single Python process")
def test_more_processes_than_there_are_end_no_interpreter():
    with pytest.raises(SetupError, match="4 processes, .* mpiexec -n 4"):
        connect("mpi", (4, 1), 12, 12)


def test_status_has_peak_memory_of_largest_rank(tmp_path, monkeypatch):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    assert peak_memory() == pytest.approx(1024 * int(lines["VmHWM"].split()[0]), rel=0.02)
    monkeypatch.setattr(run, "peak_memory", lambda: 12345678901)
    simulation().run(tmp_path / "run")
    assert read_status(tmp_path / "run")["peak_memory_bytes"] == 12345678901


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_blow_up_is_raised_by_advance_and_leaves_no_file(tmp_path, monkeypatch, executor):
    """Warnings, which would be errors in tests, there are none."""
    monkeypatch.chdir(tmp_path)
    model = simulation(time__dt=4000.0, run__executor=executor)
    with pytest.raises(NumericalError) as caught:
        model.advance(60)
    match = re.search(r"by step 60 .*: [huv] is .* row \d+, column \d+; .*\(time\.dt = (\S+) s\)", str(caught.value))
    assert not np.isfinite(model.field("h")).all()
    assert list(tmp_path.iterdir()) == []
    stable = simulation(time__dt=float(match[1]), run__executor=executor)
    stable.advance(60)


@pytest.mark.fault("from Python: an invalid number of steps, attributes without effect, a blow-up in `advance`")
def test_blow_up_is_met_at_first_use_of_state(tmp_path):
    """After few steps, before the next look at the state."""
    for use in (
        lambda model: model.advance(1),
        lambda model: model.field("eta"),
        lambda model: model.state,
        lambda model: model.write_restart(tmp_path / "restart.nc"),
    ):
        model = simulation()
        h = np.array(model.state.h)
        h[4, 5] = np.nan
        model.carry = model.carry._replace(state=State(h, model.state.u, model.state.v))
        for _ in range(module.LOOK_EVERY - 1):
            model.advance(1)
        with pytest.raises(NumericalError, match=r"by step (49|50) .*: [huv] is nan m"):
            use(model)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_look_after_steps_finds_what_health_refuses(executor):
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
