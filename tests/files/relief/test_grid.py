"""`swmodel grid` and `[grid] file`: one command makes the grid of a run from a region; errors are one-line messages."""

import netCDF4
import numpy as np
import pytest
import xarray
from support.cf_checker import assert_satisfies_cf
from support.command import invoke_swmodel

from swmodel import ConfigError, Simulation, load
from swmodel.config import from_toml, to_toml
from swmodel.files.relief import GridRequest, make_grid
from swmodel.files.relief.coast import label_connected
from swmodel.setup import fields

pytestmark = pytest.mark.slow

POLE = (-42.0, 76.0)
REGION = "-6,37,30,46"  # of the Mediterranean
COARSE_MEDITERRANEAN = ("--region", REGION, "--resolution", 2)


def invoke_grid(*arguments):
    return invoke_swmodel("grid", *arguments)


def invoke_refused_grid(*arguments):
    result = invoke_grid(*arguments)
    assert len(result.output.strip().splitlines()) == 1
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("grids")


@pytest.fixture(scope="module")
def mediterranean(folder):
    """The Mediterranean at one degree, made on the command line: the path, and what was printed."""
    path = folder / "sea.nc"
    result = invoke_grid(path, "--region", REGION, "--resolution", "1", "--min-depth", "200", "--smooth", "1")
    assert result.exit_code == 0, result.output
    return path, result.output


@pytest.fixture(scope="module")
def earth(folder):
    """The whole Earth on a rotated-pole grid of four degrees with its pole in Greenland."""
    path = folder / "earth.nc"
    return path, make_grid(path, GridRequest((-180, 180, -90, 90), 4.0, POLE))


@pytest.mark.parametrize("name", ["mediterranean", "earth"])
def test_file_gives_grid_depth_and_mask(name, request):
    path, output = request.getfixturevalue(name)
    config = load("rest", {"grid.file": str(path)}, environ={})
    rows, columns = np.arange(config.grid.ny), np.arange(config.grid.nx)
    with netCDF4.Dataset(path) as data:
        wet = data["mask"][:] == 1
        assert (config.grid.ny, config.grid.nx) == wet.shape
        np.testing.assert_array_equal(fields.wet_mask(config, rows, columns) > 0, wet)
        depth = fields.evaluate(config, "depth", rows, columns)
        np.testing.assert_array_equal(depth[wet], data["depth"][:].compressed())
    with xarray.open_dataset(path) as data:
        np.testing.assert_array_equal(np.isnan(data.depth), ~wet)
    assert (config.grid.pole, config.grid.periodic_x) == ((POLE, True) if name == "earth" else (None, False))
    assert from_toml(to_toml(config), type(config.case)) == load(config, environ={}) == config
    if name == "mediterranean":
        assert "43 x 16 cells" in output
        assert path.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.night
def test_grid_file_satisfies_cf_checker(mediterranean, earth):
    for path in (mediterranean[0], earth[0]):
        assert_satisfies_cf(path, on_sphere=True)


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.fault("water at rest over a real relief starts to move")
def test_water_at_rest_over_the_real_relief_stays_at_rest(earth):
    """On a rotated-pole grid of the whole Earth, currents stay below 1e-13 of the speed of gravity waves, 250 m/s."""
    options = {"grid.file": str(earth[0]), "physics.f0": 0.0, "run.executor": "reference", "run.dtype": "float64"}
    simulation = Simulation("rest", options)
    simulation.advance(40)
    assert max(np.abs(simulation.field(name)).max() for name in "uv") < 1e-13 * 250
    np.testing.assert_allclose(simulation.field("eta")[earth[1].wet], 0.37, rtol=0, atol=1e-15 * 7000)


def sea_labels_at(generated, *positions):
    grid, labels = generated.grid, label_connected(generated.wet, generated.grid.periodic_x)
    return [labels[int((lat - grid.south) / grid.dlat), int((lon - grid.west) / grid.dlon)] for lon, lat in positions]


@pytest.mark.fault("an isthmus narrower than a cell is open, or a strait narrower than a cell cuts off a lake")
@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.0])
def test_panama_is_closed_and_straits_of_europe_are_open(folder, resolution):
    america = make_grid(folder / "america.nc", GridRequest((-120.0, -50.0, -5.0, 35.0), resolution), force=True)
    pacific, caribbean = sea_labels_at(america, (-90.0, 5.0), (-75.0, 15.0))
    assert 0 < min(pacific, caribbean) < max(pacific, caribbean)
    europe = make_grid(folder / "europe.nc", GridRequest((-16.0, 40.0, 24.0, 68.0), resolution), force=True)
    atlantic, *others = sea_labels_at(europe, (-14.0, 40.0), (6.0, 39.0), (19.0, 34.5), (19.5, 57.5))
    assert set(others) == {atlantic} != {0}


