"""Tracks in archives of storms: the same storm in every format, choice of a storm, rows left out, missing values."""

from datetime import datetime, timedelta

import numpy as np
import pytest
import xarray

from swmodel.errors import UsageError
from swmodel.forcing.fixes import KNOT, NAUTICAL_MILE
from swmodel.forcing.holland import ONE_TO_TEN_MINUTE_WIND
from swmodel.forcing.track_formats import read_track

#: Fixes: date, longitude and latitude in degrees, wind over a minute in kt, pressure in hPa, radius in nautical miles.
DATES = [datetime(2017, 8, 25, 0) + timedelta(hours=6 * n) for n in range(6)]
FIXES = [(d, -90.0 - 0.5 * n, 20.0 + 1.2 * n, 50 + 10 * n, 990 - 8 * n, 30) for n, d in enumerate(DATES)]
IBTRACS_COLUMNS = "SID,SEASON,NUMBER,BASIN,NAME,ISO_TIME,LAT,LON,WMO_WIND,WMO_PRES,WMO_AGENCY,TRACK_TYPE,"
IBTRACS_COLUMNS += "USA_WIND,USA_PRES,USA_RMW"
IBTRACS_UNITS = " ,Year, , , , ,degrees_north,degrees_east,kts,mb, , ,kts,mb,nmile"


def table(fixes, name="HARVEY"):
    lines = ["name,time,lon,lat,wind,pressure,radius"]
    for date, lon, lat, wind, pressure, radius in fixes:
        lines.append(f"{name},{date.isoformat()},{lon},{lat},{wind * KNOT},{pressure},{radius * NAUTICAL_MILE / 1e3}")
    return "\n".join(lines)


def hurdat(fixes, name="HARVEY", storm="AL092017"):
    lines = [f"{storm},            {name},     {len(fixes)},"]
    for date, lon, lat, wind, pressure, radius in fixes:
        lat_lon = f"{lat:.1f}N, {-lon:5.1f}W"
        lines.append(f"{date:%Y%m%d, %H%M},  , HU, {lat_lon}, {wind}, {pressure}, {', '.join(['-999'] * 12)}, {radius}")
    return "\n".join(lines)


def atcf(fixes, name="HARVEY"):
    lines = []
    for date, lon, lat, wind, pressure, radius in fixes:
        lat_lon = f"{10 * lat:.0f}N, {-10 * lon:.0f}W"
        start = f"AL, 09, {date:%Y%m%d%H},   , {{}},   0, {lat_lon}, {wind}, {pressure}, HU"
        end = f"NEQ, 50, 50, 50, 50, , , {radius}, , , , , , , , {name}"
        lines += [f"{start.format('BEST')}, {radius_wind}, {end}" for radius_wind in (34, 50)]
        lines.append(f"{start.format('OFCL')}, 34, {end}")  # a forecast
    return "\n".join(lines)


def jma(fixes, name="HARVEY"):
    lines = [f"66666 1709  {len(fixes):03} 0009 1709 0 6 {name:>20}              20180101"]
    for date, lon, lat, wind, pressure, _ in fixes:
        ten_minute_wind = wind * ONE_TO_TEN_MINUTE_WIND
        lat_lon = f"{10 * lat:3.0f} {10 * lon:4.0f}"
        lines.append(f"{date:%y%m%d%H} 002 5 {lat_lon} {pressure:4.0f}     {ten_minute_wind:03.0f}")
    return "\n".join(lines)


def ibtracs_row(fix, name="HARVEY", sid="2017228N14314", is_american=True, track_type="main"):
    date, lon, lat, wind, pressure, radius = fix
    usa_values = f"{wind},{pressure},{radius}" if is_american else " , , "
    wmo_wind = wind if is_american else wind * ONE_TO_TEN_MINUTE_WIND
    agency, storm = "hurdat_atl" if is_american else "tokyo", f"{sid},{date.year},68,NA,{name},{date:%Y-%m-%d %H:%M:%S}"
    return f"{storm},{lat},{lon},{wmo_wind},{pressure},{agency},{track_type},{usa_values}"


def ibtracs(rows):
    return "\n".join([IBTRACS_COLUMNS, IBTRACS_UNITS, *rows])


