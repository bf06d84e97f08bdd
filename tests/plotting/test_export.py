"""Fields of a run as GeoTIFF, and the extent of a flood as polygons, read back by GDAL."""

import netCDF4
import numpy as np
import pyogrio
import pytest
import rasterio
import shapely
from support.command import invoke_swmodel

import swmodel
from swmodel.plotting.dataset import PlotError
from swmodel.plotting.export import export


@pytest.fixture(scope="module")
def flooded_run(tmp_path_factory):
    """A run on a plane whose beach is flooded."""
    folder = tmp_path_factory.mktemp("flood") / "run"
    options = {"grid.nx": 30, "grid.ny": 30, "run.executor": "reference", "run.steps": 60, "output.inundation": True}
    swmodel.Simulation("thacker_planar", options | {"output.maxima": ["h", "speed"]}).run(folder)
    return folder


@pytest.fixture(scope="module")
def sphere_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sphere") / "run"
    options = {"grid.nx": 27, "grid.ny": 26, "run.executor": "reference", "run.steps": 3}
    swmodel.Simulation("chile2010", options | {"output.fields": ["eta", "u", "speed"]}).run(folder)
    return folder


@pytest.mark.promise("files of other programs are read and written as they are")
def test_geotiff_has_the_values_and_positions_of_the_run(sphere_run, tmp_path):
    export(sphere_run, tmp_path / "eta.tif", ["eta", "speed"])
    with netCDF4.Dataset(sphere_run / "output.nc") as data, rasterio.open(tmp_path / "eta.tif") as raster:
        x, y, eta = data["x_c"][:], data["y_c"][:], data["eta"][-1]
        assert (raster.crs.to_epsg(), raster.descriptions, raster.units) == (4326, ("eta", "speed"), ("m", "m s-1"))
        values = raster.read(1)
        for row, column in ((0, 0), (5, 7), (25, 26)):
            position = raster.xy(25 - row, column)
            np.testing.assert_allclose(position, (x[column], y[row]), rtol=1e-12)
        np.testing.assert_array_equal(values[::-1], np.ma.filled(eta, np.nan))


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("ending", ["gpkg", "kml", "geojson"])
def test_extent_has_the_area_of_the_flooded_cells(flooded_run, tmp_path, ending):
    target = tmp_path / f"extent.{ending}"
    export(flooded_run, target, crs="EPSG:32631")
    with netCDF4.Dataset(flooded_run / "output.nc") as data:
        flooded = ~np.ma.getmaskarray(data["wet_arrival"][-1])
        area = flooded.sum() * np.diff(data["x_c"][:2]) * np.diff(data["y_c"][:2])
    assert area > 0
    meta, _, (geometry,), _ = pyogrio.raw.read(target)
    polygons = shapely.from_wkb(geometry)
    if ending == "gpkg":
        assert meta["crs"] == "EPSG:32631"
        assert polygons.area == pytest.approx(area.item(), rel=1e-12)
    else:  # longitudes and latitudes: x = 0 lies 500 km west of 3 E, y = 0 on the equator
        west, south, *_ = polygons.bounds
        assert (west, south) == pytest.approx((-1.49, 0.0), abs=0.1)


@pytest.mark.fault("fields without a position, a reference system or a value become a raster")
def test_fields_that_cannot_be_exported_are_refused(flooded_run, sphere_run, tmp_path):
    for run, target, options, words in (
        (flooded_run, "a.tif", {}, "--crs"),
        (flooded_run, "a.tif", {"crs": "EPSG:1"}, "no coordinate reference system"),
        (flooded_run, "a.tif", {"crs": "EPSG:4326"}, "must be in metres"),
        (sphere_run, "a.tif", {"crs": "EPSG:32631"}, "longitudes and latitudes"),
        (sphere_run, "a.tif", {"names": ["u"]}, "faces"),
        (sphere_run, "a.tif", {"names": ["hazard"]}, "output.maxima"),
        (sphere_run, "a.gpkg", {}, "inundation"),
        (sphere_run, "a.png", {}, ".gpkg"),
        (sphere_run, "a.tif", {"names": ["heat"]}, 'no field "heat"'),
        (sphere_run, "a.tif", {"names": ["eta"], "time": 9e6}, "no record near 2500 h"),
    ):
        with pytest.raises(PlotError, match=words):
            export(run, tmp_path / target, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.fault("an optional package is missing")
@pytest.mark.parametrize(("target", "package"), [("a.tif", "rasterio"), ("a.gpkg", "pyogrio")])
def test_missing_package_is_named_with_its_extra(flooded_run, tmp_path, monkeypatch, target, package):
    monkeypatch.setattr("swmodel.extras.find_spec", lambda name: None)
    result = invoke_swmodel("export", flooded_run, tmp_path / target, "--crs", "EPSG:32631")
    assert result.exit_code != 0
    assert package in result.output
    assert "[gis]" in result.output
    assert not list(tmp_path.iterdir())


def test_hazard_is_the_rating_of_largest_depth_and_speed(flooded_run, tmp_path):
    """The file is a cloud-optimised GeoTIFF with the largest values and arrival times of the run."""
    export(flooded_run, tmp_path / "maxima.tif", crs="EPSG:32631")
    with rasterio.open(tmp_path / "maxima.tif") as raster:
        assert raster.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        bands = dict(zip(raster.descriptions, raster.read(), strict=True))
    assert {"h_max", "speed_max", "wet_arrival", "hazard"} <= bands.keys()
    with netCDF4.Dataset(flooded_run / "output.nc") as data:
        for name in bands.keys() - {"hazard"}:
            np.testing.assert_array_equal(bands[name][::-1], np.ma.filled(data[name][-1], np.nan))
    is_flooded = np.isfinite(bands["hazard"])
    assert 0 < is_flooded.mean() < 1
    export(flooded_run, tmp_path / "mask.tif", ["mask", "depth"], crs="EPSG:32631")
    with rasterio.open(tmp_path / "mask.tif") as raster, netCDF4.Dataset(flooded_run / "output.nc") as data:
        for band, name in enumerate(("mask", "depth"), 1):
            np.testing.assert_array_equal(raster.read(band)[::-1], data[name][:])
    expected = bands["h_max"] * (bands["speed_max"] + 0.5)
    np.testing.assert_allclose(bands["hazard"][is_flooded], expected[is_flooded], rtol=1e-6)


@pytest.mark.parametrize("east", [40.0, 320.0])
def test_grid_about_another_pole_is_refused(tmp_path, east):
    """A grid that goes around its pole is refused, too."""
    grid = {"grid.pole": (-40.0, 50.0), "grid.west": -40.0, "grid.east": east, "grid.south": -30.0, "grid.north": 30.0}
    grid |= {"grid.nx": 16, "grid.ny": 12, "run.steps": 1, "run.executor": "reference"}
    swmodel.Simulation("sea", grid).run(tmp_path / "run")
    with pytest.raises(PlotError, match="rotated-pole"):
        export(tmp_path / "run", tmp_path / "a.tif", ["eta"])
