"""The health of members of an ensemble: which of them cannot go on, where, and what is left of one."""

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


def disturb(members, start, **values):
    """Set values {field: [(member, row, column, value)]} in the state at the start."""
    fields = {name: np.array(field) for name, field in start.state._asdict().items()}
    for name, changes in values.items():
        for *place, value in changes:
            fields[name][tuple(place)] = value
    members.replace(start._replace(state=type(start.state)(**fields)), 0)


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("the time step becomes too long")
def test_unstable_members_stop_the_ensemble_and_leave_a_state(tmp_path, caplog):
    """The time step is above the largest stable one, 3646 s; a warning at once, then the first bad member's state."""
    config = configuration(run__steps=300, run__check_every_steps=5, restart__every_steps=10)
    config = config.model_copy(update={"time": config.time.model_copy(update={"dt": 5500.0})})
    model = Members(unchecked(config))
    with pytest.raises(NumericalError) as caught:
        run(model, tmp_path, lambda event: None)
    match = re.search(
        r"step (?P<step>\d+) .* members? (?P<member>\d)[ \d,]*: (?P<name>[huv]) is (?P<value>\S+) m.* at "
        r"row (?P<row>\d+), column (?P<column>\d+); CFL .*\btime\.dt = \d+ s.*blowup\.nc.*step-(?P<restart>\d+)\.nc",
        str(caught.value),
    )
    assert match, str(caught.value)
    step, member, row, column = (int(match[name]) for name in ("step", "member", "row", "column"))
    with netCDF4.Dataset(tmp_path / "blowup.nc") as found:
        for name in ("h", "u", "v"):
            np.testing.assert_array_equal(found[name][-1].filled(0), getattr(model.state, name)[member])
        assert np.isclose(found[match["name"]][-1, row, column], float(match["value"]), rtol=1e-5)
    with netCDF4.Dataset(tmp_path / "ensemble.nc") as found:
        assert found["step"][:].tolist() == list(range(0, step, 6))
        assert np.isfinite(found["eta_mean"][:]).all()
    assert int(match["restart"]) == facts(candidates(tmp_path)[0])["step"] < step
    status = read_status(tmp_path)
    assert (status["state"], status["exit_code"], status["message"]) == ("failed", 4, str(caught.value))
    (record,) = (record for record in caplog.records if "above the largest stable one" in record.message)
    assert "step 1 " in record.message


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.fault("a tracer leaves its bounds without a message")
def test_bad_members_are_named_with_the_place_of_the_first(tmp_path):
    """The bound on a tracer is that of each member."""
    members = Members(configuration(physics__tracers=({"name": "tracer", "initial": 2.0},)))
    start, health = members.get(members.carry), members.health(tmp_path)
    thickness = 15 * start.state.h[3, 5, 4]
    disturb(members, start, tracer_content=[(3, 5, 4, thickness)])
    health.check()
    for values, words in (
        ({"tracer_content": [(3, 5, 4, 2 * thickness)]}, "member 3: tracer is 30 at row 5, column 4"),
        ({"h": [(1, 3, 2, np.nan)], "u": [(3, 5, 4, 5e3)]}, "members 1, 3: h is nan m at row 3, column 2; CFL"),
    ):
        disturb(members, start, **values)
        with pytest.raises(NumericalError, match=words):
            health.check()
    disturb(members, start, h=[(2, 7, 3, -4.0)])
    with pytest.raises(NumericalError, match=r"step 0 .* member 2: h is -4 m at row 7, column 3.*blowup\.nc"):
        members.health(tmp_path)
    assert data(tmp_path / "blowup.nc")["h"][-1, 7, 3] == -4.0
