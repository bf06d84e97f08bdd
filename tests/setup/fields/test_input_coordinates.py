"""Input files with coordinates: reversed or exchanged axes and other units give the same field or are refused."""

import logging
from itertools import product

import numpy as np
import pytest
from support.netcdf import write_netcdf
from support.small_run import write_small_run

from swmodel import load
from swmodel.model.validate import check_config
from swmodel.ocean.table import VARIABLES
from swmodel.plotting.dataset import open_data
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import InputError, open_variable
from swmodel.setup.fields.netcdf_input import read as reading

NY, NX, DY, DX = 5, 7, 2000.0, 3000.0
GRID_OPTIONS = {"grid.nx": NX, "grid.ny": NY, "grid.dx": DX, "grid.dy": DY, "grid.origin": "edge"}
GRID = load("jet", GRID_OPTIONS, {}).grid
VALUES = 50.0 + np.arange(NY * NX).reshape(NY, NX)
Y, X = (np.arange(NY) + 0.5) * DY, (np.arange(NX) + 0.5) * DX
METRES, NORTH, EAST = {"units": "m"}, {"units": "degrees_north"}, {"units": "degrees_east"}
NORTHING = {"standard_name": "projection_y_coordinate", "units": "m"}
ON_PLANE, NO_COORDINATES = {"y": (Y, METRES), "x": (X, METRES)}, {"row": None, "column": None}


def write_depth_file(folder, values, coordinates, others=()):
    """Write a file with depths and coordinates; returns its entry for [input].

    `coordinates`: {dimension: (values, attributes)}; `others`: {name: (dimensions, values, attributes)} of more.
    """
    variables = {name: (name, *each) for name, each in coordinates.items() if each is not None} | dict(others)
    depth = {"depth": (" ".join(coordinates), values, METRES)}
    return write_netcdf(folder / "ocean.nc", depth | variables) + ":depth"


def read(source, name="depth", rows=range(NY), columns=range(NX)):
    with open_variable(source, VARIABLES[name], GRID) as variable:
        return variable.read(rows, columns)


def file_with_coordinates(folder, y=Y, x=X, attributes=METRES, values=VALUES):
    """Write a file with these coordinates; rows and columns of the values are in the order of the coordinates."""
    return write_depth_file(folder, values, {"y": (y, attributes), "x": (x, attributes)})


def warnings_of_three_reads(caplog, source, name="depth"):
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            read(source, name)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.fault("an input file is upside down or mirrored, or its axes are exchanged")
@pytest.mark.parametrize(("y_step", "x_step", "exchange_axes"), [*product([1, -1], [1, -1], [False, True])])
def test_blocks_of_file_in_any_orientation_are_those_of_grid(tmp_path, y_step, x_step, exchange_axes):
    values, axes = VALUES[::y_step, ::x_step], {"y": (Y[::y_step], METRES), "x": (X[::x_step], METRES)}
    if exchange_axes:
        values, axes = values.T, dict(reversed(axes.items()))
    config = load("jet", GRID_OPTIONS | {"input.depth": write_depth_file(tmp_path, values, axes)}, {})
    for rows, columns in (range(-2, NY + 3), range(-3, NX + 2)), ([4, 0, 2], [-1, 5, 5]):
        expected = VALUES[np.ix_(np.array(rows) % NY, np.array(columns) % NX)]
        np.testing.assert_array_equal(fields.evaluate(config, "depth", rows, columns), expected)


def test_only_the_block_of_a_field_with_exchanged_axes_is_read(tmp_path, monkeypatch):
    source = write_depth_file(tmp_path, VALUES[::-1].T, {"x": (X, METRES), "y": (Y[::-1], METRES)})
    original, sizes = reading.read_window, []
    monkeypatch.setattr(reading, "read_window", lambda *args: sizes.append(original(*args).size) or original(*args))
    np.testing.assert_array_equal(read(source, "depth", [4, 0, 1], [6, 0]), VALUES[np.ix_([4, 0, 1], [6, 0])])
    assert sum(sizes) == 3 * 2


def test_coordinate_is_identified_by_attributes_or_name(tmp_path):
    for name, attributes in ("y", {}), ("LAT", {}), ("row", {"axis": "Y"}), ("row", NORTHING), ("row", NORTH):
        axes = {"column": (X, {"axis": "X", "units": "m"}), name: (Y[::-1], attributes)}
        source = write_depth_file(tmp_path, VALUES[::-1].T, axes)
        np.testing.assert_array_equal(read(source), VALUES)
    times = [0.0, 1.0], {"units": "days since 2000-01-01"}  # of the last axis
    source = write_depth_file(tmp_path, np.stack([VALUES, -VALUES], axis=-1), ON_PLANE | {"time": times})
    np.testing.assert_array_equal(read(f"{source}@1"), -VALUES)


@pytest.mark.parametrize(
    ("y", "x", "attributes", "words"),
    [
        (Y, X, METRES, ""), (Y / 1e3, X / 1e3, {"units": "km"}, ""), (Y.astype("i4"), X.astype("i4"), METRES, ""),
        (np.arange(NY), np.arange(NX), {}, ""),  # numbers of cells
        (Y + 4250, X, METRES, "y runs from 5250 to 13250 m"),
        ((Y + 5e6).astype("f4"), (X + 5e6).astype("f4"), METRES, "origins may differ"),
        (45 + 0.02 * np.arange(NY) ** 1.1, 3 + 0.03 * np.arange(NX), {"units": "degrees"}, "steps are not compared"),
    ],
)  # fmt: skip
def test_coordinates_may_have_other_units_and_origins(tmp_path, caplog, y, x, attributes, words):
    source = file_with_coordinates(tmp_path, y, x, attributes)
    assert [words in line for line in warnings_of_three_reads(caplog, source)] == [True] * bool(words)
    for each in (source, file_with_coordinates(tmp_path, y[::-1], x, attributes, VALUES[::-1])):
        np.testing.assert_array_equal(read(each), VALUES)


