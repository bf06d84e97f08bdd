"""Fields from NetCDF files: how the model identifies fields and records, what it refuses, and how it treats land."""

from pathlib import Path

import netCDF4
import numpy as np
import pytest
from support.netcdf import write_netcdf

from swmodel import Case, load
from swmodel.model.validate import check_config
from swmodel.ocean.elements import index_of
from swmodel.ocean.table import INPUT_FIELDS, VARIABLES
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError, conversion_factor, open_variable
from swmodel.setup.fields.netcdf_input.input_entry import InputEntry, parse_entry

NY, NX = 5, 7
VALUES = 50.0 + np.arange(NY * NX).reshape(NY, NX)
DEPTH = {"units": "m", "standard_name": "sea_floor_depth_below_geoid"}
EASTWARD = {"units": "m s-1", "standard_name": "eastward_wind"}
GRID = load("jet", {"grid.nx": NX, "grid.ny": NY}, {}).grid


def write_file(folder, **variables):
    """Write variables name=(values, attributes), whose axes are (..., y, x), into a file; returns its path."""
    with_dimensions = {}
    for name, (values, attributes) in variables.items():
        values = np.ma.masked_invalid(values) if np.asarray(values).dtype.kind == "f" else np.asarray(values)
        with_dimensions[name] = (" ".join(f"{name}_{k}" for k in range(values.ndim)), values, attributes)
    return write_netcdf(folder / "ocean.nc", with_dimensions)


def read_values(source, name="depth", rows=range(NY), columns=range(NX)):
    with open_variable(source, VARIABLES[name], GRID) as variable:
        return variable.read(rows, columns)


def message_of_refusal(source, name="eta") -> str:
    with pytest.raises(InputError, match=f"^input.{name}: ") as excinfo:
        read_values(source, name)
    return str(excinfo.value)


def configuration(path, *names):
    """A configuration of NY x NX cells with the fields `names` from a file; its other fields are uniform."""
    rest = {"grid.nx": NX, "grid.ny": NY, "case.speed": 0.0, "case.perturbation": 0.0, "time.dt": 1.0, "run.steps": 1}
    rest["run.executor"] = "reference"
    return load("jet", rest | {f"input.{name}": f"{path}:{name}" for name in names}, {})


def test_field_in_wrong_units_is_refused(tmp_path):
    names = {VARIABLES[name].units: name for name in INPUT_FIELDS if not index_of(name)}.values()
    values = np.ones((NY, NX))
    variables = {name: (values, {"units": VARIABLES[name].units}) for name in names}
    path = write_file(tmp_path, **variables, other=(values, {"units": "kelvin"}))
    for name in names:
        np.testing.assert_array_equal(read_values(f"{path}:{name}", name), values)
        with pytest.raises(InputError, match=f'is in "kelvin"; convert it to "{VARIABLES[name].units}"'):
            read_values(f"{path}:other", name)


#: (field, name and attributes of its variable) in files of Copernicus, NEMO, ROMS, CMIP, ERA5, GFS and users.
VARIABLES_OF_PROGRAMS = [
    ("depth", "deptho", {"units": "m", "standard_name": "sea_floor_depth_below_geoid"}),
    ("depth", "Bathymetry", {"units": "m"}), ("depth", "h", {"units": "meter"}),
    ("wind_x", "tauu", {"units": "Pa", "standard_name": "surface_downward_eastward_stress"}),
    ("wind_x", "sustr", {"units": "newton meter-2"}), ("wind_y", "avg_inss", {"units": "N m**-2"}),
    ("u10", "u10", {"units": "m s**-1", "standard_name": "unknown"}), ("v10", "VGRD_10maboveground", {"units": "m/s"}),
    *(("u10", name, {"units": "m s-1"}) for name in ("ugrd10m", "u_10m", "U_10M", "10u")),
    *(("v10", name, {"units": "m s-1"}) for name in ("vgrd10m", "v_10m", "V_10M", "10v")),
    ("u10", "uas", {"units": "m s-1", "standard_name": "eastward_wind"}),
    ("air_pressure", "msl", {"units": "Pa", "standard_name": "air_pressure_at_mean_sea_level"}),
    ("air_pressure", "prmsl", {"units": "Pa"}), ("eta", "zos", {"standard_name": "sea_surface_height_above_geoid"}),
    ("u", "uo", {"units": "m s-1", "standard_name": "eastward_sea_water_velocity"}), ("v", "vomecrty", {}),
    ("v", "any", {"units": "m s-1", "standard_name": "sea_water_northward_velocity"}),
    ("linear_drag", "linear_drag", {"units": "s-1"}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "name", "attributes"), VARIABLES_OF_PROGRAMS)
