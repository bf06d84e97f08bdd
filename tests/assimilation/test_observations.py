"""The observation file: what is written is read again, other tools read it, and what cannot be used is said at once."""

import re
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.cf_checker import checked
from support.random_case import configuration

from swmodel.assimilation.observations import Observations, read, write
from swmodel.config import ConfigError
from swmodel.errors import FilesError
from swmodel.ocean import coordinates

pytestmark = pytest.mark.slow

NY, NX = 9, 11
DT, STEPS = 20.0, 180
N = 10
KM = 1e3


@pytest.fixture(autouse=True)
def config():
    """A basin of 44 km x 45 km whose south-western quarter is land, for an hour."""
    mask = np.ones((NY, NX))
    mask[:5, :5] = 0
    walls = {"grid__periodic_y": False, "grid__periodic_x": False}
    return configuration(NY, NX, {"mask": mask}, **walls, time__dt=DT, run__steps=STEPS)


def some(n=60, seed=0):
    """Random observations over the open water: of the same time and place in the order eta, u, v."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, n // 2, n))
    quantity = rng.integers(0, 3, n)
    _, first = np.unique(rows * 3 + quantity, return_index=True)
    rows, quantity = rows[first], quantity[first]
    time, x, y = rng.uniform(0, STEPS * DT, n), rng.uniform(26e3, 40e3, n), rng.uniform(5e3, 40e3, n)
    platform = np.array([["", "mooring-1", "sentinel"][k % 3] for k in range(n)])
    value, error = rng.standard_normal(len(rows)), rng.uniform(0.01, 0.1, len(rows))
    return Observations(quantity.astype(np.int8), time[rows], x[rows], y[rows], value, error, platform[rows])


def equal(a, b):
    for name, one, other in zip(Observations._fields, a, b, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


#: Variables of a correct file: values and attributes. Observation 4 is of nothing.
TIMES = np.linspace(0, STEPS * DT, N)
HOLES = np.where(np.arange(N) == 4, np.nan, 1.0)
GOOD = {
    "time": (TIMES, {"units": "seconds since 2000-01-01 00:00:00"}),
    "x": (np.linspace(26.0, 43.0, N), {"units": "km"}),
    "y": (np.linspace(1e3, 44e3, N), {"units": "m"}),
    "eta": (0.1 * HOLES, {"units": "m"}),
    "eta_error": (0.02 * HOLES, {"units": "m"}),
}


def save(path, variables, fill=-999.0, feature="point", dimension="obs"):
    """A file with the variables {name: (values, attributes)}; NaN becomes _FillValue, None takes a variable away."""
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.setncatts({"featureType": feature} if feature else {})
        for name, entry in variables.items():
            if entry is None:
                continue
            values, attributes = np.asarray(entry[0]), entry[1]
            axes = [f"{dimension}{k or ''}" for k in range(values.ndim)]
            for axis, size in zip(axes, values.shape, strict=True):
                if axis not in dataset.dimensions:
                    dataset.createDimension(axis, size)
            is_float = values.dtype.kind == "f"
            variable = dataset.createVariable(name, values.dtype, axes, fill_value=fill if is_float else None)
            variable.setncatts(attributes)
            variable[:] = np.where(np.isnan(values), fill, values) if is_float else values
    return path


def messages(path, config):
    """What is wrong with a file, without its path."""
    with pytest.raises(ConfigError) as caught:
        read(path, config)
    assert all(problem.startswith(f"{path}: ") for problem in caught.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


def test_what_is_written_is_read_again_bit_by_bit(tmp_path, config):
    observations = some()
    write(tmp_path / "obs.nc", observations, config)
    equal(read(tmp_path / "obs.nc", config), observations)
    assert [path.name for path in tmp_path.iterdir()] == ["obs.nc"]
    shuffled = observations.where(np.random.default_rng(1).permutation(observations.size))
    write(tmp_path / "obs.nc", shuffled, config)
    equal(read(tmp_path / "obs.nc", config), shuffled)


@pytest.mark.night
def test_the_file_satisfies_the_cf_checker(tmp_path, config):
    write(tmp_path / "obs.nc", some(), config)
    errors, text = checked(tmp_path / "obs.nc")
    assert "cf:1.11" in text
    assert errors == []


def test_a_file_that_cannot_be_written_is_one_error_and_leaves_nothing(tmp_path, config):
    with pytest.raises(FilesError, match="obs.nc cannot be written"):
        write(tmp_path / "none" / "obs.nc", some(), config)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FilesError, match="folder cannot be written"):
        write(tmp_path / "folder", some(), config)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(ValueError, match="without values"):
        write(tmp_path / "obs.nc", some()._replace(value=np.full(some().size, np.nan)), config)


def test_rows_without_a_value_are_left_out_and_kilometres_are_metres(tmp_path, config):
    found = read(save(tmp_path / "obs.nc", GOOD), config)
    rows = [0, 1, 2, 3, 5, 6, 7, 8, 9]
    np.testing.assert_array_equal(found.time, TIMES[rows])
    np.testing.assert_array_equal(found.x, GOOD["x"][0][rows] * KM)
    np.testing.assert_array_equal(found.value, np.full(9, 0.1))
    assert set(found.platform) == {""}


@pytest.mark.parametrize(
    ("units", "values", "calendar"),
    [
        ("Hours since 2000-01-01 02:00 +02:00", TIMES / 3600, "standard"),
        ("days since 1950-01-01", TIMES / 86400 + 18262, "gregorian"),
        ("milliseconds since 2000-01-01", np.rint(TIMES * 1e3).astype("i8"), "proleptic_gregorian"),
    ],
)
def test_times_in_any_units_are_seconds_since_the_start_within_the_run(tmp_path, config, units, values, calendar):
    variables = GOOD | {"time": (values, {"units": units, "calendar": calendar})}
    found = read(save(tmp_path / "obs.nc", variables), config)
    np.testing.assert_allclose(found.time, TIMES[[0, 1, 2, 3, 5, 6, 7, 8, 9]], rtol=0, atol=1e-3)
    assert found.time.min() >= 0
    assert found.time.max() <= STEPS * DT


@pytest.mark.parametrize(
    "platform",
    [np.arange(N), netCDF4.stringtochar(np.array([str(k) for k in range(N)], "S2"))],
    ids=["numbers", "characters"],
)
def test_platforms_become_text(tmp_path, config, platform):
    found = read(save(tmp_path / "obs.nc", GOOD | {"platform": (platform, {})}), config)
    assert list(found.platform) == ["0", "1", "2", "3", "5", "6", "7", "8", "9"]


def changed(name, *places, **attributes):
    """A variable of GOOD with other values at (index, value), or with other attributes."""
    values = GOOD[name][0].copy()
    for index, value in places:
        values[index] = value
    return {name: (values, attributes or GOOD[name][1])}


INFINITE = float("inf")
#: What is changed in a correct file, and the key words of what is said: how many, of how many, and the first.
WRONG = [
    (changed("x", (2, 44.1), (3, -1.0)), "2 of 9 positions are outside the domain; observation 2; x = 44100 m"),
    (changed("x", (0, 7.0)), "1 of 9 positions of eta are on land; no wet cell; observation 0"),
    (changed("y", (5, np.nan)), "1 of 9 positions are missing; observation 5"),
    (changed("time", (1, -1.0), (9, 3601.0)), "2 of 9 are outside the run; 0 to 3600 s after 2000-01-01; -1 s"),
    (changed("time", (3, np.nan)), "time: 1 of 9 are missing; observation 3"),
    (changed("eta_error", (2, 0.0), (3, np.nan), (5, -1.0)), "eta_error: 3 of 9; not above 0 m; observation 2"),
    (changed("eta", (6, INFINITE)), "eta: 1 of 9 values are not finite; observation 6; inf"),
    (changed("eta", (slice(None), np.nan)), "holds no observations"),
    (changed("eta", a=1), 'eta has no units; "m"'),
    (changed("eta", units="cm"), 'eta is in "cm"; "m"'),
    (changed("eta_error", units="1"), 'eta_error is in "1"; "m"'),
    (changed("x", units="degrees_east"), 'x is in "degrees_east"; "m"'),
    (changed("time", a=1), 'time has no units; "seconds since 2000-01-01 00:00:00"'),
    (changed("time", units="months since 2000-01-01"), 'time is in "months since 2000-01-01"; seconds, minutes, hours'),
    (changed("time", units="days since yesterday"), 'time is in "days since yesterday"; seconds, minutes, hours'),
    (changed("time", units="days since 2000-01-01", calendar="noleap"), '"noleap"; proleptic_gregorian'),
    ({"y": None}, "no variable y; in m"),
    ({"time": None}, "no variable time; any time since a date"),
    ({"eta_error": None}, "no variable eta_error; standard deviation; in m"),
    ({"eta": None}, "observes nothing; eta, u or v"),
    ({"eta": (np.zeros((N, 3)), {"units": "m"})}, "eta has the dimensions (obs, obs1)"),
    ({"eta": (np.full(N, "a", "S1"), {"units": "m"})}, "eta does not hold numbers"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_wrong_is_said_once_with_counts_and_the_first(tmp_path, config, change, words):
    (message,) = messages(save(tmp_path / "obs.nc", GOOD | change), config)
    assert [part for part in words.split("; ") if part not in message] == []


def test_velocities_without_an_open_face_around_are_on_land(tmp_path, config):
    """Sea level is seen half a cell off the coast; the flow through it is not."""
    at_coast = (np.full(N, 5 * 4e3), {"units": "m"}), (np.full(N, 2.5 * 5e3), {"units": "m"})
    variables = GOOD | {"x": at_coast[0], "y": at_coast[1]}
    assert read(save(tmp_path / "obs.nc", variables), config).size == 9
    variables |= {"u": (np.zeros(N), {"units": "m/s"}), "u_error": (np.ones(N), {"units": "m s-1"})}
    (message,) = messages(save(tmp_path / "u.nc", variables), config)
    assert "10 of 10 positions of u are on land, with no open east face" in message


def test_everything_that_is_wrong_is_said_at_once(tmp_path, config):
    change = changed("x", (2, 50.0)) | changed("time", (1, -1.0)) | changed("eta", units="cm")
    change |= {"u": (np.full(N, INFINITE), {"units": "m s-1"}), "u_error": (np.zeros(N), {"units": "m s-1"})}
    found = messages(save(tmp_path / "obs.nc", GOOD | change), config)
    assert [line.split(":")[0].split(" ")[0] for line in found] == ["eta", "time", "x,", "u", "u_error"]


@pytest.mark.fault("the displacement of an interface is mistaken for sea level, or the reverse")
def test_with_reduced_gravity_the_interface_is_observed_and_not_sea_level(tmp_path, config):
    physics = config.physics.model_copy(update={"gravity": 0.0981, "reduced_gravity": True})
    reduced = config.model_copy(update={"physics": physics})
    given = {"units": "m", "standard_name": "sea_surface_height_above_geoid"}
    file = save(tmp_path / "obs.nc", GOOD | {"eta": (GOOD["eta"][0], given)})
    assert read(file, config).size == 9
    (message,) = messages(file, reduced)
    assert "downward displacement of the interface: sea level times 100" in message
    write(tmp_path / "own.nc", some(), reduced)
    equal(read(tmp_path / "own.nc", reduced), some())
    with xr.open_dataset(tmp_path / "own.nc", decode_timedelta=False) as data:
        assert data.eta.long_name == "observed downward displacement of the interface"
        assert "standard_name" not in data.eta.attrs.keys() | data.eta_error.attrs.keys()


def test_files_that_are_no_observation_files(tmp_path, config):
    (tmp_path / "text.nc").write_text("not NetCDF")
    assert "there is no file" in messages(tmp_path / "none.nc", config)[0]
    assert "cannot be read as NetCDF" in messages(tmp_path / "text.nc", config)[0]
    save(tmp_path / "empty.nc", {name: (values[:0], attributes) for name, (values, attributes) in GOOD.items()})
    assert messages(tmp_path / "empty.nc", config) == ["holds no observations"]
    save(tmp_path / "trajectory.nc", GOOD, feature="trajectory")
    assert messages(tmp_path / "trajectory.nc", config) == ['its featureType is "trajectory"; it needs "point"']
    assert read(save(tmp_path / "plain.nc", GOOD, feature="", dimension="number"), config).size == 9


def test_the_example_of_the_page_is_an_observation_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "assimilation.md").read_text()
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {})
    wide = configuration(180, 360, {}, grid__dx=5e3, grid__dy=5e3, grid__periodic_y=False, run__steps=STEPS)
    found = read("observations.nc", wide)
    assert found.size == 50
    assert (found.quantity == 0).all()


def test_on_a_grid_with_a_pole_of_its_own_places_are_true_longitudes_and_latitudes(tmp_path):
    options = {"grid__pole": (-42.0, 76.0), "time__dt": DT, "run__steps": STEPS}
    config = configuration(NY, NX, {"mask": np.ones((NY, NX))}, True, **options)
    axes, made = coordinates.axes(config.grid), some()
    x = axes.x.edges[0] + np.linspace(10, 350, made.size)
    seen = made._replace(x=x, y=np.linspace(15, 50, made.size))
    write(tmp_path / "true.nc", seen, config)
    with netCDF4.Dataset(tmp_path / "true.nc") as data:
        lon, lat = coordinates.to_earth(config.grid.pole, seen.x, seen.y)
        assert np.isclose(data["lat"][0], lat[0])
        assert np.isclose((data["lon"][0] - lon[0]) % 360, 0)
    again = read(tmp_path / "true.nc", config)
    np.testing.assert_allclose(axes.x.within(again.x), axes.x.within(seen.x), atol=1e-9)
    np.testing.assert_allclose(again.y, seen.y, atol=1e-9)
