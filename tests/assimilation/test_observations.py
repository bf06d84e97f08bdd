"""Observation files of this model and other tools are read; messages count unusable observations and name the first."""

import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.cf_checker import assert_satisfies_cf
from support.netcdf import write_netcdf
from support.random_case import configuration

from swmodel.assimilation.observations import Observations, read_observations, write_observations
from swmodel.config import ConfigError
from swmodel.errors import FilesError
from swmodel.ocean import coordinates

NY, NX = 9, 11
DT, STEPS = 20.0, 180
N_ROWS = 10
KM = 1e3


@pytest.fixture(autouse=True)
def config():
    """One hour in a basin of 44 km x 45 km whose south-western quarter is land."""
    mask = np.ones((NY, NX))
    mask[:5, :5] = 0
    walls = {"grid__periodic_y": False, "grid__periodic_x": False}
    return configuration(NY, NX, {"mask": mask}, **walls, time__dt=DT, run__steps=STEPS)


def random_observations(n=60, seed=0):
    """At most n random observations over open water; those of the same time and place are in the order eta, u, v."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, n // 2, n))
    quantity = rng.integers(0, 3, n)
    _, first = np.unique(rows * 3 + quantity, return_index=True)
    rows, quantity = rows[first], quantity[first]
    time, x, y = rng.uniform(0, STEPS * DT, n), rng.uniform(26e3, 40e3, n), rng.uniform(5e3, 40e3, n)
    platform = np.array([["", "mooring-1", "sentinel"][k % 3] for k in range(n)])
    value, error = rng.standard_normal(len(rows)), rng.uniform(0.01, 0.1, len(rows))
    return Observations(quantity.astype(np.int8), time[rows], x[rows], y[rows], value, error, platform[rows])


TIMES = np.linspace(0, STEPS * DT, N_ROWS)
NAN_AT_4 = np.where(np.arange(N_ROWS) == 4, np.nan, 1.0)
COMPLETE_ROWS = [0, 1, 2, 3, 5, 6, 7, 8, 9]
#: Variables of a correct file: values and attributes. Row 4 has no value.
VALID_VARIABLES = {
    "time": (TIMES, {"units": "seconds since 2000-01-01 00:00:00"}),
    "x": (np.linspace(26.0, 43.0, N_ROWS), {"units": "km"}),
    "y": (np.linspace(9999.0, 44e3, N_ROWS), {"units": "m"}),  # a position, although 9999 often marks missing values
    "eta": (0.1 * NAN_AT_4, {"units": "m"}),
    "eta_error": (0.02 * NAN_AT_4, {"units": "m"}),
}


def write_file(path, variables):
    """Write a file with variables {name: (values, attributes)}; NaN means missing, None leaves the variable out."""
    netcdf_variables = {}
    for name, (values, attributes) in ((name, entry) for name, entry in variables.items() if entry):
        values, axes = np.asarray(values), ("obs", "obs1")[: np.ndim(values)]
        masked_values = np.ma.masked_where(np.isnan(values), values) if values.dtype.kind == "f" else values
        netcdf_variables[name] = " ".join(axes), masked_values, attributes
    write_netcdf(path, netcdf_variables)
    return path


def problems_of_file(path, config):
    with pytest.raises(ConfigError) as error:
        read_observations(path, config)
    assert all(problem.startswith(f"{path}: ") for problem in error.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in error.value.problems]


def test_written_observations_are_read_bit_for_bit(tmp_path, config):
    observations, path = random_observations(), tmp_path / "obs.nc"
    shuffled = observations.select(np.random.default_rng(1).permutation(observations.size))
    for written in (observations, shuffled):
        write_observations(path, written, config)
        np.testing.assert_equal(read_observations(path, config), written)
    for unwritable_path in (tmp_path / "none" / "obs.nc", tmp_path):
        with pytest.raises(FilesError, match=unwritable_path.name):
            write_observations(unwritable_path, observations, config)
    with pytest.raises(ValueError, match="without values"):
        write_observations(path, observations._replace(value=np.full(observations.size, np.nan)), config)
    assert [file.name for file in tmp_path.iterdir()] == ["obs.nc"]
    np.testing.assert_equal(read_observations(path, config), shuffled)


@pytest.mark.night
def test_observation_file_satisfies_the_cf_checker(tmp_path, config):
    write_observations(tmp_path / "obs.nc", random_observations(), config)
    assert_satisfies_cf(tmp_path / "obs.nc")


def test_rows_without_a_value_are_left_out_and_units_converted(tmp_path, config):
    """Kilometres become metres; times in other units and calendars become seconds since the start, within the run."""
    observations = read_observations(write_file(tmp_path / "obs.nc", VALID_VARIABLES), config)
    np.testing.assert_array_equal(observations.time, TIMES[COMPLETE_ROWS])
    np.testing.assert_array_equal(observations.x, VALID_VARIABLES["x"][0][COMPLETE_ROWS] * KM)
    np.testing.assert_array_equal(observations.value, np.full(9, 0.1))
    assert set(observations.platform) == {""}
    for units, values, calendar in (
        ("Hours since 2000-01-01 02:00 +02:00", TIMES / 3600, "standard"),
        ("days since 1950-01-01", TIMES / 86400 + 18262, "gregorian"),
        ("milliseconds since 2000-01-01", np.rint(TIMES * 1e3).astype("i8"), "proleptic_gregorian"),
    ):
        time = {"time": (values, {"units": units, "calendar": calendar})}
        observations = read_observations(write_file(tmp_path / "obs.nc", VALID_VARIABLES | time), config)
        np.testing.assert_allclose(observations.time, TIMES[COMPLETE_ROWS], rtol=0, atol=1e-3)
        assert 0 <= observations.time.min() <= observations.time.max() <= STEPS * DT
    for platform in (np.arange(N_ROWS), np.array([list(f"{k:<2}") for k in range(N_ROWS)], "S1")):
        path = write_file(tmp_path / "obs.nc", VALID_VARIABLES | {"platform": (platform, {})})
        observations = read_observations(path, config)
        assert list(observations.platform) == [str(row) for row in COMPLETE_ROWS]


def test_platforms_with_another_dimension_than_observations_are_refused(tmp_path, config):
    with netCDF4.Dataset(write_file(tmp_path / "ships.nc", VALID_VARIABLES), "a") as data:
        data.createDimension("ship", 2)
        data.createVariable("platform", "i4", ("ship",))[:] = [1, 2]
    (message,) = problems_of_file(tmp_path / "ships.nc", config)
    assert "platform has the dimensions (ship)" in message


def changed_variable(name, *replacements, **attributes):
    """One of VALID_VARIABLES with other values, given as (index, value), or with other attributes."""
    values = VALID_VARIABLES[name][0].copy()
    for index, value in replacements:
        values[index] = value
    return {name: (values, attributes or VALID_VARIABLES[name][1])}


#: A position on the coast, half a cell from the nearest wet centre: sea level can be observed, but not the current.
CURRENT_AT_COAST = {
    "x": (np.full(N_ROWS, 20e3), {"units": "m"}),
    "y": (np.full(N_ROWS, 12.5e3), {"units": "m"}),
    "u": (np.zeros(N_ROWS), {"units": "m/s"}),
    "u_error": (np.ones(N_ROWS), {"units": "m s-1"}),
}
#: (change of a correct file, "; "-separated texts in the message: how many of how many, the first one, what is needed).
WRONG_VARIABLES = [
    (changed_variable("x", (2, 44.1), (3, -1.0)), "2 of 9; observation 2; x = 44100 m"),
    (changed_variable("x", (0, 7.0)), "1 of 9; eta; land; observation 0"),
    (changed_variable("y", (5, np.nan)), "1 of 9; missing; observation 5"),
    (changed_variable("time", (1, -1.0), (9, 3601.0)), "2 of 9; 0 to 3600 s; -1 s"),
    (changed_variable("time", (3, np.nan)), "time; 1 of 9; observation 3"),
    (changed_variable("eta_error", (2, 0.0), (3, np.nan), (5, -1.0)), "eta_error; 3 of 9; 0 m; observation 2"),
    (changed_variable("eta", (6, np.inf)), "eta; 1 of 9; observation 6; inf"),
    (changed_variable("eta", (slice(None), np.nan)), "no observations"),
    (changed_variable("eta", a=1), 'eta; "m"'),
    (changed_variable("eta", units="cm"), 'eta; "cm"; "m"'),
    (changed_variable("x", units="degrees_east"), 'x; "degrees_east"; "m"'),
    (changed_variable("time", a=1), 'time; "seconds since 2000-01-01 00:00:00"'),
    (changed_variable("time", units="months since 2000-01-01"), '"months since 2000-01-01"; seconds, minutes, hours'),
    (changed_variable("time", units="days since 2000-01-01", calendar="noleap"), '"noleap"; proleptic_gregorian'),
    ({"y": None}, "y; in m"),
    ({"time": None}, "time; since a date"),
    ({"eta_error": None}, "eta_error; standard deviation; in m"),
    ({"eta": None}, "eta, u or v"),
    ({"eta": (np.zeros((N_ROWS, 3)), {"units": "m"})}, "eta; (obs, obs1)"),
    ({"eta": (np.full(N_ROWS, "a", "S1"), {"units": "m"})}, "eta; numbers"),
    (CURRENT_AT_COAST, "10 of 10 positions of u"),
]


@pytest.mark.parametrize(("change", "texts"), WRONG_VARIABLES, ids=lambda each: each if type(each) is str else "")
def test_unusable_observations_are_counted_and_the_first_named(tmp_path, config, change, texts):
    (message,) = problems_of_file(write_file(tmp_path / "obs.nc", VALID_VARIABLES | change), config)
    assert [text for text in texts.split("; ") if text not in message] == []


@pytest.mark.fault("the displacement of an interface is mistaken for sea level, or the reverse")
def test_with_reduced_gravity_the_interface_is_observed(tmp_path, config):
    physics = config.physics.model_copy(update={"gravity": 0.0981, "reduced_gravity": True})
    reduced_gravity_config = config.model_copy(update={"physics": physics})
    attributes = {"units": "m", "standard_name": "sea_surface_height_above_geoid"}
    file = write_file(tmp_path / "obs.nc", VALID_VARIABLES | {"eta": (VALID_VARIABLES["eta"][0], attributes)})
    assert read_observations(file, config).size == 9
    (message,) = problems_of_file(file, reduced_gravity_config)
    assert "interface: sea level times 100" in message
    write_observations(tmp_path / "interface.nc", random_observations(), reduced_gravity_config)
    np.testing.assert_equal(read_observations(tmp_path / "interface.nc", reduced_gravity_config), random_observations())
    with xr.open_dataset(tmp_path / "interface.nc", decode_timedelta=False) as data:
        assert "interface" in data.eta.long_name
        assert "standard_name" not in data.eta.attrs.keys() | data.eta_error.attrs.keys()


def test_files_without_point_observations_are_refused(tmp_path, config):
    (tmp_path / "text.nc").write_text("not NetCDF")
    empty_variables = {name: (values[:0], attributes) for name, (values, attributes) in VALID_VARIABLES.items()}
    write_file(tmp_path / "empty.nc", empty_variables)
    with netCDF4.Dataset(write_file(tmp_path / "trajectory.nc", VALID_VARIABLES), "a") as data:
        data.featureType = "trajectory"
    for name, text in {"none": "no file", "text": "NetCDF", "empty": "no obs", "trajectory": '"point"'}.items():
        (message,) = problems_of_file(tmp_path / f"{name}.nc", config)
        assert text in message


def test_positions_on_a_rotated_grid_are_true_longitudes_and_latitudes(tmp_path):
    options = {"grid__pole": (-42.0, 76.0), "time__dt": DT, "run__steps": STEPS}
    config = configuration(NY, NX, {"mask": np.ones((NY, NX))}, True, **options)
    axis, observations = coordinates.axes(config.grid).x, random_observations()
    x, y = axis.edges[0] + np.linspace(10, 350, observations.size), np.linspace(15, 50, observations.size)
    write_observations(tmp_path / "true.nc", observations._replace(x=x, y=y), config)
    with netCDF4.Dataset(tmp_path / "true.nc") as data:
        lon, lat = coordinates.to_earth(config.grid.pole, x, y)
        np.testing.assert_allclose(data["lat"][:], lat)
        np.testing.assert_allclose((data["lon"][:] - lon + 180) % 360, 180)
    stored = read_observations(tmp_path / "true.nc", config)
    np.testing.assert_allclose(axis.wrap(stored.x), axis.wrap(x), atol=1e-9)
    np.testing.assert_allclose(stored.y, y, atol=1e-9)


@pytest.mark.fault("a table of a spreadsheet is refused, or its times or decimal commas are misread")
def test_table_of_a_spreadsheet_has_the_same_observations(tmp_path, config):
    """The table has semicolons, decimal commas, a byte-order mark and CRLF; an empty cell is a missing value."""
    write_file(tmp_path / "a.nc", VALID_VARIABLES)
    values = {name: values for name, (values, _) in VALID_VARIABLES.items()}
    dates = np.datetime64("2000-01-01T00:00:00") + values.pop("time").astype("m8[s]")
    lines = ["time;x (km);y;eta (m);eta_error;platform"]
    for date, *row in zip(dates, *values.values(), strict=True):
        cells = ["" if np.isnan(number) else str(number).replace(".", ",") for number in row]
        lines.append(";".join([str(date), *cells, "buoy"]))
    text = "\ufeff" + "\r\n".join(lines) + "\r\n"
    (tmp_path / "a.csv").write_bytes(text.encode())
    table_observations, expected = (read_observations(tmp_path / name, config) for name in ("a.csv", "a.nc"))
    for values_of_table, expected_values in zip(table_observations[:-1], expected[:-1], strict=True):
        np.testing.assert_allclose(values_of_table, expected_values, rtol=1e-12)
    assert set(table_observations.platform) == {"buoy"}
    (tmp_path / "b.csv").write_text(text.replace("T00:06:40", "T00:06:xx"))
    (tmp_path / "c.csv").write_text("2010,2,27,22,1250\n")
    (tmp_path / "d.csv").write_text("time (CET),eta\n")
    (tmp_path / "e.csv").write_text("time,eta,eta (m)\n")
    patterns = {"b": r"b.csv:\d+: .*00:06:xx", "c": "no variable time", "d": "d.csv: .*UTC", "e": "e.csv: two .* eta"}
    for name, pattern in patterns.items():
        with pytest.raises(ConfigError, match=pattern):
            read_observations(tmp_path / f"{name}.csv", config)
