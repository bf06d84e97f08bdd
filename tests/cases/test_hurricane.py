"""The case hurricane: balance under a storm that stands still, the surge of a slow one; tracks from files."""

import numpy as np
import pytest

import swmodel
from swmodel import ConfigError, load
from swmodel.bench.known_answers.answer import simulate
from swmodel.cases import hurricane
from swmodel.config import to_toml
from swmodel.config.loading.decisive import differences
from swmodel.model.validate import check_config
from swmodel.ocean import best_track, holland
from swmodel.ocean.coordinates import points

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 60, "grid.ny": 40, "physics.depth": 300.0, "case.shelf": 100e3, "run.executor": "reference"}
BEST = """AL, 05, 2021082512,   , BEST,   0, 200N,  900W,  50,  990, TS,  34, NEQ,  50,  50,  50,  50, 1011, 200, 30,
AL, 05, 2021082512,   , BEST,   0, 200N,  900W,  50,  990, TS,  50, NEQ,   50,   50,   50,   50, 1011,  200,  30,
AL, 05, 2021082518,   , BEST,   0, 212N,  905W, 100,  950, HU,  34, NEQ,   50,   50,   50,   50, 1010,  200,  20,
"""
HURDAT = """AL052021,                IDA,      2,
20210825, 1200,  , TS, 20.0N,  90.0W,  50,  990, 50, 50, 50, 50, 0, 0, 0, 0, 0, 0, 0, 0, 30
20210825, 1800,  , HU, 21.2N,  90.5W, 100,  950, 50, 50, 50, 50, 0, 0, 0, 0, 0, 0, 0, 0, 20
"""
TABLE = """time,lon,lat,wind,pressure,radius,outer
2021-08-25T12:00,-90.0,20.0,25.72222,990,55.56,1011
2021-08-25T18:00,-90.5,21.2,51.44444,950,37.04,1010
"""


@pytest.fixture
def path(tmp_path):
    """A track in a file."""
    path = tmp_path / "track"
    path.write_text(TABLE)
    return path


def test_under_a_storm_without_wind_that_stands_still_nothing_moves():
    still = {"case.speed": 0.0, "wind_drag.air_density": 1e-20, "run.dtype": "float64", "time.stepper": "rk4"}
    model = simulate("hurricane", SMALL | still, 1.0)
    model.advance(20)
    config, at = model.config, points(model.config.grid, "centre", [20], [30])
    assert np.abs(model.field("speed")).max() < 1e-12
    centre = model.field("eta")[20, 30]
    deficit = best_track.OUTER - config.case.air_pressure(config, at, 0.0).item()
    assert centre / (deficit / 100.0) == pytest.approx(9.95e-3, rel=1e-3)


def test_a_beach_rises_from_the_sea_and_its_lowest_land_floods():
    """The bed falls from the land to deep water; where the highest water is below it, it stays dry."""
    land = {"case.beach": 3.0, "drying.active": True, "run.executor": "native", "case.landfall": 43200.0}
    model = simulate("hurricane", SMALL | land | {"output.maxima": ("eta",)}, 0.7)
    depth = np.broadcast_to(model.setup.grid(model.block, 0).depth, model.block.shape)
    assert (np.diff(depth, axis=0) < 0.1).all()
    assert depth[-1].max() == depth.min() == pytest.approx(-3.0 * (1 - 4 / 64))
    assert not model.field("wet")[depth < -0.1].any()
    model.advance(round(44000.0 / model.dt))
    wet, eta = model.field("wet") == 1, model.field("eta")
    assert (wet & (depth < -0.5)).any()
    assert (eta[wet] > -depth[wet]).all()
    assert not wet[depth < -1.01 * eta[wet].max()].any()


def test_a_beach_without_drying_is_refused():
    with pytest.raises(ConfigError, match=r"case\.beach"):
        check_config(load("hurricane", SMALL | {"case.beach": 3.0}, environ={}))


@pytest.mark.night
def test_the_surge_of_a_slow_storm_is_the_set_up_of_its_wind_and_pressure():
    """Without rotation, at 3 m/s; the theory is that of the line and the time with the highest water."""
    slow = {"case.speed": 3.0, "case.landfall": 75600.0, "physics.f0": 0.0}
    model, highest, place, when = simulate("hurricane", SMALL | slow, 1.0), 0.0, 0, 0.0
    while model.time < 90000.0:
        model.advance(round(1800.0 / model.dt))
        coast = model.field("eta")[-1]
        if coast.max() > highest:
            highest, place, when = coast.max(), int(coast.argmax()), model.time
    config = model.config

    def expected(t, column):
        at = points(config.grid, "centre", range(config.grid.ny), [column])
        u10, v10 = (wind(config, at, t).ravel() for wind in (config.case.u10, config.case.v10))
        speed = np.hypot(u10, v10)
        tau_y = 1.22e-3 * np.minimum(3.5, 0.75 + 0.067 * speed) * speed * v10
        return hurricane.set_up(config, at, tau_y, config.case.air_pressure(config, at, t).ravel())[-1]

    theory = max(expected(when - hours * 900.0, place) for hours in range(16))
    assert highest == pytest.approx(theory, rel=0.08)
    assert highest > 1.5


