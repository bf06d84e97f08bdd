"""Input with records in time, for example weather: interpolation, Zarr stores, and refused records."""

import shutil
import sys

import cftime
import numpy as np
import pytest
import xarray as xr
from support.netcdf import write_netcdf
from support.refusals import problems_of

from swmodel import Case, ConfigError, Simulation, load
from swmodel.extras import missing_package_reason
from swmodel.model.validate import check_config
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.ocean.records import interpolate_records
from swmodel.setup.fields import evaluate, source_of, varies_in_time
from swmodel.setup.fields.netcdf_input.times import utc_units
from swmodel.setup.fields.varying import VaryingCoefficients, read_record
from swmodel.setup.setup import setup_of

NY, NX = 4, 5
VALUES = 0.01 * np.arange(4 * NY * NX, dtype=float).reshape(4, NY, NX)
HOURS = [0.0, 6.0, 12.0, 18.0]
SMALL = {
    **{"grid.nx": NX, "grid.ny": NY, "grid.dx": 1e5, "grid.dy": 1e5, "run.executor": "reference"},
    **{"run.dtype": "float64", "time.dt": 300.0, "run.days": 0.75, "time.start": "2020-02-28"},
}


def write_stress(folder, hours=HOURS, values=VALUES, units="Pa", since="hours since 2020-02-28", **attributes):
    """Write records of the wind stress in x into a file; returns its path. `attributes` are those of the times."""
    stress = {"standard_name": "surface_downward_x_stress", "units": units, "_FillValue": -999.0}
    times = ("time", np.array(hours, "f8"), {"units": since} | attributes)
    return write_netcdf(folder / "wind.nc", {"time": times, "tau": ("time y x", values[: len(hours)], stress)})


def configuration(path, **overrides):
    overrides = {name.replace("__", "."): value for name, value in overrides.items()}
    return load("rest", SMALL | {"input.wind_x": path} | overrides, {})


def wind_at(config, step, stage=0.0):
    """The wind that the equations use in a step, [NY, NX]."""
    scheme = setup_of(config).scheme
    params = VaryingCoefficients(config, scheme.varying).params(step, np.arange(NY), np.arange(NX))
    patches = {name: Patch(field, (0, 0)) for name, field in params.items()}
    return interpolate_records(patches, Instant(np.int32(step), stage), scheme.varying, np.dtype("f8"))["wind_x"].values


def test_between_two_records_values_are_linear(tmp_path):
    """A step uses the last record at or before its start, and the record after that."""
    path = write_stress(tmp_path)
    for step, stage in (0, 0.0), (1, 0.5), (71, 1.0), (72, 0.0), (215, 1.0):
        hour = (step + stage) * 300 / 3600
        expected = VALUES[0] + (VALUES[1] - VALUES[0]) * hour / 6
        np.testing.assert_allclose(wind_at(configuration(path), step, stage), expected, rtol=0, atol=1e-13)
    config = configuration(write_stress(tmp_path, hours=[0.0, 0.9, 18.0]))  # the second record is at step 10.8
    for step, number, end in (0, 0, 11), (10, 0, 11), (11, 1, 216), (215, 1, 216):
        assert source_of(config, "wind_x").record_at(step)[0] == number
        assert VaryingCoefficients(config, ["wind_x"]).valid_until(step) == end
    np.testing.assert_array_equal(wind_at(config, 10, 1.0), VALUES[1])


@pytest.mark.fault("a step takes values of a time-dependent formula from another interval")
@pytest.mark.parametrize("steps", [95, 109, 1000.0005])
def test_step_uses_the_interval_in_which_it_starts(steps):
    """3600 / (3600 / 95) is rounded to more than 95, and likewise for 109; 1000 steps end just before a record."""

    class RotatingWind(Case):
        def wind_x(self, config, at, t):
            return np.full((1, 1), np.cos(t))

    config = load(RotatingWind, {"forcing.every": 3600.0, "time.dt": 3600.0 / steps}, environ={})
    records = [source_of(config, "wind_x").record_at(step) for step in range(1200)]
    assert all(span.before <= step < span.after for step, (_, span) in enumerate(records))
    assert [number for number, _ in records] == [int(step / steps + 1e-9) for step in range(1200)]


def test_entry_may_change_the_sign_and_a_chosen_record_is_constant_in_time(tmp_path):
    np.testing.assert_array_equal(wind_at(configuration(write_stress(tmp_path) + ":-tau"), 72), -VALUES[1])
    assert not varies_in_time(configuration(write_stress(tmp_path) + "@2020-02-28T06:00", time__start=""), "wind_x")


