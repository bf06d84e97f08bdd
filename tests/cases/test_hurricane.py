"""The case hurricane: flooding of a beach, the wind of a storm, and tracks from files."""

import math

import numpy as np
import pytest

from swmodel import ConfigError, Simulation, load
from swmodel.config import from_toml, to_toml
from swmodel.config.loading.fixed_on_resume import differences
from swmodel.errors import UsageError
from swmodel.forcing import holland, storm_tracks, track_formats
from swmodel.model.validate import check_config
from swmodel.ocean.coordinates import points
from swmodel.verification.comparison import simulate

pytestmark = pytest.mark.slow

SMALL_BASIN = {"grid.nx": 60, "grid.ny": 40, "physics.depth": 300.0, "case.shelf": 100e3, "run.executor": "reference"}
BEST_TRACK = """\
AL, 05, 2021082512,   , BEST,   0, 200N,  900W,  50,  990, TS,  34, NEQ,  50,  50,  50,  50, 1011, 200, 30,
AL, 05, 2021082512,   , BEST,   0, 200N,  900W,  50,  990, TS,  50, NEQ,   50,   50,   50,   50, 1011,  200,  30,
AL, 05, 2021082518,   , BEST,   0, 212N,  905W, 100,  950, HU,  34, NEQ,   50,   50,   50,   50, 1010,  200,  20,
"""
HURDAT = """AL052021,                IDA,      2,
20210825, 1200,  , TS, 20.0N,  90.0W,  50,  990, 50, 50, 50, 50, 0, 0, 0, 0, 0, 0, 0, 0, 30
20210825, 1800,  , HU, 21.2N,  90.5W, 100,  950, 50, 50, 50, 50, 0, 0, 0, 0, 0, 0, 0, 0, 20
"""
TABLE_TRACK = """time,lon,lat,wind,pressure,radius,outer
2021-08-25T12:00,-90.0,20.0,25.72222,990,55.56,1011
2021-08-25T18:00,-90.5,21.2,51.44444,950,37.04,1010
"""


@pytest.fixture
def track_file(tmp_path):
    path = tmp_path / "track"
    path.write_text(TABLE_TRACK)
    return path


def basin_options(path, days=0.25, **grid):
    box = {"kind": "latlon", "west": -93.0, "east": -87.0, "south": 18.0, "north": 24.0, "nx": 24, "ny": 24} | grid
    options = {"physics.f0": 0.0, "case.track": str(path), "run.executor": "reference", "case.coast": 50.0}
    return {f"grid.{key}": value for key, value in box.items()} | options | {"run.days": days}


def test_beach_floods_up_to_the_height_of_the_surge():
    """The bed falls from the land to deep water; land above the highest water stays dry."""
    options = {"case.beach": 3.0, "drying.active": True, "case.landfall": 43200.0, "output.maxima": ("eta",)}
    model = simulate("hurricane", SMALL_BASIN | options, 0.7)
    depth = np.broadcast_to(model.setup.grid(model.block, 0).depth, model.block.shape)
    assert (np.diff(depth, axis=0) < 0.1).all()
    assert depth[-1].max() == depth.min() == pytest.approx(-3.0 * (1 - 4 / 64))
    assert not model.field("wet")[depth < -0.1].any()
    model.advance(round(44000.0 / model.dt))
    wet, eta = model.field("wet") == 1, model.field("eta")
    assert (wet & (depth < -0.5)).any()
    assert (eta[wet] > -depth[wet]).all()
    assert not wet[depth < -1.01 * eta[wet].max()].any()
    with pytest.raises(ConfigError, match=r"case\.beach"):
        check_config(load("hurricane", SMALL_BASIN | {"case.beach": 3.0}, environ={}))


@pytest.mark.fault("a table has a byte-order mark, comments, capitals, semicolons, decimal commas or missing values")
@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: "# comment\n\n" + text.replace("time,lon,lat", "Time, Lon, LAT").replace("\n", "\r\n"),
        lambda text: text.replace(",", ";").replace(".", ","),
        lambda text: text.replace(",990,", ",-999,").replace(",1011", ","),
    ],
    ids=["byte-order mark", "comments and capitals", "semicolons", "missing"],
)
def test_table_of_another_program_gives_the_same_track(track_file, change):
    track_file.write_text(change(TABLE_TRACK), newline="")
    track, expected = track_formats.read_track(track_file), track_formats.parse_track(TABLE_TRACK.splitlines(), "")
    is_given = [name not in track.n_estimated for name in storm_tracks.VALUE_LIMITS]
    np.testing.assert_array_equal(track.values[:, is_given], expected.values[:, is_given])
    assert track.dates == expected.dates
    estimated = {"pressure in the centre", "pressure around"} if "-999" in change(TABLE_TRACK) else set()
    assert {*track.n_estimated} == estimated


