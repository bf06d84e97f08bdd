"""`swmodel grid` and `[grid] file`: from a region to a run in one line, whatever is wrong in one line, too."""

import netCDF4
import numpy as np
import pytest
from click.testing import CliRunner
from support.cf_checker import checked

import swmodel
from swmodel import ConfigError, load
from swmodel.cli import main
from swmodel.config import from_toml, to_toml
from swmodel.files.relief import Wish, make_grid
from swmodel.files.relief.coast import label
from swmodel.setup import fields

MEDITERRANEAN = (-6.0, 37.0, 30.0, 46.0)
POLE = (-42.0, 76.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("grids")


@pytest.fixture(scope="module")
def sea(folder):
    """The Mediterranean at one degree, made on the command line; with what was said."""
    path = folder / "sea.nc"
    words = ["grid", str(path), "--region", "-6,37,30,46", "--resolution", "1", "--min-depth", "200", "--smooth", "1"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return path, done.output


@pytest.fixture(scope="module")
def earth(folder):
    """All of the Earth about a pole in Greenland, cells of four degrees."""
    path = folder / "earth.nc"
    return path, make_grid(path, Wish((-180, 180, -90, 90), 4.0, POLE))


def refused(*words):
    done = CliRunner().invoke(main, ["grid", *map(str, words)])
    assert len(done.output.strip().splitlines()) == 1
    return done.exit_code, done.output


def test_what_was_made_and_closed_is_said_and_drawn(sea):
    path, said = sea
    assert "43 x 16 cells of 1 by 1 degrees, lon -6 to 37 degrees, lat 30 to 46 degrees; " in said
    assert "% is sea, 200 to " in said
    assert "closed 2 cut-off seas, at longitude and latitude " in said
    assert f"Wrote {path.with_suffix('.png')}" in said
    assert path.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.night
def test_the_file_satisfies_the_cf_checker(sea, earth):
    for path in (sea[0], earth[0]):
        errors, _ = checked(path)
        unknown = "grid_topology is not a valid cf_role", "requires exactly one variable with standard_name"
        assert [error for error in errors if not any(words in error for words in unknown)] == []


@pytest.mark.parametrize("which", ["sea", "earth"])
def test_the_file_gives_grid_depth_and_mask_in_one_line(which, request):
    path = request.getfixturevalue(which)[0]
    config = load("rest", {"grid.file": str(path)}, environ={})
    rows, columns = np.arange(config.grid.ny), np.arange(config.grid.nx)
    with netCDF4.Dataset(path) as data:
        wet = data["mask"][:] == 1
        assert (config.grid.ny, config.grid.nx) == wet.shape
        np.testing.assert_array_equal(fields.wet(config, rows, columns) > 0, wet)
        depth = fields.evaluate(config, "depth", rows, columns)
        np.testing.assert_array_equal(depth[wet], data["depth"][:].compressed())
    assert (config.grid.pole, config.grid.periodic_x) == ((POLE, True) if which == "earth" else (None, False))
    again = from_toml(to_toml(config), type(config.case))
    assert again == config
    assert load(config, environ={}) == config


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
def test_water_at_rest_over_the_real_relief_on_a_grid_about_another_pole_stays_so(earth):
    """Beside gravity waves of 250 m/s, over all the Earth with its coasts."""
    options = {"grid.file": str(earth[0]), "physics.f0": 0.0, "run.executor": "reference", "run.dtype": "float64"}
    simulation = swmodel.Simulation("rest", options)
    simulation.advance(40)
    assert max(np.abs(simulation.field(name)).max() for name in "uv") < 1e-13 * 250
    eta = simulation.field("eta")
    np.testing.assert_allclose(eta[earth[1].wet], 0.37, rtol=0, atol=1e-15 * 7000)


def sea_at(made, lon, lat):
    """The number of the sea in the cell around a place."""
    grid = made.grid
    return label(made.wet, grid.periodic_x)[int((lat - grid.south) / grid.dlat), int((lon - grid.west) / grid.dlon)]


@pytest.mark.fault("an isthmus narrower than a cell is open, and both oceans leak into each other")
@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.0])
def test_panama_is_closed_and_both_oceans_stay(folder, resolution):
    made = make_grid(folder / "america.nc", Wish((-120.0, -50.0, -5.0, 35.0), resolution), force=True)
    pacific, caribbean = sea_at(made, -90.0, 5.0), sea_at(made, -75.0, 15.0)
    assert min(pacific, caribbean) > 0
    assert pacific != caribbean


@pytest.mark.fault("a sea behind a strait narrower than a cell is cut off as a lake")
@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.0])
def test_the_mediterranean_and_the_baltic_are_connected_with_the_atlantic(folder, resolution):
    made = make_grid(folder / "europe.nc", Wish((-16.0, 40.0, 24.0, 68.0), resolution), force=True)
    atlantic, *others = (sea_at(made, *place) for place in ((-14.0, 40.0), (6.0, 39.0), (19.0, 34.5), (19.5, 57.5)))
    assert set(others) == {atlantic} != {0}
    assert any("opened" in line for line in made.words())


