"""The tsunami off Chile arrives at the buoy as recorded; the uplift of the sea floor moves only water."""

import logging

import numpy as np
import pytest
import xarray

import swmodel
from swmodel.cases.chile2010 import load_record

pytestmark = pytest.mark.slow


def first_crest(time, level):
    """Time (s) and height (m) of the first crest of a series, and the time (s) at which it rose to half the height."""
    found = (time >= 2.5 * 3600) & (time <= 4.0 * 3600)
    time, level = np.asarray(time)[found], np.asarray(level)[found]
    top = int(np.argmax(level))
    before = np.flatnonzero(level[:top] < level[top] / 2)[-1]
    half = np.interp(level[top] / 2, level[before : before + 2], time[before : before + 2])
    return np.array([time[top], level[top], half])


@pytest.mark.promise("Okada's fault agrees with his table")
@pytest.mark.fault("a storm, tide, inflow or tsunami is mistaken for a blow-up, or hides one")
def test_tsunami_arrives_at_the_buoy_as_recorded(tmp_path, caplog):
    """At half a degree the rise is right to 1 % in time, the crest to 4 %; the crest is a quarter too low."""
    with caplog.at_level(logging.WARNING):
        swmodel.Simulation("chile2010", {"run.days": 0.17, "output.every_steps": 400}).run(tmp_path / "run")
    assert not caplog.records  # energy from the start is nothing to warn of
    with xarray.open_dataset(tmp_path / "run/stations.nc", decode_times=False) as found:
        time, level = found.time.values, found.eta.values[:, 0]
        assert found.depth.item() == pytest.approx(4325, rel=0.05)
        assert found.distance.item() < 40e3
    top, height, half = first_crest(time, level) / first_crest(*load_record())
    assert (top, half) == (pytest.approx(1, rel=0.04), pytest.approx(1, rel=0.01))
    assert height == pytest.approx(0.74, rel=0.05)
    truth, ours = (np.interp(np.arange(9000, 13500), *each).clip(0).sum() for each in (load_record(), (time, level)))
    assert ours == pytest.approx(truth, rel=0.2)
    with xarray.open_dataset(tmp_path / "run/output.nc", decode_times=False) as maps:
        last = maps.isel(time=-1).sel(x_c=-86.0, y_c=-18.0, method="nearest")
        assert abs(last.eta_arrival - time[np.abs(level) >= 0.01][0]) < 400
        assert last.eta_max == pytest.approx(level.max(), rel=0.1)


#: A coast along a meridian with a fault under it: land 1 m high in the east, a sea 2000 m deep in the west.
COAST = {
    **{"grid.nx": 60, "grid.ny": 60, "grid.west": 20.0, "grid.south": 33.0, "grid.east": 23.0, "grid.north": 36.0},
    **{"drying.active": True, "output.stations": [], "case.strike": 0.0, "case.dip": 30.0, "case.rake": 90.0},
    **{"case.slip": 8.0, "case.length": 100e3, "case.width": 50e3, "case.top_lon": 21.3, "case.top_lat": 34.5},
    **{"case.top_depth": 2e3, "run.executor": "reference"},
}
BED = {
    "depth": lambda at: np.where(at.lon < 21.5, 2000.0, -1.0) + 0 * at.lat,
    "mask": lambda at: 1 + 0 * at.lon + 0 * at.lat,
}


@pytest.mark.fault("an earthquake under a coast makes water on dry land, or sinking land keeps its height")
@pytest.mark.parametrize("slip", [8.0, -8.0], ids=["rises", "sinks"])
def test_uplift_of_the_floor_lifts_only_the_water_above_it(slip):
    """Dry ground stays dry and rises by the uplift; the displaced volume is that of the uplift under water."""
    moved, before = (swmodel.Simulation("chile2010", COAST | {"case.slip": each}, fields=BED) for each in (slip, 0.0))
    sea, margin = before.field("h") > 0.1, moved.scheme.margin
    depth, still = (np.asarray(each.grid.depth)[margin:-margin, margin:-margin] for each in (moved, before))
    uplift = still - depth
    assert np.abs(uplift[~sea]).max() > 1.0
    assert np.abs(uplift[sea]).max() > 1.0
    assert moved.field("h")[~sea].max() < 1e-9
    np.testing.assert_allclose(moved.field("h")[sea], before.field("h")[sea], rtol=1e-12)
    np.testing.assert_allclose((moved.field("h") - depth)[sea], uplift[sea], atol=1e-9)


@pytest.mark.fault("a fault whose slip, size or depth is in other units, or that lies elsewhere")
@pytest.mark.parametrize(
    "wrong",
    [
        {"slip": 1500.0}, {"top_depth": 35.0}, {"length": 450.0}, {"dip": 91.0}, {"top_lat": 95.0}, {"top_lat": -34.5},
        {"top_lon": 34.5},
    ],
)  # fmt: skip
def test_fault_in_wrong_units_or_outside_the_domain_is_refused(wrong):
    ((key, value),) = wrong.items()
    with pytest.raises(swmodel.ConfigError, match=f"case.{key}"):
        swmodel.Simulation("chile2010", COAST | {f"case.{key}": value}, fields=BED)


@pytest.mark.fault("a depth in km becomes a fault at the surface without a word, or 338.7 W is not 21.3 E")
def test_fault_longitude_is_periodic_and_a_doubtful_depth_is_warned_of(caplog):
    there, again = (
        swmodel.Simulation("chile2010", COAST | {"case.top_lon": lon, "case.top_depth": 600.0}, fields=BED)
        for lon in (21.3, 21.3 - 360.0)
    )
    np.testing.assert_allclose(there.grid.depth, again.grid.depth, atol=1e-9)
    assert any("write 600e3" in line for line in caplog.messages)