@pytest.mark.fault("two storms of an archive become one track, or minutes of a best track are dropped")
def test_storm_of_an_archive_is_chosen_by_identifier_or_name(track_file):
    later_storm = HURDAT.replace("AL052021,                IDA", "AL092021, KATE").replace("202108", "202110")
    track_file.write_text(HURDAT + later_storm)
    with pytest.raises(UsageError, match=r"2 storms .*AL052021 IDA, AL092021 KATE"):
        track_formats.read_track(track_file)
    for storm, month in (("AL052021", 8), ("kate", 10), ("AL092021 KATE", 10)):
        assert [date.month for date in track_formats.read_track(f"{track_file}:{storm}").dates] == [month] * 2
    with pytest.raises(UsageError, match="no storm SAM"):
        track_formats.read_track(f"{track_file}:SAM")
    track_file.write_text(BEST_TRACK.replace("2021082518,   ,", "2021082517, 40,"))
    assert track_formats.read_track(track_file).dates[1].strftime("%H:%M") == "17:40"
    track_file.write_text(BEST_TRACK + BEST_TRACK.replace("20210825", "20221025"))
    assert track_formats.read_track(f"{track_file}:AL052021").dates[0].month == 8
    ida = "".join(f"{line},,,,,,, IDA\n" for line in BEST_TRACK.splitlines())
    track_file.write_text(ida.lower() + ida.replace("AL, 05, 2021", "SH, 01, 2020").replace("IDA", "ANA"))
    for storm, year in (("ida", 2021), ("SH012021", 2020), ("ANA", 2020)):
        assert track_formats.read_track(f"{track_file}:{storm}").dates[0].year == year


@pytest.mark.fault("storms in a table become one track, or a gap of days in a track is not mentioned")
@pytest.mark.parametrize("column", track_formats.IDENTIFIERS)
def test_storm_of_a_table_is_chosen_and_long_gaps_are_logged(track_file, column, caplog):
    header, *rows = TABLE_TRACK.splitlines()
    later_rows = [row.replace("08-25T18", "08-27T12").replace("2021-08", "2021-09") for row in rows]
    lines = [f"{column},{header}", *(f"Ida,{row}" for row in rows), *(f"Kate,{row}" for row in later_rows)]
    track_file.write_text("\n".join(lines))
    assert "2 storms (Ida, Kate)" in message_of_refusal({"case.track": str(track_file)})
    assert [date.month for date in track_formats.read_track(f"{track_file}:kate").dates] == [9, 9]
    load("hurricane", basin_options(f"{track_file}:Kate"), {}).case.start_date()
    assert "no fix in the 48 h after 2021-09-25T12:00" in caplog.text


def test_vortex_has_its_wind_radius_and_pressures():
    storm, r = holland.Storm(0.0, 0.0, 50.0, 95000.0, 101300.0, 40e3), np.linspace(1e3, 400e3, 4000)
    wind = holland.gradient_wind(storm, r, 0.0)
    assert r[wind.argmax()] == pytest.approx(40e3, rel=1e-2)
    assert wind.max() == pytest.approx(50.0 / holland.GRADIENT_TO_SURFACE_WIND, rel=1e-6)
    assert holland.pressure(storm, np.array([1e-3, 1e9])) == pytest.approx([95000.0, 101300.0])


