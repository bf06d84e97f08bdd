"""Weather files as weather centres deliver them: monthly files of CDS, archives, and climatologies."""

import cftime
import netCDF4
import numpy as np
import pytest
from support.netcdf import write_netcdf

from swmodel import Case, ConfigError, load
from swmodel.model.validate import check_config
from swmodel.setup.fields import evaluate, source_of
from swmodel.setup.fields.netcdf_input import InputError
from swmodel.setup.fields.varying import value_at

LAT, LON = np.arange(56, 47.0, -1), np.arange(-2, 7.0)
AXES = {"lat": ("lat", LAT, {"units": "degrees_north"}), "lon": ("lon", LON, {"units": "degrees_east"})}
CELLS = np.arange(6)
OPTIONS = {
    "grid.kind": "latlon", "grid.nx": 6, "grid.ny": 6, "grid.west": 0.0, "grid.south": 50.0, "grid.dlon": 0.5,
    "grid.dlat": 0.5, "grid.periodic_x": False, "physics.depth": 50.0, "time.dt": 600.0, "time.start": "2020-01-30",
}  # fmt: skip
STEPS_PER_HOUR = 6


def smooth_wind(hours, lat=LAT, lon=LON):
    return 5 + 0.1 * np.asarray(hours)[..., None, None] + 0.1 * lat[:, None] + 0.2 * lon


def wind_on_grid(hours):
    return smooth_wind(hours, 50.25 + 0.5 * CELLS, 0.25 + 0.5 * CELLS)


def write_cds(path, hours):
    """Write a file like those of CDS, packed by its extremes, at hours since 30 January 2020; returns the quantum."""
    wind = smooth_wind(hours)
    quantum, middle = np.ptp(wind) / 6e4, wind.mean()
    packing = {"scale_factor": quantum, "add_offset": middle, "_FillValue": np.int16(-32767)}
    packing |= {"coordinates": "number valid_time latitude longitude expver"}
    packed = np.rint((wind - middle) / quantum).astype("i2")
    seconds = {"units": "seconds since 1970-01-01", "standard_name": "time"}
    variables = {
        "valid_time": ("valid_time", 1580342400 + 3600 * np.asarray(hours), seconds),
        "latitude": ("latitude", LAT, {"units": "degrees_north", "stored_direction": "decreasing"}),
        "longitude": ("longitude", LON, {"units": "degrees_east"}),
        "number": ("", np.int64(0), {"units": "1", "standard_name": "realization"}),
    }
    for name in ("u10", "v10"):
        attributes = {"units": "m s**-1", "standard_name": "unknown"} | packing
        variables[name] = ("valid_time latitude longitude", packed, attributes)
    with netCDF4.Dataset(write_netcdf(path, variables), "a") as data:
        data.createVariable("expver", str, ("valid_time",))[:] = np.array(["0001"] * len(hours), object)
    return quantum


@pytest.mark.fault("values jump from one file to the next, whose packing differs")
def test_values_do_not_jump_between_packed_monthly_files_of_cds(tmp_path):
    """In both files and between them they equal the smooth wind to half a quantum of the packing."""
    quanta = [write_cds(tmp_path / f"era5_{month}.nc", hours) for month, hours in ((1, range(48)), (2, range(48, 120)))]
    assert quanta[0] != quanta[1]
    files = str(tmp_path / "era5_*.nc")
    config = load(Case, OPTIONS | {"input.u10": files, "input.v10": files}, {})
    for hours in (0, 47, 47.5, 48, 49, 118):
        actual = value_at(config, "u10", hours * STEPS_PER_HOUR, CELLS, CELLS)
        np.testing.assert_allclose(actual, wind_on_grid(hours), rtol=0, atol=0.51 * max(quanta) + 1e-5)


@pytest.mark.parametrize("rate", [-1e-18, -1e-8])
def test_negative_rain_is_zero_if_it_is_a_rounding_error_and_else_refused(tmp_path, rate):
    rain = {"rain": ("lat lon", np.full((len(LAT), len(LON)), rate), {"units": "m s-1"})}
    config = load(Case, OPTIONS | {"input.rain": write_netcdf(tmp_path / "rain.nc", AXES | rain)}, {})
    if rate > -1e-11:
        assert not evaluate(config, "rain", CELLS, CELLS).any()
    else:
        with pytest.raises(InputError, match="values are outside 0 to 0.002"):
            evaluate(config, "rain", CELLS, CELLS)


@pytest.mark.parametrize(
    ("name", "value", "units"),
    [("rain", 3.6, "mm h-1"), ("pr", 1e-3, "kg m-2 s-1"), ("mtpr", 1e-3, "kg m**-2 s**-1"), ("prate", 86.4, "mm/day")],
)
def test_rain_of_any_rate_is_read_in_metres_per_second(tmp_path, name, value, units):
    rain = {name: ("lat lon", np.full((len(LAT), len(LON)), value), {"units": units})}
    config = load(Case, OPTIONS | {"input.rain": write_netcdf(tmp_path / "rain.nc", AXES | rain)}, {})
    np.testing.assert_allclose(evaluate(config, "rain", CELLS, CELLS), 1e-6, rtol=1e-6)


