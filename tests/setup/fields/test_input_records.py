"""Input fields with several records: none is taken unless it is chosen, by its number or by its time."""

import netCDF4
import numpy as np
import pytest

from swmodel import load
from swmodel.ocean.table import VARIABLES
from swmodel.setup.fields.netcdf_input import InputError, read_field
from swmodel.setup.fields.netcdf_input.source import Source, parse

NY, NX = 3, 4
GRID = load("jet", {"grid.nx": NX, "grid.ny": NY}, {}).grid
VALUES = np.arange(4 * NY * NX, dtype=float).reshape(4, NY, NX)
HOURS = [0.0, 6.0, 12.0 - 0.4 / 3600, 30.0]


@pytest.fixture
def file(tmp_path):
    """write(units of time or None): the path of a file with records of eta, and one field without."""

    def write(units="hours since 2000-01-01", calendar="standard", name="ocean.nc", values=VALUES):
        path = tmp_path / name
        with netCDF4.Dataset(path, "w") as dataset:
            for dimension, size in zip(("time", "y", "x"), values.shape, strict=True):
                dataset.createDimension(dimension, size)
            if units is not None:
                dataset.createVariable("time", "f8", ("time",))[:] = HOURS[: len(values)]
                dataset["time"].setncatts({"units": units, "calendar": calendar})
            dataset.createVariable("eta", "f8", ("time", "y", "x"))[:] = values
            dataset["eta"].setncatts({"units": "m", "standard_name": "sea_surface_height_above_geoid"})
            dataset.createVariable("flat", "f8", ("y", "x"))[:] = values[0]
            dataset["flat"].units = "m"
        return str(path)

    return write


def read(source):
    return read_field(source, VARIABLES["eta"], GRID, np.arange(NY), np.arange(NX))


def refused(source) -> str:
    with pytest.raises(InputError, match="^input.eta: ") as caught:
        read(source)
    return str(caught.value)


@pytest.mark.parametrize(
    ("record", "number"),
    [
        ("0", 0), ("-1", 3), ("-4", 0), ("+2", 2),
        ("2000-01-01", 0), ("2000-01-01T06:00", 1), ("2000-01-01 06:00:00", 1),
        ("2000-01-01T12:00", 2),  # its time is 0.4 s earlier
        ("2000-01-02T06:00:00Z", 3),
    ],
)  # fmt: skip
def test_a_record_is_chosen_by_its_number_or_by_its_time(file, record, number):
    path = file()
    np.testing.assert_array_equal(read(f"{path}:eta@{record}"), VALUES[number])
    np.testing.assert_array_equal(read(f"{path}@{record}"), VALUES[number])


@pytest.mark.fault("an input field has several records")
@pytest.mark.parametrize(
    ("units", "words"),
    [
        ("hours since 2000-01-01", "2000-01-01T00:00:00 to 2000-01-02T06:00:00"),
        ("months since 2000-01-01", 'without dates (their times have "months since 2000-01-01"'),
        ("hours since the flood", "without dates"),
        (None, "the model needs one"),
    ],
)
def test_of_several_records_none_is_taken_for_granted(file, units, words):
    """Where their times are no dates they have numbers only."""
    path = file(units)
    line = refused(path)
    assert "has 4 records along time" in line
    assert words in line
    assert ('"@2000-01-01T00:00:00"' in line) == ("T" in words)
    np.testing.assert_array_equal(read(f"{path}@1"), VALUES[1])
    if "T" not in words:
        assert 'has no record "2000-01-01"' in refused(f"{path}@2000-01-01")


@pytest.mark.fault("an input field has several records")
@pytest.mark.parametrize("record", ["4", "-5", "2000-01-01T07:00", "2000-1-1T6", "last", "", "9" * 5000])
def test_a_record_that_is_not_there_is_refused_with_those_that_are(file, record):
    words = f'has no record "{record}": they are 0 to 3, 2000-01-01T00:00:00 to 2000-01-02T06:00:00'
    assert words in refused(f"{file()}:eta@{record}")


def test_times_are_those_of_the_calendar_of_the_file(file):
    path = file("hours since 2000-02-30", "360_day")
    np.testing.assert_array_equal(read(f"{path}@2000-03-01T06:00"), VALUES[3])


def test_one_record_needs_no_choice_but_may_have_one(file):
    path = file(values=VALUES[:1])
    for source in (path, f"{path}@0", f"{path}@-1", f"{path}@2000-01-01", f"{path}:flat"):
        np.testing.assert_array_equal(read(source), VALUES[0])
    assert "they are 0 to 0" in refused(f"{path}@1")
    assert "flat in" in (line := refused(f"{path}:flat@0"))
    assert "has no records; leave out @0" in line


@pytest.mark.parametrize("name", ["12:00.nc", "a@b.nc", "run:eta@-1", "x@0:y"])
def test_what_exists_is_a_file_whatever_its_name(file, name):
    path = file(name=name)
    assert parse(path) == Source(path, "", None)
    assert parse(f"{path}:eta@2000-01-01T06:00") == Source(path, "eta", "2000-01-01T06:00")
    np.testing.assert_array_equal(read(f"{path}@2"), VALUES[2])


def test_a_file_that_does_not_exist_is_named_without_the_rest(tmp_path):
    for rest in (":eta", ":eta@0", "@2000-01-01T06:00"):
        assert refused(f"{tmp_path}/none.nc{rest}") == f"input.eta: there is no file {tmp_path}/none.nc"