@pytest.mark.fault("the wind of a fast or wide storm is above that of its track, or without bound")
def test_wind_never_exceeds_that_of_the_track():
    """Random storms include weak ones that move fast, wide ones, and pressures that contradict the wind."""
    rng = np.random.default_rng(3)
    distances = np.concatenate([-np.geomspace(1e6, 10.0, 8), [0.0], np.geomspace(10.0, 1e6, 8)])
    (east, north), circle = np.meshgrid(distances, distances), np.array([np.cos(np.arange(7)), np.sin(np.arange(7))])
    for _ in range(10_000):
        max_wind, pressure, angle = rng.choice([0.0, rng.uniform(0, 120)]), rng.uniform(85e3, 105e3), rng.uniform(0, 7)
        outer_pressure, radius = max(pressure, rng.uniform(90e3, 107e3)), 10 ** rng.uniform(3, 6)
        velocity = rng.uniform(0, storm_tracks.MAX_STORM_SPEED) * np.array([np.cos(angle), np.sin(angle)])
        storm = holland.Storm(0.0, 0.0, max_wind, pressure, outer_pressure, radius, *velocity)
        wind = np.hypot(*holland.wind(storm, east, north, rng.uniform(-1.5e-4, 1.5e-4)))
        assert wind.max() <= holland.ONE_TO_TEN_MINUTE_WIND * max_wind * (1 + 1e-12)
        min_peak = 0.5 * holland.ONE_TO_TEN_MINUTE_WIND * (max_wind - storm.motion_wind)
        assert np.hypot(*holland.wind(storm, *radius * circle, 0.0)).max() >= min_peak


def pressure_in_corner(config, t=0.0):
    """Air pressure in the south-west corner, Pa, at the time t, s."""
    return config.case.air_pressure(config, points(config.grid, "centre", [0], [0]), t)


def message_of_refusal(changes) -> str:
    with pytest.raises(ConfigError, match=r"case\.track: ") as error:
        pressure_in_corner(load("hurricane", changes, {}))
    return str(error.value)


@pytest.mark.fault("a track cannot be used, or has impossible values")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "no track"), (HURDAT.replace("21.2N", "21.2X"), ":3:"),
        (TABLE_TRACK.replace("25T12:00", "26T12:00"), ":3: times"),
        (BEST_TRACK.replace("2021082518", "2021082512"), ":3: times"),
        (TABLE_TRACK.rpartition("2021")[0], "2 to 400"),
        (TABLE_TRACK.replace("51.44444,950", ","), ":3: wind and pressure are missing"),
        (TABLE_TRACK.replace("51.44444", "266"), ":3: the wind is 266"),
        (TABLE_TRACK.replace(",950,", ",90900,"), ":3: the pressure in the centre is 90900"),
        (TABLE_TRACK.replace("37.04", "0.04"), ":3: the radius of the largest wind is 0.04"),
        (TABLE_TRACK.replace("1010", "940"), ":3: the surrounding pressure is 940"),
        (TABLE_TRACK.replace("-90.0,20.0", "20.0,-90.0"), ":2: the latitude is -90"),
        (HURDAT.replace("90.5W", "90.5E"), ":3: the storm moves"), (TABLE_TRACK.splitlines()[0], "no fix"),
        (TABLE_TRACK.replace("25T18:00", "29T12:00"), ":3: 4 days"), (BEST_TRACK.replace("BEST", "OFCL"), "no fix"),
        (TABLE_TRACK.replace("2021-08-25T12", "08/25/2021 12"), ':2: cannot be read: the time is "08/25/2021'),
        (TABLE_TRACK.replace("radius", "wind"), "columns 4 and 6 are both named wind"),
        ("".join(line[:46] + "\n" for line in BEST_TRACK.lower().splitlines()), ":1: wind and pressure are missing"),
    ],
)  # fmt: skip
def test_impossible_track_is_refused_with_its_reason(track_file, text, message):
    track_file.write_text(text)
    assert message in message_of_refusal({"case.track": str(track_file)})


@pytest.mark.fault("the track of a real storm is refused")
@pytest.mark.parametrize(
    "rows",
    [
        [("1979-10-12T06:00", 137.6, 16.7, 84.9, 870, 15, 1004), ("1979-10-12T12:00", -223, 17.3, 82, 875, 200, 1004)],
        [("2020-09-01T00:00", 179.8, -17, 9, 1013, 90, 1013), ("2020-09-01T06:00", -179.6, -17, 9, 1012, 370, 1013)],
        [("2020-09-01T00:00", 10, 50, 0, 1013, "", ""), ("2020-09-01T06:00", 21, 52, 12, 1016, "", "")],
        [("2005-08-29T11:00Z", -89.6, 29.2, 57, 920, 46, ""), ("2005-08-29T14:00+01:00", -89.6, 30, 57, 920, 46, "")],
    ],
    ids=["deepest", "weak, across 180", "fast", "time zones"],
)  # fmt: skip
def test_tracks_of_real_storms_are_read_and_written(rows):
    lines = [",".join(storm_tracks.COLUMNS), *(",".join(map(str, row)) for row in rows)]
    track = track_formats.parse_track(lines, "")
    np.testing.assert_allclose(track.values[:, 2], [row[3] for row in rows])
    reread = track_formats.parse_track(storm_tracks.track_table(track), "")
    assert reread.dates == track.dates
    np.testing.assert_allclose(reread.values, track.values, rtol=1e-15)


