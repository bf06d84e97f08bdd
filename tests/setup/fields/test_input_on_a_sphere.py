"""Fields on longitudes and latitudes, and tides of an atlas or a run: how they are interpolated or refused."""

import re

import netCDF4
import numpy as np
import pytest
from support.netcdf import write_netcdf

from swmodel import Case, ConfigError, load
from swmodel.model.validate import check_config
from swmodel.ocean.coordinates import points
from swmodel.ocean.table import VARIABLES
from swmodel.setup import fields
from swmodel.setup.checks import boundary_data
from swmodel.setup.fields.netcdf_input import InputError, open_variable

BAND = {"grid.kind": "latlon", "grid.nx": 18, "grid.ny": 6, "grid.west": -20.0, "grid.south": -30.0, "grid.north": 30.0}
UNITS = {"lon": "degrees_east", "lat": "degrees_north"}


def smooth_field(lon, lat):
    """A smooth field, for which bilinear interpolation has an error of second order in the spacing."""
    return 100 + 10 * np.cos(np.radians(lon)) + 5 * np.sin(np.radians(2 * lat)) + 0 * lon


def write_field(folder, lon, lat, values, name="depth", dimensions="lat lon"):
    """Write a field on these coordinates into a file; returns its entry for [input]."""
    axes = {axis: (axis, degrees, {"units": UNITS[axis]}) for axis, degrees in (("lon", lon), ("lat", lat))}
    field = {name: (dimensions, np.ma.masked_invalid(values), {"units": VARIABLES[name].units})}
    return write_netcdf(folder / "ocean.nc", axes | field) + f":{name}"


def make_grid(**changes):
    return load(Case, BAND | {f"grid.{key}": value for key, value in changes.items()}, environ={}).grid


def read(source, grid, name="depth"):
    with open_variable(source, VARIABLES[name], grid) as variable:
        return variable.read(np.arange(grid.ny), np.arange(grid.nx))


@pytest.mark.parametrize(("name", "step", "start"), [("depth", 2.0, 0.5), ("u", 1.0, -179.5), ("v", 2.0, 100.5)])
def test_field_is_interpolated_across_the_end_of_its_periodic_axis(tmp_path, caplog, name, step, start):
    lon, lat = start + np.arange(0, 360, step), np.arange(-88, 88.1, step)
    grid = make_grid()
    caplog.set_level("INFO")
    actual = read(write_field(tmp_path, lon, lat, smooth_field(lon, lat[:, None]), name), grid, name)
    bound = 30 * np.radians(step) ** 2 / 8 * 1.01 + 1e-12
    at = points(grid, VARIABLES[name].location, range(grid.ny), range(grid.nx))
    np.testing.assert_allclose(actual, smooth_field(at.lon, at.lat), atol=bound)
    assert f"lon has steps of {step:g} degrees, values are interpolated" in caplog.text


@pytest.mark.parametrize("is_reversed", [False, True])
def test_values_on_the_points_of_the_grid_are_unchanged(tmp_path, caplog, is_reversed):
    """This holds even if both axes run backwards and are exchanged."""
    caplog.set_level("INFO")
    grid, index_step = make_grid(), -1 if is_reversed else 1
    at = points(grid, "centre", range(grid.ny), range(grid.nx))
    values, lon = np.random.default_rng(1).random((6, 18)), (at.lon[0] + 360) % 360
    order = np.argsort(lon)[::index_step]
    file_values = values[::index_step, order]
    arguments = (file_values.T, "depth", "lon lat") if is_reversed else (file_values,)
    source = write_field(tmp_path, lon[order], at.lat[::index_step, 0], *arguments)
    np.testing.assert_array_equal(read(source, grid), values)
    assert not caplog.text


def test_values_have_the_same_bits_in_all_conventions_of_longitude(tmp_path):
    """The file may also repeat its first meridian at its end."""
    lon, lat = -30 + 0.75 * np.arange(480), np.arange(-40.0, 41, 4)
    values = np.random.default_rng(1).random((len(lat), len(lon)))
    results = []
    for first, n_repeated in ((-180.0, 0), (0.0, 0), (-30.0, 0), (-180.0, 1), (0.0, 1)):
        order = np.argsort((lon - first) % 360)
        order = np.append(order, order[:n_repeated])
        shifted_lon = first + (lon[order] - first) % 360 + 360.0 * (np.arange(len(order)) >= len(lon))
        for west in (-17.375, 342.625):
            results.append(read(write_field(tmp_path, shifted_lon, lat, values[:, order]), make_grid(west=west)))
    assert all(np.array_equal(each, results[0]) for each in results)