def test_times_are_counted_in_the_calendar_of_the_run(tmp_path):
    for calendar, start, since, first_hour in (
        ("360_day", "2020-02-30", "hours since 2020-02-30", 0), ("noleap", "2020-03-01", "hours since 2020-02-28", 24),
    ):  # fmt: skip
        path = write_stress(tmp_path, since=since, hours=[hour + first_hour for hour in HOURS], calendar=calendar)
        config = configuration(path, time__start=start, time__calendar=calendar)
        np.testing.assert_allclose(wind_at(config, 36), VALUES[:2].mean(axis=0), atol=1e-13)


VALUES_WITH_GAP = np.where(np.arange(4)[:, None, None] == 2, np.nan, VALUES)


@pytest.mark.fault("records that start late, end early, repeat, go backwards, are missing or have another calendar")
@pytest.mark.parametrize(
    ("file", "options", "words"),
    [
        ({"hours": HOURS[1:]}, {}, "2020-02-28T06:00:00"), ({"hours": HOURS[:3]}, {}, "at 2020-02-28T17:55:00"),
        ({"hours": [0, 6, 5, 18]}, {}, "2020-02-28T05:00:00"), ({"hours": [0, 6, 6, 18]}, {}, "times must rise"),
        ({"hours": [0, 6, np.nan, 18]}, {}, "missing"), ({"calendar": "noleap"}, {}, 'time.calendar = "noleap"'),
        ({}, {"time__start": ""}, 'time.start = "2020-02-28T00:00:00"'), ({"units": "dyn cm-2"}, {}, '"dyn cm-2"'),
        ({"since": "fortnights since 2020-02-28"}, {}, '"fortnights since 2020-02-28"'),
        ({"values": VALUES_WITH_GAP}, {}, "missing at 2020-02-28T12:00:00, row 0, column 0"),
        ({"values": np.nan_to_num(VALUES_WITH_GAP, nan=-99.9)}, {}, "at 2020-02-28T12:00:00: "),
    ],
)  # fmt: skip
def test_unusable_records_are_refused_before_the_run(tmp_path, file, options, words):
    path = write_stress(tmp_path, **file)
    (problem,) = problems_of(lambda: check_config(configuration(path, **options)))
    assert problem.startswith("input.wind_x: ")
    assert path in problem
    assert words in problem


@pytest.mark.fault("a gap between records, or a run beyond the last record")
def test_gap_causes_a_warning_and_no_step_passes_the_last_record(tmp_path, caplog):
    check_config(configuration(write_stress(tmp_path, hours=[0.0, 1.0, 2.0, 18.0])))
    assert "no record between 2020-02-28T02:00:00 and 2020-02-28T18:00:00" in caplog.text
    model = Simulation(configuration(write_stress(tmp_path, hours=[0.0, 1.0, 2.0]), run__days=1 / 12))
    model.advance(24)
    with pytest.raises(ValueError, match="end at 2020-02-28T02:00:00"):
        model.advance(2)


SPHERE = {
    **{"grid.kind": "latlon", "grid.west": -39.0, "grid.east": -21.0, "grid.south": 31.0, "grid.north": 39.0},
    **{"grid.nx": 9, "grid.ny": 4, "grid.periodic_x": False, "time.start": "2020-01-01", "run.steps": 2},
    **{"run.executor": "reference"},
}
CELLS = np.arange(4), np.arange(9)


def write_weather(
    folder, name, value, units, times="hours since 2020-01-01", degrees=("degreeE", "degreeN"), records=5, **attributes
):
    """Write a record of a variable every six hours; returns the path. `times` and `degrees` are the units of axes."""
    axes = {"time": (6.0 * np.arange(records), times)}
    axes |= {"lat": (np.linspace(29, 41, 7), degrees[1]), "lon": (np.linspace(-41, -19, 12), degrees[0])}
    variables = {axis: (axis, values, {"units": unit} if unit else {}) for axis, (values, unit) in axes.items()}
    field = {name: ("time lat lon", np.broadcast_to(value, (records, 7, 12)), {"units": units} | attributes)}
    return write_netcdf(folder / "weather.nc", variables | field)


def sea_config(**inputs):
    return load("sea", SPHERE | {f"input.{name}": text for name, text in inputs.items()}, {})