def write_ibtracs_netcdf(path, storms):
    """Storms {(sid, name, season, track type): fixes} in the layout of IBTrACS."""
    n_fixes = max(map(len, storms.values()))
    sid, name, season, track_type = map(np.array, zip(*storms, strict=True))
    variables = {"sid": ("storm", sid.astype("S13")), "name": ("storm", name.astype("S128"))}
    variables |= {"season": ("storm", season), "track_type": ("storm", track_type.astype("S128"))}
    padded = [[*fixes, *[(None, *[np.nan] * 5)] * (n_fixes - len(fixes))] for fixes in storms.values()]
    times = [[fix[0].strftime("%Y-%m-%d %H:%M:%S") if fix[0] else "" for fix in fixes] for fixes in padded]
    variables["iso_time"] = ("storm", "date_time"), np.array(times, "S19")
    for column, variable in enumerate(("lon", "lat", "usa_wind", "usa_pres", "usa_rmw"), 1):
        variables[variable] = ("storm", "date_time"), np.array([[fix[column] for fix in row] for row in padded], "f4")
    xarray.Dataset(variables).to_netcdf(path)


FORMATS = {
    "table": table(FIXES),
    "HURDAT2": hurdat(FIXES),
    "ATCF": atcf(FIXES),
    "JMA": jma([(date, lon + 360, *others) for date, lon, *others in FIXES]),
    "IBTrACS": ibtracs(map(ibtracs_row, FIXES)),
    "IBTrACS, Tokyo": ibtracs(ibtracs_row(fix, is_american=False) for fix in FIXES),
}


@pytest.fixture
def track_file(tmp_path):
    return tmp_path / "track.txt"


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("text", FORMATS.values(), ids=FORMATS)
def test_storm_is_the_same_in_every_format(track_file, text):
    """Winds of the JMA are whole knots over ten minutes; radii are compared where a format has them."""
    track_file.write_bytes(f"{text}\n".replace("HARVEY", "HÁRVEY").encode("latin-1"))
    track = read_track(f"{track_file}")
    assert track.dates == tuple(fix[0] for fix in FIXES)
    np.testing.assert_allclose(track.values[:, 0] % 360, [fix[1] % 360 for fix in FIXES], atol=1e-6)
    np.testing.assert_allclose(track.values[:, 1], [fix[2] for fix in FIXES], atol=1e-6)
    tolerance = 0.6 if "66666" in text else 1e-6
    np.testing.assert_allclose(track.values[:, 2] / KNOT, [fix[3] for fix in FIXES], atol=tolerance)
    np.testing.assert_allclose(track.values[:, 3], [100.0 * fix[4] for fix in FIXES])
    if "radius of the largest wind" not in track.n_estimated:
        np.testing.assert_allclose(track.values[:, 5], 30 * NAUTICAL_MILE)


@pytest.mark.promise("files of other programs are read and written as they are")
def test_netcdf_and_csv_of_ibtracs_agree(track_file, tmp_path):
    later_fixes = [(date + timedelta(days=3650), *others) for date, *others in FIXES]
    storms = {
        ("2017228N14314", "HARVEY", 2017, "main"): FIXES,
        ("2027226N14314", "HARVEY", 2027, "main"): later_fixes,
        ("2027226N14314", "HARVEY", 2027, "spur"): FIXES,
        ("2027300N14314", "NOT_NAMED", 2027, "main"): later_fixes[:4],
    }
    rows = []
    for (sid, name, _, track_type), fixes in storms.items():
        rows += [ibtracs_row(fix, name, sid, track_type=track_type) for fix in fixes]
    track_file.write_text(ibtracs(rows))
    netcdf = tmp_path / "ibtracs.nc"
    write_ibtracs_netcdf(netcdf, storms)
    for storm in ("2017228N14314", "harvey 2027", "2027226N14314", "2027300N14314"):
        ours, theirs = (read_track(f"{path}:{storm}") for path in (track_file, netcdf))
        assert ours.dates == theirs.dates
        np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-6)
    for path in (track_file, netcdf):
        for storm, words in (("", "3 storms"), (":HARVEY", "2 storms"), (":IRMA", "no storm IRMA, but 2017228N14314")):
            with pytest.raises(UsageError, match=words):
                read_track(f"{path}{storm}")


