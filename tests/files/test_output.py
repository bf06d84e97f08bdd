"""output.nc and diagnostics.nc: what users' tools read in them, and that the number of ranks does not show."""

import os
import subprocess
import sys

import cf_xarray  # noqa: F401  gives Datasets the attribute cf
import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.cf_checker import checked
from support.random_case import configuration, random_fields
from support.ranks import run_ranks
from xgcm import Grid

from swmodel import load
from swmodel.config import config_hash, to_toml
from swmodel.files.output import Diagnostics, Output
from swmodel.model.resolve import fastest_executor, resolve
from swmodel.ocean.table import VARIABLES
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
from swmodel.setup.setup import setup_of

NY, NX = 11, 13
SHAPE = {"centre": ("y_c", "x_c"), "u": ("y_c", "x_f"), "v": ("y_f", "x_c"), "corner": ("y_f", "x_f")}
FIELDS = tuple(name for name in VARIABLES if name in ("h", "u", "v", "eta", "sea_level", "zeta", "q", "speed"))
SEA_LEVEL = "sea level"
INTERFACE = "downward displacement of the interface", "resting thickness of the layer"
TIMES = {0: 0.0, 7: 140.0, 10: 200.0}
CASE = random_fields(NY, NX, land=0.4)


def config_of(dtype="float32", case=CASE, **more):
    options = {"output__fields": FIELDS, "output__means": ("eta", "u"), "run__dtype": dtype}
    return resolve(configuration(NY, NX, case, **(options | {"grid__periodic_y": False} | more)))


def values(name, step):
    """A random field of the whole domain for each name and step."""
    return np.random.default_rng([step, *name.encode()]).standard_normal((NY, NX))


def write(path, config, layout=(1, 1)):
    """An output.nc of three records, by one thread for each rank."""

    def rank(transport):
        y, x = transport.block.y, transport.block.x
        dtype = np.dtype(config.run.dtype)

        def local(names, step):
            here = slice(y.start, y.stop), slice(x.start, x.stop)
            return {name: values(name, step)[here].astype(dtype) for name in names}

        with Output(path, config, transport, command_line="swmodel run random") as output:
            for step, seconds in TIMES.items():
                means = local(("eta", "u"), step + 1000) if step and config.output.means else {}
                means = {f"{name}_mean": field for name, field in means.items()}
                output.write(step, seconds, local(config.output.fields, step) | means)

    run_ranks(rank, layout, NY, NX)
    return path


@pytest.mark.parametrize("reduced", [False, True])
def test_output_satisfies_the_cf_checker(tmp_path, reduced):
    """But for the role "grid_topology", which SGRID asks for and the checker does not know."""
    errors, text = checked(write(tmp_path / "output.nc", config_of(physics__reduced_gravity=reduced)))
    assert "cf:1.11" in text
    assert [error for error in errors if "grid_topology is not a valid cf_role" not in error] == []


@pytest.mark.fault("the displacement of an interface is mistaken for sea level, or the reverse")
@pytest.mark.parametrize(("reduced", "eta", "depth"), [(False, SEA_LEVEL, "resting depth"), (True, *INTERFACE)])
def test_with_reduced_gravity_eta_is_the_interface_and_not_sea_level(tmp_path, reduced, eta, depth):
    means = ("eta", "sea_level")
    config = config_of(physics__reduced_gravity=reduced, output__means=means, output__fields=("h", *means))
    with Output(tmp_path / "output.nc", config, Serial(block(0, (1, 1), NY, NX))):
        pass
    with netCDF4.Dataset(tmp_path / "output.nc") as data:
        for end in ("", "_mean"):
            assert data["sea_level" + end].long_name == SEA_LEVEL
            assert data["sea_level" + end].standard_name == "sea_surface_height_above_geoid"
            assert data["eta" + end].long_name == eta
            assert ("standard_name" in data["eta" + end].ncattrs()) != reduced
        assert (data["depth"].long_name, "standard_name" in data["depth"].ncattrs()) == (depth, not reduced)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fields_means_and_times_come_back(tmp_path, dtype):
    path = write(tmp_path / "output.nc", config_of(dtype))
    with xr.open_dataset(path) as data:
        start = np.datetime64("2000-01-01")
        assert list(data.time.values - start) == [np.timedelta64(int(seconds), "s") for seconds in TIMES.values()]
        assert list(data.step.values) == list(TIMES)
        dry = land_masks()
        for name in FIELDS:
            assert data[name].dims == ("time", *SHAPE[VARIABLES[name].location])
            assert data[name].dtype == dtype
            assert data[name].attrs["cell_methods"] == "time: point"
            for record, step in enumerate(TIMES):
                expected = np.where(dry[VARIABLES[name].location], np.nan, values(name, step).astype(dtype))
                np.testing.assert_array_equal(data[name][record], expected)
        for name in ("eta", "u"):
            mean = data[name + "_mean"]
            assert mean.attrs["cell_methods"] == "time: mean"
            assert mean[0].isnull().all()
            expected = np.where(dry[VARIABLES[name].location], np.nan, values(name, 1010).astype(dtype))
            np.testing.assert_array_equal(mean[2], expected)
        bounds = (data.time_bounds.values - start) / np.timedelta64(1, "s")
        assert bounds.tolist() == [[0, 0], [0, 140], [140, 200]]


