"""Weather that varies: cuts into calls, restarts, members and pure steps have the bits of one undisturbed run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.made_cases import case_of
from support.random_case import configuration, random_fields, weather

import swmodel
from swmodel.ensemble.members import Members
from swmodel.ensemble.settings import check_ensemble, wind_factors
from swmodel.errors import FilesError
from swmodel.model.forcing import Forcing

NY, NX, STEPS = 7, 11, 9


def configure(**options):
    """Records each 33 s, steps of 20 s."""
    return configuration(NY, NX, in_time=True, run__steps=STEPS, **{"run__executor": "native"} | options)


def same(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.fixture(scope="module")
def undisturbed():
    model = swmodel.Simulation(configure())
    model.advance(STEPS)
    return model.state


@pytest.mark.compiled
def test_any_cut_into_calls_and_any_restart_have_the_same_bits(tmp_path, undisturbed):
    model = swmodel.Simulation(configure())
    for steps in (1, 3, 0, 2, 3):
        if model.step == 6:
            model.write_restart(tmp_path / "restart.nc")
        model.advance(steps)
    assert same(model.state, undisturbed)
    again = swmodel.Simulation.from_restart(tmp_path / "restart.nc", case=type(model.config.case))
    again.advance(STEPS - 6)
    assert same(again.state, undisturbed)


def test_without_its_class_a_case_in_python_whose_wind_varies_does_not_go_on(tmp_path):
    model = swmodel.Simulation(configure(run__executor="reference"))
    model.write_restart(tmp_path / "restart.nc")
    with pytest.raises(FilesError, match=r"wind_x varies in time and was handed over in Python: .*case=CLASS"):
        swmodel.Simulation.from_restart(tmp_path / "restart.nc")


def test_a_carry_that_goes_back_in_time_finds_its_records(undisturbed):
    model = swmodel.Simulation(configure(run__executor="reference"))
    start = model.carry
    model.advance(STEPS)
    first = model.state
    model.carry = start._replace(step=0)
    model.advance(STEPS)
    assert same(model.state, first)


@pytest.mark.compiled
def test_a_member_is_the_run_with_its_wind_times_a_factor(undisturbed):
    """Number 0 is the run itself."""
    records, winds = weather(NY, NX), ("wind_x", "wind_y")
    plain = configure()
    config = check_ensemble(plain.model_copy(update={"ensemble": plain.ensemble.model_copy(
        update={"members": 3, "wind": 0.3}
    )}))  # fmt: skip
    members = Members(config)
    members.take_steps(4)
    members.take_steps(STEPS - 4)
    assert same([field[0] for field in members.state], undisturbed)
    scaled = records | {name: wind_factors(config)[2] * records[name] for name in winds}
    alone = swmodel.Simulation(plain.model_copy(update={"case": case_of(random_fields(NY, NX) | scaled, "Random")}))
    alone.advance(STEPS)
    for ours, theirs in zip(members.state, alone.state, strict=True):
        np.testing.assert_allclose(ours[2], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    assert not same([field[1] for field in members.state], undisturbed)


@pytest.mark.compiled
def test_a_pure_step_takes_what_holds_at_its_time(undisturbed):
    carry, static, step = swmodel.functional(configure())
    scan = jax.jit(lambda carry, static, t: jax.lax.scan(lambda c, n: (step(c, static, n), None), carry, t)[0])
    t = 0
    while t < STEPS:
        static, until = step.at(static, t)
        last = min(until, STEPS)
        carry = scan(carry, static, jnp.arange(t, last))
        t = last
    for ours, theirs in zip(carry.state, undisturbed, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


def test_coefficients_are_exchanged_where_a_step_reaches_the_next_record():
    model = swmodel.Simulation(configure(run__executor="reference"))
    forcing = Forcing(model.config, model.scheme, model.transport)
    assert forcing.cuts(STEPS) == [0, 2, 4, 5, 7, 9]  # records at 1.65, 3.3, 4.95, 6.6, 8.25 steps
