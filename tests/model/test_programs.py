"""What a process has compiled serves all runs of the same kind, and no other."""

import gc
import weakref

import jax
import numpy as np
import pytest
from support.compiling import compilations
from support.small_ensemble import configuration

import swmodel
from swmodel.executors.registry import EXECUTORS
from swmodel.model.ensemble.members import Members

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 10, "run.dtype": "float64", "time.dt": 20.0, "physics.viscosity": 100.0}
#: What differs from the first run of `test_a_run_of_another_kind_has_the_program_of_its_own`.
KINDS = {
    "nothing": {},
    "precision": {"run.dtype": "float32"},
    "shape": {"grid.nx": 10, "grid.ny": 12},
    "scheme": {"scheme.vorticity_flux": "enstrophy"},
    "a term": {"physics.viscosity": 0.0},
    "a wider halo": {"physics.biharmonic_viscosity": 1e10},
    "reduced gravity": {"physics.gravity": 5.0, "physics.reduced_gravity": True},
    "stepper": {"time.stepper": "rk3"},
    "time step": {"time.dt": 10.0},
    "a wall": {"grid.periodic_x": False},
}
FIELDS = ("sea_level", "q")


def load(**options):
    return swmodel.load("jet", SMALL | options, environ={})


def use(model):
    """Everything of a Simulation that is compiled; the mean of one state."""
    means, health = model.means(FIELDS), model.health()
    model.advance(7)
    means.add(model.carry.state)
    health.check()
    return means.values() | model.fields(["zeta"])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_second_run_of_the_same_kind_compiles_nothing(tmp_path, executor):
    """Nor does one from a restart file; the time step is no part of the program."""
    rows = 11 + list(EXECUTORS).index(executor)  # a kind that no other test has

    def runs(dt):
        model = swmodel.Simulation(load(**{"run.executor": executor, "grid.ny": rows, "time.dt": dt}))
        use(model)
        model.write_restart(tmp_path / "restart.nc")
        use(swmodel.Simulation.from_restart(tmp_path / "restart.nc"))

    with compilations() as first:
        runs(20.0)
    with compilations() as second:
        runs(10.0)
    assert first.count("jit(loop)") == (executor != "reference")
    assert first.count("jit(update)") == 1
    assert second == []


def test_a_second_ensemble_of_the_same_kind_compiles_nothing():
    def members():
        model = Members(configuration(run__executor="native", run__steps=3))
        health = model.health()
        model.take_steps(3)
        health.check()
        model.evaluate(0, ())

    with compilations() as first:
        members()
    with compilations() as second:
        members()
    assert first.count("jit(advance)") == 1
    assert second == []


@pytest.mark.night
def test_a_run_of_another_kind_has_the_program_of_its_own():
    """Each gives the answer of the reference, which is that of no other kind; its mean of one state is the state's."""
    answers = {}
    for kind, options in KINDS.items():
        precise = options.get("run.dtype") != "float32"
        model, truth = (
            swmodel.Simulation(load(**options, **{"run.executor": executor})) for executor in ("native", "reference")
        )
        found = use(model)
        truth.advance(7)
        for ours, theirs in zip(model.state, truth.state, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=(1e-12 if precise else 1e-3) * np.abs(theirs).max())
        for name, field in truth.fields((*FIELDS, "zeta")).items():
            tolerance = (1e-11 if precise else 1e-3) * np.abs(field).max()
            np.testing.assert_allclose(found[name], field, rtol=0, atol=tolerance, err_msg=f"{kind}: {name}")
        answers[b"".join(np.float32(field).tobytes() for field in (*truth.state, found["sea_level"]))] = kind
    assert list(answers.values()) == list(KINDS)


@pytest.mark.night
def test_what_is_compiled_keeps_neither_a_run_nor_its_arrays():
    use(swmodel.Simulation(load()))
    gc.collect()
    arrays = len(jax.live_arrays())
    model = swmodel.Simulation(load())
    use(model)
    gone = weakref.ref(model)
    assert len(jax.live_arrays()) > arrays
    del model
    gc.collect()
    assert gone() is None
    assert len(jax.live_arrays()) == arrays