def test_missing_values_have_no_weight_and_masks_take_the_nearest_value(tmp_path):
    lon, lat = np.arange(0.0, 360, 10), np.arange(-35.0, 36, 10)
    values = np.full((8, 36), 7.0)
    values[:, 10:20] = np.nan  # 100 to 190 degrees; points of the grid lie halfway between those of the file
    expected = np.full((6, 36), 7.0)
    expected[:, 10:19] = np.nan
    grid = make_grid(west=0.0, nx=36, dlon=None)
    np.testing.assert_array_equal(read(write_field(tmp_path, lon, lat, values), grid), expected)
    lon, lat = np.arange(0.0, 360, 4), np.arange(-40.0, 41, 4)
    land = (lon[None, :] > 100) & (lat[:, None] > 2)
    config = load(Case, BAND | {"input.mask": write_field(tmp_path, lon, lat, 1.0 - land, "mask")}, environ={})
    at = points(config.grid, "centre", range(6), range(18))
    nearest = (np.rint(at.lon % 360 / 4) * 4 % 360 > 100) & (np.rint(at.lat / 4) * 4 > 2)
    np.testing.assert_array_equal(fields.wet_mask(config, np.arange(6), np.arange(18)), 1.0 - nearest)


@pytest.mark.fault("an input file does not cover the grid on the sphere")
def test_coordinates_that_do_not_cover_the_grid_are_refused(tmp_path):
    for lon, lat, words in (
        (np.arange(0, 300.0, 2), np.arange(-40, 41.0, 2), "lon runs from 0 to 298 degrees"),
        (np.arange(0, 360.0, 2), np.arange(-20, 41.0, 2), "lat = -25 degrees"),
        (np.array([0, 5.0, 3.0]), np.arange(-40, 41.0, 2), "one direction"),
    ):
        with pytest.raises(InputError, match=words):
            read(write_field(tmp_path, lon, lat, smooth_field(lon, lat[:, None])), make_grid())
    zeros, metres = np.zeros((6, 18)), {"units": "m"}
    path = write_netcdf(tmp_path / "ocean.nc", {
        "y": ("y", np.arange(6) * 1e4, metres), "x": ("x", np.arange(18) * 1e4, metres), "flat": ("y x", zeros, metres),
        **{f"nav_{name}": ("lat_n lon_n", zeros, {"units": units}) for name, units in UNITS.items()},
        "curved": ("lat_n lon_n", zeros, metres),
    })  # fmt: skip
    for name, words in (("flat", 'y is in "m"; .*degrees_north'), ("curved", "varies along lat_n and")):
        with pytest.raises(InputError, match=words):
            read(f"{path}:{name}", make_grid())


def tidal_wave(lon, lat):
    """Parts of a tide, cosine + i sine, m, with a point at which the amplitude vanishes and all lags meet."""
    return np.sin(np.radians(3 * (lon - 8.3))) + 1j * np.sin(np.radians(4 * (lat - 2.1)))


@pytest.fixture
def tide_atlas_file(tmp_path):
    """A file like a tidal atlas: amplitude in cm and lag in degrees; complex parts of a transport, with x first."""
    lon, lat = np.arange(0.25, 360, 0.5), np.arange(-40, 40.1, 0.5)
    parts, lags = tidal_wave(lon, lat[:, None]), np.angle(tidal_wave(lon, lat[:, None]))
    return write_netcdf(tmp_path / "m2.nc", {
        "lon_z": ("lon", lon, {"units": UNITS["lon"]}),
        "lat_z": ("lat", lat, {"units": UNITS["lat"]}),
        "amplitude": ("lat lon", 100 * np.abs(parts), {"units": "cm"}),
        "phase": ("lat lon", np.degrees(lags) % 360, {"units": "degrees"}),
        "radians": ("lat lon", lags, {"units": "radian"}),
        "uRe": ("lon lat", 1e4 * parts.real.T, {"units": "centimeter^2/sec"}),
        "uIm": ("lon lat", -1e4 * parts.imag.T, {"units": "centimeter^2/sec"}),
    })  # fmt: skip


