"""The tsunami off Chile in 2010: the fault by Okada (1985), the uplift of floor and water, and a buoy's record."""

import logging

import numpy as np
import pytest
import xarray

import swmodel
from swmodel.cases.chile2010 import load_record
from swmodel.forcing.okada import Fault, displacement

pytestmark = pytest.mark.slow


def first_crest(time, level):
    """Time (s) and height (m) of the first crest of a series, and the time (s) at which it rose to half the height."""
    in_window = (time >= 2.5 * 3600) & (time <= 4.0 * 3600)
    time, level = np.asarray(time)[in_window], np.asarray(level)[in_window]
    crest = int(np.argmax(level))
    before = np.flatnonzero(level[:crest] < level[crest] / 2)[-1]
    half_time = np.interp(level[crest] / 2, level[before : before + 2], time[before : before + 2])
    return np.array([time[crest], level[crest], half_time])


@pytest.mark.promise("displacements by a fault agree with Okada's table")
@pytest.mark.fault("a storm, tide, inflow or tsunami is mistaken for a blow-up, or hides one")
def test_tsunami_arrives_at_the_buoy_as_recorded(tmp_path, caplog):
    """At half a degree the rise is right to 1 % in time, and the crest to 4 %; the crest is a quarter too low."""
    with caplog.at_level(logging.WARNING):
        swmodel.Simulation("chile2010", {"run.days": 0.17, "output.every_steps": 400}).run(tmp_path / "run")
    assert not caplog.records  # because the energy of the initial uplift is no blow-up
    with xarray.open_dataset(tmp_path / "run/stations.nc", decode_times=False) as data:
        time, level = data.time.values, data.eta.values[:, 0]
        assert data.depth.item() == pytest.approx(4325, rel=0.05)
        assert data.distance.item() < 40e3
    crest_time, height, rise_time = first_crest(time, level) / first_crest(*load_record())
    assert (crest_time, rise_time) == (pytest.approx(1, rel=0.04), pytest.approx(1, rel=0.01))
    assert height == pytest.approx(0.74, rel=0.05)
    sums = [np.interp(np.arange(9000, 13500), *series).clip(0).sum() for series in ((time, level), load_record())]
    assert sums[0] == pytest.approx(sums[1], rel=0.2)


#: A coast along a meridian with a fault under it: land 1 m high in the east, a sea 2000 m deep in the west.
COAST = {
    **{"grid.nx": 60, "grid.ny": 60, "grid.west": 20.0, "grid.south": 33.0, "grid.east": 23.0, "grid.north": 36.0},
    **{"drying.active": True, "output.stations": [], "case.strike": 0.0, "case.dip": 30.0, "case.rake": 90.0},
    **{"case.slip": 8.0, "case.length": 100e3, "case.width": 50e3, "case.top_lon": 21.3, "case.top_lat": 34.5},
    **{"case.top_depth": 2e3, "run.executor": "reference"},
}
BED = {"depth": lambda at: np.where(at.lon < 21.5, 2000.0, -1.0) + 0 * at.lat, "mask": np.ones((60, 60))}


@pytest.mark.fault("an earthquake under a coast makes water on dry land, or sinking land keeps its height")
@pytest.mark.parametrize("slip", [8.0, -8.0], ids=["rises", "sinks"])
def test_uplift_of_the_floor_lifts_the_water_and_leaves_dry_ground_dry(slip):
    """Floor and ground move by more than a metre. The thickness stays the same, so sea level moves by the uplift."""
    after, before = (swmodel.Simulation("chile2010", COAST | {"case.slip": s}, fields=BED) for s in (slip, 0.0))
    sea, halo = before.field("h") > 0.1, after.scheme.static_halo
    depth, depth_before = (np.asarray(each.grid.depth)[halo:-halo, halo:-halo] for each in (after, before))
    uplift = depth_before - depth
    assert np.abs(uplift[~sea]).max() > 1.0
    assert np.abs(uplift[sea]).max() > 1.0
    assert after.field("h")[~sea].max() < 1e-9
    np.testing.assert_allclose(after.field("h")[sea], before.field("h")[sea], rtol=1e-12)
    np.testing.assert_allclose((after.field("h") - depth)[sea], uplift[sea], atol=1e-9)