def test_low_land_by_the_sea_has_its_height_as_a_negative_depth(folder):
    """It is connected with the sea through such land; the sea is as without it, but for the least depth."""
    region = (-16.0, 20.0, 44.0, 60.0)
    without = make_grid(folder / "high.nc", Wish(region, 1.0, min_depth=1.0))
    made = make_grid(folder / "low.nc", Wish(region, 1.0, min_depth=1.0, land_up_to=60.0))
    np.testing.assert_array_equal(made.wet, without.wet)
    np.testing.assert_array_equal(made.depth[made.wet], without.depth[made.wet])
    assert made.low.sum() > 20
    assert not (made.low & made.wet).any()
    assert (made.depth[made.low] <= 0).all()
    assert made.depth[made.low].min() >= -60.0
    parts = label(made.wet | made.low, False)
    assert set(parts[made.low]) <= set(parts[made.wet])
    config = load("rest", {"grid.file": str(folder / "low.nc"), "drying.active": True}, environ={})
    rows, columns = np.arange(config.grid.ny), np.arange(config.grid.nx)
    depth = fields.evaluate(config, "depth", rows, columns)
    np.testing.assert_array_equal(fields.wet(config, rows, columns) > 0, made.wet | made.low)
    np.testing.assert_array_equal(depth[made.low], made.depth[made.low])


@pytest.mark.fault("cells finer than the relief suggest detail")
def test_cells_finer_than_the_relief_are_said(folder, caplog):
    make_grid(folder / "fine.nc", Wish((-30.0, -29.0, 30.0, 31.0), 0.25))
    assert "finer than" in caplog.text


@pytest.mark.fault("a pole in the water of the region, an invalid region")
@pytest.mark.fault("a grid that exceeds the memory hangs for minutes")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--region=-180,180,-90,90", "north pole of the grid lies in water"),
        ("--region=10,5,0,20", "W below E"),
        ("--region=0,inf,0,20", "W below E"),
        ("--region=0,10,80,95", "from -90 to 90"),
        ("--region=0,400,0,20", "longitudes overlap"),
        ("--region=20,25,-2,2", "is all land"),
        ("--region=0,5,0,0.5", "wider than the region"),
        ("--region=0,5,0,5 --resolution=0", "above 0"),
        ("--region=0,5,0,5 --resolution=1e-5", "need 5e+04 GB"),
        ("--region=0,5,0,5 --resolution=1e-9", "at most 1e+09"),
        ("--region=0,5,0,5 --pole=10,91", "beyond 90 degrees"),
        ("--region=-6,37,30,46 --keep=10,35", "no water at 10,35"),
        ("--region=0,5,0,5 --relief=none.nc", "there is no file none.nc"),
    ],
)
def test_what_cannot_be_a_grid_is_refused_in_one_line(folder, words, message):
    code, told = refused(folder / "bad.nc", "--resolution=1", *words.split())
    assert (code, message in told) == (2, True), told
    assert not (folder / "bad.nc").exists()


@pytest.mark.fault("an existing grid file is lost")
def test_a_grid_is_replaced_where_that_is_wanted(folder):
    path, words = folder / "again.nc", ("--region", "-6,37,30,46", "--resolution", 2)
    CliRunner().invoke(main, ["grid", str(path), *map(str, words)])
    before = path.read_bytes()
    code, told = refused(path, *words)
    assert (code, f"{path} already exists; give --force to replace it, or another name" in told) == (2, True)
    assert path.read_bytes() == before
    done = CliRunner().invoke(main, ["grid", str(path), *map(str, words), "--min-depth", "300", "--force"])
    assert done.exit_code == 0, done.output
    with netCDF4.Dataset(path) as data:
        assert data["depth"][:].min() == 300


@pytest.mark.fault("the picture of one grid replaces that of another")
def test_the_picture_of_another_grid_is_not_replaced(folder):
    words = ("--region", "-6,37,30,46", "--resolution", 2)
    done = CliRunner().invoke(main, ["grid", str(folder / "one.nc"), *map(str, words)])
    assert done.exit_code == 0, done.output
    before = (folder / "one.png").read_bytes()
    code, told = refused(folder / "one.nc4", *words)
    assert (code, "one.png already exists; give --force" in told) == (2, True)
    assert not (folder / "one.nc4").exists()
    assert (folder / "one.png").read_bytes() == before
    assert "name of a picture" in refused(folder / "one.png", *words, "--force")[1]


@pytest.mark.fault("a file of `swmodel grid` that other keys contradict, or that would replace another file")
@pytest.mark.fault('a missing folder is reported as "Permission denied"')
def test_no_other_file_is_replaced(folder):
    words = ("--region=-6,37,30,46", "--resolution=2")
    code, told = refused(folder / "none" / "sea.nc", *words)
    assert (code, f"no such folder: {folder / 'none'}" in told) == (5, True)
    path = folder / "other.nc"
    with netCDF4.Dataset(path, "w") as data:
        data.title = "mine"
    code, told = refused(path, *words)
    assert (code, "is no file of `swmodel grid`" in told) == (5, True)
    with netCDF4.Dataset(path) as data:
        assert data.title == "mine"


@pytest.mark.fault("a file of `swmodel grid` that other keys contradict, or that would replace another file")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid.nx": 7}, "grid.nx: grid.file gives 43; leave out one of both"),
        ({"grid.kind": "plane"}, 'grid.kind: grid.file gives "latlon"; leave out one of both'),
        ({"grid.pole": (0.0, 50.0)}, "grid.pole: grid.file gives the cells; leave out one of both"),
        ({"grid.file": "none.nc"}, "none.nc; `swmodel grid none.nc` makes one"),
    ],
)
def test_what_contradicts_the_file_of_a_grid_is_refused(sea, changes, message):
    with pytest.raises(ConfigError) as error:
        load("rest", {"grid.file": str(sea[0])} | changes, environ={})
    assert message in str(error.value)
    config = load("rest", {"grid.file": str(sea[0]), "input.mask": ""}, environ={})  # fields may come from elsewhere
    assert (config.input.mask, config.input.depth) == ("", f"{sea[0]}:depth")
