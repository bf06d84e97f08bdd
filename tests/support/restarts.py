"""Short runs with restart files, and comparisons of runs."""

import h5py
import numpy as np

import swmodel
from support.faults import flip_bit
from swmodel.files.integrity import checksums
from swmodel.files.restart import folder
from swmodel.files.restart.folder import SUFFIXES
from swmodel.files.run_folder import DIAGNOSTICS, SNAPSHOT_FILES
from swmodel.plotting.dataset import open_netcdf_or_zarr

SMALL_RUN_OPTIONS = {"grid.nx": 14, "grid.ny": 9, "time.dt": 18.0, "run.executor": "reference", "run.steps": 11}
RECORD_OPTIONS = {"output.every_steps": 4, "output.diagnostics_every_steps": 3}
RECORD_OPTIONS |= {"output.means": ["eta", "speed"], "output.fields": ["h", "u", "v", "zeta"]}
RECORD_FILES = ("output.nc", "diagnostics.nc")


def config(**options):
    options = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.resolve(swmodel.load("jet", SMALL_RUN_OPTIONS | RECORD_OPTIONS | options, environ={}))


def simulation(restart=None, **options):
    return swmodel.Simulation(config(**options), restart=restart)


def read_variables(path):
    """{name: values} of all variables of a NetCDF file or a Zarr store."""
    with open_netcdf_or_zarr(path) as file:
        values = {name: np.ma.getdata(variable[...]) for name, variable in file.variables.items()}
    return {name: each.astype(str) if each.dtype == object else each for name, each in values.items()}


def bytes_of_files(directory):
    """{path: bytes} of all files in a folder and its subfolders."""
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def assert_same_data(ours, theirs, *files):
    """Assert that two files, or the `files` in two folders, have the same variables with the same bits."""
    for file in files or [""]:
        our_values, their_values = read_variables(ours / file), read_variables(theirs / file)
        assert our_values.keys() == their_values.keys()
        for name, value in their_values.items():
            assert value.tobytes() == our_values[name].tobytes(), (file, name)


def assert_same_run(ours, theirs, steps=11):
    """Assert that snapshots, diagnostics and the last restart file in two run folders have the same bits."""
    names = [*SNAPSHOT_FILES, DIAGNOSTICS, *(f"restart/step-{steps:010d}{ending}" for ending in SUFFIXES.values())]
    existing_files = [name for name in names if (theirs / name).exists()]
    assert len(existing_files) == 3
    assert_same_data(ours, theirs, *existing_files)


def set_value(path, name, index, value):
    with h5py.File(path, "r+") as file:
        file[name][index] = value


def flip_bit_of_variable(path, name):
    """Change one bit in the middle of a variable in a file, or in the middle of its first chunk in a store."""
    if path.is_dir():
        chunk = path / name / "c" / "0" / "0"
        return flip_bit(chunk, chunk.stat().st_size // 2)
    with h5py.File(path, "r") as file:
        position = file[name].id.get_offset() + file[name].id.get_storage_size() // 2
    flip_bit(path, position)


def renew_header_checksum(path) -> None:
    """Update the checksum of a file's header, so that the file does not count as damaged."""
    with h5py.File(path, "r+") as file:
        checksums.write_header_checksum(file)


def resume_run(directory, steps=11, path=None, **options):
    """Continue the run in a folder from the restart file `path`, or from the newest one, as `swmodel resume` does."""
    restart, _ = folder.choose_restart(directory, path)
    simulation(restart.path, run__steps=steps, **options).run(directory)
    return directory


def make_halfway_run(directory):
    """Make a run of 7 steps with restart files at steps 5 and 7; returns its folder."""
    simulation(run__steps=7, restart__every_steps=5).run(directory)
    return directory