def test_variable_is_found_in_files_of_many_programs(tmp_path, field, name, attributes):
    values, units = VALUES + 1e5 * (field == "air_pressure"), {"units": VARIABLES[field].units}
    path = write_file(tmp_path, **{name: (values, units | attributes)}, other=(-values, units))
    np.testing.assert_array_equal(read_values(path, field), values)
    if field != "air_pressure":
        np.testing.assert_array_equal(read_values(f"{path}:-{name}", field), -values)


def test_single_band_of_a_raster_needs_no_name_and_no_units(tmp_path):
    np.testing.assert_array_equal(read_values(write_file(tmp_path, Band1=(VALUES, {}))), VALUES)
    with pytest.raises(InputError, match="no variable"):
        read_values(write_file(tmp_path, Band1=(VALUES, {}), other=(VALUES, {})))


def test_values_of_any_type_are_unpacked_and_invalid_values_are_missing(tmp_path):
    """They are missing even without `_FillValue`; all values become double precision."""
    for units, dtype in ("m", "f8"), ("metres", "f4"), ("meter", "i2"), ("m", "u1"):
        stored = VALUES.astype(dtype).reshape(1, 1, NY, NX)
        values = read_values(write_file(tmp_path, z=(stored, DEPTH | {"units": units})))
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, VALUES)
    path, two_rows = write_file(tmp_path, z=(VALUES, DEPTH)), np.where(np.arange(NY)[:, None] < 2, VALUES, np.nan)
    packing = {"scale_factor": 0.5, "add_offset": 10.0}
    for name, dtype, attributes, values, expected in (
        ("float", "f4", {}, VALUES[:2], two_rows),
        ("int", "i4", {"valid_range": np.array([60, 70], "i4")}, VALUES[:2], np.where(VALUES >= 60, two_rows, np.nan)),
        ("packed", "i2", packing | {"valid_max": np.int16(100)}, VALUES, np.where(VALUES <= 60, VALUES, np.nan)),
        ("negated", "i2", {"scale_factor": -1.0, "valid_range": np.array([-70, -60], "i2")}, VALUES,
            np.where((VALUES >= 60) & (VALUES <= 70), VALUES, np.nan)),
        ("fine", "i4", {"scale_factor": np.float32(2**-20)}, VALUES + 2**-20, VALUES + 2**-20),  # finer than float32
    ):  # fmt: skip
        with netCDF4.Dataset(path, "a") as dataset:
            variable = dataset.createVariable(name, dtype, dataset["z"].dimensions)
            variable.setncatts({"units": "m"} | attributes)
            variable[: len(values)] = values
        np.testing.assert_array_equal(read_values(f"{path}:{name}"), expected)


@pytest.mark.fault("-9999 in a stress, 0 in a pressure, or 9.97e36 without `_FillValue` is taken as a value")
@pytest.mark.parametrize(
    ("name", "valid_value", "impossible_value"),
    [
        ("wind_x", 0.1, -9999.0), ("air_pressure", 101325.0, 0.0), ("depth", 50.0, 9.9e36), ("depth", -50.0, -9999.0),
        ("uplift", 0.1, -32768.0), ("eta", 0.1, -999.0), ("boundary_level", 0.1, -99.99), ("manning", 0.03, 9999.0),
    ],
)  # fmt: skip
def test_impossible_value_is_refused_with_its_position(tmp_path, name, valid_value, impossible_value):
    values = np.full((NY, NX), valid_value)
    values[2, 3] = impossible_value
    path = write_file(tmp_path, z=(values, {"units": VARIABLES[name].units}))
    words = f"1 of .*(outside|are {impossible_value:g},).* row 2, column 3".replace("+", "[+]")
    with pytest.raises(InputError, match=words):
        read_values(f"{path}:{'-' if valid_value < 0 else ''}z", name)


