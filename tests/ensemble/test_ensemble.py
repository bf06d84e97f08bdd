"""`swmodel ensemble`: settings, continuation after a stop, wrong input, `ensemble.nc` and its pictures."""

import netCDF4
import numpy as np
import pytest
import rasterio
from support.cf_checker import assert_satisfies_cf
from support.command import invoke_swmodel, option_words
from support.restarts import assert_same_data, flip_bit_of_variable
from support.small_ensemble import SMALL_RUN_OPTIONS, command_options, configuration

import swmodel
from swmodel.cli.ensemble import perturbation_overrides
from swmodel.cli.options import PERTURBATION_KEYS
from swmodel.config import ConfigError
from swmodel.errors import FilesError
from swmodel.files.output.static import land_masks
from swmodel.files.restart.folder import restart_path
from swmodel.model.ensemble import settings
from swmodel.model.ensemble.ensemble_file import EnsembleFile
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.settings import MIN_LENGTH_CELLS, unresolved_lengths
from swmodel.ocean.table import variable_of
from swmodel.plotting.export import export

pytestmark = pytest.mark.slow

#: The executor that needs no C++ compiler, and an ensemble with it but without perturbations.
XLA_OPTIONS = {"run__executor": "xla"}
UNPERTURBED_OPTIONS = XLA_OPTIONS | {f"ensemble__{key}": 0.0 for keys in PERTURBATION_KEYS.values() for key in keys}


def invoke_with_code(*arguments, code=0):
    result = invoke_swmodel(*arguments)
    assert result.exit_code == code, result.output
    return result.output


def invoke_ensemble(*arguments, code=0):
    return invoke_with_code("ensemble", "double_gyre", *arguments, code=code)


@pytest.fixture(scope="module")
def ensemble_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ensemble") / "whole"
    output = invoke_ensemble(*command_options(run__dtype="float64"), "--write-members", "4,1", "--output", path)
    assert "5 members, 12 steps" in output
    return path


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("a restart file is corrupt or truncated")
def test_interrupted_ensemble_has_the_files_of_an_uninterrupted_one(ensemble_folder, tmp_path):
    """The run is stopped by its time limit, continued, and continued again from the older of two restart files."""
    path = tmp_path / "stopped"
    arguments = *command_options(run__dtype="float64"), "--write-members", "4,1", "--output", path
    output = invoke_ensemble(*arguments, "--walltime", 0.01, "-s", "run.check_every_steps=1", code=75)
    assert "at step 2" in output  # at least two chunks are computed
    assert f"swmodel resume {path}" in output
    assert not (path / "ensemble.png").exists()
    invoke_with_code("resume", path, "--steps", 7, "-s", "restart.every_steps=5", "--walltime", "none", "--quiet")
    assert [file.name for file in sorted((path / "restart").iterdir())] == ["step-0000000005.nc", "step-0000000007.nc"]
    flip_bit_of_variable(restart_path(path, 7), "u_memory1")
    output = invoke_with_code("resume", path, "--steps", 12)
    assert "u_memory1" in output
    assert "step-0000000005.nc" in output
    assert_same_data(path, ensemble_folder, "ensemble.nc", "restart/step-0000000012.nc")
    with netCDF4.Dataset(path / "ensemble.nc") as data:
        assert len(data.history.splitlines()) == 3
    assert (path / "ensemble.png").exists()
    assert "--steps" in invoke_with_code("resume", path)  # because the run is complete


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--perturb", "intial.eta=1,2e5"], 2, '"initial.eta"'),
        (["--perturb", "wind=strong"], 2, "--perturb wind=strong"), (["--perturb", "wind=0e0"], 2, "perturbs nothing"),
        (["--perturb", "viscosity=0.1,2e5"], 2, "viscosity=SIZE"),
        (["--perturb", "initial.eta=1"], 2, "initial_eta_length"), (["--perturb", "initial.eta=1000,2e5"], 4, "step 0"),
        (["--perturb", "viscosity=9"], 2, "largest stable"), (["--perturb", "wind=-1"], 2, "at least 0"),
        (["--perturb", "wind=0.1", "-s", "case.name=jet"], 2, "wind"), (["--members", "1"], 2, "--members 1"),
        (["--members", "3", "--nproc", "4"], 2, "4 processes are too many for 3 members"),
        (["--nproc", "2", "--devices", "2"], 2, "devices"), (["--nproc", "2", "--layout", "1x2"], 2, "layout"),
        (["--executor", "reference"], 2, "reference"),
        (["--members", "3", "--write-members", "1,3"], 2, "member 3; they are numbered 0 to 2"),
    ],
)  # fmt: skip
def test_wrong_input_gives_one_error(arguments, code, message, tmp_path):
    options = option_words(SMALL_RUN_OPTIONS | {"run.executor": "xla"})
    output = invoke_ensemble(*options, "--output", tmp_path / "folder", *arguments, code=code)
    assert output.count("Error") == 1
    assert message in output
    assert "Internal" not in output


@pytest.mark.fault("a restart file belongs to another grid, physics or precision")
def test_resume_refuses_another_ensemble_and_a_run(ensemble_folder, halfway_run):
    config_before = (ensemble_folder / "config.toml").read_text()
    output = invoke_with_code("resume", ensemble_folder, "-s", "ensemble.seed=7", "--steps", 20, code=2)
    assert str(restart_path(ensemble_folder, 12)) in output
    assert "ensemble.seed: 0 before, 7 now" in output
    assert "single run" in invoke_with_code("resume", ensemble_folder, "--from", restart_path(halfway_run, 7), code=2)
    assert "ensemble" in invoke_with_code("resume", halfway_run, "--from", restart_path(ensemble_folder, 12), code=2)
    assert (ensemble_folder / "config.toml").read_text() == config_before
    member = settings.member_config(configuration(run__dtype="float64"))
    with pytest.raises(FilesError, match="members is 5, not 1"):
        swmodel.Simulation(member, restart=restart_path(ensemble_folder, 12))


