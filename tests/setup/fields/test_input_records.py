"""Input fields with several records: none is taken unless it is chosen, by its number or by its time."""

import numpy as np
import pytest
from support.netcdf import write_netcdf

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
    """write(units of time or None, ...): the path of a file with records of eta, and one field without."""

    def write(units="hours since 2000-01-01", calendar="standard", name="ocean.nc", values=VALUES):
        times = {"time": ("time", HOURS[: len(values)], {"units": units, "calendar": calendar})} if units else {}
        eta = {"units": "m", "standard_name": "sea_surface_height_above_geoid"}
        fields = {"eta": ("time y x", values, eta), "flat": ("y x", values[0], {"units": "m"})}
        return write_netcdf(tmp_path / name, times | fields)

    return write


def read(source):
    return read_field(source, VARIABLES["eta"], GRID, np.arange(NY), np.arange(NX))


def refused(source) -> str:
    with pytest.raises(InputError, match="^input.eta: ") as caught:
        read(source)
    return str(caught.value)


def test_a_record_is_chosen_by_number_or_time(file):
    path = file()
    for record, number in (
        *(("0", 0), ("-1", 3), ("-4", 0), ("+2", 2), ("2000-01-01", 0), ("2000-01-01T06:00", 1)),
        *(("2000-01-01 06:00:00", 1), ("2000-01-02T06:00:00Z", 3)),
        ("2000-01-01T12:00", 2),  # its time is 0.4 s earlier
    ):
        np.testing.assert_array_equal(read(f"{path}:eta@{record}"), VALUES[number])
        np.testing.assert_array_equal(read(f"{path}@{record}"), VALUES[number])


@pytest.mark.fault("an input field has several records")
@pytest.mark.parametrize(
    ("units", "words"),
    [
        ("hours since 2000-01-01", "2000-01-01T00:00:00 to 2000-01-02T06:00:00"),
        ("months since 2000-01-01", '"months since 2000-01-01"'),
        ("hours since the flood", "without dates"),
        (None, ""),
    ],
)
def test_one_of_several_records_must_be_chosen(file, units, words):
    """Where their times are no dates they have numbers only."""
    path = file(units)
    line = refused(path)
    assert "4 records along time" in line
    assert words in line
    assert ('"@2000-01-01T00:00:00"' in line) == ("T" in words)
    np.testing.assert_array_equal(read(f"{path}@1"), VALUES[1])
    if "T" not in words:
        assert '"2000-01-01"' in refused(f"{path}@2000-01-01")


def test_a_missing_record_is_refused_with_those_there(file):
    path = file()
    for record in ("4", "-5", "2000-01-01T07:00", "2000-1-1T6", "last", "", "9" * 5000):
        words = f'"{record}": they are 0 to 3, 2000-01-01T00:00:00 to 2000-01-02T06:00:00'
        assert words in refused(f"{path}:eta@{record}")


def test_one_record_needs_no_choice_but_may_have_one(file):
    path = file(values=VALUES[:1])
    for source in (path, f"{path}@0", f"{path}@-1", f"{path}@2000-01-01", f"{path}:flat"):
        np.testing.assert_array_equal(read(source), VALUES[0])
    assert "0 to 0" in refused(f"{path}@1")
    assert "flat in" in refused(f"{path}:flat@0")
    path = file("hours since 2000-02-30", "360_day")  # its times are those of its calendar
    np.testing.assert_array_equal(read(f"{path}@2000-03-01T06:00"), VALUES[3])
    for rest in (":eta", ":eta@0", "@2000-01-01T06:00"):
        assert refused(f"{path}x{rest}").endswith(f" {path}x")


@pytest.mark.parametrize("name", ["12:00.nc", "a@b.nc", "run:eta@-1", "x@0:y"])
def test_an_existing_file_may_have_any_name(file, name):
    path = file(name=name)
    assert parse(path) == Source(path, "", None)
    assert parse(f"{path}:eta@2000-01-01T06:00") == Source(path, "eta", "2000-01-01T06:00")
    np.testing.assert_array_equal(read(f"{path}@2"), VALUES[2])