def test_low_land_by_the_sea_has_its_height_as_negative_depth(folder):
    """Land that can flood is connected to the sea through cells of the same kind, and does not change the sea."""
    region = (-16.0, 20.0, 44.0, 60.0)
    without_low_land = make_grid(folder / "high.nc", GridRequest(region, 1.0, min_depth=1.0, smooth=2))
    grid = make_grid(folder / "low.nc", GridRequest(region, 1.0, min_depth=1.0, smooth=2, land_up_to=60.0))
    np.testing.assert_array_equal(grid.wet, without_low_land.wet)
    np.testing.assert_array_equal(grid.depth[grid.wet], without_low_land.depth[grid.wet])
    assert grid.floodable.sum() > 20
    assert not (grid.floodable & grid.wet).any()
    assert (grid.depth[grid.floodable] <= 0).all()
    crests = sum(change.n_cells for change in grid.changes if change.kind == "crest")
    assert np.count_nonzero(grid.depth[grid.floodable] < -60.0) <= crests
    labels = label_connected(grid.wet | grid.floodable, False)
    assert set(labels[grid.floodable]) <= set(labels[grid.wet])
    config = load("rest", {"grid.file": str(folder / "low.nc"), "drying.active": True}, environ={})
    rows, columns = np.arange(config.grid.ny), np.arange(config.grid.nx)
    np.testing.assert_array_equal(fields.wet_mask(config, rows, columns) > 0, grid.wet | grid.floodable)
    depth = fields.evaluate(config, "depth", rows, columns)
    np.testing.assert_array_equal(depth[grid.floodable], grid.depth[grid.floodable])


@pytest.mark.fault("cells finer than the relief suggest detail that it does not have")
def test_cells_finer_than_the_relief_give_a_warning(folder, caplog):
    make_grid(folder / "fine.nc", GridRequest((-30.0, -29.0, 30.0, 31.0), 0.25))
    assert "finer than" in caplog.text


@pytest.mark.fault("a pole in the water of the region, an invalid region, a grid that exceeds the memory")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--region=-180,180,-90,90", "north pole"), ("--region=10,5,0,20", "W below E"),
        ("--region=0,inf,0,20", "W below E"), ("--region=0,10,80,95", "-90 to 90"),
        ("--region=0,400,0,20", "overlap"), ("--region=20,25,-2,2", "all land"), ("--region=0,5,0,0.5", "wider"),
        ("--region=0,5,0,5 --resolution=0", "above 0"), ("--region=0,5,0,5 --resolution=1e-5", "5e+04 GB"),
        ("--region=0,5,0,5 --resolution=1e-9", "1e+09"), ("--region=0,5,0,5 --resolution=1e-200", "1e+09"),
        ("--region=0,5,0,5 --pole=10,91", "90 degrees"),
        ("--region=0,5,0,5 --pole=nan,5", "--pole"), ("--region=0,5,0,5 --keep=0,inf", "--keep"),
        (f"--region={REGION} --keep=10,35", "10,35"), ("--region=0,5,0,5 --relief=none.nc", "none.nc"),
    ],
)  # fmt: skip
def test_invalid_grid_is_refused_in_one_line(folder, options, message):
    exit_code, output = invoke_refused_grid(folder / "bad.nc", "--resolution=1", *options.split())
    assert (exit_code, message in output) == (2, True), output
    assert not (folder / "bad.nc").exists()


@pytest.mark.fault("an existing grid file or its picture is lost")
def test_grid_and_its_picture_are_replaced_only_with_force(tmp_path):
    path, picture = tmp_path / "one.nc", tmp_path / "one.png"
    assert invoke_grid(path, *COARSE_MEDITERRANEAN).exit_code == 0
    before = path.read_bytes(), picture.read_bytes()
    for name, existing in (("one.nc", path), ("one.nc4", picture)):
        exit_code, output = invoke_refused_grid(tmp_path / name, *COARSE_MEDITERRANEAN)
        assert (exit_code, str(existing) in output, "--force" in output) == (2, True, True), output
    assert invoke_refused_grid(picture, *COARSE_MEDITERRANEAN, "--force")[0] == 2
    assert (path.read_bytes(), picture.read_bytes()) == before
    assert not (tmp_path / "one.nc4").exists()
    assert invoke_grid(path, *COARSE_MEDITERRANEAN, "--min-depth", "300", "--force").exit_code == 0
    with netCDF4.Dataset(path) as data:
        assert data["depth"][:].min() == 300


@pytest.mark.fault('a missing folder is reported as "Permission denied"')
def test_missing_folder_and_foreign_file_are_refused(tmp_path):
    netCDF4.Dataset(tmp_path / "other.nc", "w").close()
    before = (tmp_path / "other.nc").read_bytes()
    for name, message in (("none/sea.nc", f"no such folder: {tmp_path}/none"), ("other.nc", "other.nc")):
        exit_code, output = invoke_refused_grid(tmp_path / name, *COARSE_MEDITERRANEAN)
        assert (exit_code, message in output) == (5, True)
    exit_code, output = invoke_refused_grid(".", *COARSE_MEDITERRANEAN)
    assert (exit_code, ". is a folder" in output) == (2, True)
    assert (tmp_path / "other.nc").read_bytes() == before


@pytest.mark.fault("a file of `swmodel grid` that other keys contradict")
def test_keys_that_contradict_the_grid_file_are_refused(mediterranean):
    options = {"grid.file": str(mediterranean[0])}
    for key, value in (("grid.nx", 7), ("grid.kind", "plane"), ("grid.pole", (0.0, 50.0)), ("grid.file", "none.nc")):
        with pytest.raises(ConfigError, match="none.nc" if key == "grid.file" else f"{key}: grid.file gives"):
            load("rest", options | {key: value}, environ={})
    config = load("rest", options | {"input.mask": ""}, environ={})  # one field from another file
    assert (config.input.mask, config.input.depth) == ("", f"{mediterranean[0]}:depth")
