"""Weather as it is found in files: units, names and times as they are written; what is wrong is named rightly."""

import netCDF4
import numpy as np
import pytest

from swmodel import ConfigError, load
from swmodel.model.validate import check_config
from swmodel.setup import fields
from swmodel.setup.fields.varying import record

SPHERE = {
    "grid.kind": "latlon", "grid.west": -39.0, "grid.east": -21.0, "grid.south": 31.0, "grid.north": 39.0,
    "grid.nx": 9, "grid.ny": 4, "grid.periodic_x": False, "time.start": "2020-01-01", "run.steps": 2,
    "run.executor": "reference",
}  # fmt: skip


@pytest.fixture
def weather(tmp_path):
    """write(name, value, units, ...): the path of a file with records of a variable every six hours."""

    def write(name, value, units, times="hours since 2020-01-01", degrees=("degreeE", "degreeN"), records=5, **more):
        path = tmp_path / "weather.nc"
        with netCDF4.Dataset(path, "w") as data:
            axes = {"time": (6.0 * np.arange(records), times)}
            axes |= {"lat": (np.linspace(29, 41, 7), degrees[1]), "lon": (np.linspace(-41, -19, 12), degrees[0])}
            for axis, (values, unit) in axes.items():
                data.createDimension(axis, len(values))
                data.createVariable(axis, "f8", (axis,))[:] = values
                data[axis].setncatts({"units": unit} if unit else {})
            data.createVariable(name, "f8", tuple(axes))[:] = value
            data[name].setncatts({"units": units} | more)
        return str(path)

    return write


def config_of(**inputs):
    return load("sea", SPHERE | {f"input.{name}": text for name, text in inputs.items()}, {})


def refused(**inputs):
    with pytest.raises(ConfigError) as caught:
        check_config(config_of(**inputs))
    return "\n".join(caught.value.problems)


ROWS, COLUMNS = np.arange(4), np.arange(9)


@pytest.mark.parametrize("degrees", [("degrees_E", "degrees_N"), ("Degrees_East", "degrees north"), ("degrees",) * 2])
def test_a_variable_is_found_by_the_name_of_the_field_on_any_spelling_of_degrees(weather, degrees):
    path = weather("u10", 5.0, "m s-1", degrees=degrees)
    assert (record(config_of(u10=path), "u10", 0, ROWS, COLUMNS) == 5.0).all()


@pytest.mark.fault("a variable with the right name and another meaning is accepted")
def test_a_variable_of_that_name_with_another_standard_name_is_not_taken(weather):
    words = refused(u10=weather("u10", 5.0, "m s-1", records=1, standard_name="wind_speed"))
    assert "no variable with standard_name" in words


@pytest.mark.parametrize("units", ["hPa", "millibars"])
def test_pressures_in_hectopascals_are_converted(weather, units):
    path = weather("msl", 1013.0, units)
    np.testing.assert_allclose(record(config_of(air_pressure=f"{path}:msl"), "air_pressure", 1, ROWS, COLUMNS), 101300)


@pytest.mark.fault("air pressure in hPa that a file calls Pa drives a run")
@pytest.mark.parametrize(("records", "which"), [(5, ""), (5, "@1"), (1, "")])
def test_pressures_in_pascals_that_are_hectopascals_are_refused(weather, records, which):
    words = refused(air_pressure=f"{weather('msl', 1013.0, 'Pa', records=records)}:msl{which}")
    assert "1013 Pa, which look like hPa" in words


def test_a_small_anomaly_of_pressure_is_none(weather):
    path = weather("msl", np.linspace(-900, 900, 12), "Pa", records=1)
    assert np.ptp(fields.evaluate(config_of(air_pressure=f"{path}:msl"), "air_pressure", ROWS, COLUMNS)) > 1000


@pytest.mark.fault("a time axis without a date is reported as many records")
@pytest.mark.parametrize(("units", "has"), [("", "no units"), ("hours", '"hours"')])
def test_times_without_a_date_are_named_where_records_are_asked_for(weather, units, has):
    words = refused(u10=weather("u10", 5.0, "m s-1", times=units))
    assert f"without dates (their times have {has}" in words


@pytest.mark.parametrize(("units", "has"), [("", "has no units"), ("rad", 'is in "rad"')])
def test_units_that_are_no_degrees_are_named_with_the_ones_of_cf(weather, units, has):
    words = refused(u10=weather("u10", 5.0, "m s-1", degrees=(units,) * 2, records=1))
    assert f"lat {has}; " in words
    assert '"degrees_north"' in words
