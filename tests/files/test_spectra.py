"""spectra.nc of a run, and the spectra of its output: what the files hold, pictures, that a restart does not show."""

import re
import shutil

import netCDF4
import numpy as np
import pytest
from click.testing import CliRunner
from support import restarts
from support.cf_checker import checked
from support.restarts import assert_same_data
from support.small_run import make_run

from swmodel.cli import main
from swmodel.errors import FilesError, UsageError
from swmodel.files.output import Output
from swmodel.files.verify import verdicts
from swmodel.ocean.squares import ALONG
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
from swmodel.plotting import PlotError, plot, spectra
from swmodel.plotting.info import describe_results

pytestmark = pytest.mark.slow

SPECTRA = {"output__spectra_every_steps": 3}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a tracer and output and spectra at steps 0, 5 and 10."""
    return make_run(
        tmp_path_factory.mktemp("spectra") / "run",
        output__spectra_every_steps=5,
        physics__tracers=({"name": "tracer", "initial": 1.0},),
        output__fields=["h", "u", "v", "tracer"],
        run__dtype="float64",
        output__means=[],
    )


def values(path):
    with netCDF4.Dataset(path) as file:
        return {name: np.array(variable[...]) for name, variable in file.variables.items()}


@pytest.mark.fault("a run with `spectra.nc` stops and resumes")
def test_a_restart_does_not_show_in_the_spectra(tmp_path):
    undisturbed, resumed = tmp_path / "whole", tmp_path / "resumed"
    restarts.simulation(**SPECTRA).run(undisturbed)
    restarts.simulation(run__steps=7, restart__every_steps=5, **SPECTRA).run(resumed)
    restarts.resumed(resumed, **SPECTRA)

    assert list(values(undisturbed / "spectra.nc")["step"]) == [0, 3, 6, 9, 11]
    assert_same_data(resumed / "spectra.nc", undisturbed / "spectra.nc")
    assert verdicts(resumed)["spectra.nc"] == "intact"


@pytest.mark.fault("a run with `spectra.nc` stops and resumes")
def test_spectra_can_be_asked_for_when_a_run_goes_on(run_folder):
    restarts.resumed(run_folder, **SPECTRA)
    assert list(values(run_folder / "spectra.nc")["step"]) == [9, 11]


@pytest.mark.night
def test_one_record_and_the_mean_of_all(run, tmp_path):
    each = values(run / "spectra.nc")
    alone = values(spectra(run, ["enstrophy"], record=1, output=tmp_path / "one.nc")[0])
    nearest = values(spectra(run, ["enstrophy"], time=float(each["time"][1]) + 1.0, output=tmp_path / "near.nc")[0])
    mean = values(spectra(run, ["enstrophy"], mean=True, output=tmp_path / "mean.nc")[0])

    assert "kinetic_energy" not in alone
    np.testing.assert_allclose(alone["enstrophy"], each["enstrophy"][1:2], rtol=1e-9)
    np.testing.assert_array_equal(nearest["enstrophy"], alone["enstrophy"])
    np.testing.assert_allclose(mean["enstrophy"][0], each["enstrophy"].mean(0), rtol=1e-9)
    np.testing.assert_array_equal(mean["time_bounds"], [each["time"][[0, -1]]])


@pytest.mark.night
def test_a_budget_holds_what_acts_and_the_fluxes(run, tmp_path):
    file, picture = spectra(run, record=-1, budget=True, output=tmp_path / "budget.nc")
    found = values(file)
    step = found["wavenumber"][1]

    acting = {name.removeprefix("kinetic_energy_by_") for name in found if name.startswith("kinetic_energy_by_")}
    assert {name for name in acting if name[-2:] not in ALONG} == {"advection", "coriolis", "pressure", "viscosity"}
    assert "tracer_variance_by_viscosity" not in found
    flux = -step * np.cumsum(found["kinetic_energy_by_advection"], axis=1)
    np.testing.assert_allclose(found["kinetic_energy_flux"], flux, rtol=1e-12, atol=1e-15 * np.abs(flux).max())
    assert np.all(found["kinetic_energy_by_viscosity"].sum(1) < 0)
    assert picture.stat().st_size > 10_000


@pytest.mark.night
def test_the_files_satisfy_the_cf_checker_and_have_a_picture(run, tmp_path):
    path = spectra(run, ["enstrophy"], record=0, budget=True, output=tmp_path / "budget.nc")[0]
    errors, report = checked(path)

    assert not errors, report
    assert re.search(r"^enstrophy_flux +s-3 +time wavenumber ", describe_results(path), re.MULTILINE)
    for file in (path, run / "spectra.nc"):
        assert plot(file, record=0, output=tmp_path / "picture.png").stat().st_size > 10_000
    with pytest.raises(PlotError, match="has no fields"):
        plot(run / "spectra.nc", ["eta"])


@pytest.mark.fault("spectra of a file without the fields, of an unknown quantity or record, of an empty file")
def test_what_cannot_be_computed_is_said_in_one_line(run, tmp_path):
    thin = make_run(tmp_path / "thin", output__fields=["zeta"], output__means=[])
    land = make_run(tmp_path / "land", "rest", output__means=[], run__steps=1)
    empty = tmp_path / "empty.nc"
    netCDF4.Dataset(empty, "w").close()
    without = shutil.copy(run / "output.nc", tmp_path / "without.nc")
    (tmp_path / "text.nc").write_text("nothing")
    other = shutil.copy(run / "diagnostics.nc", tmp_path / "other.nc")
    refused = [
        ("no spectra of heat", run, {"names": ["heat"]}),
        ("kinetic_energy needs h and u and v", thin, {}),
        ("seas without land", land, {}),
        ("is no file of a run", empty, {}),
        ("there is no file or folder", tmp_path / "nowhere", {}),
        ("text.nc", tmp_path / "text.nc", {}),
        ("no record 7", without, {"record": 7}),
        ("a record or a time, not both", run, {"record": 1, "time": 0.0}),
        ("is another file, which is not replaced", run, {"output": run / "output.nc"}),
        ("is another file, which is not replaced", run, {"output": other}),
        ("is a NetCDF file", run, {"output": tmp_path / "spectra.png"}),
    ]
    before = (run / "output.nc").read_bytes(), (run / "diagnostics.nc").read_bytes()
    for words, path, options in refused:
        with pytest.raises((PlotError, UsageError, FilesError), match=words) as caught:
            spectra(path, **options)
        assert "\n" not in str(caught.value)
    assert ((run / "output.nc").read_bytes(), other.read_bytes()) == before


@pytest.mark.fault("spectra of a file without the fields, of an unknown quantity or record, of an empty file")
def test_a_run_without_a_record_has_no_spectra(tmp_path):
    config = restarts.config()
    with Output(tmp_path / "output.nc", config, Serial(block(0, (1, 1), config.grid.ny, config.grid.nx))):
        pass
    with pytest.raises(PlotError, match="holds no record yet"):
        spectra(tmp_path)


@pytest.mark.night
def test_the_command_writes_file_and_picture_beside_the_output(run):
    result = CliRunner().invoke(main, ["spectra", str(run), "--record", "-1"])
    assert result.exit_code == 0, result.output
    assert result.output.split() == ["Wrote", str(run / "output-spectra.nc"), "Wrote", str(run / "output-spectra.png")]
    with netCDF4.Dataset(run / "output-spectra.nc") as file:
        assert "swmodel" in file.history.splitlines()[-1]
        assert file["kinetic_energy"].units == "m3 s-2"
    refused = CliRunner().invoke(main, ["spectra", str(run), "--field", "heat"])
    assert refused.exit_code == 2