@pytest.mark.fault("the wind at 100 m is taken for that at 10 m, or the name `unknown` for a standard name")
def test_wind_at_a_height_other_than_10_m_is_refused(tmp_path):
    both = {"u10": (VALUES, EASTWARD), "u100": (-VALUES, EASTWARD)}
    np.testing.assert_array_equal(read_values(write_file(tmp_path, **both), "u10"), VALUES)
    with pytest.raises(InputError, match="100 m"):
        read_values(write_file(tmp_path, u100=both["u100"]), "u10")
    level = {"u_0": ([850.0], {"units": "hPa", "axis": "Z"})}
    with pytest.raises(InputError, match="850 hPa"):
        read_values(write_file(tmp_path, u=(VALUES[None], EASTWARD), **level), "u10")
    level = {"isobaricInhPa": (np.array(500.0), {"units": "hPa"})}  # a scalar coordinate
    with pytest.raises(InputError, match="500 hPa"):
        read_values(write_file(tmp_path, u=(VALUES, EASTWARD | {"coordinates": "isobaricInhPa"}), **level), "u10")


@pytest.mark.parametrize(
    ("units", "model_units", "factor"),
    [
        ("meter^2/s", "m2 s-1", 1.0), ("centimeter^2/sec", "m2 s-1", 1e-4), ("m s**-1", "m s-1", 1.0),
        ("N m-2", "Pa", 1.0), ("mbar", "Pa", 100.0), ("kg m-1 s-2", "Pa", 1.0), ("km", "m", 1e3), ("m/s", "m", None),
        ("meters per second", "m s-1", 1.0), ("furlong", "m", None), ("m s^-1", "m s-1", 1.0), ("1/s", "s-1", 1.0),
        ("ms", "m", None), ("km^999", "m", None),
    ],
)  # fmt: skip
def test_units_are_read_as_programs_write_them(units, model_units, factor):
    assert conversion_factor(units, model_units) == (None if factor is None else pytest.approx(factor))


@pytest.mark.parametrize(
    ("variables", "source", "words"),
    [
        ({}, "none.nc", "there is no file"), ({}, "text.txt", "cannot be read as NetCDF"),
        ({"z": (VALUES, DEPTH)}, "ocean.nc:deep", 'no variable "deep"; it has z'),
        ({"z": (VALUES, {"units": "m"})}, "ocean.nc", "no variable with standard_name"),
        ({"a": (VALUES, DEPTH), "b": (VALUES, DEPTH)}, "ocean.nc", "several variables with standard_name"),
        ({"z": (VALUES.T, DEPTH)}, "ocean.nc", "(5, 7) (ny, nx)"), ({"z": (VALUES[0], DEPTH)}, "ocean.nc", "(7,)"),
        ({"z": (np.zeros((2, 3, NY, NX)), DEPTH)}, "ocean.nc", "several records along z_0 and z_1"),
        ({"z": (np.zeros((0, NY, NX)), DEPTH)}, "ocean.nc", "no records"),
        ({"z": (VALUES, DEPTH | {"units": "kg"})}, "ocean.nc", '"kg"'), ({"z": (VALUES, {})}, "ocean.nc:z", "no units"),
        ({"z": (np.full((NY, NX), "a"), DEPTH)}, "ocean.nc", "does not hold numbers"),
    ],
)  # fmt: skip
def test_file_without_the_field_is_refused(tmp_path, variables, source, words):
    (tmp_path / "text.txt").write_text("not NetCDF")
    write_file(tmp_path, **variables)
    message = message_of_refusal(f"{tmp_path}/{source}", "depth")
    assert source.partition(":")[0] in message
    assert words in message


def with_nan(values, *positions):
    """Values that are NaN at these positions, (row, column)."""
    values = np.array(values, dtype=float)
    values[tuple(np.transpose(positions))] = np.nan
    return values


def test_cells_without_a_depth_are_land_if_there_is_no_mask(tmp_path):
    config = configuration(write_file(tmp_path, depth=(with_nan(VALUES, (2, 3), (0, 0)), {"units": "m"})), "depth")
    rows, columns = np.arange(-1, NY + 1), np.arange(-1, NX + 1)
    mask, depth = (fields.evaluate(config, name, rows, columns) for name in ("mask", "depth"))
    # Rows and columns start at -1, and (0, 0) appears again as row 5 and column 7, wrapped around.
    assert np.argwhere(mask == 0).tolist() == [[1, 1], [1, 8], [3, 4], [6, 1], [6, 8]]
    assert (depth[3, 4], depth[2, 2]) == (config.physics.depth, VALUES[1, 1])
    check_config(config)