def test_perturb_options_become_configuration_keys():
    """Wind without a length gets one factor. By default eta is perturbed, over three cells or a smaller domain."""
    keys = perturbation_overrides(["wind=0.1", "initial.eta=0.5,1e5", "viscosity=0.3"])
    keys = [key.removeprefix("ensemble.") for key in keys]
    assert keys == ["wind=0.1", "wind_length=0", "initial_eta=0.5", "initial_eta_length=1e5", "viscosity=0.3"]
    options = configuration(**UNPERTURBED_OPTIONS).ensemble
    assert (options.initial_eta, options.initial_eta_length) == (0.05, MIN_LENGTH_CELLS * 8e4)
    assert configuration(**UNPERTURBED_OPTIONS, grid__nx=2, grid__ny=1).ensemble.initial_eta_length == 2 * 8e4
    assert list(unresolved_lengths(configuration(ensemble__initial_eta_length=2.9 * 8e4, **XLA_OPTIONS)))


def test_all_wrong_settings_of_an_ensemble_are_reported_together(monkeypatch):
    """Output that a case requests but an ensemble lacks is dropped, not refused; memory is checked per process."""
    wrong_options = {"viscosity": 500.0, "initial_eta_length": 1e12, "wind_length": 1.3e6}
    wrong_options = {f"ensemble__{key}": value for key, value in wrong_options.items()}
    wrong_options |= {"output__means": ("eta",), "output__diagnostics_every_steps": 3, "output__inundation": True}
    with pytest.raises(ConfigError) as error:
        configuration(**wrong_options, **XLA_OPTIONS)
    for key in wrong_options:
        assert any(line.startswith(key.replace("__", ".")) for line in error.value.problems), key
    assert configuration(case__name="adjustment", time__stepper="rk3", **UNPERTURBED_OPTIONS).output.means == ()
    config_with_gauges = swmodel.load("chile2010", {"run.steps": 3, "ensemble.members": 2, "run.executor": "xla"})
    assert config_with_gauges.output.stations
    assert settings.check_ensemble(config_with_gauges).output.stations == ()
    monkeypatch.setattr(settings, "total_memory", lambda: 100_000)
    with pytest.raises(ConfigError, match=r"ensemble\.members: 40"):
        configuration(ensemble__members=40, **XLA_OPTIONS)
    assert configuration(ensemble__members=40, run__nproc=20, **XLA_OPTIONS).run.nproc == 20


FIELDS = ("eta", "u", "v", "zeta", "q", "speed", "tracer")


@pytest.fixture(scope="module")
def written_ensemble(tmp_path_factory):
    options = {"case__name": "rest", "time__stepper": "rk3", "run__dtype": "float64", "run__executor": "xla"}
    options |= {f"ensemble__{name}": 0.0 for name in ("wind", "wind_length", "viscosity")}
    options |= {"physics__tracers": ({"name": "tracer", "initial": 2.0},)}
    options |= {"output__fields": FIELDS, "ensemble__members": 3, "ensemble__write": (2, 0)}
    config = configuration(**options)
    path, members = tmp_path_factory.mktemp("island") / "ensemble.nc", Members(config)
    with EnsembleFile(path, config, members.transport, "swmodel ensemble rest") as records:
        records.write(members)
        members.take_steps(3)
        records.write(members)
    return path, members


@pytest.mark.night
def test_ensemble_file_satisfies_the_cf_checker(written_ensemble):
    assert_satisfies_cf(written_ensemble[0])


@pytest.mark.fault("an ensemble with a tracer among its fields cannot be written")
def test_records_are_members_mean_and_spread_without_land(written_ensemble):
    path, members = written_ensemble
    with netCDF4.Dataset(path) as data:
        for name, written in (("energy", "energy"), ("tracer", "tracer_content")):
            values = [members.evaluate(number, ())[1][name] for number in range(3)]
            np.testing.assert_array_equal(data[written][-1], values)
        for name in FIELDS:
            is_land = land_masks(members.config, np.arange(16), np.arange(12))[variable_of(name).location]
            member_fields = np.stack([members.evaluate(number, [name])[0][name] for number in range(3)])
            fields = np.ma.masked_where(np.broadcast_to(is_land, (3, 16, 12)), member_fields)
            written, mean, spread = (data[f"{name}{suffix}"][-1] for suffix in ("", "_mean", "_spread"))
            assert is_land.any()
            for record in (written, mean, spread):
                assert np.array_equal(np.broadcast_to(is_land, record.shape), record.mask), name
            np.testing.assert_array_equal(written.filled(0), fields[[0, 2]].filled(0))
            expected, atol = fields.std(axis=0, ddof=1), 1e-13 * np.abs(fields).max()
            np.testing.assert_allclose(mean.filled(0), fields.mean(axis=0).filled(0), rtol=0, atol=atol)
            np.testing.assert_allclose(spread.filled(0), expected.filled(0), rtol=0, atol=atol)
            rms = data[f"{name}_spread_rms"][-1]
            np.testing.assert_allclose(rms, np.sqrt(np.mean(expected**2)), rtol=0, atol=atol)


def test_chosen_member_is_exported(written_ensemble, tmp_path):
    export(written_ensemble[0], tmp_path / "eta.tif", ["eta"], crs="EPSG:32631", member=2)
    with rasterio.open(tmp_path / "eta.tif") as raster, netCDF4.Dataset(written_ensemble[0]) as data:
        np.testing.assert_array_equal(raster.read(1)[::-1], data["eta"][-1, 1].filled(np.nan))
