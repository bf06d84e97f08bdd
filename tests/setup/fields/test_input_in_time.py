"""Input fields with records in time: where each step lies among them, and what cannot be used."""

import netCDF4
import numpy as np
import pytest

import swmodel
from swmodel import load
from swmodel.model.validate import check_config
from swmodel.setup.fields import field_of, varies
from swmodel.setup.fields.varying import Records

NY, NX = 4, 5
VALUES = 0.01 * np.arange(4 * NY * NX, dtype=float).reshape(4, NY, NX)
HOURS = [0.0, 6.0, 12.0, 18.0]
SMALL = {
    "grid.nx": NX, "grid.ny": NY, "grid.dx": 1e5, "grid.dy": 1e5, "run.executor": "reference", "run.dtype": "float64",
    "time.dt": 300.0, "run.days": 0.75, "time.start": "2020-02-28",
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    """write(...): the path of a file with records of the wind stress in x."""

    def write(name="wind.nc", hours=HOURS, values=VALUES, units="Pa", since="hours since 2020-02-28", **attributes):
        path = tmp_path / name
        with netCDF4.Dataset(path, "w") as dataset:
            for dimension, size in (("time", None), ("y", NY), ("x", NX)):
                dataset.createDimension(dimension, size)
            dataset.createVariable("time", "f8", ("time",))[:] = hours
            dataset["time"].setncatts({"units": since} | attributes)
            stress = dataset.createVariable("tau", "f8", ("time", "y", "x"), fill_value=-999.0)
            stress.setncatts({"standard_name": "surface_downward_x_stress", "units": units})
            stress[:] = values[: len(hours)]
        return str(path)

    return write


def configuration(path, **more):
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return load("rest", SMALL | {"input.wind_x": path} | changes, {})


def refused(path, **more) -> str:
    with pytest.raises(swmodel.ConfigError) as caught:
        check_config(configuration(path, **more))
    (line,) = caught.value.problems
    return line.replace(str(path), "FILE")


def wind_at(config, step, stage=0.0):
    """The wind that the equations of a step take, [NY, NX]."""
    from swmodel.ocean.instant import Instant
    from swmodel.ocean.patch import Patch
    from swmodel.ocean.records import present
    from swmodel.setup.setup import setup_of

    scheme = setup_of(config).scheme
    params = Records(config, scheme.varying).params(step, np.arange(NY), np.arange(NX))
    patches = {name: Patch(field, (0, 0)) for name, field in params.items()}
    return present(patches, Instant(np.int32(step), stage), scheme.varying, np.dtype("f8"))["wind_x"].values


@pytest.mark.parametrize(("step", "stage"), [(0, 0.0), (1, 0.5), (71, 1.0), (72, 0.0), (215, 1.0)])
def test_between_two_records_values_go_along_a_straight_line(file, step, stage):
    hour = (step + stage) * 300 / 3600
    expected = VALUES[0] + (VALUES[1] - VALUES[0]) * hour / 6
    np.testing.assert_allclose(wind_at(configuration(file()), step, stage), expected, rtol=0, atol=1e-13)


def test_a_step_takes_the_records_that_it_begins_between(file):
    config = configuration(file(hours=[0.0, 0.9, 18.0]))  # 10.8 steps
    numbers, ends = zip(*(
        (field_of(config, "wind_x").at(step)[0], Records(config, ["wind_x"]).until(step)) for step in (0, 10, 11, 215)
    ), strict=True)  # fmt: skip
    assert numbers == (0, 0, 1, 1)
    assert ends == (11, 11, 216, 216)
    np.testing.assert_array_equal(wind_at(config, 10, 1.0), VALUES[1])


class Turning(swmodel.Case):
    def wind_x(self, config, at, t):
        return np.full((1, 1), np.cos(t))


@pytest.mark.fault("a step takes values of a formula in time from another interval")
@pytest.mark.parametrize("steps", [95, 109, 1000.0005])
def test_a_step_takes_the_values_of_a_formula_that_it_begins_between(steps):
    """3600 / (3600 / 95) is above 95, as is the quotient for 109; 1000 steps end just before a value."""
    config = load(Turning, {"forcing.every": 3600.0, "time.dt": 3600.0 / steps}, environ={})
    found = [field_of(config, "wind_x").at(step) for step in range(1200)]
    assert all(span.before <= step < span.after for step, (_, span) in enumerate(found))
    assert [number for number, _ in found] == [int(step / steps + 1e-9) for step in range(1200)]


def test_several_files_are_one_series_whatever_their_names(file):
    file("b.nc", HOURS[:2])
    file("a.nc", HOURS[2:], VALUES[2:])
    config = configuration(file("c.nc", [24.0]).replace("c.nc", "*.nc"))
    np.testing.assert_allclose(wind_at(config, 108), VALUES[1:3].mean(axis=0), atol=1e-13)


def test_records_may_have_their_sign_changed_and_one_that_is_chosen_stays(file):
    np.testing.assert_array_equal(wind_at(configuration(file() + ":-tau"), 72), -VALUES[1])
    assert not varies(configuration(file() + "@2020-02-28T06:00", time__start=""), "wind_x")


@pytest.mark.parametrize(
    ("calendar", "start", "since"),
    [("360_day", "2020-02-30", "hours since 2020-02-30"), ("noleap", "2020-03-01", "hours since 2020-02-28 00:00")],
)
def test_times_are_counted_in_the_calendar_of_the_run(file, calendar, start, since):
    hours = HOURS if calendar == "360_day" else [hour + 24 for hour in HOURS]
    config = configuration(
        file(since=since, hours=hours, calendar=calendar), time__start=start, time__calendar=calendar
    )
    np.testing.assert_allclose(wind_at(config, 36), VALUES[:2].mean(axis=0), atol=1e-13)


@pytest.mark.fault(
    "records in time that begin late, end early, repeat, go backwards, are missing, or lack `time.start`; another calendar or unit"
)
@pytest.mark.parametrize(
    ("made", "given", "words"),
    [
        ({"hours": HOURS[1:]}, {}, "its records begin at 2020-02-28T06:00:00 and end at 2020-02-28T18:00:00"),
        ({"hours": HOURS[:3]}, {}, "and end at 2020-02-28T12:00:00, and the run needs them at 2020-02-28T17:55:00"),
        ({"hours": [0, 6, 5, 18]}, {}, "times must rise, but 2020-02-28T05:00:00 follows 2020-02-28T06:00:00"),
        ({"hours": [0, 6, 6, 18]}, {}, "times must rise"),
        ({"hours": [0, 6, np.nan, 18]}, {}, "its times have missing values"),
        ({"calendar": "noleap"}, {}, 'the run proleptic_gregorian; set time.calendar = "noleap"'),
        ({}, {"time__start": ""}, 'give the start of the run, as time.start = "2020-02-28T00:00:00"'),
        ({"units": "dyn cm-2"}, {}, 'is in "dyn cm-2"; convert it to "Pa"'),
        ({"since": "fortnights since 2020-02-28"}, {}, 'without dates (their times have "fortnights since 2020-02-28"'),
        (
            {"values": np.where(np.arange(4)[:, None, None] == 2, np.nan, VALUES)}, {},
            "must be finite on water, but is missing at 2020-02-28T12:00:00, row 0, column 0",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_before_the_first_step(file, made, given, words):
    line = refused(file(**made), **given)
    assert line.startswith("input.wind_x: ")
    assert "FILE" in line
    assert words in line


@pytest.mark.fault("a gap between records in time, a run beyond the last one")
def test_a_gap_is_said(file, caplog):
    check_config(configuration(file(hours=[0.0, 1.0, 2.0, 18.0])))
    (line,) = [record.message for record in caplog.records if "no record" in record.message]
    assert "no record between 2020-02-28T02:00:00 and 2020-02-28T18:00:00, elsewhere every 3600 s" in line


@pytest.mark.fault("a gap between records in time, a run beyond the last one")
def test_beyond_the_last_record_no_step_is_taken(file):
    model = swmodel.Simulation(configuration(file()))
    model.advance(216)
    with pytest.raises(ValueError, match="end at 2020-02-28T18:00:00"):
        model.advance(2)