def test_values_may_be_missing_on_land_only(tmp_path):
    land, zeros = (2, 3), 0 * VALUES
    values_and_units = {
        "mask": (with_nan(np.ones((NY, NX)), land), "1"),  # a missing value of the mask is land
        **{"depth": (with_nan(VALUES, land), "m"), "wind_x": (with_nan(VALUES, land), "Pa")},
        **{"linear_drag": (with_nan(VALUES * 1e-9, land), "s-1"), "eta": (with_nan(zeros, land), "m")},
        "u": (with_nan(zeros, (2, 2), land), "m s-1"),
        "v": (with_nan(zeros, (1, 3), land, (4, 1)), "m s-1"),  # the last position is on the wall
    }
    variables = {name: (values, {"units": units}) for name, (values, units) in values_and_units.items()}
    path = write_file(tmp_path, **variables)
    config, names = configuration(path, *variables), [*variables][1:]
    for name in names:
        assert np.isfinite(fields.evaluate(config, name, range(-2, NY + 2), range(-2, NX + 2))).all()
    check_config(config)
    with pytest.raises(ValueError, match="missing") as excinfo:
        check_config(configuration(path, *names[1:]))
    assert len(excinfo.value.problems) == len(names) - 1


@pytest.mark.fault("heights in place of depths; a mask with values other than 0 and 1")
def test_heights_are_refused_as_depths_except_on_land_or_if_declared(tmp_path):
    """On land `physics.depth` replaces them, because their mean with the depth of water next to it could be zero."""
    mask = np.ones((NY, NX), dtype="i1")
    mask[2, 3] = mask[3, 3] = 0
    heights = np.where(mask == 0, [[-1.0], [0.0], [-50.0], [0.0], [-1.0]], VALUES)
    path = write_file(tmp_path, mask=(mask, {"units": "1"}), depth=(heights, {"units": "m"}))
    config = check_config(configuration(path, "mask", "depth"))
    depth = fields.evaluate(config, "depth", range(NY), range(NX))
    np.testing.assert_array_equal(depth, np.where(mask == 0, config.physics.depth, VALUES))
    with pytest.raises(ValueError, match="-50 m at row 2, column 3"):
        check_config(configuration(path, "depth"))
    with pytest.raises(ValueError, match='heights.*positive = "up"'):
        check_config(configuration(write_file(tmp_path, depth=(-VALUES, {"units": "m"})), "depth"))
    altitude = write_file(tmp_path, z=(-VALUES, {"units": "m", "standard_name": "altitude"}))
    with pytest.raises(ValueError, match="altitude.*:-z"):
        read_values(f"{altitude}:z")
    np.testing.assert_array_equal(read_values(f"{altitude}:-z"), VALUES)
    path = write_file(tmp_path, depth=(-VALUES, {"units": "m", "positive": "up"}))
    np.testing.assert_array_equal(read_values(f"{path}:depth"), VALUES)
    check_config(configuration(path, "depth"))


@pytest.mark.parametrize("value", [0.5, 255.0, np.nan])
def test_mask_other_than_0_and_1_is_refused(tmp_path, value):
    """In a file, where a missing value is land, and in a formula, even if the configuration was not checked."""
    case = type("MaskCase", (Case,), {"mask": lambda self, config, at: np.where(at.i == 4, value, 1.0)})
    config = load(case, {"grid.nx": NX, "grid.ny": NY, "time.dt": 1.0, "run.steps": 1}, {})
    for check in check_config, lambda config: fields.wet_mask(config, range(NY), range(NX)):
        with pytest.raises(ValueError, match=f"mask of the case mask_case: .* {value:g} at row 0, column 4"):
            check(config)
    if np.isfinite(value):
        mask = np.where(np.arange(NY * NX).reshape(NY, NX) == 3 * NX + 2, value, 1.0)
        with pytest.raises(ValueError, match=f"input.mask: .* {value:g} at row 3, column 2"):
            check_config(configuration(write_file(tmp_path, mask=(mask, {"units": "1"})), "mask"))


@pytest.mark.fault("an input file is damaged in the values of a field")
def test_file_with_damaged_values_is_refused(tmp_path):
    path = write_file(tmp_path, z=(np.zeros((NY, NX)), DEPTH))
    with netCDF4.Dataset(path, "a") as dataset:
        variable = dataset.createVariable("with_checksum", "f8", dataset["z"].dimensions, fletcher32=True)
        variable.units = "m"
        variable[...] = VALUES
    content = bytearray(Path(path).read_bytes())
    content[content.index(VALUES.tobytes())] ^= 1
    Path(path).write_bytes(content)
    np.testing.assert_array_equal(read_values(f"{path}:z"), 0)
    with pytest.raises(InputError, match=r"input.depth: .*ocean.nc cannot be read as NetCDF \(NetCDF: HDF error\)"):
        read_values(f"{path}:with_checksum")