def test_cf_xarray_finds_the_axes_of_the_grid(tmp_path):
    with xr.open_dataset(write(tmp_path / "output.nc", config_of())) as data:
        axes = {name: set(found) for name, found in data.cf.axes.items()}
    assert axes == {"X": {"x_c", "x_f"}, "Y": {"y_c", "y_f"}, "T": {"time"}}


def land_masks():
    """Points of each location with no water beside them: the domain ends at walls in the south and in the north."""
    wet = np.pad(CASE["mask"], 1)
    wet[:, -1] = wet[:, 1]
    here, east, north, corner = wet[1:-1, 1:-1], wet[1:-1, 2:], wet[2:, 1:-1], wet[2:, 2:]
    near = {"centre": here, "u": here + east, "v": here + north, "corner": here + east + north + corner}
    return {location: number == 0 for location, number in near.items()}


def test_fields_that_do_not_change(tmp_path):
    config = config_of(physics__beta=2e-11)
    with xr.open_dataset(write(tmp_path / "output.nc", config)) as data:
        land = land_masks()["centre"]
        np.testing.assert_array_equal(data.mask, ~land)
        for name in ("depth", "wind_x", "wind_y"):
            np.testing.assert_array_equal(data[name], np.where(land, np.nan, CASE[name]))
        np.testing.assert_array_equal(
            data.f, config.physics.f0 + 2e-11 * data.y_f.values[:, None] + 0 * data.x_f.values
        )
        assert (data.cell_area == 4e3 * 5e3).all()
        np.testing.assert_allclose(data.x_f - data.x_c.values, 2e3)
        np.testing.assert_allclose(data.y_f - data.y_c.values, 2.5e3)


@pytest.mark.night
@pytest.mark.parametrize("layout", [(1, 2), (2, 1), (3, 2), (11, 1)])
def test_data_are_the_same_from_any_number_of_ranks(tmp_path, layout, monkeypatch):
    monkeypatch.setattr("swmodel.files.gather.CHUNK_BYTES", 3 * NX * 4)
    monkeypatch.setattr("swmodel.files.gather.GATHER_BYTES", 6 * NX * 4)
    config = config_of()
    one, many = (write(tmp_path / f"{name}.nc", config, shape) for name, shape in (("one", (1, 1)), ("many", layout)))
    with netCDF4.Dataset(one) as a, netCDF4.Dataset(many) as b:
        assert list(a.variables) == list(b.variables)
        for name, variable in a.variables.items():
            variable.set_auto_maskandscale(False)
            b[name].set_auto_maskandscale(False)
            assert variable[...].tobytes() == b[name][...].tobytes()
            assert variable.chunking() == b[name].chunking()
            assert str(variable) == str(b[name])