@pytest.mark.fault("an input file belongs to another grid, or has no coordinates")
@pytest.mark.parametrize(
    ("y", "x", "attributes", "words"),
    [
        (2 * Y, X, METRES, "y .* from 2000 to 18000 m"),
        (Y, X + [0, 0, 0, 900, 0, 0, 0], METRES, "other steps"),
        (Y[[0, 1, 3, 2, 4]], X, METRES, "y does not run in one direction"),
        (Y, np.where(X > 9000, np.nan, X), METRES, "x has missing values .* 1500 to 7500 m"),
        (Y, X, {"units": "ft"}, 'y needs "m", "km" or degrees'), (Y, X, METRES | {"axis": "X"}, "not y and x"),
        (Y, X, METRES | {"c_grid_axis_shift": 0.5}, "y lies 0.5 cells off the centres"),
    ],
)  # fmt: skip
def test_coordinates_of_another_grid_are_refused(tmp_path, y, x, attributes, words):
    with pytest.raises(InputError, match=f"^input.depth: depth in .*ocean.nc.*{words}"):
        read(file_with_coordinates(tmp_path, y, x, attributes))


LATITUDES, LONGITUDES = np.linspace(60.0, 40.0, NY), np.linspace(-8.0, 20.0, NX)
PLANE_Y, PLANE_X = LATITUDES[:, None] + LONGITUDES / 50, LONGITUDES + LATITUDES[:, None] / 50


def test_coordinate_in_metres_is_compared_if_there_are_several(tmp_path, caplog):
    def write(factor):
        others = {"lat": ("row", LATITUDES, NORTH), "northing": ("row", factor * Y[::-1], NORTHING)}
        return write_depth_file(tmp_path, VALUES[::-1], {"row": None, "x": (X, METRES)}, others)

    (warning,) = warnings_of_three_reads(caplog, write(1))
    assert "northing runs downward" in warning
    np.testing.assert_array_equal(read(write(1)), VALUES)
    with pytest.raises(InputError, match="northing .* from 2000 to 18000 m"):
        read(write(2))
    opposite = write_depth_file(tmp_path, VALUES, ON_PLANE | {"y": (Y, NORTHING)}, {"lat": ("y", LATITUDES, NORTH)})
    with pytest.raises(InputError, match="y and lat run in opposite directions along y"):
        read(opposite)


def test_north_is_inferred_from_latitudes_of_one_or_two_dimensions(tmp_path, caplog):
    """Latitudes may be missing on land, and their axes may be exchanged."""
    with_holes, degrees = np.ma.masked_greater(PLANE_Y, 58.0), {"units": "degrees"}
    for name, latitude in (
        *(("nav_lat", ("column row", with_holes.T, degrees)), ("phi", ("column row", with_holes.T, NORTH))),
        ("psi", ("row", LATITUDES, degrees | {"standard_name": "latitude"})),
    ):
        others = {name: latitude, "nav_lon": ("row column", PLANE_X[:, ::-1], degrees)}
        source = write_depth_file(tmp_path, VALUES[::-1, ::-1], NO_COORDINATES, others)
        (warning,) = warnings_of_three_reads(caplog, source)
        np.testing.assert_array_equal(read(source), VALUES)
        assert f"{name} runs downward" in warning
        assert "nav_lon runs leftward" in warning


def test_latitudes_that_do_not_show_the_north_are_refused(tmp_path):
    for latitude, words in (
        (PLANE_Y[[0, 3, 2, 1, 4]], "does not run in one direction"), (np.ma.masked_all((NY, NX)), "has missing values"),
        (40 + PLANE_X, "changes by 0.4 along row and by 28 along column"),
    ):  # fmt: skip
        source = write_depth_file(tmp_path, VALUES, NO_COORDINATES, {"nav_lat": ("row column", latitude, NORTH)})
        with pytest.raises(InputError, match=f"input.depth: depth in .*: nav_lat {words}"):
            read(source)


def test_longitudes_may_jump_from_360_to_0(tmp_path):
    for x_step in (1, -1):
        axes = {"lat": (LATITUDES[::-1], NORTH), "lon": (np.linspace(340.0, 376.0, NX)[::x_step] % 360, EAST)}
        source = write_depth_file(tmp_path, VALUES[:, ::x_step], axes)
        np.testing.assert_array_equal(read(source), VALUES)


@pytest.mark.slow
def test_run_reads_fields_from_the_output_of_another_run(tmp_path, caplog):
    """output.nc has coordinates of centres and faces, land and records, so that any state can start a new run."""
    folder = write_small_run(tmp_path / "run")
    config = load(folder / "config.toml", environ={})
    names = ("eta", "u", "v", "depth")
    sources = {f"input.{name}": f"{folder}/output.nc:{name}{'' if name == 'depth' else '@-1'}" for name in names}
    with_input = load(folder / "config.toml", sources, {})
    with caplog.at_level(logging.WARNING), open_data(folder / "output.nc") as data:
        check_config(with_input)
        for name in names:
            expected = data[name][:] if name == "depth" else data[name][-1]
            actual = fields.evaluate(with_input, name, range(config.grid.ny), range(config.grid.nx))
            np.testing.assert_array_equal(actual, np.ma.filled(expected, 0.0))
    assert "output.nc" not in caplog.text
