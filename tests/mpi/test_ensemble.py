"""`swmodel ensemble` on several processes or devices has the bits of one process, also after a stop."""

import re

import numpy as np
import pytest
from support.rank_commands import run_on_ranks
from support.restarts import assert_same_data, read_variables
from support.small_ensemble import command_options

from swmodel.files.restart.folder import restart_path
from swmodel.files.status import read_status

pytestmark = pytest.mark.mpi

ENSEMBLE_COMMAND = ["ensemble", "double_gyre", *command_options()]


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.fault("a run continues on another number of ranks")
def test_ensemble_of_ranks_continues_on_devices(ranks, tmp_path):
    """Five members on two ranks soon reach the wall-clock limit; two devices continue, with the bits of one process."""
    one, two = tmp_path / "one", tmp_path / "two"
    run_on_ranks(ranks, 2, *ENSEMBLE_COMMAND, "--steps", 1000000, "--walltime", "0.1", "--output", two, code=75)
    done = read_status(two)
    assert (done["transport"], done["nproc"], done["layout"]) == ("mpi", 2, [1, 1])
    steps = done["steps"] + 7
    more = ["--devices", 2, "--steps", steps, "-s", "run.walltime=none"]
    run_on_ranks(ranks, 1, "resume", two, *more)
    run_on_ranks(ranks, 1, *ENSEMBLE_COMMAND, "--steps", steps, "--output", one)
    assert_same_data(two / "ensemble.nc", one / "ensemble.nc")
    assert_same_data(restart_path(two, steps), restart_path(one, steps))


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.night
def test_blowup_of_member_on_one_rank_ends_all(ranks, tmp_path):
    options = "-s", "ensemble.initial_eta=200", "-s", "ensemble.seed=4"
    text = run_on_ranks(ranks, 2, *ENSEMBLE_COMMAND, *options, "--output", tmp_path, code=4)
    assert text.count("Error") == 1
    found = re.search(r"in member 4: h is (\S+) m at row (\d+), column (\d+)", text)
    row, column = int(found[2]), int(found[3])
    assert np.isclose(read_variables(tmp_path / "blowup.nc")["h"][-1, row, column], float(found[1]), rtol=1e-5)
