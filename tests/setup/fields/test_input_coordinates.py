"""Input files with coordinates: turned, exchanged and in other units the grid has the same field, or it is refused."""

import itertools
import logging

import netCDF4
import numpy as np
import pytest

from swmodel import load
from swmodel.model.validate import check_config
from swmodel.ocean.table import VARIABLES
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError, read_field

NY, NX, DY, DX = 5, 7, 2000.0, 3000.0
SHAPE = {"grid.nx": NX, "grid.ny": NY, "grid.dx": DX, "grid.dy": DY, "grid.origin": "edge"}
GRID = load("jet", SHAPE, {}).grid
VALUES = 50.0 + np.arange(NY * NX).reshape(NY, NX)
Y, X = (np.arange(NY) + 0.5) * DY, (np.arange(NX) + 0.5) * DX
METRES = {"units": "m"}
NORTH, EAST = {"units": "degrees_north"}, {"units": "degrees_east"}
GRID_Y = "the grid has y from 1000 to 9000 m in steps of 2000 m"
GRID_X = "the grid has x from 1500 to 19500 m in steps of 3000 m"


@pytest.fixture
def ocean(tmp_path):
    """write(values, {dimension: (coordinate values, attributes)}, ...): the path of a file with the variable depth."""

    def write(values, coordinates, **attributes):
        path = tmp_path / "ocean.nc"
        with netCDF4.Dataset(path, "w") as dataset:
            for size, (name, coordinate) in zip(np.shape(values), coordinates.items(), strict=True):
                dataset.createDimension(name, size)
                if coordinate is not None:
                    numbers, words = coordinate
                    dataset.createVariable(words.get("name", name), np.asarray(numbers).dtype, (name,))[:] = numbers
                    own = {key: word for key, word in words.items() if key != "name"}
                    dataset[words.get("name", name)].setncatts(own)
            variable = dataset.createVariable("depth", "f8", tuple(coordinates))
            variable.setncatts({"units": "m"} | attributes)
            variable[...] = values
        return f"{path}:depth"

    return write


def read(source, name="depth", rows=range(NY), columns=range(NX)):
    return read_field(source, VARIABLES[name], GRID, np.array(rows), np.array(columns))


def placed(ocean, y=Y, x=X, attributes=METRES, values=VALUES, names=("y", "x")):
    """A file with these coordinates; rows and columns of the values are in their order."""
    return ocean(values, {names[0]: (y, attributes), names[1]: (x, attributes)})


BLOCKS = [
    (range(NY), range(NX)),
    (range(-2, NY + 3), range(-3, NX + 2)),
    ([3, 4, 5, 6], [6, 7, 8]),
    ([2], [-1]),
    ([4, 0, 2], [5, 5, 1]),
]


@pytest.mark.parametrize(("rows", "columns"), BLOCKS)
@pytest.mark.parametrize(("down", "left", "exchanged"), [*itertools.product([False, True], repeat=3)])
def test_however_a_file_lies_every_block_is_that_of_the_grid(ocean, down, left, exchanged, rows, columns):
    y, x = slice(None, None, -1 if down else 1), slice(None, None, -1 if left else 1)
    values, axes = VALUES[y, x], {"y": (Y[y], METRES), "x": (X[x], METRES)}
    if exchanged:
        values, axes = values.T, dict(reversed(axes.items()))
    config = load("jet", SHAPE | {"input.depth": ocean(values, axes)}, {})
    expected = VALUES[np.ix_(np.array(rows) % NY, np.array(columns) % NX)]
    np.testing.assert_array_equal(fields.evaluate(config, "depth", rows, columns), expected)


def test_no_more_is_read_of_a_turned_and_exchanged_field_than_the_block(ocean, monkeypatch):
    source = ocean(VALUES[::-1].T, {"x": (X, METRES), "y": (Y[::-1], METRES)})
    from swmodel.setup.fields.netcdf_input import read as module

    original, sizes = module.read_window, []
    monkeypatch.setattr(module, "read_window", lambda *given: sizes.append(original(*given).size) or original(*given))
    np.testing.assert_array_equal(read(source, "depth", [4, 0, 1], [6, 0]), VALUES[np.ix_([4, 0, 1], [6, 0])])
    assert sum(sizes) == 3 * 2


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("y", {}),
        ("LAT", {}),
        ("row", {"axis": "Y"}),
        ("row", {"standard_name": "projection_y_coordinate", "units": "m"}),
        ("row", {"name": "northing", "standard_name": "projection_y_coordinate", "units": "m"}),
        ("row", {"units": "degrees_north"}),
    ],
)
def test_a_coordinate_is_known_by_its_attributes_or_by_its_name(ocean, name, attributes):
    source = ocean(VALUES[::-1].T, {"column": (X, {"axis": "X", "units": "m"}), name: (Y[::-1], attributes)})
    np.testing.assert_array_equal(read(source), VALUES)


