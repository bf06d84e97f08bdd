"""A twin experiment is the same on any number of processes, to the last bit."""

import json

import netCDF4
import numpy as np
import pytest


def twin(mpiexec, n, folder):
    folder.mkdir()
    values = json.loads(mpiexec("twin.py", n, folder).stdout.splitlines()[-1])
    fields = {}
    for name in ("truth", "background"):
        with netCDF4.Dataset(folder / f"{name}.nc") as file:
            file.set_auto_mask(False)
            fields |= {(name, field): np.array(file[field][...]) for field in ("time", "eta", "u", "v")}
    return values, fields


@pytest.mark.parametrize("n", [2, 3])
def test_truth_first_guess_and_observations_are_those_of_one_process(mpiexec, tmp_path, n):
    (values, fields), (expected, alone) = (twin(mpiexec, many, tmp_path / str(many)) for many in (n, 1))
    assert values == expected
    for name, field in alone.items():
        np.testing.assert_array_equal(fields[name], field, err_msg=str(name))
    assert np.abs(alone["truth", "eta"] - alone["background", "eta"]).max() > 0.01