def test_xgcm_finds_the_grid_and_its_divergence_is_ours(tmp_path):
    config = config_of(output__means=())
    with xr.open_dataset(write(tmp_path / "output.nc", config)) as data:
        grid = Grid(data, padding={"X": "periodic", "Y": "fill"})
        axes = {name: dict(axis.coords) for name, axis in grid.axes.items()}
        assert axes == {"X": {"center": "x_c", "right": "x_f"}, "Y": {"center": "y_c", "right": "y_f"}}
        u, v = (data[name].fillna(0.0).astype(float) for name in "uv")
        divergence = grid.diff(u, "X") / data.dx_c + grid.diff(v, "Y") / data.dy_c
        across = np.concatenate([np.zeros((3, 1, NX)), v.values], axis=1)
        expected = (u.values - np.roll(u.values, 1, axis=2)) / 4e3 + np.diff(across, axis=1) / 5e3
        assert divergence.dims == ("time", "y_c", "x_c")
        np.testing.assert_allclose(divergence, expected, rtol=1e-12, atol=1e-18)


def test_a_file_says_how_it_came_about(tmp_path):
    config = config_of(output__institution="Institute of Waves")
    with netCDF4.Dataset(write(tmp_path / "output.nc", config, (2, 1))) as data:
        assert data.Conventions == "CF-1.12 SGRID-0.3"
        assert data.history.endswith("Z: swmodel run random")
        assert data.configuration == to_toml(config)
        assert data.configuration_sha256 == config_hash(config)
        assert (data.nproc, data.layout, data.executor) == (2, "2x1", fastest_executor(setup_of(load("rest", {}, {}))))
        assert data.institution == "Institute of Waves"
        assert "numpy" in data.versions


def test_diagnostics_come_back(tmp_path):
    path = tmp_path / "diagnostics.nc"
    numbers = {"mass": 1e18, "energy": 2.0, "potential_enstrophy": 3.0, "max_speed": 4.0, "min_h": 5.0, "cfl": 0.1}

    def rank(transport):
        with Diagnostics(path, config_of(), transport, command_line="swmodel run random") as series:
            for step, seconds in TIMES.items():
                series.write(step, seconds, {name: number + step for name, number in numbers.items()})

    run_ranks(rank, (2, 2), NY, NX)
    assert checked(path)[0] == []
    with xr.open_dataset(path) as data:
        assert data.step.values.tolist() == list(TIMES)
        assert {name: data[name].attrs["units"] for name in numbers} == {
            "mass": "kg", "energy": "J", "potential_enstrophy": "m s-2", "max_speed": "m s-1", "min_h": "m", "cfl": "1",
        }  # fmt: skip
        for name, number in numbers.items():
            assert data[name].values.tolist() == [number + step for step in TIMES]


READER = """
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1]) as data:
    print(data["time"][:].tolist(), data["h"][:].max(axis=(1, 2)).tolist())
"""

KILLED = """
import os, sys, numpy as np, subprocess
from swmodel import load, resolve
from swmodel.parallel.decomposition import block
from swmodel.files.output import Output
from swmodel.parallel.transport.serial import Serial
config = resolve(load("rest", {"grid.nx": 8, "grid.ny": 6, "output.fields": ["h"]}))
output = Output(sys.argv[1], config, Serial(block(0, (1, 1), 6, 8)))
for step in range(3):
    output.write(step, float(step), {"h": np.full((6, 8), step, np.float32)})
output.put(lambda file: subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[1]]))
output.put(lambda records: records.file["h"].resize(4, axis=0))
output.put(lambda records: records.file["h"].__setitem__(3, 3.0))
output.put(lambda file: os.kill(os.getpid(), 9))
output._queue.finish()
"""


@pytest.mark.night
def test_readers_find_whole_records_during_the_run_and_after_it_is_killed(tmp_path):
    path = tmp_path / "output.nc"
    environment = {name: text for name, text in os.environ.items() if name != "HDF5_USE_FILE_LOCKING"}
    line = [sys.executable, "-c", KILLED, str(path), READER]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == "[0.0, 1.0, 2.0] [0.0, 1.0, 2.0]\n", done.stderr
    with netCDF4.Dataset(path) as data:
        assert data["time"][:].tolist() == [0.0, 1.0, 2.0]
        assert data["h"][:].max(axis=(1, 2)).tolist() == [0.0, 1.0, 2.0]