RECORDS = np.arange(4 * NY * NX, dtype=float).reshape(4, NY, NX)
HOURS = [0.0, 6.0, 12.0 - 0.4 / 3600, 30.0]


def write_eta_file(path, units="hours since 2000-01-01", calendar="standard", values=RECORDS):
    """Write records of eta, and a field without records; returns the path. `units` of time may be None."""
    times = {"time": ("time", HOURS[: len(values)], {"units": units, "calendar": calendar})} if units else {}
    eta = {"units": "m", "standard_name": "sea_surface_height_above_geoid"}
    fields = {"eta": ("time y x", values, eta), "flat": ("y x", values[0], {"units": "m"})}
    return write_netcdf(path, times | fields)


def test_record_is_chosen_by_number_or_time(tmp_path):
    path = write_eta_file(tmp_path / "ocean.nc")
    for record, number in (
        *(("0", 0), ("-1", 3), ("-4", 0), ("+2", 2), ("2000-01-01", 0), ("2000-01-01T06:00", 1)),
        *(("2000-01-01 06:00:00", 1), ("2000-01-02T06:00:00Z", 3)),
        ("2000-01-01T12:00", 2),  # its time is 0.4 s earlier
    ):
        np.testing.assert_array_equal(read_values(f"{path}:eta@{record}", "eta"), RECORDS[number])
    for record in ("4", "-5", "2000-01-01T07:00", "2000-1-1T6", "last", "", "9" * 5000):
        words = f'"{record}": they are 0 to 3, 2000-01-01T00:00:00 to 2000-01-02T06:00:00'
        assert words in message_of_refusal(f"{path}:eta@{record}")


@pytest.mark.fault("an input field has several records")
@pytest.mark.parametrize(
    ("units", "words"),
    [
        ("hours since 2000-01-01", "2000-01-01T00:00:00 to 2000-01-02T06:00:00"),
        ("months since 2000-01-01", '"months since 2000-01-01"'), ("hours since the flood", "without dates"),
        (None, ""),
    ],
)  # fmt: skip
def test_one_of_several_records_must_be_chosen(tmp_path, units, words):
    """Records whose times are not dates can be chosen only by number."""
    path = write_eta_file(tmp_path / "ocean.nc", units)
    line = message_of_refusal(path)
    assert "4 records along time" in line
    assert words in line
    assert ('"@2000-01-01T00:00:00"' in line) == ("T" in words)
    np.testing.assert_array_equal(read_values(f"{path}@1", "eta"), RECORDS[1])
    if "T" not in words:
        assert '"2000-01-01"' in message_of_refusal(f"{path}@2000-01-01")


def test_single_record_need_not_be_chosen_but_may_be(tmp_path):
    path = write_eta_file(tmp_path / "ocean.nc", values=RECORDS[:1])
    for source in (path, f"{path}@0", f"{path}@-1", f"{path}@2000-01-01", f"{path}:flat"):
        np.testing.assert_array_equal(read_values(source, "eta"), RECORDS[0])
    assert "0 to 0" in message_of_refusal(f"{path}@1")
    assert "flat in" in message_of_refusal(f"{path}:flat@0")
    path = write_eta_file(tmp_path / "ocean.nc", "hours since 2000-02-30", "360_day")  # dates of this calendar
    np.testing.assert_array_equal(read_values(f"{path}@2000-03-01T06:00", "eta"), RECORDS[3])
    for rest in (":eta", ":eta@0", "@2000-01-01T06:00"):
        assert message_of_refusal(f"{path}x{rest}").endswith(f" {path}x")


@pytest.mark.parametrize("name", ["12:00.nc", "a@b.nc", "run:eta@-1", "x@0:y"])
def test_existing_file_may_have_any_name(tmp_path, name):
    path = write_eta_file(tmp_path / name)
    assert parse_entry(path) == InputEntry(path, "", None)
    assert parse_entry(f"{path}:eta@2000-01-01T06:00") == InputEntry(path, "eta", "2000-01-01T06:00")
    np.testing.assert_array_equal(read_values(f"{path}@2", "eta"), RECORDS[2])