@pytest.mark.parametrize("text", [BEST, HURDAT, TABLE], ids=["ATCF", "HURDAT2", "table"])
def test_every_kind_of_track_gives_the_same_storm(path, text):
    path.write_text(text)
    track = best_track.read(path)
    assert [f"{date:%d %H}" for date in track.dates] == ["25 12", "25 18"]
    np.testing.assert_allclose(track.values[:, :4], [
        [-90.0, 20.0, 25.72222, 99000.0], [-90.5, 21.2, 51.44444, 95000.0]
    ], rtol=1e-6)  # fmt: skip
    np.testing.assert_allclose(track.values[:, 5], [55560.0, 37040.0])
    storm = best_track.storm_at(np.array([0.0, 21600.0]), track.values, 10800.0, (1e5, 1.1e5))
    assert (storm.x, storm.y) == pytest.approx((-90.25, 20.6))
    assert (storm.u, storm.v) == pytest.approx((-0.5e5 / 21600, 1.2 * 1.1e5 / 21600))


def test_a_vortex_has_the_largest_wind_at_its_radius_and_the_pressures_asked_for():
    storm, r = holland.Storm(0.0, 0.0, 50.0, 95000.0, 101300.0, 40e3), np.linspace(1e3, 400e3, 4000)
    wind = holland.gradient_wind(storm, r, 0.0)
    assert r[wind.argmax()] == pytest.approx(40e3, rel=1e-2)
    assert wind.max() == pytest.approx(50.0 / holland.REDUCTION, rel=1e-6)
    assert holland.pressure(storm, np.array([1e-3, 1e9])) == pytest.approx([95000.0, 101300.0])


@pytest.mark.fault("a track of a storm that cannot be used")
@pytest.mark.fault("a track has impossible values")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello\n", "is no track"),
        (HURDAT.replace("21.2N", "21.2X"), ":3: cannot be read"),
        (TABLE.replace("25T12:00", "26T12:00"), ":3: times must rise"),
        (BEST.replace("2021082518", "2021082512"), ":3: times must rise"),
        (TABLE.rpartition("2021")[0], "2 to 400 times"),
        (TABLE.replace("51.44444", ""), ":3: a track has a place and a wind at all times"),
        (TABLE.replace("51.44444", "266"), ":3: the wind is 266 m/s"),
        (TABLE.replace(",950,", ",90900,"), ":3: the pressure in the centre is 90900 hPa"),
        (TABLE.replace("37.04", "0.04"), ":3: the radius of the largest wind is 0.04 km"),
        (TABLE.replace("1010", "940"), ":3: the pressure around is 940 hPa, below the 950 hPa"),
        (TABLE.replace("-90.0,20.0", "20.0,-90.0"), ":2: the latitude is -90 degrees"),
        (HURDAT.replace("90.5W", "90.5E"), ":3: the storm moves"),
    ],
)
def test_a_track_that_cannot_be_used_is_refused(path, text, words):
    path.write_text(text)
    assert words in refusal({"case.track": str(path)})


@pytest.mark.fault("the track of a real storm is refused")
@pytest.mark.parametrize(
    "rows",
    [
        [("1979-10-12T06:00", 137.6, 16.7, 84.9, 870, 15, 1004), ("1979-10-12T12:00", -223, 17.3, 82, 875, 200, 1004)],
        [("2020-09-01T00:00", 179.8, -17, 9, 1013, 90, 1013), ("2020-09-01T06:00", -179.6, -17, 9, 1012, 370, 1013)],
        [("2020-09-01T00:00", 10, 50, 0, 1013, "", ""), ("2020-09-01T06:00", 21, 52, 12, 1016, "", "")],
        [("2005-08-29T11:00Z", -89.6, 29.2, 57, 920, 46, ""), ("2005-08-29T14:00+01:00", -89.6, 30, 57, 920, 46, "")],
    ],
    ids=["deepest", "weak, across 180", "fast", "zones"],
)  # fmt: skip
def test_true_storms_are_taken(rows):
    lines = [",".join(best_track.COLUMNS), *(",".join(map(str, row)) for row in rows)]
    track = best_track.parsed(lines, "")
    np.testing.assert_allclose(track.values[:, 2], [row[3] for row in rows])
    again = best_track.parsed(best_track.table(track), "")
    assert again.dates == track.dates
    np.testing.assert_allclose(again.values, track.values, rtol=1e-15)


def refusal(changes) -> str:
    def at_the_start():
        config = load("hurricane", changes, {})
        config.case.air_pressure(config, points(config.grid, "centre", [0], [0]), 0.0)

    with pytest.raises(ConfigError, match="case.track: ") as caught:
        at_the_start()
    return str(caught.value)


