"""The first sea level of a tsunami is found from gauges before a coast that it floods, on any number of processes."""

import json

import netCDF4
import numpy as np
import pytest
from mpi.test_assimilate import ROOT, assimilate

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]


def test_the_sea_level_is_found_alike_on_one_and_two_processes(tmp_path):
    found = []
    for nproc in (1, 2):
        folder = tmp_path / str(nproc)
        assimilate(folder, nproc, source=[str(ROOT / "tests/support/flooded_coast.py")])
        with netCDF4.Dataset(folder / "analysis.nc") as file:
            found.append(file["eta_analysis"][:])
    one, two = found
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-6)
    results = json.loads((folder / "assimilation.json").read_text())
    errors = results["twin"]["controls"]["eta"]
    assert errors["analysis"]["everywhere"] < 0.4 * errors["background"]["everywhere"]
    assert results["misfit"]["analysis"] < 2
