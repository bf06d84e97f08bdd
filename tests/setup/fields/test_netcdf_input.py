"""Fields from NetCDF files: what is found, what is refused, how land and rings are treated, and how little is read."""

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from swmodel import Case, load
from swmodel.model.validate import check_config
from swmodel.ocean.elements import index_of
from swmodel.ocean.table import GIVEN, VARIABLES
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError, read, read_field

NY, NX = 5, 7
VALUES = 50.0 + np.arange(NY * NX).reshape(NY, NX)


@pytest.fixture
def ocean(tmp_path):
    """write(name=(values, attributes), ...): the path of a NetCDF file; axes are (..., y, x), the first unlimited."""

    def write(**variables):
        path = tmp_path / "ocean.nc"
        with netCDF4.Dataset(path, "w") as dataset:
            for name, (values, attributes) in variables.items():
                values = np.ma.masked_invalid(values) if np.asarray(values).dtype.kind == "f" else np.asarray(values)
                axes = [f"{name}_{k}" for k in range(values.ndim)]
                for axis, size in zip(axes, values.shape, strict=True):
                    dataset.createDimension(axis, None if size == 0 else size)
                fill = attributes.get("fill_value")
                variable = dataset.createVariable(name, values.dtype, axes, fill_value=fill)
                variable.setncatts({key: value for key, value in attributes.items() if key != "fill_value"})
                variable[...] = values
        return str(path)

    return write


DEPTH = {"units": "m", "standard_name": "sea_floor_depth_below_geoid"}


GRID = load("jet", {"grid.nx": NX, "grid.ny": NY}, {}).grid


def values_of(source, name="depth", rows=range(NY), columns=range(NX)):
    return read_field(source, VARIABLES[name], GRID, np.array(rows), np.array(columns))


def test_a_variable_is_found_by_its_standard_name_or_by_the_name_given(ocean):
    path = ocean(z=(VALUES, DEPTH), other=(-VALUES, {"units": "m"}))
    np.testing.assert_array_equal(values_of(path), VALUES)
    np.testing.assert_array_equal(values_of(f"{path}:other"), -VALUES)


@pytest.mark.parametrize("name", [name for name in GIVEN if not index_of(name)])
def test_every_field_is_read_in_its_own_units_and_in_no_others(ocean, name):
    values = np.ones((NY, NX))
    path = ocean(it=(values, {"units": VARIABLES[name].units}), other=(values, {"units": "kelvin"}))
    np.testing.assert_array_equal(values_of(f"{path}:it", name), values)
    with pytest.raises(InputError, match=f'is in "kelvin"; convert it to "{VARIABLES[name].units}"'):
        values_of(f"{path}:other", name)


def test_a_field_without_a_standard_name_is_found_by_its_own(ocean):
    np.testing.assert_array_equal(values_of(ocean(linear_drag=(VALUES, {"units": "s-1"})), "linear_drag"), VALUES)