def test_the_axes_of_the_grid_need_not_be_the_last(ocean):
    values = np.stack([VALUES, -VALUES], axis=-1)
    times = [0.0, 1.0], {"units": "days since 2000-01-01"}
    source = ocean(values, {"y": (Y, METRES), "x": (X, METRES), "time": times})
    np.testing.assert_array_equal(read(f"{source}@1"), -VALUES)


@pytest.mark.parametrize(
    ("y", "x", "attributes"),
    [
        (Y / 1e3, X / 1e3, {"units": "km"}),
        (Y + 5e6, X - 3e5, METRES),  # the origin of a projection
        ((Y + 5e6).astype("f4"), (X + 5e6).astype("f4"), METRES),
        (Y.astype("i4"), X.astype("i4"), METRES),
        (np.round(Y / 1e3, 1), np.round(X / 1e3, 1), {"units": "km"}),
        (np.arange(NY), np.arange(NX), {}),  # numbers of cells
        (45 + 0.02 * np.arange(NY) ** 1.1, 3 + 0.03 * np.arange(NX), {"units": "degrees"}),
    ],
)
def test_coordinates_that_fit_the_grid_in_their_own_units_and_from_their_own_origin(ocean, y, x, attributes):
    np.testing.assert_array_equal(read(placed(ocean, y, x, attributes)), VALUES)
    np.testing.assert_array_equal(read(placed(ocean, y[::-1], x, attributes, VALUES[::-1])), VALUES)


@pytest.mark.parametrize(
    ("y", "x", "attributes", "message"),
    [
        (2 * Y, X, METRES, f"y runs from 2000 to 18000 m in steps of 4000 m; {GRID_Y}"),
        (Y, X / 1e3, METRES, f"x runs from 1.5 to 19.5 m in steps of 3 m; {GRID_X}"),
        (Y, X + [0, 0, 0, 900, 0, 0, 0], METRES, f"x runs from 1500 to 19500 m in steps of 2100 to 3900 m; {GRID_X}"),
        (Y[[0, 1, 3, 2, 4]], X, METRES, f"y does not run in one direction, between 1000 and 9000 m; {GRID_Y}"),
        (Y, X % 9000, METRES, f"x does not run in one direction, between 1500 and 7500 m; {GRID_X}"),
        (Y, np.where(X > 9000, np.nan, X), METRES, f"x has missing values, between 1500 and 7500 m; {GRID_X}"),
        (Y / Y, X, {"units": "degrees"}, f"y does not run in one direction, between 1 and 1 degrees; {GRID_Y}"),
        (Y, X, {"units": "ft"}, f'y is in "ft", between 1000 and 9000; it needs "m", "km" or degrees; {GRID_Y}'),
        (Y, X, METRES | {"axis": "X"}, "has the axes (y, x), the last two of which are not y and x"),
        (Y, X, METRES | {"c_grid_axis_shift": 0.5}, "y lies 0.5 cells off the centres; "
         "this field lies 0 cells off them"),
    ],
)  # fmt: skip
def test_coordinates_that_do_not_fit_the_grid_are_refused_with_both_ranges(ocean, y, x, attributes, message):
    source = placed(ocean, y, x, attributes)
    with pytest.raises(InputError) as caught:
        read(source)
    colon = " " if message.startswith("has") else ": "
    assert str(caught.value) == f"input.depth: depth in {source.removesuffix(':depth')}{colon}{message}"


def remarks(caplog, source, name="depth", times=3):
    """What is logged when a field is read several times."""
    with caplog.at_level(logging.WARNING):
        for _ in range(times):
            read(source, name)
    return [record.getMessage() for record in caplog.records]


def test_what_is_done_to_a_field_is_said_in_one_line_once(ocean, caplog):
    source = ocean(VALUES[::-1, ::-1].T, {"x": (X[::-1], METRES), "y": (Y[::-1], METRES)}, positive="up")
    np.testing.assert_array_equal(read(source), -VALUES)
    path = source.removesuffix(":depth")
    assert remarks(caplog, source) == [
        f"input.depth: depth in {path}: y runs downward, so its rows are turned; x runs leftward, so its columns are "
        "turned; its axes (x, y) are exchanged",
        f"input.depth: depth in {path} is positive upward, so its sign is changed",
    ]


