"""Depth and share of sea from a relief: exact areas, whatever way the file lies; what cannot be used is refused."""

from contextlib import ExitStack

import netCDF4
import numpy as np
import pytest

from swmodel.files.relief import ReliefError, Wish
from swmodel.files.relief.average import at_places, averages
from swmodel.files.relief.make import grid_of, make_grid
from swmodel.files.relief.source import open_relief
from swmodel.ocean.coordinates import metrics, points
from swmodel.ocean.rotated import directions
from swmodel.setup.fields.netcdf_input import InputError

UNITS = {"lon": "degrees_east", "lat": "degrees_north"}
LON, LAT = np.arange(-179.0, 180, 2), np.arange(-89.0, 90, 2)


@pytest.fixture
def relief(tmp_path):
    """write(values, ...): the path of a relief on LON and LAT, or on others."""

    def write(values, name="z", lon=LON, lat=LAT, dimensions=("lat", "lon"), more=None, **attributes):
        path = tmp_path / "relief.nc"
        with netCDF4.Dataset(path, "w") as data:
            for axis, along in (("lon", lon), ("lat", lat)):
                data.createDimension(axis, len(along))
                data.createVariable(axis, "f8", (axis,)).units = UNITS[axis]
                data[axis][:] = along
            for each, field in ({name: values} | (more or {})).items():
                data.createVariable(each, "f8", dimensions, fill_value=1e20)
                data[each].setncatts({"units": "m"} | attributes if each == name else {"units": "1"})
                data[each][:] = np.ma.masked_invalid(field)
        return path

    return write


def average(path, region, resolution, **wish):
    """Depth, share of sea, areas of the cells, the grid, height of the land."""
    grid = grid_of(Wish(region, resolution, **wish))
    with ExitStack() as stack:
        depth, share, height = averages(open_relief(path, stack), grid)
    return depth, share, np.broadcast_to(metrics(grid, range(grid.ny))["area"].centre, depth.shape), grid, height


def rough():
    return 3000 * np.random.default_rng(3).standard_normal((len(LAT), len(LON)))


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize(("resolution", "west"), [(2.0, -180.0), (7.5, 12.1)])
def test_volume_and_area_of_the_sea_are_those_of_the_relief(relief, resolution, west):
    """Cells cut those of the relief anywhere; both end at 60 degrees, where both have an edge."""
    z = rough()
    depth, share, area, _, height = average(relief(z), (west, west + 360, -60, 60), resolution)
    inside = np.abs(LAT) < 60
    parts = 6371e3**2 * np.radians(2) * np.diff(np.sin(np.radians(np.arange(-90, 91, 2))))[inside, None]
    sea = z[inside] < 0
    assert (area * share).sum() == pytest.approx((parts * sea).sum(), rel=1e-12)
    assert (area * share * depth).sum() == pytest.approx((parts * sea * -z[inside]).sum(), rel=1e-12)
    assert (area * (1 - share) * height).sum() == pytest.approx((parts * ~sea * z[inside]).sum(), rel=1e-9)


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize("turned", ["lat", "lon", "axes", "from 0 to 360", "depth", "topobathy", "kilometres"])
def test_a_relief_may_lie_in_any_way(relief, turned):
    z, region = rough(), (-20, 31, -33, 40)
    truth = average(relief(z), region, 4.3)
    ways = {
        "lat": {"values": z[::-1], "lat": LAT[::-1]},
        "lon": {"values": z[:, ::-1], "lon": LON[::-1]},
        "axes": {"values": z.T, "dimensions": ("lon", "lat")},
        "from 0 to 360": {"values": np.roll(z, 90, axis=1), "lon": np.roll(LON, 90) % 360},
        "depth": {"values": -z, "name": "sea_floor", "standard_name": "sea_floor_depth_below_geoid"},
        "topobathy": {"values": z, "name": "topobathy"},
        "kilometres": {"values": z / 1000, "units": "km"},
    }
    for ours, expected in zip(average(relief(**ways[turned]), region, 4.3)[:2], truth[:2], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)


def test_the_share_of_sea_of_a_file_comes_before_the_sign_of_its_heights(relief):
    """A sea floor that lies dry, and land below sea level."""
    z, sea = np.full((len(LAT), len(LON)), -50.0), np.zeros((len(LAT), len(LON)))
    sea[:, :90] = 1
    depth, share, *_ = average(relief(z, more={"sea": sea}), (-10, 10, -10, 10), 10.0)
    assert share.tolist() == [[1, 0]] * 2
    assert depth.tolist() == [[50, 0]] * 2
    _, land, *_ = average(relief(z, more={"land": 1 - sea}), (-10, 10, -10, 10), 10.0)
    assert land.tolist() == share.tolist()


