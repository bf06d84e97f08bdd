"""Harmonic constants: those of a series, of a run, and of one that was cut; what cannot be fitted is said."""

import re

import h5py
import numpy as np
import pytest
import xarray
from support.canal import canal
from support.cf_checker import checked
from support.restarts import assert_same_data
from support.unchecked import unchecked

import swmodel
from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.files.restart.folder import path_of
from swmodel.model.validate import check_config
from swmodel.ocean.constituents import constituents
from swmodel.ocean.harmonics import basis, constants, normal_matrix
from swmodel.ocean.terms.tide import EQUILIBRIUM
from swmodel.setup.tidal_analysis import named

pytestmark = pytest.mark.slow

DT = 600.0


@pytest.mark.promise("tides are those of the Moon and the Sun")
def test_the_constants_of_a_synthetic_series_are_found():
    """To 1e-10, from sums alone, after 10^9 steps as at the start."""
    found = constituents(("M2", "S2", "K1", "O1", "M4"), "2012-03-01")
    H, G = np.array([1.2, 0.4, 0.3, 0.2, 0.05]), np.array([10.0, 359.0, 180.0, 77.0, 300.0])
    for first in (0, 10**9):
        steps = range(first + 1, first + 30 * 144, 3)
        times = np.array(steps, dtype=np.longdouble) * DT
        series = 0.7 + sum(
            each.factor
            * h
            * np.cos(2 * np.pi * (times * np.longdouble(each.frequency) % 1) + each.phase - np.radians(g))
            for each, h, g in zip(found, H, G, strict=True)
        ).astype(float)
        sums = basis(found, DT, steps) @ series
        mean, pairs = constants(normal_matrix(found, DT, steps), sums)
        assert mean == pytest.approx(0.7, abs=1e-10)
        np.testing.assert_allclose([h for h, _ in pairs], H, atol=1e-10)
        np.testing.assert_allclose([g for _, g in pairs], G, atol=1e-7 if first else 1e-8)


ANALYSIS = {"run__steps": 4 * 48, "output__harmonics": ("M2",), "output__harmonics_every_steps": 4}


def canal_with(**options):
    """A configuration of the canal over a period, with an analysis of M2, and Airy's ratio.

    The stable time step counts waves across the canal, which walls do not let be.
    """
    config, _, ratio = canal(24, **ANALYSIS | options)
    return unchecked(config), ratio


def apart(degrees, others):
    """The largest angle between phases in degrees."""
    return np.abs((degrees - others + 180) % 360 - 180).max()


@pytest.mark.night
def test_the_constants_of_a_canal_are_those_of_its_forced_wave(tmp_path):
    """Over a period: amplitude that of equilibrium times Airy's ratio, low water with the Moon: G = 180 - 2 lon."""
    config, ratio = canal_with(output__harmonics_fields=("eta", "u"))
    swmodel.Simulation(config).run(tmp_path)
    errors, report = checked(tmp_path / "harmonics.nc")
    unknown = ("requires exactly one variable with standard_name", "grid_topology is not a valid cf_role")
    assert [error for error in errors if not any(words in error for words in unknown)] == [], report
    with xarray.open_dataset(tmp_path / "harmonics.nc") as found:
        amplitude = -ratio * 1e-3 * EQUILIBRIUM["M2"].height
        np.testing.assert_allclose(found["eta_amplitude"][0], amplitude, rtol=1e-5)
        assert apart(found["eta_phase"].values[0, 0], 180 - 2 * (np.arange(24) + 0.5) * 15) < 1e-3
        assert apart(found["u_phase"].values[0, 0], -2 * (np.arange(24) + 1) * 15) < 1e-3
        assert np.abs(found["eta_mean"]).max() < 1e-5 * amplitude
        assert found["period"][0] == pytest.approx(12.4206, rel=1e-5)
        assert found["constituent"].values.tolist() == ["M2"]


@pytest.mark.fault("an analysis has other nodal factors than the tide")
@pytest.mark.parametrize("nodal", [True, False])
def test_a_tide_that_comes_in_has_the_nodes_that_it_is_given_with(nodal):
    options = {"time.start": "2012-03-01", "output.harmonics": ["M2"], "open_sides.nodal": nodal}
    (found,) = named(swmodel.load("gulf_tide", options, {}))
    assert found == constituents(("M2",), "2012-03-01", nodal)[0]


@pytest.mark.promise("tides are those of the Moon and the Sun")
def test_a_run_that_was_cut_has_the_same_constants(tmp_path):
    """Between two values, from the sums in its restart file; without them it says so."""
    config, _ = canal_with(restart__every_steps=101)
    swmodel.Simulation(config).run(tmp_path / "whole")
    restart = path_of(tmp_path / "whole", 101)
    swmodel.Simulation(config, restart=restart).run(tmp_path / "rest")
    assert_same_data(*(tmp_path / name / "harmonics.nc" for name in ("whole", "rest")))
    with h5py.File(restart) as file:
        assert {f"eta_harmonic{k}" for k in range(3)} <= set(file)
    alone, _ = canal_with(restart__every_steps=101, output__harmonics=())
    swmodel.Simulation(alone).run(tmp_path / "alone")
    late = swmodel.Simulation(config, restart=path_of(tmp_path / "alone", 101))
    with pytest.raises(UsageError, match="^output.harmonics: .* lacks the sums of the steps up to 101"):
        late.run(tmp_path / "late")


@pytest.mark.fault("a run too short for a tidal analysis, an unknown constituent")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"output__harmonics": ("M22",)}, 'output.harmonics: no constituent "M22"; did you mean "M2"?'),
        ({"output__harmonics": ("M2", "m2")}, 'output.harmonics: "M2" is listed 2 times'),
        (
            {"run__steps": 100},
            "output.harmonics: M2 and the mean cannot be separated in 0.2695 days; they need 0.5175 days",
        ),
        (
            {"output__harmonics_from": 20000.0},
            "output.harmonics: M2 and the mean cannot be separated in 0.286 days from output.harmonics_from on",
        ),
        ({"output__harmonics": ("M2", "S2")}, "output.harmonics: S2 and M2 cannot be separated in 0.5175 days"),
        (
            {"output__harmonics_every_steps": 96},
            "output.harmonics_every_steps: M2 has a period of 44714.2 s, which must",
        ),
        ({"time__start": "", "tide__constituents": ()}, "time.start: must be given"),
    ],
)
def test_what_cannot_be_fitted_is_said_before_the_first_step(options, problem):
    with pytest.raises(ConfigError, match=re.escape(problem)):
        check_config(canal_with(**options)[0])
