"""Compiled programs are reused by all runs of the same kind in a process, and keep neither runs nor arrays alive."""

import gc
import weakref

import jax
import pytest
from support.quick_compilation import record_compilations

import swmodel
from swmodel.executors.registry import EXECUTORS

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 10, "run.dtype": "float64", "time.dt": 20.0, "physics.viscosity": 100.0}


def load(**options):
    return swmodel.load("jet", SMALL | options, environ={})


def use_all_programs(model):
    means, health = model.means(("sea_level", "q")), model.health()
    model.advance(7)
    means.add_state(model.carry.state)
    health.check()
    return means.values() | model.fields(["zeta"])


@pytest.mark.parametrize("executor", [name for name in EXECUTORS if name != "cuda"])
def test_second_run_compiles_nothing(tmp_path, executor):
    """A run from a restart file compiles nothing either; the time step is not part of the program."""
    rows = 11 + list(EXECUTORS).index(executor)  # a grid that no other test has

    def run_and_restart(dt):
        model = swmodel.Simulation(load(**{"run.executor": executor, "grid.ny": rows, "time.dt": dt}))
        use_all_programs(model)
        model.write_restart(tmp_path / "restart.nc")
        use_all_programs(swmodel.Simulation.from_restart(tmp_path / "restart.nc"))

    with record_compilations() as first:
        run_and_restart(20.0)
    with record_compilations() as second:
        run_and_restart(10.0)
    assert first.count("jit(loop)") == (executor != "reference")
    assert first.count("jit(update)") == 1
    assert second == []


@pytest.mark.night
def test_cached_programs_hold_no_reference_to_run_or_arrays():
    use_all_programs(swmodel.Simulation(load()))
    gc.collect()
    n_arrays = len(jax.live_arrays())
    model = swmodel.Simulation(load())
    use_all_programs(model)
    reference = weakref.ref(model)
    assert len(jax.live_arrays()) > n_arrays
    del model
    gc.collect()
    assert reference() is None
    assert len(jax.live_arrays()) == n_arrays
