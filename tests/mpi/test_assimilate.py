"""`swmodel assimilate` on one and on two processes, interrupted and gone on with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from support.small_twin import SETTINGS
from support.small_weather import SETTINGS as WEATHER

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]

ROOT = Path(__file__).parents[2]


def assimilate(folder, nproc, *words, code=0, source=("double_gyre_twin", *SETTINGS)):
    line = [sys.executable, "-m", "swmodel", "assimilate", *source, "--nproc", str(nproc)]
    line += ["--output", str(folder), *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


LETKF = ("--method", "letkf", "--members", "7", "--seed", "3", "-s", "assimilation.cycle_steps=15")
WINDS = ("double_gyre_winds", *SETTINGS, "-s", "assimilation.correction_every=43200")


def test_a_filter_has_the_same_bits_on_any_number_of_processes(tmp_path):
    """With 4 and 3 members, which have corrections of the wind; 3 processes continue after the first analysis.

    A wrong setting ends with exit code 2.
    """
    one, two, wrong = tmp_path / "one", tmp_path / "two", ("-s", "assimilation.localisation=0")
    assert "assimilation.localisation" in assimilate(one, 2, *LETKF, *wrong, code=2, source=WINDS)
    assimilate(one, 1, *LETKF, source=WINDS)
    assimilate(two, 2, *LETKF, source=WINDS)
    assert "2 analyses with 7 members" in assimilate(two, 3, *LETKF, "--resume", source=WINDS)
    with netCDF4.Dataset(one / "analysis.nc") as ours, netCDF4.Dataset(two / "analysis.nc") as theirs:
        assert np.ptp(ours["wind_x_correction_spread"][:]) > 0
        for name in ours.variables:
            if "_error_" not in name:  # errors are sums over blocks
                np.testing.assert_array_equal(theirs[name][:], ours[name][:], err_msg=name)


def test_stopped_on_two_processes_and_gone_on_with_by_one_the_analysis_is_that_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assimilate(one, 1)
    assert (one / "config.toml").is_file()
    assert "--resume" in assimilate(two, 2, "--walltime", "0.1", code=75)
    assimilate(two, 2, "--resume", "-s", "assimilation.outer=1")
    more = ("-s", "assimilation.outer=2", "-s", "run.walltime=none")
    text = assimilate(two, 1, "--resume", *more, source=[str(two / "config.toml")])
    assert "ended after 2 outer iterations" in text
    with netCDF4.Dataset(one / "analysis.nc") as ours, netCDF4.Dataset(two / "analysis.nc") as theirs:
        for name in ("eta", "u", "v"):
            truth, base, analysis = (ours[f"{name}_{of}"][:] for of in ("truth", "background", "analysis"))
            tolerance = 1e-8 * np.abs(analysis).max()
            np.testing.assert_allclose(theirs[f"{name}_analysis"][:], analysis, rtol=0, atol=tolerance)
            if name == "eta":  # 24 inner iterations are too few for v: measured, its error is no smaller after them
                assert np.std(analysis - truth) < 0.5 * np.std(base - truth)
    both = [json.loads((folder / "assimilation.json").read_text())["iterations"] for folder in (one, two)]
    assert [row["iteration"] for row in both[1]] == [0, 1, 2]
    np.testing.assert_allclose(both[1][-1]["cost"], both[0][-1]["cost"], rtol=1e-8)


def test_corrections_and_impacts_of_two_processes_are_those_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    words = ("-s", "assimilation.outer=2", "-s", "assimilation.impact=energy", "-s", "case.forecast=0")
    source = ("double_gyre_winds", *WEATHER)
    assimilate(one, 1, *words, source=source)
    assimilate(two, 2, *words, "-s", "assimilation.outer=1", "-s", "assimilation.impact=", source=source)
    assimilate(two, 2, "--resume", *words, source=source)
    with netCDF4.Dataset(one / "analysis.nc") as ours, netCDF4.Dataset(two / "analysis.nc") as theirs:
        for name in ("eta_analysis", "wind_x_correction_analysis", "wind_y_correction_truth", "observation_impact"):
            expected, tolerance = ours[name][:], 1e-5 if name == "observation_impact" else 1e-7
            np.testing.assert_allclose(theirs[name][:], expected, rtol=0, atol=tolerance * np.abs(expected).max())
        assert np.ptp(ours["wind_x_correction_analysis"][:], axis=0).max() > 0
