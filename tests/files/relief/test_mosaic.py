"""Several reliefs as one: the finer one where it has values, the coarse one elsewhere, for any longitudes."""

import numpy as np
import pytest
from support.netcdf import write_netcdf

from swmodel.files.relief import GridRequest, ReliefError, make_grid


def write_relief(path, lon, lat, depth):
    variables = {"lon": ("lon", lon, {"units": "degrees_east"}), "lat": ("lat", lat, {"units": "degrees_north"})}
    variables["z"] = ("lat lon", -np.ma.masked_invalid(depth(lon, lat[:, None])), {"units": "m"})
    return write_netcdf(path, variables)


def plane(lon, lat):
    """A depth that is the same for longitudes 360 degrees apart."""
    return 1000.0 + 10.0 * ((lon + 180) % 360 - 180) + 3.0 * lat


def survey(lon, lat):
    """The plane, 500 m deeper, with a hole in the middle."""
    hole = (np.abs(lon % 360 - 2.0) < 0.5) & (np.abs(lat - 50.0) < 0.5)
    return np.where(hole, np.nan, plane(lon, lat) + 500.0)


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("circle", [0.0, 360.0, -360.0], ids=["0", "+360", "-360"])
def test_finer_relief_counts_where_it_has_values(tmp_path, circle):
    coarse = write_relief(tmp_path / "coarse.nc", np.arange(-10.0, 15.1, 0.5), np.arange(40.0, 60.1, 0.5), plane)
    fine_lon = np.arange(0.05, 4.0, 0.1)
    fine = write_relief(tmp_path / "fine.nc", fine_lon + circle, np.arange(48.05, 52.0, 0.1), survey)
    grid = make_grid(tmp_path / "grid.nc", GridRequest((-4.0, 8.0, 46.0, 54.0), 0.5), [str(fine), str(coarse)])
    lon, lat = -4.0 + 0.5 * (np.arange(24) + 0.5), 46.0 + 0.5 * (np.arange(16) + 0.5)
    inside = ((lon > 0.2) & (lon < 3.8)) & ((lat > 48.2) & (lat < 51.8))[:, None]
    hole = (np.abs(lon - 2.0) < 0.5) & (np.abs(lat - 50.0) < 0.5)[:, None]
    outside = ~(((lon > -0.3) & (lon < 4.3)) & ((lat > 47.7) & (lat < 52.3))[:, None])
    expected = plane(lon, lat[:, None])
    np.testing.assert_allclose(grid.depth[outside], expected[outside], rtol=1e-4)
    away = inside & ~((np.abs(lon - 2.0) < 1.0) & (np.abs(lat - 50.0) < 1.0)[:, None])
    np.testing.assert_allclose(grid.depth[away], expected[away] + 500.0, rtol=1e-4)
    assert (grid.depth[hole] < expected[hole] + 250.0).all()


@pytest.mark.promise("files of other programs are read and written as they are")
def test_mosaic_of_one_plane_is_the_plane(tmp_path):
    """Exactly at the centres of cells, up to the rounding of areas on the sphere, with the date line in the region."""

    def flat_plane(lon, lat):
        return 1000.0 + 3.0 * lat + 0.0 * lon

    coarse = write_relief(tmp_path / "coarse.nc", np.arange(0.0, 360.0, 0.5), np.arange(-20.0, 20.1, 0.5), flat_plane)
    fine = write_relief(tmp_path / "fine.nc", np.arange(-181.0, -178.9, 0.1), np.arange(-2.0, 2.1, 0.1), flat_plane)
    grid = make_grid(tmp_path / "grid.nc", GridRequest((170.0, 190.0, -10.0, 10.0), 1.0), [str(fine), str(coarse)])
    lat = -10.0 + np.arange(20) + 0.5
    np.testing.assert_allclose(grid.depth, np.broadcast_to(flat_plane(0.0, lat[:, None]), grid.depth.shape), rtol=1e-5)


@pytest.mark.fault("reliefs that together do not cover the region")
def test_region_beyond_the_last_relief_is_refused(tmp_path):
    fine = write_relief(tmp_path / "fine.nc", np.arange(0.05, 4.0, 0.1), np.arange(48.05, 52.0, 0.1), plane)
    coarse = write_relief(tmp_path / "coarse.nc", np.arange(-1.0, 5.1, 0.5), np.arange(47.0, 53.1, 0.5), plane)
    with pytest.raises(ReliefError, match="does not cover the region"):
        make_grid(tmp_path / "grid.nc", GridRequest((-4.0, 8.0, 46.0, 54.0), 0.5), [str(fine), str(coarse)])