@pytest.mark.fault("lags are interpolated across 360 degrees; an atlas has other units or signs")
def test_complex_parts_of_a_tide_are_interpolated_not_phase_lags(tide_atlas_file):
    """Lags jump from 360 to 0 and meet in a point; the error of interpolated parts is of second order in spacing."""
    grid = make_grid(west=-6.0, east=21.0, south=-8.0, north=9.0, periodic_x=False)
    bound = 2 * np.radians(0.5) ** 2 * 4**2 / 8 * 1.01
    for part, part_of in (("cosine", np.real), ("sine", np.imag)):
        for names, array, location in (("amplitude,phase", "level", "centre"), ("uRe,uIm", "transport_x", "u")):
            at = points(grid, location, range(grid.ny), range(grid.nx))
            actual = read(f"{tide_atlas_file}:{names}", grid, f"boundary_tide_{array}[M2,{part}]")
            np.testing.assert_allclose(actual, part_of(tidal_wave(at.lon, at.lat)), atol=bound)


LEVEL = {"boundary_tide_level": "amplitude,phase"}
TRANSPORT = {"boundary_tide_transport_x": "uRe,uIm"}
OPEN_IN_THE_WEST = BAND | {
    "grid.periodic_x": False, "grid.east": 20.0, "open_boundaries.sides": ["west"], "physics.depth": 80.0,
    "time.dt": 100.0, "run.executor": "reference",
}  # fmt: skip


def tidal_config(atlas, variables=LEVEL | TRANSPORT, options=()):
    """A configuration with the tide M2 of a file; `variables`: {array of the tide: names of its variables}."""
    tide = {"open_boundaries.constituents": ["M2"], "time.start": "2012-03-01"}
    tide |= {f"input.{array}": [f"{atlas}:{names}"] for array, names in variables.items()}
    return load("rest", OPEN_IN_THE_WEST | tide | dict(options), environ={})


@pytest.mark.slow
@pytest.mark.fault("a tide or an outer run has only a level, which lets half of each wave in without a message")
def test_missing_part_of_a_tide_causes_a_remark(tide_atlas_file):
    for variables, options, words in (
        (LEVEL, {}, "give input.boundary_tide_transport_x"),
        (TRANSPORT, {}, "give input.boundary_tide_level"),
        (LEVEL | TRANSPORT, {"time.start": ""}, "start of the run"),
        (LEVEL | TRANSPORT, {"open_boundaries.amplitude": [1.0]}, "has no effect for M2"),
    ):
        (remark,) = boundary_data.remarks(check_config(tidal_config(tide_atlas_file, variables, options)))
        assert words in remark
    assert [*boundary_data.remarks(check_config(tidal_config(tide_atlas_file)))] == []
    with netCDF4.Dataset(tide_atlas_file, "a") as data:
        data["amplitude"][60:100] = 0.0  # an amplitude of zero means land, where the model takes the nearest water
    assert "land at 4 points of the west side" in "".join(boundary_data.remarks(tidal_config(tide_atlas_file)))

    class Surge(Case):
        def boundary_level(self, config, at, t):
            return 0 * at.lat + t

    class SurgeWithCurrent(Surge):
        boundary_current_x = Surge.boundary_level

    for case, n_remarks in ((Surge, 1), (SurgeWithCurrent, 0)):
        config = load(case, OPEN_IN_THE_WEST | {"run.steps": 1}, environ={})
        remarks = boundary_data.remarks(check_config(config))
        assert sum("input.boundary_current_x" in remark for remark in remarks) == n_remarks


def remove_values(path, positions):
    """Mask values of the fields of a file; `positions` are (row, column) pairs."""
    with netCDF4.Dataset(path, "a") as data:
        for name in ("amplitude", "phase", "uRe", "uIm"):
            values = data[name][:].T if name.startswith("u") else data[name][:]
            values[tuple(np.transpose(positions))] = np.ma.masked
            data[name][:] = values.T if name.startswith("u") else values