@pytest.mark.parametrize("units", ["m", "metres", "meter"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1"])
def test_numbers_of_any_type_become_double_precision(ocean, units, dtype):
    values = values_of(ocean(z=(VALUES.astype(dtype), DEPTH | {"units": units})))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, VALUES)


def test_packed_numbers_are_unpacked(ocean):
    path = ocean(z=(VALUES, DEPTH))
    with netCDF4.Dataset(path, "a") as dataset:
        packed = dataset.createVariable("packed", "i2", dataset["z"].dimensions, fill_value=-1)
        packed.setncatts({"units": "m", "scale_factor": 0.5, "add_offset": 10.0})
        packed[...] = np.ma.masked_where(VALUES == 60, VALUES)
        large = dataset.createVariable("large", "i4", dataset["z"].dimensions)
        large.setncatts({"units": "m", "scale_factor": np.float32(2**-20)})
        large[...] = VALUES + 2**-20  # more digits than float32 has
    np.testing.assert_array_equal(values_of(f"{path}:packed"), np.where(VALUES == 60, np.nan, VALUES))
    np.testing.assert_array_equal(values_of(f"{path}:large"), VALUES + 2**-20)


def test_what_was_never_written_and_what_is_not_valid_is_missing(ocean):
    """Also where neither has a `_FillValue`."""
    path = ocean(z=(VALUES, DEPTH))
    with netCDF4.Dataset(path, "a") as dataset:
        for name, kind, limits in (("part", "f4", {}), ("whole", "i4", {"valid_range": np.array([60, 70], "i4")})):
            made = dataset.createVariable(name, kind, dataset["z"].dimensions)
            made.setncatts({"units": "m"} | limits)
            made[:2] = VALUES[:2]
        packed = dataset.createVariable("packed", "i2", dataset["z"].dimensions)
        packed.setncatts({"units": "m", "scale_factor": 0.5, "add_offset": 10.0, "valid_max": np.int16(100)})
        packed[...] = VALUES
    below = np.where(np.arange(NY)[:, None] < 2, VALUES, np.nan)
    np.testing.assert_array_equal(values_of(f"{path}:part"), below)
    np.testing.assert_array_equal(values_of(f"{path}:whole"), np.where(VALUES >= 60, below, np.nan))
    np.testing.assert_array_equal(values_of(f"{path}:packed"), np.where(VALUES <= 60, VALUES, np.nan))


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_axes_of_one_element_are_passed_over(ocean, shape):
    np.testing.assert_array_equal(values_of(ocean(z=(VALUES.reshape(*shape, NY, NX), DEPTH))), VALUES)


ROWS = [range(NY), [3, 4, 0, 1], [-2, -1, 0, 1, 2], [4], [0, 0, 0], [4, 0], range(-NY, 2 * NY)]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", [range(NX), [5, 6, 0, 1], [2, 2, 1]])
def test_rows_and_columns_in_any_order_round_the_ring(ocean, rows, columns):
    path = ocean(z=(VALUES, DEPTH))
    rows, columns = np.array(rows) % NY, np.array(columns) % NX
    np.testing.assert_array_equal(values_of(path, "depth", rows, columns), VALUES[np.ix_(rows, columns)])


def test_a_block_that_reaches_round_the_ring_reads_no_more_than_itself(ocean, monkeypatch):
    path, sizes = ocean(z=(VALUES, DEPTH)), []
    original = read.read_window

    def counted(*arguments):
        sizes.append(original(*arguments).size)
        return original(*arguments)

    monkeypatch.setattr(read, "read_window", counted)
    values_of(path, "depth", [4, 0, 1], [6, 0])
    assert sum(sizes) == 3 * 2


@pytest.mark.parametrize(
    ("variables", "source", "message"),
    [
        ({}, "none.nc", "there is no file {folder}/none.nc"),
        ({}, "text.txt", "{folder}/text.txt cannot be read as NetCDF (NetCDF: Unknown file format)"),
        ({"z": (VALUES, DEPTH)}, "ocean.nc:deep", '{path} has no variable "deep"; it has z'),
        (
            {"z": (VALUES, {"units": "m"})},
            "ocean.nc",
            '{path} has no variable with standard_name "sea_floor_depth_below_geoid" (z); name it as "{path}:NAME"',
        ),
        (
            {"a": (VALUES, DEPTH), "b": (VALUES, DEPTH)},
            "ocean.nc",
            '{path} has several variables with standard_name "sea_floor_depth_below_geoid" (a, b); '
            'name it as "{path}:NAME"',
        ),
        (
            {"z": (VALUES.T, DEPTH)},
            "ocean.nc",
            "z in {path} has shape (7, 5), the grid needs (5, 7) (ny, nx); its axes are swapped",
        ),
        ({"z": (VALUES[0], DEPTH)}, "ocean.nc", "z in {path} has shape (7,), the grid needs (5, 7) (ny, nx)"),
        (
            {"z": (np.zeros((2, 3, NY, NX)), DEPTH)},
            "ocean.nc",
            "z in {path} has several records along z_0 and z_1, and one is chosen along one axis only; "
            "cut the file to one record along the others",
        ),
        ({"z": (np.zeros((0, NY, NX)), DEPTH)}, "ocean.nc", "z in {path} has no records"),
        ({"z": (VALUES, DEPTH | {"units": "km"})}, "ocean.nc", 'z in {path} is in "km"; convert it to "m"'),
        ({"z": (VALUES, {})}, "ocean.nc:z", 'z in {path} has no units; it needs "m"'),
        ({"z": (np.full((NY, NX), "a"), DEPTH)}, "ocean.nc", "z in {path} does not hold numbers"),
    ],
)
def test_a_file_that_does_not_hold_the_field_is_refused(ocean, tmp_path, variables, source, message):
    (tmp_path / "text.txt").write_text("not NetCDF")
    path = ocean(**variables)
    with pytest.raises(InputError) as caught:
        values_of(f"{tmp_path}/{source}")
    assert str(caught.value) == "input.depth: " + message.format(folder=tmp_path, path=path)


def configuration(path, *names, **overrides):
    """A grid of NY x NX with the fields `names` from the file, and no variation otherwise."""
    files = {f"input.{name}": f"{path}:{name}" for name in names}
    still = {"grid.nx": NX, "grid.ny": NY, "case.speed": 0.0, "case.perturbation": 0.0, "time.dt": 1.0, "run.steps": 1}
    return load("jet", {**still, **files, **overrides}, {})


def with_nan(values, *places):
    values = np.array(values, dtype=float)
    for place in places:
        values[place] = np.nan
    return values


def test_cells_without_a_depth_are_land_where_no_mask_is_given(ocean):
    path = ocean(depth=(with_nan(VALUES, (2, 3), (0, 0)), {"units": "m"}))
    config = configuration(path, "depth")
    rows, columns = np.arange(-1, NY + 1), np.arange(-1, NX + 1)
    mask = fields.evaluate(config, "mask", rows, columns)
    land = [(j, i) for j, i in np.argwhere(mask == 0)]
    # Rows and columns start at -1, and (0, 0) returns as row 5 and column 7 of the ring.
    assert land == [(1, 1), (1, 8), (3, 4), (6, 1), (6, 8)]
    depth = fields.evaluate(config, "depth", rows, columns)
    assert depth[3, 4] == config.physics.depth
    assert depth[2, 2] == VALUES[1, 1]
    check_config(config)


def test_missing_values_on_land_are_filled_and_those_on_water_refused(ocean):
    hole = (2, 3)
    mask = np.ones((NY, NX), dtype="i1")
    mask[hole] = 0
    path = ocean(
        mask=(mask, {"units": "1"}),
        depth=(with_nan(VALUES, hole), {"units": "m"}),
        wind_x=(with_nan(VALUES, hole), {"units": "Pa"}),
        linear_drag=(with_nan(VALUES * 1e-9, hole), {"units": "s-1"}),
        eta=(with_nan(VALUES * 0, hole), {"units": "m"}),
        u=(with_nan(VALUES * 0, (2, 2), (2, 3)), {"units": "m s-1"}),
        v=(with_nan(VALUES * 0, (1, 3), (2, 3), (4, 1)), {"units": "m s-1"}),  # the last on the wall
    )
    names = ["depth", "wind_x", "linear_drag", "eta", "u", "v"]
    config = configuration(path, "mask", *names)
    for name in names:
        assert np.isfinite(fields.evaluate(config, name, range(-2, NY + 2), range(-2, NX + 2))).all()
    check_config(config)
    without_mask = configuration(path, *[name for name in names if name != "depth"])
    with pytest.raises(ValueError, match="missing") as caught:
        check_config(without_mask)
    assert len(caught.value.problems) == len(names) - 1


def test_heights_of_land_in_a_file_of_depths_are_filled_and_those_on_water_refused(ocean):
    """A land of -VALUES next to water of VALUES would make the thickness at the coast zero."""
    mask = np.ones((NY, NX), dtype="i1")
    mask[2, 3] = mask[3, 3] = 0
    heights = np.where(mask == 0, [[-1.0], [0.0], [-50.0], [0.0], [-1.0]], VALUES)
    path = ocean(mask=(mask, {"units": "1"}), depth=(heights, {"units": "m"}))
    config = configuration(path, "mask", "depth")
    depth = fields.evaluate(config, "depth", range(NY), range(NX))
    np.testing.assert_array_equal(depth, np.where(mask == 0, config.physics.depth, VALUES))
    check_config(config)
    with pytest.raises(ValueError, match="must be above 0 m on water, but is -50 m at row 2, column 3"):
        check_config(configuration(path, "depth"))


def test_missing_values_of_the_mask_are_land(ocean):
    config = configuration(ocean(mask=(with_nan(np.ones((NY, NX)), (1, 1)), {"units": "1"})), "mask")
    wet = fields.wet(config, range(NY), range(NX))
    assert wet[1, 1] == 0
    assert wet.sum() == NY * NX - 1


def test_an_existing_file_whose_name_has_a_colon_is_read(ocean, tmp_path):
    path = tmp_path / "12:00.nc"
    Path(ocean(z=(VALUES, DEPTH))).rename(path)
    np.testing.assert_array_equal(values_of(str(path)), VALUES)
    np.testing.assert_array_equal(values_of(f"{path}:z"), VALUES)


@pytest.mark.parametrize(
    ("name", "units", "standard_name"),
    [
        ("wind_x", "Pa", "surface_downward_eastward_stress"),
        ("wind_y", "Pa", "surface_downward_northward_stress"),
        ("u", "m s-1", "sea_water_eastward_velocity"),
        ("v", "m s-1", "sea_water_northward_velocity"),
        ("u", "m s-1", "sea_water_x_velocity"),
    ],
)
def test_vectors_are_found_by_their_names_of_east_and_north_too(ocean, name, units, standard_name):
    path = ocean(z=(VALUES, {"units": units, "standard_name": standard_name}), other=(-VALUES, DEPTH))
    np.testing.assert_array_equal(values_of(path, name), VALUES)


@pytest.mark.parametrize(("value", "share"), [(0.5, 0.5), (2.0, 50), (100.0, 50), (-1.0, 0.5), (255.0, 0.5)])
def test_a_mask_that_is_neither_0_nor_1_is_refused_with_its_place(ocean, value, share):
    mask = np.ones((NY, NX))
    mask[3, 2] = value
    path = ocean(mask=(mask, {"units": "1"}))
    with pytest.raises(ValueError, match="input.mask") as caught:
        check_config(configuration(path, "mask"))
    assert caught.value.problems == (
        f"input.mask: {path}:mask: must be 0 (land) or 1 (water), but is {value:g} at row 3, column 2; "
        f"if it is a share of water, write 1 where it is above {share:g}",
    )


@pytest.mark.parametrize("value", [0.5, np.nan])
def test_a_formula_of_a_mask_that_is_neither_0_nor_1_is_refused(value):
    """Also by a simulation whose configuration was not checked: the mask is what every block is built from."""

    class Holed(Case):
        def mask(self, config, at):
            return np.where(at.i == 4, value, 1.0)

    config = load(Holed, {"grid.nx": NX, "grid.ny": NY, "time.dt": 1.0, "run.steps": 1}, {})
    message = f"the mask of the case holed: must be 0 .* but is {value:g} at row 0, column 4"
    with pytest.raises(ValueError, match=message):
        check_config(config)
    with pytest.raises(InputError, match=message):
        fields.wet(config, range(NY), range(NX))


def test_depths_that_are_all_negative_are_asked_about(ocean):
    with pytest.raises(ValueError, match='are they heights. then the variable needs the attribute positive = "up"'):
        check_config(configuration(ocean(depth=(-VALUES, {"units": "m"})), "depth"))


def test_heights_that_say_so_become_depths(ocean):
    path = ocean(depth=(-VALUES, {"units": "m", "positive": "up"}))
    np.testing.assert_array_equal(values_of(f"{path}:depth"), VALUES)
    check_config(configuration(path, "depth"))


def test_a_file_that_is_damaged_within_the_field_is_named(ocean):
    path = ocean(z=(np.zeros((NY, NX)), DEPTH))
    with netCDF4.Dataset(path, "a") as dataset:
        packed = dataset.createVariable("packed", "f8", dataset["z"].dimensions, fletcher32=True)
        packed.units = "m"
        packed[...] = VALUES
    content = bytearray(Path(path).read_bytes())
    content[content.index(VALUES.tobytes())] ^= 1
    Path(path).write_bytes(content)
    np.testing.assert_array_equal(values_of(f"{path}:z"), 0)
    with pytest.raises(InputError, match=r"input.depth: .*ocean.nc cannot be read as NetCDF \(NetCDF: HDF error\)"):
        values_of(f"{path}:packed")


def test_attributes_that_are_no_text_are_refused_in_words(ocean):
    path = ocean(z=(VALUES, {"units": np.array([1.0, 2.0]), "standard_name": np.array([1, 2]), "positive": 3}))
    with pytest.raises(InputError, match='is in "\\[1. 2.\\]"; convert it to "m"'):
        values_of(f"{path}:z")
    with pytest.raises(InputError, match="no variable with standard_name"):
        values_of(path)
