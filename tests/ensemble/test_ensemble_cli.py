"""`swmodel ensemble`: its files, going on after a stop, wrong input."""

import json

import netCDF4
import pytest
from click.testing import CliRunner
from support.restarts import assert_same_data, flip
from support.small_ensemble import SMALL, configuration, words

import swmodel
from swmodel.cli import main
from swmodel.errors import FilesError
from swmodel.files.restart.folder import path_of
from swmodel.model.ensemble import settings
from swmodel.model.launch import last_restart

pytestmark = pytest.mark.slow


def command(*line, code=0):
    result = CliRunner().invoke(main, list(map(str, line)))
    assert result.exit_code == code, result.output
    return result.output


def invoke(*line, code=0):
    return command("ensemble", "double_gyre", *line, code=code)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ensemble") / "whole"
    text = invoke(*words(run__dtype="float64"), "--write-members", "4,1", "--output", path)
    assert "5 members, 12 steps" in text
    assert "CFL 0." in text
    return path


def test_the_folder_has_a_picture_and_a_status(folder):
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["members"], status["steps"]) == ("completed", 5, 12)
    assert status["cell_updates_per_second"] == pytest.approx(12 * 16 * status["member_steps_per_second"])
    assert (folder / "ensemble.png").read_bytes()[:4] == b"\x89PNG"
    assert "step-0000000012.nc: step 12" in command("info", folder)
    assert last_restart(folder) == f"; last restart: {path_of(folder, 12)}, continue with `swmodel resume {folder}`"


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("a restart file is corrupt or truncated")
def test_an_ensemble_in_pieces_even_from_the_older_restart_leaves_the_files_of_an_undisturbed_one(folder, tmp_path):
    path = tmp_path / "stopped"
    line = *words(run__dtype="float64"), "--write-members", "4,1", "--output", path
    text = invoke(*line, "--walltime", 0.01, "-s", "run.check_every_steps=1", code=75)
    assert "stopped by the wall-clock limit of 0.01 s at step 2" in text  # two chunks are the least
    assert f"continue with `swmodel resume {path}`" in text
    assert not (path / "ensemble.png").exists()
    command("resume", path, "--steps", 7, "-s", "restart.every_steps=5", "--walltime", "none", "--quiet")
    assert [each.name for each in sorted((path / "restart").iterdir())] == ["step-0000000005.nc", "step-0000000007.nc"]
    flip(path_of(path, 7), "u_memory1")
    text = command("resume", path, "--steps", 12)
    assert "damaged: variable u_memory1; continues from step-0000000005.nc" in text
    assert_same_data(path / "ensemble.nc", folder / "ensemble.nc")
    with netCDF4.Dataset(path / "ensemble.nc") as data:
        assert len(data.history.splitlines()) == 3
    assert_same_data(path_of(path, 12), path_of(folder, 12))
    assert (path / "ensemble.png").exists()
    assert "is reached already; --days or --steps prolongs the ensemble" in command("resume", path)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (["--perturb", "intial.eta=1,2e5"], 2, 'no such perturbation; did you mean "initial.eta"?'),
        (["--perturb", "wind=strong"], 2, "--perturb wind=strong: must be"),
        (["--perturb", "viscosity=0.1,2e5"], 2, "write it as viscosity=SIZE"),
        (["--perturb", "initial.eta=1"], 2, "initial_eta_length: must be above 0 m"),
        (["--perturb", "initial.eta=1000,2e5"], 4, "the state at step 0 cannot be used in members"),
        (["--perturb", "viscosity=9"], 2, "above the largest stable one"),
        (["--perturb", "wind=-1"], 2, "must be at least 0"),
        (["--perturb", "wind=0.1", "-s", "case.name=jet"], 2, "the run has no wind to perturb"),
        (["--members", "1"], 2, "--members 1: must be at least 2 members"),
        (["--members", "3", "--nproc", "4"], 2, "4 processes are too many for 3 members"),
        (["--nproc", "2", "--devices", "2"], 2, "over processes or devices"),
        (["--nproc", "2", "--layout", "1x2"], 2, "a member of an ensemble has the whole grid"),
        (["--executor", "reference"], 2, "the reference computes one run"),
        (["--members", "3", "--write-members", "1,3"], 2, "no member 3; they are 0 to 2"),
    ],
)
def test_wrong_input_is_one_clear_error(line, code, message, tmp_path):
    options = [word for key, value in SMALL.items() for word in ("-s", f"{key}={value}")]
    output = invoke(*options, "--output", tmp_path / "folder", *line, code=code)
    assert output.count("Error") == 1
    assert message in output
    assert "Internal" not in output


@pytest.mark.fault("a restart file belongs to another grid, physics or precision")
def test_another_ensemble_is_not_gone_on_with_nor_a_run(folder, halfway):
    before = (folder / "config.toml").read_text()
    text = command("resume", folder, "-s", "ensemble.seed=7", "--steps", 20, code=2)
    assert f"{path_of(folder, 12)} is from another ensemble:" in text
    assert "ensemble.seed: 0 before, 7 now" in text
    assert "it is from a single run" in command("resume", folder, "--from", path_of(halfway, 7), code=2)
    assert "it is from an ensemble" in command("resume", halfway, "--from", path_of(folder, 12), code=2)
    assert (folder / "config.toml").read_text() == before
    with pytest.raises(FilesError, match="members is 5, not 1"):
        swmodel.Simulation(settings.whole(configuration(run__dtype="float64")), restart=path_of(folder, 12))