@pytest.mark.slow
@pytest.mark.fault("water next to an open boundary is land, or zero, in the atlas")
def test_points_on_land_of_the_file_take_the_tide_of_the_nearest_water(tide_atlas_file):
    """Only points without another value do; blocks do not matter, and the water is at most two spacings away."""
    fine_grid, row = {"grid.nx": 80, "grid.ny": 120}, 60
    config = tidal_config(tide_atlas_file, options=fine_grid)
    lat = config.grid.south + 0.5 * (row + 0.5)
    j, i = round((lat + 40) / 0.5), round((340 - 0.25) / 0.5)
    remove_values(tide_atlas_file, [(j + dj, i + di) for dj in (-1, 0, 1) for di in range(-3, 6)])
    check_config(config)
    for suffix in ("level[M2,cosine]", "level[M2,sine]", "transport_x[M2,cosine]"):
        name = f"boundary_tide_{suffix}"
        field = fields.evaluate(config, name, np.arange(120), np.arange(80))
        assert np.isfinite(field[row, :2]).all()
        np.testing.assert_array_equal(fields.evaluate(config, name, [row, row - 1], [1, 0])[0, ::-1], field[row, :2])
        x = points(config.grid, VARIABLES[name].location, [row], [0]).lon.item() - 0.25
        nearest = tidal_wave(0.25 + 0.5 * np.rint(x / 0.5), np.array([-40 + 0.5 * (j + d) for d in (-2, 2)]))
        nearest = (nearest.imag if ",sine" in name else nearest.real).tolist()
        assert any(field[row, 0] == pytest.approx(value, abs=1e-9) for value in nearest)
    (remark,) = boundary_data.remarks(config)
    number, distance = re.search(r"(\d+) points of the west side, .* up to ([\d.]+) degrees", remark).groups()
    assert int(number) == 4
    assert 0.5 < float(distance) <= 1.01
    remove_values(tide_atlas_file, [(j + dj, i + di) for dj in range(-9, 9) for di in range(-9, 9)])
    with pytest.raises(ConfigError, match="boundary_tide_level.* has no value .* further than 1 degrees"):
        check_config(tidal_config(tide_atlas_file, options=fine_grid))