@pytest.mark.fault("a track crosses 180 degrees, is used on a plane, starts too late or ends too early")
def test_track_must_match_the_grid_domain_and_time_of_the_run(track_file):
    assert "sphere" in message_of_refusal({"case.track": str(track_file)})
    for period in ({"time.start": "2021-08-25T11:59"}, {"time.start": "2021-08-25T15:10"}, {"run.days": 0.26}):
        assert "2021-08-25T12:00 to 2021-08-25T18:00" in message_of_refusal(basin_options(track_file, 0.125) | period)
    for area in ({"west": 87.0, "east": 93.0}, {"south": -24.0, "north": -18.0}):
        assert "away from" in message_of_refusal(basin_options(track_file, 0.125, **area))
    track_file.write_text(HURDAT.replace("90.0W", "179.0E").replace("90.5W", "179.0W"))
    storm = storm_tracks.storm_at(np.array([0.0, 21600.0]), track_formats.read_track(track_file).values, 10800.0, 1.1e5)
    assert (storm.x, storm.u) == pytest.approx((180.0, 2.2e5 * math.cos(math.radians(20.6)) / 21600))


@pytest.mark.fault("a run on a track starts on 2000-01-01")
def test_run_without_a_date_follows_its_track_from_start_to_end(track_file, tmp_path):
    model = Simulation("hurricane", basin_options(track_file) | {"time.dt": 60.0})
    at = points(model.config.grid, "centre", range(24), range(24))
    for t, lon, lat in ((0.0, -90.0, 20.0), (21600.0, -90.5, 21.2)):
        pressure = model.config.case.air_pressure(model.config, at, t)
        row, column = np.unravel_index(pressure.argmin(), pressure.shape)
        assert (at.lon[0, column], at.lat[row, 0]) == pytest.approx((lon, lat), abs=0.13)
    assert model.config.time.start == "2021-08-25T12:00:00"
    model.run(tmp_path / "run")
    assert 0.3 < model.field("eta").max() < 3.0
    assert model.dataset(["eta"]).time.values.astype("datetime64[h]") == np.datetime64("2021-08-25T18")
    with pytest.raises(ConfigError, match="2021-08-25T12:00 to 2021-08-25T18:00"):
        model.advance(days=1)
    config = load("hurricane", basin_options(track_file, 0.125) | {"time.start": "2021-08-25T13:00"}, {})
    storm = config.case._storm(config, 3600.0)
    assert (storm.x, storm.y) == pytest.approx((-90.0 - 0.5 / 3, 20.4))


@pytest.mark.fault("a run along a track continues with another track, or cannot continue without its file")
def test_configuration_keeps_its_track_and_refuses_another(track_file):
    """The path of the file does not matter, nor whether an earlier version recorded the path instead of the track."""

    def recorded_toml(file):
        return to_toml(check_config(load("hurricane", basin_options(file) | {"time.dt": 10.0}, {})))

    old_toml = to_toml(load("hurricane", basin_options(track_file) | {"time.dt": 10.0}, {}))
    toml = recorded_toml(track_file)
    assert differences(old_toml.replace("storm = []\n", ""), toml) == []
    moved_file = track_file.rename(track_file.with_name("moved"))
    assert differences(toml, recorded_toml(moved_file)) == []
    track_file.write_text(TABLE_TRACK.replace("21.2", "21.3"))
    (difference,) = differences(toml, recorded_toml(track_file))
    assert difference.startswith("case.storm: ")
    track_file.unlink()
    recorded, expected = from_toml(toml), load("hurricane", basin_options(moved_file), {})
    assert pressure_in_corner(recorded, 3600.0) == pressure_in_corner(expected, 3600.0)
