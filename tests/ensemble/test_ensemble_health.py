"""The health of members of an ensemble: what is found, said and left of one run, of each of them."""

import re

import netCDF4
import numpy as np
import pytest
from support.restarts import data
from support.small_ensemble import configuration
from support.unchecked import unchecked

from swmodel.errors import NumericalError
from swmodel.files.restart.folder import candidates, facts
from swmodel.files.status import read_status
from swmodel.model.ensemble.members import Members
from swmodel.model.run import run

pytestmark = pytest.mark.slow


def unstable():
    """Members whose time step is above the largest stable one, 3646 s, of which nobody has been asked."""
    config = configuration(run__steps=300, run__check_every_steps=5, restart__every_steps=10)
    return Members(unchecked(config.model_copy(update={"time": config.time.model_copy(update={"dt": 5500.0})})))


@pytest.fixture(scope="module")
def members():
    return unstable()


def disturb(members, start, **values):
    """Set values {field: [(member, row, column, value)]} in the state at the start."""
    fields = {name: np.array(field) for name, field in start.state._asdict().items()}
    for name, changes in values.items():
        for *place, value in changes:
            fields[name][tuple(place)] = value
    members.replace(start._replace(state=type(start.state)(**fields)), 0)


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("the time step becomes too long")
def test_members_beyond_the_stable_time_step_are_warned_of_blow_up_and_leave_the_state_of_the_first(tmp_path, caplog):
    model, events = unstable(), []
    with pytest.raises(NumericalError) as caught:
        run(model, tmp_path, events.append)
    match = re.fullmatch(
        r"the solution blew up by step (\d+) \(day \d\.\d{3}\) in members? (\d)[ \d,]*: "
        r"([huv]) is (\S+) m(?: s-1)? at row (\d+), column (\d+); CFL \d\.\d+ at step (\d+); "
        r"start again with a smaller time step \(time.dt = \d+ s\), more friction or smaller perturbations; "
        rf"the state is in {tmp_path}/blowup.nc; last good restart: {tmp_path}/restart/step-(\d+).nc",
        str(caught.value),
    )
    assert match, str(caught.value)
    step, member, row, column = (int(match[n]) for n in (1, 2, 5, 6))
    with netCDF4.Dataset(tmp_path / "blowup.nc") as found:
        for name in ("h", "u", "v"):
            np.testing.assert_array_equal(found[name][-1].filled(0), getattr(model.state, name)[member])
        assert np.isclose(found[match[3]][-1, row, column], float(match[4]), rtol=1e-5)
    with netCDF4.Dataset(tmp_path / "ensemble.nc") as found:
        assert found["step"][:].tolist() == list(range(0, step, 6))
        assert np.isfinite(found["eta_mean"][:]).all()
        assert events[-1]["cfl"] == found["cfl"][-1].max()
    assert int(match[8]) == facts(candidates(tmp_path)[0])["step"] < step
    status = read_status(tmp_path)
    assert (status["state"], status["exit_code"], status["message"]) == ("failed", 4, str(caught.value))
    (record,) = (record for record in caplog.records if "above the largest stable one" in record.message)
    assert "step 1 " in record.message


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
def test_each_bad_member_is_named_and_the_first_described(members):
    start, health = members.get(members.carry), members.health()
    health.check()
    disturb(members, start, h=[(1, 3, 2, np.nan)], u=[(3, 5, 4, 5000.0)])
    with pytest.raises(NumericalError, match=r" in members 1, 3: h is nan m at row 3, column 2; CFL"):
        health.check()
    members.replace(start, 0)


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
def test_a_member_without_thickness_at_the_start_ends_the_ensemble_and_leaves_its_state(members, tmp_path):
    disturb(members, members.get(members.carry), h=[(2, 7, 3, -4.0)])
    with pytest.raises(
        NumericalError,
        match=r"^the state at step 0 cannot be used in member 2: h is -4 m at row 7, column 3; choose smaller "
        rf"perturbations; the state is in {tmp_path}/blowup.nc$",
    ):
        members.health(tmp_path)
    assert data(tmp_path / "blowup.nc")["h"][-1, 7, 3] == -4.0


@pytest.mark.fault("a tracer leaves its bounds without a message")
def test_the_bound_on_a_tracer_is_that_of_each_member():
    model = Members(configuration(physics__tracers=({"name": "tracer", "initial": 2.0},)))
    health, start = model.health(), model.get(model.carry)
    content = 15 * start.state.h[3, 5, 4]
    disturb(model, start, tracer_content=[(3, 5, 4, content)])
    health.check()
    disturb(model, start, tracer_content=[(3, 5, 4, 2 * content)])
    with pytest.raises(NumericalError, match=r" in member 3: tracer is 30 at row 5, column 4; "):
        health.check()