def test_source_without_tidal_constants_is_refused(tide_atlas_file):
    for variables, name, words in (
        ("amplitude,phase", "boundary_level", "two variables"),
        ("amplitude", "boundary_tide_level[M2,sine]", "two variables"),
        ("amplitude,radians", "boundary_tide_level[M2,sine]", '"radian"; convert it to "degrees"'),
        ("amplitude,uIm", "boundary_tide_level[M2,sine]", "lie along lat, lon and along lon, lat"),
        ("amplitude,lag", "boundary_tide_level[M2,sine]", 'no variable "amplitude,lag"'),
        ("amplitude,phase,uIm", "boundary_tide_level[M2,sine]", 'no variable "amplitude,phase,uIm"'),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            read(f"{tide_atlas_file}:{variables}", make_grid(), name)


def write_constants(path, *names):
    """Write a file with tidal constants, zero, of FIELD_CONSTITUENT names; returns its path."""
    parts = [f"{name}_{part}" for name in names for part in ("amplitude", "phase")]
    write_netcdf(path, {part: ("", 0.0, {}) for part in parts})
    with netCDF4.Dataset(path, "a") as data:
        data.constituents = " ".join(dict.fromkeys(name.split("_")[-1] for name in names))
    return path


@pytest.mark.fault("`open_boundaries.tide` names a file without constants, or omits constituents without a message")
def test_file_of_constants_gives_the_parts_of_each_tide(tmp_path, caplog):
    """An array in a configuration replaces the array of the file."""
    path = write_constants(tmp_path / "harmonics.nc", "eta_K1", "transport_x_M2", "eta_M2", "eta_MS4")
    (tmp_path / "my.toml").write_text(
        '[open_boundaries]\nsides = ["west"]\ntide = "harmonics.nc"\n'
        '[input]\nboundary_tide_transport_y = ["v.nc:a,g", "other.nc:vRe,vIm"]\n'
    )
    config = load(tmp_path / "my.toml", environ={})
    assert config.open_boundaries.constituents == ("M2", "K1")
    entries = {name: text for name in type(config.input).model_fields if (text := getattr(config.input, name))}
    assert entries == {
        "boundary_tide_level": (f"{path}:eta_M2_amplitude,eta_M2_phase", f"{path}:eta_K1_amplitude,eta_K1_phase"),
        "boundary_tide_transport_x": (f"{path}:transport_x_M2_amplitude,transport_x_M2_phase", ""),
        "boundary_tide_transport_y": (str(tmp_path / "v.nc:a,g"), str(tmp_path / "other.nc:vRe,vIm")),
    }
    assert "MS4" in caplog.text
    assert config.open_boundaries.tide == ""
    assert load(config, environ={}) == config


def write_tpxo_atlas(folder, endings=("_u", "_v"), east=30.0):
    """Write an atlas with zeros for K1; the parts of M2 are longitudes and latitudes, and zero east of `east`."""
    lon, lat, names = np.arange(0.5, 360), np.arange(20.5, 60), np.array([b"k1  ", b"m2  "])
    variables = {"con": ("nc nct", names.view("S1").reshape(2, 4), {})}
    for axis, lon_lat, ending in zip("uv", ((lon - 0.5, lat), (lon, lat - 0.5)), endings, strict=True):
        for name, dimension, values in zip(("lon", "lat"), ("nx", "ny"), lon_lat, strict=True):
            variables[name + ending] = (dimension, values, {"units": UNITS[name]})
        for part, values in (("Re", lon_lat[0][:, None] + 0 * lat), ("Im", 0 * lon[:, None] + lon_lat[1])):
            values = np.where(lon[:, None] > east, 0.0, values)
            variables[axis + part] = ("nc nx ny", np.stack([0 * values, values]), {"units": "m2 s-1"})
    return write_netcdf(folder / "tpxo.nc", variables)


@pytest.mark.fault("u of an atlas is read at points of v, a constituent under another's name, zeros on land as tides")
def test_arrays_of_an_atlas_are_read_at_their_locations_and_by_names(tmp_path):
    grid = make_grid(west=20.0, south=34.0, north=None, nx=12, ny=12, dlon=0.5, dlat=0.5, periodic_x=False)
    path = write_tpxo_atlas(tmp_path)

    def constants(path, axis, record=""):
        name = f"boundary_tide_transport_{'xy'['uv'.index(axis)]}"
        return [read(f"{path}:{axis}Re,{axis}Im{record}", grid, f"{name}[M2,{part}]") for part in ("cosine", "sine")]

    for axis in "uv":
        at = points(grid, axis, range(12), range(12))
        for record in "", "@M2", "@1":
            np.testing.assert_allclose(constants(path, axis, record)[0], at.lon + 0 * at.lat, rtol=1e-12)
        np.testing.assert_allclose(constants(path, axis)[1], -at.lat - 0 * at.lon, rtol=1e-12)
    near_coast = constants(write_tpxo_atlas(tmp_path, east=22.1), "u")[0][0, :4]  # zeros on land have no weight
    np.testing.assert_allclose(near_coast, [20.5, 21, 21, np.nan])
    with pytest.raises(InputError, match="K1, .*M2"):
        constants(path, "u", "@0")
    with pytest.raises(InputError, match="coordinates"):
        constants(write_tpxo_atlas(tmp_path, endings=("_1", "_2")), "u")


def test_entries_name_constituents_along_an_axis_by_their_numbers(tmp_path):
    constants = {name: ("constituent", np.zeros(2), {}) for name in ("eta_amplitude", "eta_phase")}
    path = write_netcdf(tmp_path / "harmonics.nc", constants)
    with netCDF4.Dataset(path, "a") as data:
        data.createVariable("constituent", str, ("constituent",))[:] = np.array(["K1", "M2"], object)
    config = load("rest", {"open_boundaries.sides": ["west"], "open_boundaries.tide": path}, environ={})
    assert config.open_boundaries.constituents == ("M2", "K1")
    assert config.input.boundary_tide_level == tuple(f"{path}:eta_amplitude,eta_phase@{number}" for number in (1, 0))


def test_file_without_the_constants_of_sea_level_is_refused(tmp_path):
    for number, (names, sides, words) in enumerate((
        (None, ["west"], "there is no file"), ((), ["west"], "eta"), (("u_M2",), ["west"], "eta"),
        (("eta_MS4",), ["west"], "eta"), (("eta_M2",), [], "open_boundaries.sides"),
    )):  # fmt: skip
        path = tmp_path / f"{number}.nc"
        if names is not None:
            write_constants(path, *names)
        with pytest.raises(ConfigError, match=f"open_boundaries.tide: .*{words}"):
            load("rest", {"open_boundaries.tide": str(path), "open_boundaries.sides": sides}, environ={})