def test_a_field_that_lies_as_the_grid_does_is_read_without_a_word(ocean, caplog):
    assert remarks(caplog, placed(ocean)) == []


def test_files_without_coordinates_are_named_once(ocean, caplog):
    path = ocean(VALUES, {"row": None, "column": None}).removesuffix(":depth")
    assert remarks(caplog, f"{path}:depth") == [
        f"{path} has no coordinates along row, column: its first row is taken for the southern one and its first "
        "column is taken for the western one"
    ]


def test_degrees_are_no_distances(ocean, caplog):
    path = placed(ocean, 40 + Y / 1e5, X / 1e5, {"units": "degrees"}).removesuffix(":depth")
    assert remarks(caplog, f"{path}:depth") == [
        f"input.depth: depth in {path}: y is in degrees, so its steps are not compared with 2000 m; "
        "x is in degrees, so its steps are not compared with 3000 m"
    ]


def test_a_velocity_at_the_centres_is_noticed(ocean, caplog):
    """u lies on east faces: at the grid's centres it is half a cell off."""
    source = ocean(VALUES, {"y": (Y, METRES), "x": (X, METRES)}, units="m s-1")
    assert remarks(caplog, source, "u")[0].endswith(
        ": x runs from 1500 to 19500 m, the grid's points from 3000 to 21000 m: half a cell to the west"
    )
    at_faces = ocean(VALUES, {"y": (Y, METRES), "x_f": (X + DX / 2, METRES)}, units="m s-1")
    caplog.clear()
    assert remarks(caplog, at_faces, "u") == []


def test_another_origin_is_said_with_both_ranges(ocean, caplog):
    path = placed(ocean, Y[::-1] + 4250, X, METRES, VALUES[::-1]).removesuffix(":depth")
    assert remarks(caplog, f"{path}:depth") == [
        f"input.depth: depth in {path}: y runs downward, so its rows are turned; "
        "y runs from 5250 to 13250 m, the grid's points from 1000 to 9000 m: origins are not compared"
    ]


def test_numbers_of_cells_have_no_origin(ocean, caplog):
    assert remarks(caplog, placed(ocean, np.arange(NY), np.arange(NX), {})) == []


def with_others(source, **coordinates):
    """The file with more coordinates: (dimensions, values, attributes) by their names."""
    with netCDF4.Dataset(source.removesuffix(":depth"), "a") as dataset:
        for name, (dimensions, values, attributes) in coordinates.items():
            dataset.createVariable(name, "f8", dimensions, fill_value=-999.0)[:] = values
            dataset[name].setncatts(attributes)
    return source


LATITUDES, LONGITUDES = np.linspace(60.0, 40.0, NY), np.linspace(-8.0, 20.0, NX)
PLANE_Y, PLANE_X = LATITUDES[:, None] + LONGITUDES / 50, LONGITUDES + LATITUDES[:, None] / 50
NORTHING = {"standard_name": "projection_y_coordinate", "units": "m"}


def test_of_several_coordinates_that_in_m_is_compared(ocean, caplog):
    source = ocean(VALUES[::-1], {"row": None, "x": (X, METRES)})
    with_others(source, lat=(("row",), LATITUDES, NORTH), northing=(("row",), Y[::-1], NORTHING))
    np.testing.assert_array_equal(read(source), VALUES)
    path = source.removesuffix(":depth")
    assert remarks(caplog, source) == [f"input.depth: depth in {path}: northing runs downward, so its rows are turned"]
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["northing"][:] = 2 * Y[::-1]
    with pytest.raises(InputError, match="northing runs from 2000 to 18000 m in steps of 4000 m"):
        read(source)


