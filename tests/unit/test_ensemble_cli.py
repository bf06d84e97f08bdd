"""`swmodel ensemble`: its files, going on after a stop, wrong input."""

import json
import shutil

import h5py
import netCDF4
import numpy as np
import pytest
import xarray
import xgcm
from click.testing import CliRunner
from support.small_ensemble import SMALL, configuration, words

from swmodel.cli import main
from swmodel.ensemble import settings
from swmodel.ensemble.members import Members


def invoke(*line, code=0):
    result = CliRunner().invoke(main, ["ensemble", "double_gyre", *map(str, line)])
    assert result.exit_code == code, result.output
    return result.output


def values_of(folder):
    with netCDF4.Dataset(folder / "ensemble.nc") as data:
        return {name: np.ma.filled(variable[...], 0) for name, variable in data.variables.items()}


def assert_same(ours, theirs):
    ours, theirs = values_of(ours), values_of(theirs)
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if not np.array_equal(ours[name], theirs[name])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ensemble") / "whole"
    text = invoke(*words(run__dtype="float64"), "--write-members", "4,1", "--output", path)
    assert "5 members, 12 steps" in text
    return path


def test_mean_spread_and_members_are_those_of_numpy_over_all_members(folder):
    members = Members(configuration(run__dtype="float64"))
    with netCDF4.Dataset(folder / "ensemble.nc") as data:
        assert data["step"][:].tolist() == [0, 6, 12]
        assert data["member"][:].tolist() == [1, 4]
        assert data["eta"].dimensions == ("time", "member", "y_c", "x_c")
        np.testing.assert_allclose(data["viscosity_factor"][:], settings.viscosity_factors(configuration()))
        for record in range(3):
            for name in ("h", "u", "v", "eta", "zeta"):
                fields = members.field(name)
                np.testing.assert_array_equal(data[name][record], fields[[1, 4]])
                for suffix, found in (("mean", fields.mean(axis=0)), ("spread", fields.std(axis=0, ddof=1))):
                    atol = 1e-13 * np.abs(fields).max()
                    np.testing.assert_allclose(data[f"{name}_{suffix}"][record], found, rtol=0, atol=atol)
            numbers = members.diagnostics()
            np.testing.assert_array_equal(data["energy"][record], numbers["energy"])
            members.advance(6)


def test_the_file_opens_in_xarray_and_xgcm(folder):
    data = xarray.open_dataset(folder / "ensemble.nc")
    grid = xgcm.Grid(data, padding={"X": "fill", "Y": "fill"})
    assert data.eta.sel(member=4).dims == ("time", "y_c", "x_c")
    assert data.energy.dims == ("time", "realization")
    assert grid.interp(data.eta_spread, "X").dims == ("time", "y_c", "x_f")
    assert data.eta.attrs["standard_name"] == "sea_surface_height_above_geoid"
    assert data.eta_mean.attrs["cell_methods"] == "time: point realization: mean"


def test_the_folder_has_a_picture_and_a_status(folder):
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["members"], status["steps"]) == ("completed", 5, 12)
    assert status["member_steps_per_second"] > 0
    assert (folder / "ensemble.png").read_bytes()[:4] == b"\x89PNG"
    assert CliRunner().invoke(main, ["info", str(folder)]).exit_code == 0


def test_an_ensemble_that_was_stopped_goes_on_with_the_same_bits(folder, tmp_path):
    options = *words(run__dtype="float64"), "--write-members", "4,1", "--output", tmp_path / "stopped"
    text = invoke(*options, "--walltime", "0.01", code=75)
    assert "stopped by the wall-clock limit of 0.01 s at step 0" in text
    assert "--resume" in text
    invoke(*options, "--resume", "--quiet")
    assert_same(folder, tmp_path / "stopped")
    assert "step 12 is reached already" in invoke(*options, "--resume")


def test_a_damaged_restart_file_is_not_gone_on_with(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    path = tmp_path / "copy" / "ensemble.h5"
    with h5py.File(path, "r+") as file:
        file["u"][2, 7] += 1e-3
    options = *words(run__dtype="float64"), "--write-members", "4,1", "--steps", "20"
    assert "ensemble.h5 is damaged: u" in invoke(*options, "--output", path.parent, "--resume", code=5)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (["--perturb", "intial.eta=1,2e5"], 2, 'no such perturbation; did you mean "initial.eta"?'),
        (["--perturb", "wind=strong"], 2, "write it as wind=SIZE or wind=SIZE,LENGTH, with numbers"),
        (["--perturb", "viscosity=0.1,2e5"], 2, "write it as viscosity=SIZE, with numbers"),
        (["--perturb", "initial.eta=1"], 2, "initial_eta_length: must be above 0 m"),
        (["--perturb", "initial.eta=1000,2e5"], 2, "the thickness of members"),
        (["--perturb", "viscosity=9"], 2, "above the largest stable one"),
        (["--perturb", "wind=-1"], 2, "must be at least 0"),
        (["--perturb", "wind=0.1", "-s", "case.name=jet"], 2, "the run has no wind to perturb"),
        (["--members", "1"], 2, "--members 1: must be at least 2 members"),
        (["--members", "3", "--nproc", "4"], 2, "4 processes are too many for 3 members"),
        (["--members", "3", "--devices", "4"], 2, "4 devices are too many for 3 members"),
        (["--nproc", "2", "--devices", "2"], 2, "over processes or over devices"),
        (["--nproc", "2", "--layout", "1x2"], 2, "a member of an ensemble has the whole grid"),
        (["-s", "run.transport=mpi"], 2, "a member of an ensemble has the whole grid"),
        (["--executor", "reference"], 2, "the reference computes one run"),
        (["--members", "3", "--write-members", "1,3"], 2, "no member 3; they are 0 to 2"),
        (["--write-members", "x"], 2, 'must be a whole number, not "x"'),
        (["--resume"], 2, "there is nothing to go on from"),
    ],
)
def test_wrong_input_is_one_clear_error(line, code, message, tmp_path):
    options = [word for key, value in SMALL.items() for word in ("-s", f"{key}={value}")]
    output = invoke(*options, "--output", tmp_path / "folder", *line, code=code)
    assert output.count("Error") == 1
    assert message in output
    assert "Internal" not in output


def test_another_ensemble_is_not_gone_on_with(folder):
    before = (folder / "config.toml").read_text()
    line = *words(run__dtype="float64"), "--write-members", "4,1", "--seed", "7", "--output", folder, "--resume"
    assert "ensemble.seed: 0 before, 7 now" in invoke(*line, code=2)
    assert (folder / "config.toml").read_text() == before
