"""The tsunami off Chile arrives at the buoy as it was recorded there; its source lies where the earthquake was."""

import logging

import numpy as np
import pytest
import xarray
from support.known_answers import whole

import swmodel
from swmodel.cases.chile2010 import recorded
from swmodel.ocean.coordinates import azimuthal, distances


def crest(time, level):
    """Of the first wave in a series: time and height of its crest, and when it rose to half of that, s and m."""
    found = (time >= 2.5 * 3600) & (time <= 4.0 * 3600)
    time, level = np.asarray(time)[found], np.asarray(level)[found]
    top = int(np.argmax(level))
    before = np.flatnonzero(level[:top] < level[top] / 2)[-1]
    half = np.interp(level[top] / 2, level[before : before + 2], time[before : before + 2])
    return {"time": float(time[top]), "height": float(level[top]), "half": float(half)}


def test_the_wave_arrives_as_recorded(tmp_path, caplog):
    """At half a degree: rise within 1 % of its time, crest within 4 %; a third lower, and so much broader."""
    with caplog.at_level(logging.WARNING):
        swmodel.Simulation("chile2010", {"run.days": 0.17, "output.every_steps": 400}).run(tmp_path / "run")
    assert not caplog.records  # energy from the start is nothing to warn of
    with xarray.open_dataset(tmp_path / "run/stations.nc", decode_times=False) as found:
        time, level = found.time.values, found.eta.values[:, 0]
        assert found.depth.item() == pytest.approx(4325, rel=0.05)
        assert found.distance.item() < 40e3
    truth, ours = (crest(*series) for series in (recorded(), (time, level)))
    assert ours["half"] == pytest.approx(truth["half"], rel=0.01)
    assert ours["time"] == pytest.approx(truth["time"], rel=0.04)
    assert ours["height"] == pytest.approx(0.69 * truth["height"], rel=0.05)
    under = [np.interp(np.arange(9000, 13500), *series).clip(0).sum() for series in (recorded(), (time, level))]
    assert under[1] == pytest.approx(under[0], rel=0.2)
    with xarray.open_dataset(tmp_path / "run/output.nc", decode_times=False) as maps:
        last = maps.isel(time=-1).sel(x_c=-86.0, y_c=-18.0, method="nearest")
        assert abs(last.eta_arrival - time[np.abs(level) >= 0.01][0]) < 400
        assert last.eta_max == pytest.approx(level.max(), rel=0.1)


def test_the_sea_rises_above_the_upper_edge_of_the_fault_and_sinks_over_the_lower():
    config = swmodel.load("chile2010")
    at = whole(config)
    risen = config.case.eta(config, at)
    east, north = azimuthal(config.grid, (config.case.top_lon, config.case.top_lat), at)
    away = distances(config.grid, (config.case.top_lon, config.case.top_lat), at)
    np.testing.assert_allclose(np.hypot(east, north), away, rtol=1e-9, atol=1.0)
    across = np.cos(np.radians(config.case.strike)) * east - np.sin(np.radians(config.case.strike)) * north
    highest, lowest = (np.unravel_index(find(risen), risen.shape) for find in (np.argmax, np.argmin))
    assert 2.0 < risen[highest] < 6.0
    assert -4.0 < risen[lowest] < -0.5
    assert across[highest] < 60e3 < across[lowest]
    assert away[highest] < 250e3
    assert np.abs(risen[away > 1.5e6]).max() < 1e-2
