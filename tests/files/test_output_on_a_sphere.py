"""Files and pictures of runs on a sphere: longitudes, latitudes, grid mapping, areas; axes in degrees, coasts."""

import matplotlib as mpl
import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.cf_checker import checked
from support.made_cases import case_of
from xgcm import Grid

from swmodel import Simulation, load
from swmodel.gradients.quantities import parse
from swmodel.ocean.coordinates import metrics
from swmodel.plotting.dataset import open_data
from swmodel.plotting.maps import picture
from swmodel.setup.positions.crossings import straight
from swmodel.setup.positions.gauges import station

NY, NX = 10, 24
BAND = {"grid.kind": "latlon", "grid.nx": NX, "grid.ny": NY, "grid.west": 20.0, "grid.south": 10.0, "grid.north": 60.0}
RUN = {"run.steps": 4, "output.every_steps": 2, "run.dtype": "float64", "run.executor": "reference", "time.dt": 60.0}


def fields():
    rng = np.random.default_rng(4)
    mask = np.ones((NY, NX))
    mask[3:6, 5:9] = 0
    return {"mask": mask, "wind_x": rng.random((NY, NX)), "eta": rng.random((NY, NX)), "u": rng.random((NY, NX))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sphere") / "run"
    options = BAND | RUN | {"output.fields": ("h", "u", "v", "zeta", "eta"), "output.means": ("u",)}
    Simulation(load(type(case_of(fields())), options, environ={})).run(path)
    return path


@pytest.mark.night
def test_the_file_satisfies_the_cf_checker(folder):
    """But for what it does not know of staggered grids: their topology, and that centres and faces have longitudes."""
    errors, text = checked(folder / "output.nc")
    unknown = "grid_topology is not a valid cf_role", "requires exactly one variable with standard_name"
    assert "cf:1.11" in text
    assert [error for error in errors if not any(words in error for words in unknown)] == []


def test_coordinates_are_longitudes_and_latitudes_with_bounds_and_a_mapping(folder):
    with netCDF4.Dataset(folder / "output.nc") as data:
        for axis, name, first, step in (("x", "longitude", 20.0, 15.0), ("y", "latitude", 10.0, 5.0)):
            centres, faces = data[f"{axis}_c"], data[f"{axis}_f"]
            assert (centres.standard_name, faces.standard_name) == (name, name)
            assert centres.units == {"x": "degrees_east", "y": "degrees_north"}[axis]
            np.testing.assert_allclose(centres[:], first + step * (np.arange(len(centres)) + 0.5))
            np.testing.assert_allclose(faces[:], first + step * (np.arange(len(faces)) + 1))
            np.testing.assert_allclose(data[centres.bounds][:, 1], faces[:])
            np.testing.assert_allclose(data[faces.bounds][:, 0], centres[:])
        mapping = data[data["eta"].grid_mapping]
        assert (mapping.grid_mapping_name, mapping.earth_radius) == ("latitude_longitude", 6371e3)
        names = {"u": "eastward_sea_water_velocity", "v": "northward_sea_water_velocity"}
        names |= {"u_mean": names["u"], "wind_x": "surface_downward_eastward_stress"}
        assert {name: data[name].standard_name for name in names} == names
        assert data["u"].long_name == "eastward velocity"


def test_areas_and_lengths_make_the_divergence_of_the_model_in_xgcm(folder):
    data = xr.open_dataset(folder / "output.nc")
    config = load(type(case_of(fields())), BAND, environ={})
    lengths = metrics(config.grid, range(NY))
    np.testing.assert_allclose(data.cell_area, np.broadcast_to(lengths["area"].centre, (NY, NX)))
    np.testing.assert_allclose(data.dx_c, lengths["dx"].centre[:, 0])
    np.testing.assert_allclose(data.dx_f, lengths["dx"].v[:, 0])
    grid = Grid(
        data,
        padding={"X": "periodic", "Y": "fill"},
        metrics={("X",): ["dx_c", "dx_f"], ("Y",): ["dy_c", "dy_f"], ("X", "Y"): ["cell_area"]},
        autoparse_metadata=True,
    )
    u, v, h = data.u.fillna(0), data.v.fillna(0), data.h.fillna(0)
    across = grid.diff(u * grid.interp(h, "X") * data.dy_c, "X")
    up = grid.diff(v * grid.interp(h, "Y", padding="fill") * data.dx_f, "Y")
    content = (-(across + up) / data.cell_area).isel(time=1).where(data.mask == 1)
    assert abs(float((content * data.cell_area).sum())) < 1e-9 * float((abs(content) * data.cell_area).sum())


def test_pictures_are_in_degrees_with_coasts_and_the_current_in_its_direction(folder):
    from swmodel.plotting import style
    from swmodel.plotting.overlays import Over

    with open_data(folder / "output.nc") as data, mpl.rc_context(style.RC):
        figure = picture(data, ["eta", "speed"], over=Over(arrows=True))
    axes = [each for each in figure.axes if each.images]
    assert axes[-1].get_xlabel() == "longitude"
    assert axes[0].get_ylabel() == "latitude"
    assert axes[0].get_xlim() == (20.0, 380.0)
    (coast,) = (each for each in axes[0].collections if isinstance(each, mpl.collections.LineCollection))
    ends = np.concatenate(coast.get_segments())
    assert (ends.min(axis=0).tolist(), ends.max(axis=0).tolist()) == ([95.0, 25.0], [155.0, 40.0])
    assert len(coast.get_segments()) == 2 * (3 + 4)
    (arrows,) = (each for each in axes[0].collections if isinstance(each, mpl.quiver.Quiver))
    assert arrows.angles == "uv"  # as the current goes, though a degree of longitude is shorter than one of latitude


def test_stations_and_sections_are_given_in_degrees_and_measured_in_metres():
    config = load(type(case_of(fields())), BAND | RUN, environ={})
    west = station(config, (-10.0, 40.0))
    assert (west.x, west.rows.tolist()) == (350.0, [5, 5, 6, 6])
    assert west.columns.tolist() == [21, 22, 21, 22]
    parallel, meridian = straight(config, "y", 30.0, 20.0, 65.0), straight(config, "x", 200.0)
    assert parallel.faces.lengths.sum() == pytest.approx(6371e3 * np.cos(np.radians(30)) * np.radians(45))
    assert meridian.faces.lengths.sum() == pytest.approx(6371e3 * np.radians(50))
    found = parse("transport:lat=30,from=20,to=65", config)
    assert found.long_name == "volume transport through lat = 30 degrees, lon from 20 degrees to 65 degrees"
    assert parse("eta:-10,40", config).line == ((350.0, 40.0),)
