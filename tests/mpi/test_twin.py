"""A twin experiment is the same on any number of processes, to the last bit."""

import h5py
import netCDF4
import numpy as np
import pytest

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]


def twin(mpiexec, n, folder):
    """Both states and all observations of the small twin experiment on n processes, by name."""
    folder.mkdir()
    mpiexec("twin.py", n, folder)
    with h5py.File(folder / "twin.h5") as file:
        fields = {name: data[...] for name, data in file.items() if name != "text"}
    with netCDF4.Dataset(folder / "twin_observations.nc") as file:
        return fields | {name: np.ma.filled(file[name][...], np.nan) for name in ("time", "x", "y", "eta", "u", "v")}


def test_truth_first_guess_and_observations_are_those_of_one_process(mpiexec, tmp_path):
    alone, two = (twin(mpiexec, count, tmp_path / str(count)) for count in (1, 2))
    assert alone.keys() == two.keys()
    for name, field in alone.items():
        np.testing.assert_array_equal(two[name], field, err_msg=name)
    assert np.abs(alone["truth h"] - alone["guess h"]).max() > 0.01
    assert np.isfinite(alone["eta"]).sum() > 10