@pytest.mark.fault("a bad row of a track ends the run, or is dropped without a message")
def test_bad_rows_are_named_and_left_out(track_file):
    fixes = [(FIXES[0][0] + timedelta(hours=6 * n), -90.0, 20.0 + 0.2 * n, 50, 990, 30) for n in range(30)]
    text = table(fixes)
    for old, new, words in (
        ("20.6", "twenty", ':5: cannot be read: the lat is "twenty"'),
        ("-90.0,20.6", "90.0,20.6", ":5: the storm moves"),
        (",20.6,", ",,", ":5: the latitude is missing"),
        (",20.6,", ",", ":5: cannot be read: it has 6 values for 7 columns"),
    ):
        assert old in text
        track_file.write_text(text.replace(old, new))
        track = read_track(track_file)
        assert len(track.dates) == 29
        (line,) = track.left_out
        assert words in line
    track_file.write_text(atcf(FIXES).replace("200N", "20.0", 1))  # the first line, before which the storm has no fix
    assert len(read_track(track_file).dates) == 6
    track_file.write_text(f"{atcf(FIXES)}\n, , 2017082600,   , BEST,   0, 250N, 930W, 60, 980, HU\n")  # without basin
    with pytest.raises(UsageError, match="2 storms"):
        read_track(track_file)
    track_file.write_text(text.replace(",-90.0,20.", ",-90.0,twenty."))
    with pytest.raises(UsageError, match="5 of 30 fixes cannot be used"):
        read_track(track_file)
    rows = [*map(ibtracs_row, fixes)]
    for text, words in (
        (ibtracs(rows)[:-9], "cannot be read: it has 1"), (atcf(fixes)[: atcf(fixes).rindex(", BEST") + 26], "too few"),
        (hurdat(fixes).replace("     30,", "     31,"), ":1: says that 31 lines follow, but 30 do"),
        (jma(fixes).replace("  030 ", "  031 "), ":1: says that 31"),
    ):  # fmt: skip
        track_file.write_text(text)
        (line,) = read_track(track_file).left_out
        assert words in line
    track_file.write_text(ibtracs(map(ibtracs_row, FIXES)).replace("kts", "km/h", 1))
    with pytest.raises(UsageError, match=":2: .*_WIND is in km/h"):
        read_track(track_file)


@pytest.mark.fault("a fix of a track lacks its wind, its pressure or both")
def test_missing_winds_and_pressures_are_estimated(track_file):
    rows = [ibtracs_row(fix).split(",") for fix in FIXES]
    for n, columns in {0: (8, 9, 12, 13), 2: (8, 12), 3: (8, 9, 12, 13), 4: (9, 13)}.items():
        for column in columns:
            rows[n][column] = " "
    track_file.write_text(ibtracs(map(",".join, rows)))
    track = read_track(track_file)
    assert len(track.left_out) == 1
    assert "wind and pressure are missing" in track.left_out[0]
    assert (track.n_estimated["wind"], track.n_estimated["pressure in the centre"]) == (2, 2)
    wind, pressure = track.values[:, 2] / KNOT, track.values[:, 3] / 100
    assert wind[1] == pytest.approx(6.7 * (1010 - FIXES[2][4]) ** 0.644)
    assert pressure[3] == pytest.approx(1010 - (FIXES[4][3] / 6.7) ** (1 / 0.644))
    assert (wind[2], pressure[2]) == pytest.approx(((wind[1] + wind[3]) / 2, (pressure[1] + pressure[3]) / 2))


@pytest.mark.fault("a radius of -999 is taken as it is, or replaced without a message")
@pytest.mark.parametrize("write", [hurdat, table])
def test_missing_radius_is_that_of_willoughby(track_file, write):
    track_file.write_text(write([(*fix[:5], -999) for fix in FIXES]))
    track = read_track(track_file)
    assert track.n_estimated == {"pressure around": 6, "radius of the largest wind": 6}
    _, lat, wind, *_, radius = track.values.T
    np.testing.assert_allclose(radius, 46.4e3 * np.exp(-0.0155 * wind + 0.0169 * lat))


@pytest.mark.fault("two storms of an archive become one track, or minutes of a best track are dropped")
def test_storm_of_jma_is_chosen(track_file):
    next_storm = jma([(date + timedelta(days=365), *others) for date, *others in FIXES], "HATO").replace("1709", "1813")
    track_file.write_text(f"{jma(FIXES)}\n{next_storm}\n")
    with pytest.raises(UsageError, match="2 storms .1709 HARVEY, 1813 HATO.; name one"):
        read_track(track_file)
    for storm, year in (("1709", 2017), ("harvey", 2017), ("1813", 2018), ("HATO 2018", 2018)):
        assert read_track(f"{track_file}:{storm}").dates[0].year == year


def test_only_storm_of_a_file_that_begins_with_a_spur_is_read(tmp_path):
    path = tmp_path / "ibtracs.nc"
    harvey = ("2017228N14314", "HARVEY", 2017)
    write_ibtracs_netcdf(path, {("2017227N14314", "HARVEY", 2017, "spur"): FIXES, (*harvey, "main"): FIXES})
    assert read_track(path).dates == read_track(f"{path}:{harvey[0]}").dates