@pytest.mark.parametrize("pole", [None, (-42.0, 76.0), (100.0, -10.0)])
def test_cells_that_are_turned_or_finer_than_the_relief_have_the_relief_of_their_places(relief, pole):
    """A smooth relief, to the square of its steps, d²/8 each way, and of cells, c²/24 each way and tan(lat) c²/12."""
    steep = np.array([500.0, 300.0, -700.0])

    def height(lon, lat):
        return directions(lon, lat) @ steep - 2000

    path = relief(height(LON[None, :], LAT[:, None]))
    size = 5.0 if pole else 0.8
    depth, share, _, grid, _ = average(path, (-180, 180, -60, 60), size, pole=pole)
    at = points(grid, "centre", range(grid.ny), range(grid.nx))
    assert (share == 1).all()
    near = np.broadcast_to(np.abs(at.lat) > 86, depth.shape)  # beyond the last points of the relief
    depth = np.where(near, -height(at.lon, at.lat), depth)
    bound = 1000 * (np.radians(2.0) ** 2 / 4 + np.radians(size) ** 2 / 4)
    np.testing.assert_allclose(-depth, height(at.lon, at.lat), rtol=0, atol=bound)


@pytest.mark.fault("a relief that does not cover the region; its signs, units, holes, land shares, directions")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lon": np.linspace(0, 90, 180)}, r"does not cover the region, which needs lon = -20 degrees"),
        ({"lat": np.linspace(0, 60, 90)}, r"does not cover the region, which needs lat = -30 degrees"),
        ({"name": "data"}, r"no known field of height or depth \(data\); name it as .*relief.nc:NAME"),
        ({"more": {"elevation": np.zeros((90, 180))}}, r"several fields that may be the relief \(z, elevation\)"),
        ({"units": "feet"}, 'z is in "feet"; a relief is in m or km'),
        ({"units": ""}, 'z is in ""; a relief is in m or km'),
        ({"hole": True}, "z has no height at lon = 1, lat = -1 degrees"),
        (
            {"more": {"sea": np.full((90, 180), 3.0)}},
            "relief.nc: sea is no share of sea or land at lon = -19, lat = -29",
        ),
        ({"lon": np.append(np.arange(179.0), 0.0)}, "lon has missing values, or does not run in one direction"),
    ],
    ids=lambda each: ",".join(each) if isinstance(each, dict) else "",
)
def test_a_relief_that_cannot_be_used_is_refused_in_a_line_that_says_where(relief, change, message):
    z = np.full((len(LAT), len(LON)), -1000.0)
    if change.pop("hole", False):
        z[44, 90] = np.nan
    with pytest.raises(InputError, match=message):
        average(relief(z, **change), (-20, 20, -30, 30), 5.0)


@pytest.mark.fault("a relief that does not cover the region; its signs, units, holes, land shares, directions")
def test_a_field_whose_sign_is_not_known_is_asked_for_it(relief):
    path = f"{relief(rough(), name='data')}:data"
    with pytest.raises(ReliefError, match='may be height or depth; .* positive, "up" or "down"'):
        average(path, (0, 20, 0, 20), 5.0)


@pytest.mark.fault("a relief of the wrong sign")
@pytest.mark.parametrize(("name", "other"), [("elevation", "down"), ("depth", "up")])
def test_a_relief_all_on_the_wrong_side_of_the_sea_is_asked_for_its_sign(relief, tmp_path, name, other):
    path = relief(np.full((len(LAT), len(LON)), 800.0 if name == "elevation" else -800.0), name=name)
    with pytest.raises(ReliefError, match=f"is all land; if {name} is positive {other}ward"):
        make_grid(tmp_path / "grid.nc", Wish((0, 20, 0, 20), 5.0), path)


@pytest.mark.fault("a relief of the wrong sign")
def test_a_relief_whose_sea_is_the_land_of_the_earth_is_asked_for_its_sign(relief, tmp_path, caplog):
    """Heights that are called depth; the same called z are taken without a word."""
    with ExitStack() as stack:
        depth, share, _ = at_places(open_relief(None, stack), *np.meshgrid(LON, LAT))
    z = np.where(share > 0.5, -1.0 - depth, 500.0)
    for name, said in (("z", 0), ("depth", 1)):
        make_grid(tmp_path / f"{name}.nc", Wish((-100, 20, -60, 60), 4.0), relief(z, name=name))
        lines = [record.message for record in caplog.records]
        assert len(lines) == said
        assert all("differ between sea and land" in line and 'positive = "up"' in line for line in lines)