@pytest.mark.parametrize("names", [("U_10M", "V_10M"), ("UGRD_10maboveground", "VGRD_10maboveground"), ("10u", "10v")])
def test_winds_of_icon_gfs_and_ecmwf_are_found(tmp_path, names):
    axes = AXES | {"height_2": ("height_2", np.array([10.0]), {"units": "m", "axis": "Z"})}
    eastward, northward = (("height_2 lat lon", np.full((1, 9, 9), v), {"units": "m s-1"}) for v in (3.0, 4.0))
    path = write_netcdf(tmp_path / "wind.nc", axes | {names[0]: eastward, names[1]: northward})
    config = load(Case, OPTIONS | {"input.u10": path, "input.v10": path}, {})
    assert [evaluate(config, name, CELLS, CELLS)[0, 0] for name in ("u10", "v10")] == [3.0, 4.0]


def test_files_that_overlap_or_leave_a_gap_are_named(tmp_path, caplog):
    write_cds(tmp_path / "a.nc", range(48))
    options = OPTIONS | {"input.u10": str(tmp_path / "*.nc"), "input.v10": str(tmp_path / "*.nc")}
    write_cds(tmp_path / "b.nc", range(60, 90))
    assert len(source_of(load(Case, options, {}), "u10").records.dates) == 78
    assert "2020-01-31T23:00:00 and 2020-02-01T12:00:00 (a.nc, b.nc)" in caplog.text
    write_cds(tmp_path / "b.nc", range(47, 90))
    with pytest.raises(InputError, match=r"2020-01-31T23:00:00 follows 2020-01-31T23:00:00 \(a.nc, b.nc\)"):
        _ = source_of(load(Case, options, {}), "u10").records


@pytest.mark.parametrize(("header", "word"), [(b"PK\x03\x04", "ZIP"), (b"GRIB", "GRIB"), (b"\x1f\x8b", "gzip")])
def test_message_names_the_format_of_archives_and_grib(tmp_path, header, word):
    (tmp_path / "wind.nc").write_bytes(header + bytes(100))
    config = load(Case, OPTIONS | {"input.u10": str(tmp_path / "wind.nc:u10")}, {})
    with pytest.raises(InputError, match=f"wind.nc .*{word}"):
        source_of(config, "u10").check()


def write_climatology(path, months=12, year=2001, calendar="standard"):
    """Write wind stresses of the 15th of each month; their values are the number of the month times 0.01 Pa."""
    dates = [cftime.datetime(year + n // 12, n % 12 + 1, 15, calendar=calendar) for n in range(months)]
    units = f"days since {year:04d}-01-01"
    days, stress = cftime.date2num(dates, units, calendar), 0.01 * (np.arange(months) % 12 + 1)
    times = {"time": ("time", np.array(days, float), {"units": units, "calendar": calendar})}
    wind = {"wind_x": ("time lat lon", stress[:, None, None] + np.zeros((9, 9)), {"units": "Pa"})}
    return write_netcdf(path, times | AXES | wind)


def climatology_config(path, start, days):
    options = {"time.start": start, "run.days": days, "forcing.climatology": ["wind_x"], "input.wind_x": path}
    return check_config(load(Case, OPTIONS | options, {}))


@pytest.mark.fault("a climatology ends after a year, jumps from December to January, or shifts with its calendar")
@pytest.mark.parametrize(("year", "calendar"), [(2001, "standard"), (1, "standard"), (1, "noleap"), (1, "360_day")])
def test_climatology_repeats_in_every_year(tmp_path, year, calendar):
    """In three years from December on, each 15th has the value of its month; in between the stress is linear."""
    path = write_climatology(tmp_path / "stress.nc", year=year, calendar=calendar)
    config = climatology_config(path, "2019-12-15", days=1100)
    steps_per_day = 86400 / config.time.dt
    for date, value in (("2019-12-15", 0.12), ("2020-01-15", 0.01), ("2021-12-15", 0.12), ("2022-12-15", 0.12)):
        days = (np.datetime64(date) - np.datetime64("2019-12-15")).astype(int)
        np.testing.assert_allclose(value_at(config, "wind_x", days * steps_per_day, CELLS, CELLS), value, rtol=1e-12)
    np.testing.assert_allclose(value_at(config, "wind_x", 15.5 * steps_per_day, CELLS, CELLS), 0.065, rtol=1e-12)


@pytest.mark.fault("a climatology of some months is interpolated across the others without a warning")
def test_climatology_that_lacks_months_causes_a_warning(tmp_path, caplog):
    climatology_config(write_climatology(tmp_path / "stress.nc", months=3), "2020-02-01", days=2)
    assert "no record between 2001-03-15T00:00:00 and 2001-01-15T00:00:00 a year later" in caplog.text


def test_climatology_without_records_or_of_more_than_a_year_is_refused(tmp_path):
    path = write_climatology(tmp_path / "stress.nc", months=13)
    for options, words in (
        ({"input.wind_x": path, "forcing.climatology": ["wind_x"]}, "2001-01-15.*2002-01-15.*forcing.climatology"),
        ({"forcing.climatology": ["wind_x"]}, "wind_x.*no records"),
        ({"forcing.climatology": ["wnd_x"]}, "wnd_x.*did you mean .wind_x"),
    ):
        with pytest.raises(ConfigError, match=words):
            check_config(load(Case, OPTIONS | {"run.days": 2} | options, {}))