@pytest.mark.parametrize("row", ["row", "y"])
def test_coordinates_that_contradict_each_other_are_refused(ocean, row):
    source = ocean(VALUES, {row: (Y, {"name": "northing"} | NORTHING), "x": (X, METRES)})
    with_others(source, lat=((row,), LATITUDES, NORTH))
    with pytest.raises(InputError, match=f"northing rises and lat falls along {row}; leave only the right one in the"):
        read(source)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("nav_lat", {"units": "degrees"}), ("phi", {"units": "degrees", "standard_name": "latitude"}), ("phi", NORTH)],
)
@pytest.mark.parametrize("plane", [False, True])
def test_a_latitude_of_one_or_two_dimensions_says_where_north_is(ocean, caplog, name, attributes, plane):
    source = ocean(VALUES[::-1, ::-1], {"row": None, "column": None})
    latitude = (("row", "column"), PLANE_Y, attributes) if plane else (("row",), LATITUDES, attributes)
    with_others(source, **{name: latitude}, nav_lon=(("row", "column"), PLANE_X[:, ::-1], {"units": "degrees"}))
    np.testing.assert_array_equal(read(source), VALUES)
    (line,) = remarks(caplog, source)
    assert f"{name} runs downward" in line
    assert "nav_lon runs leftward" in line


def test_a_latitude_may_be_missing_on_land_and_lie_on_exchanged_axes(ocean):
    source = ocean(VALUES[::-1], {"row": None, "column": None})
    holes = np.ma.masked_greater(PLANE_Y, 58.0)
    with_others(source, nav_lat=(("column", "row"), holes.T, NORTH))
    np.testing.assert_array_equal(read(source), VALUES)


@pytest.mark.parametrize(
    ("latitude", "message"),
    [
        (PLANE_Y[[0, 3, 2, 1, 4]], f"nav_lat does not run in one direction, between 40.* degrees_north; {GRID_Y}"),
        (40 + PLANE_X, "nav_lat changes by 0.4 along row and by 28 along column: these are not the axes of y and x"),
        (np.ma.masked_all((NY, NX)), f"nav_lat has missing values; {GRID_Y}"),
    ],
)
def test_a_latitude_that_does_not_say_where_north_is_is_refused(ocean, latitude, message):
    source = with_others(ocean(VALUES, {"row": None, "column": None}), nav_lat=(("row", "column"), latitude, NORTH))
    with pytest.raises(InputError, match=f"input.depth: depth in .*: {message}"):
        read(source)


@pytest.mark.parametrize("left", [False, True])
def test_longitudes_go_on_beyond_360(ocean, left):
    way = slice(None, None, -1 if left else 1)
    longitudes = np.linspace(340.0, 376.0, NX)[way] % 360
    source = ocean(VALUES[:, way], {"lat": (LATITUDES[::-1], NORTH), "lon": (longitudes, EAST)})
    np.testing.assert_array_equal(read(source), VALUES)


def test_records_along_several_axes_are_refused(ocean):
    axes = {"time": None, "z": None, "y": (Y, METRES), "x": (X, METRES)}
    source = ocean(np.broadcast_to(VALUES, (2, 3, NY, NX)), axes)
    with pytest.raises(InputError, match="depth in .* has several records along time and z, and one is chosen along"):
        read(f"{source}@0")


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ({"SWMODEL_LAUNCHER": "1"}, 0),
        ({"SWMODEL_RANK": "1", "SWMODEL_SIZE": "2"}, 0),
        ({"SWMODEL_RANK": "0", "SWMODEL_SIZE": "2"}, 1),
    ],
)
def test_of_several_processes_one_speaks(ocean, caplog, monkeypatch, place, lines):
    """The launcher, which reads the files first, or else rank 0."""
    source = placed(ocean, Y[::-1], X, METRES, VALUES[::-1])
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    assert len(remarks(caplog, source)) == lines


def test_a_run_reads_its_own_fields_from_the_file_of_another(tmp_path, caplog):
    """output.nc has coordinates on centres and faces, land, and records: the state of any is that of a new run."""
    from support.small_run import make_run

    from swmodel.plotting.dataset import open_data

    folder = make_run(tmp_path / "run")
    config = load(folder / "config.toml", environ={})
    names = ("eta", "u", "v", "depth")
    sources = {f"input.{name}": f"{folder}/output.nc:{name}{'' if name == 'depth' else '@-1'}" for name in names}
    again = load(folder / "config.toml", sources, {})
    with caplog.at_level(logging.WARNING), open_data(folder / "output.nc") as data:
        check_config(again)
        for name in names:
            values = data[name][:] if name == "depth" else data[name][-1]
            found = fields.evaluate(again, name, range(config.grid.ny), range(config.grid.nx))
            np.testing.assert_array_equal(found, np.ma.filled(values, 0.0))
    assert [record.getMessage() for record in caplog.records if "output.nc" in record.getMessage()] == []
