"""Assimilation on ranks: the analysis of one process, also after a stop; its twin experiments have the same bits."""

import json
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
from support.marks import at_night
from support.on_ranks import on, swmodel
from support.small_twin import SETTINGS, small
from support.small_weather import SETTINGS as WEATHER

from swmodel.assimilation import impact
from swmodel.assimilation.experiment import prepare

pytestmark = pytest.mark.mpi

COAST = Path(__file__).parents[1] / "support" / "flooded_coast.py"


def assimilate(ranks, folder, nproc, *words, code=0, source=("double_gyre_twin", *SETTINGS)):
    return on(ranks, nproc, "assimilate", *source, "--output", folder, *words, code=code)


def analyses(*folders):
    """The variables of the analysis of each folder, by name."""
    for folder in folders:
        with netCDF4.Dataset(folder / "analysis.nc") as file:
            yield {name: np.ma.filled(variable[...], np.nan) for name, variable in file.variables.items()}


def twin(folder):
    folder.mkdir(exist_ok=True)
    prepare(small(**{"run.reproducible": True}), folder, None)


@pytest.mark.night
def test_twin_experiment_has_same_bits_on_ranks(ranks, tmp_path):
    """Truth, first guess and observations."""
    found = []
    for number in (1, 2):
        ranks(number, twin, tmp_path / str(number))
        with h5py.File(tmp_path / str(number) / "twin.h5") as file:
            fields = {name: data[...] for name, data in file.items() if name != "text"}
        with netCDF4.Dataset(tmp_path / str(number) / "twin_observations.nc") as file:
            names = ("time", "x", "y", "eta", "u", "v")
            found.append(fields | {name: np.ma.filled(file[name][...], np.nan) for name in names})
    alone, two = found
    assert alone.keys() == two.keys()
    for name, field in alone.items():
        np.testing.assert_array_equal(two[name], field, err_msg=name)
    assert np.abs(alone["truth h"] - alone["guess h"]).max() > 0.01
    assert np.isfinite(alone["eta"]).sum() > 10


@pytest.mark.parametrize(
    ("case", "members", "settings", "resumed"),
    [
        ("double_gyre_twin", 3, (), False),
        *at_night(("double_gyre_winds", 7, ("-s", "assimilation.correction_every=43200"), True)),
    ],
)
def test_filter_has_same_bits_on_ranks(ranks, tmp_path, case, members, settings, resumed):
    """Which have other numbers of members, also with corrections of the wind; and 3 ranks after the first analysis."""
    one, two, source = tmp_path / "one", tmp_path / "two", (case, *SETTINGS, *settings)
    words = ("--method", "letkf", "--members", members, "--seed", 3, "-s", "assimilation.cycle_steps=15")
    assimilate(ranks, one, 1, *words, source=source)
    assimilate(ranks, two, 2, *words, source=source)
    if resumed:
        assimilate(ranks, two, 3, *words, "--resume", source=source)
    ours, theirs = analyses(one, two)
    for name in ours:
        if "_error_" not in name:  # errors are sums over blocks
            np.testing.assert_array_equal(theirs[name], ours[name], err_msg=name)


@pytest.mark.night
def test_analysis_stopped_on_ranks_continues_on_one(ranks, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assimilate(ranks, one, 1)
    assert "--resume" in assimilate(ranks, two, 2, "--walltime", "0.1", code=75)
    assimilate(ranks, two, 2, "--resume", "-s", "assimilation.outer=1")
    more = ("-s", "assimilation.outer=2", "-s", "run.walltime=none")
    assimilate(ranks, two, 1, "--resume", *more, source=[two / "config.toml"])
    ours, theirs = analyses(one, two)
    for name in ("eta", "u", "v"):
        analysis = ours[f"{name}_analysis"]
        np.testing.assert_allclose(theirs[f"{name}_analysis"], analysis, rtol=0, atol=1e-8 * np.abs(analysis).max())
    both = [json.loads((folder / "assimilation.json").read_text())["iterations"] for folder in (one, two)]
    assert [row["iteration"] for row in both[1]] == [0, 1, 2]
    np.testing.assert_allclose(both[1][-1]["cost"], both[0][-1]["cost"], rtol=1e-8)


def with_exact_impacts(*words):
    """A command whose conjugate gradients do not stop early, because ranks might stop after other iterations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(impact.impact_of, "__defaults__", (1e-10,))
        return swmodel(*words)


@pytest.mark.night
def test_corrections_and_impacts_on_ranks_are_those_of_one(ranks, tmp_path):
    one, two, source = tmp_path / "one", tmp_path / "two", ("double_gyre_winds", *WEATHER)
    words = ("-s", "assimilation.outer=2", "-s", "assimilation.impact=energy", "-s", "case.forecast=0")
    for nproc, folder in ((1, one), (2, two)):
        line = ["assimilate", *source, "--output", folder, *words, "--nproc", nproc]
        assert {code for code, _, _ in ranks(nproc, with_exact_impacts, *line)} == {0}
    ours, theirs = analyses(one, two)
    for name in ("eta_analysis", "wind_x_correction_analysis", "wind_y_correction_truth", "observation_impact"):
        expected, tolerance = ours[name], 1e-5 if name == "observation_impact" else 1e-7
        np.testing.assert_allclose(theirs[name], expected, rtol=0, atol=tolerance * np.nanmax(np.abs(expected)))
    assert np.ptp(ours["wind_x_correction_analysis"], axis=0).max() > 0


@pytest.mark.night
def test_sea_level_before_flooded_coast_is_found_on_ranks(ranks, tmp_path):
    """The first sea level of a tsunami, from gauges before a coast that it floods."""
    for nproc in (1, 2):
        assimilate(ranks, tmp_path / str(nproc), nproc, source=[COAST])
    one, two = analyses(tmp_path / "1", tmp_path / "2")
    np.testing.assert_allclose(two["eta_analysis"], one["eta_analysis"], rtol=0, atol=1e-6)
    results = json.loads((tmp_path / "2" / "assimilation.json").read_text())
    errors = results["twin"]["controls"]["eta"]
    assert errors["analysis"]["everywhere"] < 0.4 * errors["background"]["everywhere"]
    assert results["misfit"]["analysis"] < 2