def test_all_names_of_units_of_degrees_and_pressure_are_accepted(tmp_path):
    """A pressure anomaly in Pa is not mistaken for a pressure in hPa with wrong units."""
    for degrees in ("degrees_E", "degrees_N"), ("Degrees_East", "degrees north"), ("degrees",) * 2:
        config = sea_config(u10=write_weather(tmp_path, "u10", 5.0, "m s-1", degrees=degrees))
        assert (read_record(config, "u10", 0, *CELLS) == 5.0).all()
    for units in "hPa", "millibars":
        config = sea_config(air_pressure=write_weather(tmp_path, "msl", 1013.0, units) + ":msl")
        np.testing.assert_allclose(read_record(config, "air_pressure", 1, *CELLS), 101300)
    anomaly = write_weather(tmp_path, "msl", np.linspace(-900, 1400, 12), "Pa", records=1)
    config = sea_config(air_pressure=f"{anomaly}:msl")
    assert np.ptp(evaluate(config, "air_pressure", *CELLS)) > 1000
    assert evaluate(config, "air_pressure", CELLS[0][-1:], CELLS[1][-1:]) > 870  # on a block of a single cell


PRESSURE, WIND = ("air_pressure", "msl", 1013.0, "Pa"), ("u10", "u10", 5.0, "m s-1")


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ("hours since 01-MAR-2020 00:00:00", "2020-03-01T01"), ("hours since 2020-3-1T6:00:0Z", "2020-03-01T07"),
        ("hours since 2020-03-01 00:00:00.0 -6:00", "2020-03-01T07"), ("hours since 2020-03-01 UTC", "2020-03-01T01"),
        ("hours since 2020-03-01 12:00 +5:30", "2020-03-01T07:30"), ("hours since 2020-03-01 00:00 EST", None),
        ("day as %Y%m%d.%f", None), ("hours since 1970-01-01 00:00:00.0 0:00", "1970-01-01T01"),
    ],
)  # fmt: skip
def test_reference_dates_of_many_programs_are_read_or_refused(units, expected):
    utc = utc_units(units)
    assert bool(utc) == bool(expected)
    assert not utc or np.datetime64(cftime.num2date(1, utc).isoformat()) == np.datetime64(expected)


@pytest.mark.fault("a variable with the right name has another meaning, hPa are called Pa, times have no date")
@pytest.mark.parametrize(
    ("variable", "suffix", "options", "words"),
    [
        (WIND, "", {"records": 1, "standard_name": "wind_speed"}, "no variable with standard_name"),
        (PRESSURE, ":msl", {}, "1013 Pa"), (PRESSURE, ":msl@1", {}, "1013 Pa"),
        (PRESSURE, ":msl", {"records": 1}, "1013 Pa"), (WIND, "", {"times": ""}, "without dates"),
        (WIND, "", {"times": "hours"}, "without dates"), (WIND, "", {"degrees": ("", ""), "records": 1}, "no units"),
        (WIND, "", {"degrees": ("rad", "rad"), "records": 1}, 'lat is in "rad"'),
    ],
)  # fmt: skip
def test_wrong_names_units_and_times_are_refused(tmp_path, variable, suffix, options, words):
    name, *arguments = variable
    with pytest.raises(ConfigError, match=words):
        check_config(sea_config(**{name: write_weather(tmp_path, *arguments, **options) + suffix}))


ROWS, COLUMNS = np.arange(-1, NY + 1), np.arange(-1, NX)
STRESS = 0.01 * np.random.default_rng(3).random((3, NY, NX))
FEBRUARY = SMALL | {"time.dt": 60.0, "run.days": 0.5, "time.start": "2020-02-29", "time.calendar": "360_day"}
PACKED = {"scale_factor": 1.7e-6, "add_offset": 0.02, "_FillValue": np.int16(-32767)}
STRESS_ATTRIBUTES = {"standard_name": "surface_downward_x_stress", "units": "N m-2"}
DEPTH = {"units": "m", "positive": "up", "_FillValue": np.float32(1e20)}


def write_packed_records(path, values=STRESS, first=0):
    """Write packed records of the wind stress, whose rows run southward, and depths with land in a corner."""
    y, x = (100 * np.arange(0.5, size, dtype="f4") for size in (NY, NX))
    times = 6 * np.arange(first, first + len(values), dtype="i4")
    stress = np.rint((values - PACKED["add_offset"]) / PACKED["scale_factor"]).astype("i2")
    depth = np.ma.array(-4000.0 - 1e5 * values[0], "f4")
    depth[0, 0] = np.ma.masked
    return write_netcdf(path, {
        "time": ("time", times, {"units": "hours since 2020-02-29", "calendar": "360_day"}),
        "y": ("y", y[::-1], {"units": "km"}), "x": ("x", x, {"units": "km"}),
        "ustress": ("time y x", stress, STRESS_ATTRIBUTES | PACKED), "bottom": ("y x", depth, DEPTH),
    })  # fmt: skip