@pytest.mark.fault("a fault whose slip, size or depth is in other units, or that lies elsewhere")
@pytest.mark.parametrize("option", ["slip=1500", "top_depth=35", "length=450", "dip=91", "top_lat=95", "top_lon=34.5"])
def test_impossible_or_distant_fault_is_refused(option):
    key, value = option.split("=")
    with pytest.raises(swmodel.ConfigError, match=f"case.{key}"):
        swmodel.Simulation("chile2010", COAST | {f"case.{key}": float(value)}, fields=BED)


@pytest.mark.fault("a depth in km silently becomes a fault at the surface, or 338.7 W is not 21.3 E")
def test_fault_longitude_is_periodic_and_a_doubtful_depth_gives_a_warning(caplog):
    cases = (COAST | {"case.top_lon": lon, "case.top_depth": 600.0} for lon in (21.3, 21.3 - 360.0))
    simulation, shifted_simulation = (swmodel.Simulation("chile2010", options, fields=BED) for options in cases)
    np.testing.assert_allclose(simulation.grid.depth, shifted_simulation.grid.depth, atol=1e-9)
    assert any("write 600e3" in line for line in caplog.messages)


def point_source_displacement(depth, dip, x, y):
    """Displacements by strike slip, dip slip and opening of a point source: equations 8 to 10, [motion, component]."""
    sine, cosine, R = np.sin(dip), np.cos(dip), np.sqrt(x**2 + y**2 + depth**2)
    p, q, Rd = y * cosine + depth * sine, y * sine - depth * cosine, R + depth
    bracket_x, bracket_y = (1 / (R * Rd**2) - each**2 * (3 * R + depth) / (R * Rd) ** 3 for each in (x, y))
    I1, I2 = 0.5 * y * bracket_x, 0.5 * x * bracket_y
    I3, I4 = 0.5 * x / R**3 - I2, -0.5 * x * y * (2 * R + depth) / (R**3 * Rd**2)
    I5 = 0.5 * (1 / (R * Rd) - x**2 * (2 * R + depth) / (R**3 * Rd**2))
    common = 3 * q / R**5 * np.array([x, y, depth + 0 * x])
    strike_I, dip_I = np.array([I1, I2, I4]) * sine, np.array([I3, I1, I5]) * sine
    return np.array([-x * common - strike_I, -p * common + dip_I * cosine, q * common - dip_I * sine]) / (2 * np.pi)


DIPS = [0.0, 1e-4, 30.0, 89.99, 90.0, 90.001, -30.0, -89.9999, -90.0]


@pytest.mark.promise("displacements by a fault agree with Okada's table")
@pytest.mark.fault("Okada's formulas lose their digits near the vertical")
@pytest.mark.parametrize("dip", DIPS)
def test_fault_of_any_dip_equals_the_sum_of_point_sources(dip):
    """The error is at most 1e-9 of the largest motion at each point, also above edges and corners and on the axes."""
    x, y = (axis.ravel() for axis in np.meshgrid([-2.0, 0.0, 1e-6, 1.5, 3.0, 7.0], [-9.0, -1e-6, 0.0, 0.7, 3.0]))
    motions = ("strike_slip", "dip_slip", "opening")
    displacements = [displacement(Fault(4.0, np.radians(dip), 3.0, 2.0, **{motion: 1.0}), x, y) for motion in motions]
    nodes, weights = np.polynomial.legendre.leggauss(24)
    expected, angle = np.zeros((3, 3, x.size)), np.radians(dip)
    for along, weight_along in zip(1.5 + 1.5 * nodes, 1.5 * weights, strict=True):
        for up_dip, weight_up in zip(1.0 + nodes, weights, strict=True):
            depth, across = 4.0 - up_dip * np.sin(angle), y - up_dip * np.cos(angle)
            expected += weight_along * weight_up * point_source_displacement(depth, angle, x - along, across)
    largest = np.abs(expected).max((0, 1))
    np.testing.assert_allclose(np.array(displacements) / largest, expected / largest, rtol=0, atol=1e-9)
