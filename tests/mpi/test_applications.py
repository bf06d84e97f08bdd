"""Assimilation, ensembles and sensitivities on several ranks give the results of one process, also after a stop."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
from support.command import option_words
from support.marks import night_params
from support.rank_commands import run_on_ranks, run_swmodel
from support.restarts import assert_same_data, read_variables
from support.small_ensemble import command_options
from support.small_twin import SMALL_TWIN, WINDS_TWIN

from swmodel.files.status import read_status

pytestmark = pytest.mark.mpi

SETTINGS = option_words(SMALL_TWIN)
#: A grid whose blocks are not narrower than the stencil of the adjoint step.
WIDE_GRID = {"grid.nx": 20, "grid.ny": 20}
FLOODED_COAST_FILE = Path(__file__).parents[1] / "support" / "flooded_coast.py"


def run_without_maps(*words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "swmodel.plotting.maps", SimpleNamespace(draw_results=str))
        return run_swmodel(*words)


def assimilate(ranks, folder, nproc, *words, code=0, source=("double_gyre_twin", *SETTINGS)):
    return run_on_ranks(ranks, nproc, "assimilate", *source, "-o", folder, *words, code=code, run=run_without_maps)


def analyses(*folders):
    for folder in folders:
        with netCDF4.Dataset(folder / "analysis.nc") as file:
            yield {name: np.ma.filled(variable[...], np.nan) for name, variable in file.variables.items()}


def assert_same_bits(one, two):
    """The analyses have the same bits, and so do the numbers of all iterations, cycles, stations and errors."""
    ours, theirs = analyses(one, two)
    for name in ours:
        np.testing.assert_array_equal(theirs[name], ours[name], err_msg=name)
    results = [json.loads((folder / "assimilation.json").read_text()) for folder in (one, two)]
    for key in results[0].keys() & {"iterations", "cycles", "stations", "twin"}:
        assert results[1][key] == results[0][key], key


@pytest.mark.parametrize(
    ("case", "members", "settings", "resumed"),
    [("double_gyre_twin", 3, (), False), ("double_gyre_winds", 7, ("-s", "assimilation.correction_every=43200"), True)],
)
@pytest.mark.night
def test_filter_has_same_bits_on_ranks(ranks, tmp_path, case, members, settings, resumed):
    """Ranks share the members unequally. With wind corrections, three ranks continue what two have started."""
    one, two, source = tmp_path / "one", tmp_path / "two", (case, *SETTINGS, *settings)
    words = ("--method", "letkf", "--members", members, "--seed", 3, "-s", "assimilation.cycle_steps=15")
    assimilate(ranks, one, 1, *words, source=source)
    assimilate(ranks, two, 2, *words, source=source)
    if resumed:
        assimilate(ranks, two, 3, *words, "--resume", source=source)
    assert_same_bits(one, two)


@pytest.mark.promise("4D-Var does not depend on the number of processes")
@pytest.mark.parametrize(("dtype", "resumed"), [("float32", False), *night_params(("float64", True))])
def test_minimisation_has_same_bits_on_ranks(ranks, tmp_path, dtype, resumed):
    """This also holds if one rank continues what two have started."""
    one, two = tmp_path / "one", tmp_path / "two"
    options = {"run.dtype": dtype, "assimilation.outer": 1 + resumed, "case.forecast": 0}
    words = option_words(WIDE_GRID | options)
    assimilate(ranks, one, 1, *words)
    if resumed:
        assert "--resume" in assimilate(ranks, two, 2, *words, "--walltime", "0.1", code=75)
        assimilate(ranks, two, 2, *words, "--resume", "-s", "assimilation.outer=1")
        overrides = option_words({"assimilation.outer": 2, "run.walltime": "none"})
        assimilate(ranks, two, 1, "--resume", *overrides, source=[two / "config.toml"])
    else:
        assimilate(ranks, two, 2, *words)
    assert_same_bits(one, two)


@pytest.mark.promise("4D-Var does not depend on the number of processes")
@pytest.mark.night
def test_corrections_and_impacts_have_same_bits_on_ranks(ranks, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    options = {"assimilation.outer": 2, "assimilation.inner": 6, "assimilation.impact": "eta:9e5,9e5"}
    words = option_words(WINDS_TWIN | WIDE_GRID | options | {"case.forecast": 0})
    for nproc, folder in ((1, one), (2, two)):
        assimilate(ranks, folder, nproc, source=["double_gyre_winds", *words])
    assert_same_bits(one, two)
    analysis = next(analyses(one))
    assert np.abs(analysis["observation_impact"]).max() > 0
    assert np.ptp(analysis["wind_x_correction_analysis"], axis=0).max() > 0


@pytest.mark.night
def test_initial_sea_level_of_tsunami_is_found_on_ranks(ranks, tmp_path):
    """The observations are those of gauges off the coast that the tsunami floods."""
    for nproc in (1, 2):
        assimilate(ranks, tmp_path / str(nproc), nproc, source=[FLOODED_COAST_FILE])
    one, two = analyses(tmp_path / "1", tmp_path / "2")
    np.testing.assert_allclose(two["eta_analysis"], one["eta_analysis"], rtol=0, atol=1e-6)
    results = json.loads((tmp_path / "2" / "assimilation.json").read_text())
    errors = results["twin"]["controls"]["eta"]
    assert errors["analysis"]["everywhere"] < 0.4 * errors["background"]["everywhere"]
    assert results["misfit"]["analysis"] < 2


ENSEMBLE_COMMAND = ["ensemble", "double_gyre", *command_options()]


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.fault("a run continues on another number of ranks")
@pytest.mark.night
def test_ensemble_of_ranks_continues_on_devices(ranks, tmp_path):
    """Five members on two ranks soon reach the wall-clock limit; two devices continue, with the bits of one process."""
    one, two = tmp_path / "one", tmp_path / "two"
    run_on_ranks(ranks, 2, *ENSEMBLE_COMMAND, "--steps", 1000000, "--walltime", "0.1", "--output", two, code=75)
    status = read_status(two)
    assert (status["transport"], status["nproc"], status["layout"]) == ("mpi", 2, [1, 1])
    steps = status["steps"] + 7
    run_on_ranks(ranks, 1, "resume", two, "--devices", 2, "--steps", steps, "-s", "run.walltime=none")
    run_on_ranks(ranks, 1, *ENSEMBLE_COMMAND, "--steps", steps, "--output", one)
    assert_same_data(two, one, "ensemble.nc", f"restart/step-{steps:010d}.nc")


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.night
def test_blow_up_of_member_on_one_rank_ends_all_ranks(ranks, tmp_path):
    options = "-s", "ensemble.initial_eta=200", "-s", "ensemble.seed=4"
    text = run_on_ranks(ranks, 2, *ENSEMBLE_COMMAND, *options, "--output", tmp_path, code=4)
    assert text.count("Error") == 1
    match = re.search(r"in member 4: h is (\S+) m at row (\d+), column (\d+)", text)
    row, column = int(match[2]), int(match[3])
    assert np.isclose(read_variables(tmp_path / "blowup.nc")["h"][-1, row, column], float(match[1]), rtol=1e-5)


#: A small basin with a section.
BASIN = {"grid.nx": 13, "grid.ny": 11, "grid.dx": 1e5, "grid.dy": 2e5, "physics.viscosity": 1e4, "run.dtype": "float64"}
BASIN |= {"run.steps": 30, "output.sections": '[{name="slant", start=[3e5, 4e5], end=[10e5, 18e5]}]'}
CONTROLS = ("eta", "u", "v", "depth", "wind_x", "linear_drag", "viscosity")


def values_and_attributes(path):
    with netCDF4.Dataset(path) as data:
        data.set_auto_mask(False)
        return {name: (data[name][...], str(data[name].__dict__)) for name in data.variables}


@pytest.mark.night
def test_sensitivity_on_two_ranks_is_that_of_one(ranks, tmp_path):
    """The section lies in both blocks."""
    command = ["sensitivity", "double_gyre", *option_words(BASIN), *(f"--wrt={name}" for name in CONTROLS)]
    command += ["--of", "transport:slant", "--mean"]
    run_on_ranks(ranks, 1, *command, "--output", tmp_path / "one")
    run_on_ranks(ranks, 2, *command, "--layout", "1x2", "--output", tmp_path / "two")
    one, two = (values_and_attributes(tmp_path / name / "sensitivity.nc") for name in ("one", "two"))
    assert two.keys() == one.keys()
    for name, (values, attributes) in one.items():
        tolerance = 1e-12 * np.abs(values[values < 9e36]).max(initial=0)
        np.testing.assert_allclose(two[name][0], values, rtol=1e-12, atol=tolerance, err_msg=name)
        assert two[name][1] == attributes
    assert (tmp_path / "two" / "sensitivity.png").exists()