@pytest.fixture(params=[2, 3], ids=["format 2", "format 3"])
def write_netcdf_and_zarr(request, tmp_path):
    """write(name, ...): write packed records into a NetCDF file and into a Zarr store; returns both paths."""

    def write(name="winds", store=None, **options):
        file = write_packed_records(tmp_path / f"{name}.nc", **options)
        store = tmp_path / (store or f"{name}.zarr")
        with xr.open_dataset(file, decode_times=False) as dataset:
            dataset.to_zarr(store, zarr_format=request.param, consolidated=False)
        return str(file), str(store)

    return write


def config_of_stores(**inputs):
    return load(Case, FEBRUARY | {f"input.{name}": text for name, text in inputs.items()}, {})


def message_of_refusal(**inputs) -> str:
    (problem,) = problems_of(lambda: check_config(config_of_stores(**inputs)))
    return problem


@pytest.mark.fault("a store gives other bits than the NetCDF file")
def test_fields_of_zarr_store_have_bits_of_netcdf_file(write_netcdf_and_zarr):
    file, store = write_netcdf_and_zarr()
    ours, theirs = (config_of_stores(wind_x=f"{path}:ustress", depth=f"{path}:bottom") for path in (store, file))
    check_config(ours)
    for step in (0, 500):
        params = [VaryingCoefficients(each, ["wind_x"]).params(step, ROWS, COLUMNS) for each in (ours, theirs)]
        np.testing.assert_equal(*params)
    assert np.ptp(params[0]["wind_x_before"]) > 0.005
    for name in ("depth", "mask"):
        np.testing.assert_array_equal(*(evaluate(each, name, ROWS, COLUMNS) for each in (ours, theirs)))
    assert evaluate(ours, "mask", [NY - 1], [0]) == 0
    with_one_record = [config_of_stores(wind_x=f"{path}@2020-02-29T06:00") for path in (store, file)]
    np.testing.assert_array_equal(*(evaluate(each, "wind_x", ROWS, COLUMNS) for each in with_one_record))


def test_several_stores_and_files_are_one_series(write_netcdf_and_zarr, tmp_path):
    """Their names may have another order than their times."""
    write_netcdf_and_zarr("b", values=STRESS[:1])
    write_netcdf_and_zarr("a", store="a.nc.store", values=STRESS[1:], first=1)
    whole, _ = write_netcdf_and_zarr("c")
    for name in ("a.nc", "b.nc"):
        (tmp_path / name).unlink()
    configs = (config_of_stores(wind_x=f"{path}:ustress") for path in (f"{tmp_path}/[ab].*", whole))
    np.testing.assert_equal(*(VaryingCoefficients(each, ["wind_x"]).params(400, ROWS, COLUMNS) for each in configs))


@pytest.mark.fault("a store is rewritten during a process that has read it")
def test_rewritten_store_is_read_again(write_netcdf_and_zarr, tmp_path):
    _, store = write_netcdf_and_zarr()
    assert evaluate(config_of_stores(depth=f"{store}:bottom"), "depth", [0], [0]) > 4000
    file, _ = write_netcdf_and_zarr("other", values=STRESS + 0.01)
    with xr.open_dataset(file, decode_times=False) as dataset:
        dataset.to_zarr(store, mode="w", consolidated=False)
    ours, theirs = (config_of_stores(depth=f"{path}:bottom") for path in (store, file))
    np.testing.assert_array_equal(*(evaluate(each, "depth", ROWS, COLUMNS) for each in (ours, theirs)))


@pytest.mark.fault("zarr is not installed; a folder is no store; a store or variable is missing; a chunk is damaged")
def test_missing_and_damaged_stores_are_refused(write_netcdf_and_zarr, tmp_path, monkeypatch):
    _, store = write_netcdf_and_zarr()
    assert message_of_refusal(wind_x=f"{store}:vstress").startswith(f'input.wind_x: {store} has no variable "vstress"')
    assert message_of_refusal(wind_x=f"{store}x:ustress").endswith(f"{store}x")
    (tmp_path / "empty").mkdir()
    assert "empty is a folder" in message_of_refusal(wind_x=f"{tmp_path}/empty:ustress")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "zarr", None)
        other = shutil.copytree(store, tmp_path / "other.zarr")  # this process has not opened this store yet
        assert message_of_refusal(wind_x=f"{other}:ustress") == f"input.wind_x: {missing_package_reason(other, 'zarr')}"
    for path in (tmp_path / "winds.zarr" / "ustress").rglob("*"):
        if path.is_file() and path.name not in ("zarr.json", ".zarray", ".zattrs"):
            path.write_bytes(bytes(len(path.read_bytes())))
    assert message_of_refusal(wind_x=f"{store}:ustress").startswith(f"input.wind_x: {store} cannot be read as Zarr (")
