"""Seas of a grid are connected as those of its relief; of several reliefs the finer counts where it has values."""

from contextlib import ExitStack

import numpy as np
import pytest
from support.netcdf import lon_lat_axes, write_netcdf

from swmodel.files.relief import GridRequest, ReliefError, make_grid
from swmodel.files.relief.coast import close_seas_and_bays, label_connected, smooth_depth
from swmodel.files.relief.make import make_grid_section
from swmodel.files.relief.mosaic import ReliefMosaic
from swmodel.files.relief.source import open_relief
from swmodel.files.relief.straits import connect_seas


def mask_from_rows(*rows):
    return np.array([[letter == "~" for letter in row] for row in rows])


LAKES = mask_from_rows("~~.......~", "~~..~~...~", "......~~..", "..~.......")


def test_seas_up_to_half_as_large_as_the_largest_are_closed():
    """A sea across the end of a periodic axis counts as one."""
    wet, closed = close_seas_and_bays(LAKES, is_periodic=True)
    seas = [("cut-off sea", 2, 1, 4), ("cut-off sea", 2, 2, 6), ("cut-off sea", 1, 3, 2)]
    assert [(change.kind, change.n_cells, change.row, change.column) for change in closed] == seas
    assert wet.sum() == 6
    largest_sea, closed = close_seas_and_bays(LAKES, is_periodic=False)
    assert largest_sea.sum() == 4
    assert (*closed[0][:2], closed[0].column) == ("cut-off sea", 2, 9)
    two_seas = mask_from_rows("~~~~....", "~~~~.~~.", "~~~~.~~.")
    wet_with_kept_sea, closed = close_seas_and_bays(two_seas, is_periodic=False, cells_to_keep=[(1, 5)])
    assert (wet_with_kept_sea.sum(), closed) == (16, [])


def test_narrow_ends_of_bays_are_closed():
    """Water that reaches the edge of the grid is not such an end, because it continues there."""
    bays = mask_from_rows("~~~~~~~~~~", "~~.~..~~~~", "~~.~.~~~~~", "~~.~.~~~~~", "~.......~~", ".........~")
    wet, closed = close_seas_and_bays(bays, is_periodic=False)
    assert [(change.kind, change.n_cells, change.column) for change in closed] == [("bay", 3, 3)]
    assert wet[:, 3].tolist() == [True, False, False, False, False, False]
    assert wet[5, 9]


def test_smoothing_keeps_a_flat_floor_and_the_land():
    rng = np.random.default_rng(2)
    wet = rng.random((20, 30)) < 0.8
    flat = np.where(wet, 700.0, 1.0)
    np.testing.assert_allclose(smooth_depth(flat, wet, True, 5), flat, rtol=1e-14)
    rough = 1000 * rng.random((20, 30))
    smooth, smoother = (smooth_depth(rough, wet, False, n_passes) for n_passes in (1, 8))
    assert np.ptp(smoother[wet]) < np.ptp(smooth[wet]) < np.ptp(rough[wet])
    np.testing.assert_array_equal(smoother[~wet], rough[~wet])
    assert (smooth_depth(rough, wet, False, 0) == rough).all()


#: Two seas with an isthmus across the middle cells; four samples along each side of a cell.
ISTHMUS = """
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~.

~~~~ ~~~~ ~~..
~~~~ ~~.. ....
~~~~ .... ~~~~
~... ...~ ~~~~

.... ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
"""
#: Two seas with a strait through a land cell; the same with a dam across it; an island in one sea.
STRAIT = "~~~~ .... ~~~~\n" * 2 + "~~~~ ~~~~ ~~~~\n" + "~~~~ .... ~~~~\n" * 5
DAM = STRAIT.replace("~~~~ ~~~~ ~~~~", "~~~~ ~~.~ ~~~~")
ISLAND = "~~~~ ~~~. .~~~\n" * 4 + "~~~~ ~~~~ ~~~~\n" * 8


