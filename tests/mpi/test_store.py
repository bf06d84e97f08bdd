"""A run of several processes writes output.zarr with the values of output.nc; commands take either."""

import os

import numpy as np
import pytest
import xarray
from support.faults import SMALL, small_disk, swmodel

from swmodel.files.store.data import StoreData
from swmodel.plotting.dataset import open_data
from swmodel.plotting.record import read_map

pytestmark = pytest.mark.mpi

JET = ["run", "jet", *SMALL, "-s", "time.dt=18", "--quiet"]
RUN = [*JET, "-s", "output.every_steps=3", "-s", "output.maxima=eta"]


def done(folder, *arguments):
    found = swmodel(folder, *arguments)
    assert found.returncode == 0, found.stderr
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run on one process with output.nc, and one on two processes and then three with output.zarr."""
    folder = tmp_path_factory.mktemp("runs")
    done(folder, *RUN, "--steps", "20", "-o", "one")
    done(folder, *RUN, "--steps", "12", "-o", "two", "--nproc", "2", "-s", "output.format=zarr")
    done(folder, "resume", "two", "--steps", "20", "--nproc", "3", "--quiet")
    return folder


def test_a_run_goes_on_in_a_store_on_another_number_of_processes_with_the_bits_of_netcdf(folder):
    with xarray.open_dataset(folder / "one" / "output.nc") as file:
        xarray.testing.assert_equal(xarray.open_zarr(folder / "two" / "output.zarr"), file.drop_vars("crc32"))


@pytest.mark.night
@pytest.mark.parametrize("path", ["two", "two/output.zarr"])
@pytest.mark.parametrize("command", ["info", "info --verify", "plot --field speed --arrows", "view", "animate"])
def test_commands_take_a_store(folder, path, command):
    name, *options = command.split()
    target = ["-o", "picture.gif"] if name == "animate" else ["-o", "picture.png"] if name == "plot" else []
    target = ["-o", "page.html"] if name == "view" else target
    done(folder, name, path, *options, *target)


@pytest.mark.night
def test_pictures_of_both_formats_are_of_the_same_values(folder):
    with open_data(folder / "one" / "output.nc") as file, open_data(folder / "two" / "output.zarr") as store:
        for name in ("zeta", "eta_max", "depth"):
            ours, theirs = (read_map(data, name, 3) for data in (store, file))
            np.testing.assert_array_equal(ours.values.filled(0), theirs.values.filled(0))
            assert (ours.long_name, ours.units, ours.location) == (theirs.long_name, theirs.units, theirs.location)


@pytest.mark.night
def test_a_store_is_a_source_of_input(folder):
    start = ("-s", "input.eta=two/output.zarr:eta@-1", "--steps", "1")
    done(folder, *RUN, *start, "-o", "from_zarr")
    done(folder, *RUN, *("-s", "input.eta=one/output.nc:eta@-1", "--steps", "1"), "-o", "from_netcdf")
    with (
        xarray.open_dataset(folder / "from_zarr" / "output.nc") as ours,
        xarray.open_dataset(folder / "from_netcdf" / "output.nc") as theirs,
    ):
        xarray.testing.assert_equal(ours, theirs)


@pytest.mark.night
def test_a_change_of_the_format_is_refused(folder):
    found = swmodel(folder, "resume", "two", "--steps", "25", "-s", "output.format=netcdf", "--quiet")
    assert found.returncode == 2
    assert "output.format: zarr before, netcdf now" in found.stderr


@pytest.mark.night
def test_a_full_disk_is_one_line_with_code_5_and_leaves_whole_records(tmp_path):
    with small_disk(tmp_path / "disk", "2m") as disk:
        if not os.path.ismount(disk):
            pytest.skip("mounting is not allowed")
        often = ("-s", "output.every_steps=20", "-s", "output.diagnostics_every_steps=1000000", "--steps", "100000")
        found = swmodel(tmp_path, *JET, *often, "-o", "disk/run", "--nproc", "2", "-s", "output.format=zarr")
        assert found.returncode == 5
        assert found.stderr.startswith("Error: disk/run/output.zarr: disk full, ")
        assert len(found.stderr.splitlines()) == 1
        with StoreData(disk / "run" / "output.zarr") as store:
            steps = store["step"][:].tolist()
            assert steps == list(range(0, 20 * len(steps), 20))
            assert len(steps) > 5
            assert all(np.isfinite(store["eta"][number]).all() for number in range(len(steps)))