@pytest.mark.fault("a track across 180 degrees, on a plane, or at another time")
@pytest.mark.fault("a storm stands still before its track, or after it")
def test_a_track_is_of_a_sphere_and_of_the_time_of_the_run(path):
    assert "needs a grid on a sphere" in refusal({"case.track": str(path)})
    track = basin(path, 0.125)
    for beyond in ({"time.start": "2021-08-25T11:59"}, {"time.start": "2021-08-25T15:10"}, {"run.days": 0.26}):
        told = refusal(track | beyond)
        assert "goes from 2021-08-25T12:00 to 2021-08-25T18:00, and the run from 2021-08-25T1" in told
    for elsewhere in (("west", 87.0, "east", 93.0), ("south", -24.0, "north", -18.0)):
        (one, first, other, second) = elsewhere
        moved = {f"grid.{one}": first, f"grid.{other}": second}
        assert "away from the grid" in refusal(track | moved)


@pytest.mark.fault("a run on a track starts on 2000-01-01")
@pytest.mark.night
def test_a_run_without_a_date_has_that_of_its_track_and_ends_with_it(path, tmp_path):
    model = swmodel.Simulation("hurricane", basin(path) | {"time.dt": 60.0})
    assert model.config.time.start == "2021-08-25T12:00:00"
    model.run(tmp_path / "run")
    assert model.dataset(["eta"]).time.values.astype("datetime64[h]") == np.datetime64("2021-08-25T18")
    with pytest.raises(ConfigError, match="goes from 2021-08-25T12:00 to 2021-08-25T18:00"):
        model.advance(days=1)
    given = load("hurricane", basin(path, 0.125) | {"time.start": "2021-08-25T13:00"}, {})
    assert given.time.start == "2021-08-25T13:00"
    storm = given.case._storm(given, 3600.0)
    assert (storm.x, storm.y) == pytest.approx((-90.0 - 0.5 / 3, 20.4))


@pytest.mark.fault("a track across 180 degrees, on a plane, or at another time")
def test_a_track_goes_on_across_the_180th_meridian(path):
    path.write_text(HURDAT.replace("90.0W", "179.0E").replace("90.5W", "179.0W"))
    storm = best_track.storm_at(np.array([0.0, 21600.0]), best_track.read(path).values, 10800.0, (1e5, 1.1e5))
    assert (storm.x, storm.u) == pytest.approx((180.0, 2e5 / 21600))


def basin(path, days=0.25):
    """Options of a basin in degrees under the storm of a file."""
    sphere = {"grid.kind": "latlon", "grid.west": -93.0, "grid.east": -87.0, "grid.south": 18.0, "grid.north": 24.0}
    sphere |= {"grid.nx": 24, "grid.ny": 24, "physics.f0": 0.0, "case.track": str(path), "run.executor": "reference"}
    return sphere | {"case.coast": 50.0, "run.days": days}


def test_a_track_crosses_a_basin_in_degrees(path):
    model = swmodel.Simulation("hurricane", basin(path))
    at = points(model.config.grid, "centre", range(24), range(24))
    for t, lon, lat in ((0.0, -90.0, 20.0), (21600.0, -90.5, 21.2)):
        pressure = model.config.case.air_pressure(model.config, at, t)
        row, column = np.unravel_index(pressure.argmin(), pressure.shape)
        assert abs(at.lon[0, column] - lon) <= 0.13
        assert abs(at.lat[row, 0] - lat) <= 0.13
    model.advance(until="6 h")
    assert 0.3 < model.field("eta").max() < 3.0


@pytest.mark.fault("a run along a track continues with another track, or cannot continue without its file")
@pytest.mark.night
def test_a_run_has_its_track_with_it_and_goes_on_with_no_other(path, tmp_path):
    """Whatever became of the file; the same track, from wherever, is no other."""
    moved = tmp_path / "moved"
    path.write_text(HURDAT)
    swmodel.Simulation("hurricane", basin(path, 0.1)).run(tmp_path / "whole")
    swmodel.Simulation("hurricane", basin(path, 0.05)).run(tmp_path / "run")
    path.rename(moved)
    days = {"run.days": 0.1}
    path.write_text(HURDAT.replace("21.2N", "21.3N"))
    with pytest.raises(ConfigError, match=r"case\.storm: SHA-256 \w{12}\.\.\. before, SHA-256 \w{12}\.\.\. now"):
        swmodel.Simulation.resume(tmp_path / "run", days | {"case.track": str(path)}).run(tmp_path / "run")
    path.unlink()
    swmodel.Simulation.resume(tmp_path / "run", days | {"case.track": str(moved)}).run(tmp_path / "run")
    one, other = (swmodel.Simulation.resume(tmp_path / name) for name in ("run", "whole"))
    np.testing.assert_array_equal(one.field("eta"), other.field("eta"))
    assert one.config == other.config
    moved.unlink()
    track = best_track.parsed(one.config.case.storm, "")
    assert track.dates == best_track.parsed(HURDAT.splitlines(), "").dates


@pytest.mark.fault("a run along a track continues with another track, or cannot continue without its file")
def test_a_run_of_a_version_that_recorded_the_name_of_a_track_alone_goes_on(path):
    before = to_toml(load("hurricane", basin(path) | {"time.dt": 10.0}, {}))
    without = "".join(line for line in before.splitlines(True) if not line.startswith("storm ="))
    assert differences(without, to_toml(check_config(load("hurricane", basin(path) | {"time.dt": 10.0}, {})))) == []