@pytest.mark.fault("straits and isthmuses of a relief differ from those of its grid")
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize(
    ("text", "n_before", "n_after", "n_changed"),
    [(ISTHMUS, 1, 2, None), (STRAIT, 2, 1, 1), (DAM, 2, 2, 0), (ISLAND, 1, 1, 0)],
)
def test_seas_are_connected_as_in_the_relief(text, n_before, n_after, n_changed, is_transposed):
    rows = [row.split() for row in text.split("\n") if row]
    samples = np.array([[[letter == "~" for letter in cell] for cell in row] for row in rows])
    samples = samples.reshape(len(rows) // 4, 4, len(rows[0]), 4)
    samples = samples.transpose(2, 3, 0, 1) if is_transposed else samples
    sea_fraction = samples.mean(axis=(1, 3))
    wet, isthmus = connect_seas(is_sea := sea_fraction >= 0.5, sea_fraction, samples, False)
    assert (label_connected(is_sea, False).max(), label_connected(wet, False).max()) == (n_before, n_after)
    n_different = (wet != is_sea).sum()
    assert n_different == n_changed if n_changed is not None else n_different == isthmus.sum() > 0


def write_relief(path, lon, lat, depth_at):
    z = -np.ma.masked_invalid(depth_at(lon, lat[:, None]))
    return write_netcdf(path, lon_lat_axes(lon, lat) | {"z": ("lat lon", z, {"units": "m"})})


def plane(lon, lat):
    """Depths on a plane, which are the same for longitudes 360 degrees apart."""
    return 1000.0 + 10.0 * ((lon + 180) % 360 - 180) + 3.0 * lat


def survey(lon, lat):
    """The plane, 500 m deeper, without values in the middle."""
    hole = (np.abs(lon % 360 - 2.0) < 0.5) & (np.abs(lat - 50.0) < 0.5)
    return np.where(hole, np.nan, plane(lon, lat) + 500.0)


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("lon_shift", [0.0, 360.0, -360.0], ids=["0", "+360", "-360"])
def test_finer_relief_counts_where_it_has_values(tmp_path, lon_shift):
    coarse = write_relief(tmp_path / "coarse.nc", np.arange(-10.0, 15.1, 0.5), np.arange(40.0, 60.1, 0.5), plane)
    fine_lon = np.arange(0.05, 4.0, 0.1)
    fine = write_relief(tmp_path / "fine.nc", fine_lon + lon_shift, np.arange(48.05, 52.0, 0.1), survey)
    grid = make_grid(tmp_path / "grid.nc", GridRequest((-4.0, 8.0, 46.0, 54.0), 0.5), [fine, coarse])
    lon, lat = -4.0 + 0.5 * (np.arange(24) + 0.5), 46.0 + 0.5 * (np.arange(16) + 0.5)
    inside = ((lon > 0.2) & (lon < 3.8)) & ((lat > 48.2) & (lat < 51.8))[:, None]
    hole = (np.abs(lon - 2.0) < 0.5) & (np.abs(lat - 50.0) < 0.5)[:, None]
    outside = ~(((lon > -0.3) & (lon < 4.3)) & ((lat > 47.7) & (lat < 52.3))[:, None])
    expected = plane(lon, lat[:, None])
    np.testing.assert_allclose(grid.depth[outside], expected[outside], rtol=1e-4)
    far_from_hole = inside & ~((np.abs(lon - 2.0) < 1.0) & (np.abs(lat - 50.0) < 1.0)[:, None])
    np.testing.assert_allclose(grid.depth[far_from_hole], expected[far_from_hole] + 500.0, rtol=1e-4)
    assert (grid.depth[hole] < expected[hole] + 250.0).all()


@pytest.mark.promise("files of other programs are read and written as they are")
def test_mosaic_of_reliefs_of_one_plane_is_the_plane(tmp_path):
    """Depths at cell centres agree, except that areas on the sphere vary within cells; the date line lies inside."""

    def slope(lon, lat):
        return 1000.0 + 3.0 * lat + 0.0 * lon

    coarse = write_relief(tmp_path / "coarse.nc", np.arange(0.0, 360.0, 0.5), np.arange(-20.0, 20.1, 0.5), slope)
    fine = write_relief(tmp_path / "fine.nc", np.arange(-181.0, -178.9, 0.1), np.arange(-2.0, 2.1, 0.1), slope)
    tiles = [
        write_relief(tmp_path / f"{west:g}.nc", west + np.arange(0.0, 11.1, 0.5), np.arange(-10.5, 10.6, 0.5), slope)
        for west in (169.0, -180.0)
    ]
    for reliefs in ([fine, coarse], tiles, tiles[::-1]):
        depth = make_grid(tmp_path / "g.nc", GridRequest((170, 190, -10, 10), 1.0), reliefs, force=True).depth
        expected = np.broadcast_to(slope(0.0, np.arange(-9.5, 10)[:, None]), depth.shape)
        np.testing.assert_allclose(depth, expected, rtol=1e-5)


def test_strait_of_the_last_relief_is_sea_where_others_have_no_value(tmp_path):
    lon, lat, fine_points = np.arange(-3.0, 3.1), np.arange(47.0, 54.0), np.arange(0.05, 2.0, 0.1)
    strait = np.zeros((len(lat), len(lon)), "i1")
    strait[4, 1:6] = 1
    variables = {"z": ("lat lon", 100.0 + 0 * strait, {"units": "m"}), "strait": ("lat lon", strait, {})}
    coarse = write_netcdf(tmp_path / "coarse.nc", lon_lat_axes(lon, lat) | variables)
    fine = write_relief(tmp_path / "fine.nc", fine_points, 50.0 + fine_points, lambda x, y: 0 * x * y - 50.0)
    with ExitStack() as stack:
        reliefs = [open_relief(each, stack) for each in (fine, coarse)]
        mosaic = ReliefMosaic(reliefs, make_grid_section(GridRequest((-2, 2, 48, 53), 0.5)))
        sea = mosaic.is_sea(np.arange(len(mosaic.y.points)), np.arange(len(mosaic.x.points)))
    x, y = mosaic.x.points, mosaic.y.points[:, None]
    expected = (np.abs(y - 51.0) < 0.5) & (np.abs(x) < 2.5) & ~((x > 0) & (x < 2) & (y > 50) & (y < 52))
    np.testing.assert_array_equal(sea, expected)


@pytest.mark.fault("reliefs that together do not cover the region")
def test_region_beyond_the_last_relief_is_refused(tmp_path):
    fine = write_relief(tmp_path / "fine.nc", np.arange(0.05, 4.0, 0.1), np.arange(48.05, 52.0, 0.1), plane)
    coarse = write_relief(tmp_path / "coarse.nc", np.arange(-1.0, 5.1, 0.5), np.arange(47.0, 53.1, 0.5), plane)
    with pytest.raises(ReliefError, match="does not cover the region"):
        make_grid(tmp_path / "grid.nc", GridRequest((-4.0, 8.0, 46.0, 54.0), 0.5), [fine, coarse])
    tile = write_relief(tmp_path / "tile.nc", np.arange(6.05, 9.0, 0.1), np.arange(48.05, 52.0, 0.1), plane)
    with pytest.raises(ReliefError, match="do not cover the region, which needs lon = 4.0"):
        make_grid(tmp_path / "grid.nc", GridRequest((1.0, 8.0, 49.0, 51.0), 0.5), [fine, tile])
