"""A run stopped on two processes and continued on one, three or four leaves the files of one that was never stopped."""

import os
import shutil
import subprocess
import sys

import netCDF4
import numpy as np
import pytest
from conftest import ROOT
from support.restarts import assert_same_data

from swmodel.files.restart import folder
from swmodel.files.status import read_status
from swmodel.model.launch import find_mpiexec

#: A tide and a current that come in from two sides.
SIDES = [
    *("-s", "grid.periodic_x=false", "-s", "open_sides.sides=west,east", "-s", "open_sides.constituents=M2"),
    *(
        "-s",
        "open_sides.current_x=0.2",
        "-s",
        "open_sides.amplitude=0.3",
        "-s",
        "open_sides.phase=40",
        "-s",
        "tide.ramp=4000",
    ),
]
pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("quickly_compiled")]

CASE = [
    *("jet", "-s", "grid.nx=24", "-s", "grid.ny=17", "-s", "time.stepper=ab3", "--executor", "native", "--quiet"),
    *SIDES,
]
RECORDS = ["-s", "output.every_steps=6", "-s", "output.means=eta,speed,zeta", "-s", "output.diagnostics_every_steps=5"]
#: Gauges between blocks, and at a wall and an open side, a line across blocks, largest values.
PLACES = [
    *("-s", 'output.stations=[{name="a", x=61e3, y=42e3}, {name="b", x=100e3, y=20e3}, {name="c", x=112e3, y=81e3}]'),
    *("-s", 'output.sections=[{name="across", start=[20e3, 0.0], end=[90e3, 80e3]}]', "-s", "output.arrival=0.3"),
    *("-s", "output.sections_every_steps=3", "-s", "output.maxima=eta,speed"),
]
FILES = ("output.nc", "diagnostics.nc", "stations.nc", "sections.nc", "restart/step-0000000020.nc")


def swmodel(*arguments, under=(), code=0):
    """Run the program; what it wrote on stderr."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "100"}
    line = [*under, sys.executable, "-m", "swmodel", *map(str, arguments)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    swmodel("run", *CASE, *RECORDS, *PLACES, "--steps", 20, "-o", directory)
    return directory


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Ended at step 9, on no interval, with restart files at 8 and 9."""
    directory = tmp_path_factory.mktemp("runs") / "stopped"
    swmodel("run", *CASE, *RECORDS, *PLACES, "-s", "restart.every_steps=8", "--steps", 9, "--nproc", 2, "-o", directory)
    return directory


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("gauges, sections and largest values see every step")
@pytest.mark.fault("a run continues on another number of ranks")
@pytest.mark.fault("gauges and largest speeds beside open sides show no current")
@pytest.mark.fault(
    "a tide that starts at once raises free waves; its ramp differs after a restart, between executors or layouts"
)
@pytest.mark.parametrize("nproc", [1, 3])
def test_another_number_of_processes_goes_on(undisturbed, stopped, tmp_path, nproc):
    directory = shutil.copytree(stopped, tmp_path / "run")
    swmodel("resume", directory, "--steps", 20, "--nproc", nproc, "--quiet")
    for name in FILES:
        assert_same_data(directory / name, undisturbed / name)
    status = read_status(directory)
    assert (status["state"], status["nproc"], status["steps"]) == ("completed", nproc, 20)


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("a restart file is corrupt or truncated")
@pytest.mark.night
def test_mpiexec_goes_on_from_the_older_file_where_the_newest_is_damaged(undisturbed, stopped, tmp_path):
    directory = shutil.copytree(stopped, tmp_path / "run")
    newest = folder.path_of(directory, 9)
    os.truncate(newest, newest.stat().st_size - 5000)
    errors = swmodel("resume", directory, "--steps", 20, "--quiet", under=(find_mpiexec(), "-n", "4"))
    assert f"{newest}: cannot be read: " in errors
    assert errors.count("continues from step-0000000008.nc") == 1
    for name in FILES:
        assert_same_data(directory / name, undisturbed / name)
    assert read_status(directory)["layout"] == [1, 4]


@pytest.mark.fault("a run continues with other weather in a file of the same name")
@pytest.mark.night
def test_weather_is_known_again_by_any_number_of_processes_and_other_weather_is_not_taken(tmp_path):
    path, values = tmp_path / "wind.nc", np.random.default_rng(2).standard_normal((3, 17, 24))
    for factor in (1, 2):
        with netCDF4.Dataset(path, "w") as file:
            for dimension, size in (("time", 3), ("y", 17), ("x", 24)):
                file.createDimension(dimension, size)
            file.createVariable("time", "f8", ("time",))[:] = [0, 1, 2]
            file["time"].units = "hours since 2020-01-01"
            file.createVariable("wind", "f8", ("time", "y", "x"))[:] = factor * values
            file["wind"].setncatts({"standard_name": "eastward_wind", "units": "m s-1"})
        if factor == 1:
            wind = ["-s", f"input.u10={path}:wind", "-s", "time.start=2020-01-01"]
            swmodel("run", *CASE, *wind, "--steps", 3, "--nproc", 2, "-o", tmp_path / "run")
            swmodel("resume", tmp_path / "run", "--steps", 5, "--nproc", 1, "--quiet")
    for nproc in (1, 3):
        errors = swmodel("resume", tmp_path / "run", "--steps", 9, "--nproc", nproc, "--quiet", code=2)
        assert "the record of 2020-01-01T00:00:00 has other values" in errors


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.halvings`)")
@pytest.mark.night
def test_steps_are_halved_alike_by_any_number_of_processes(tmp_path):
    """Stopped between two choices of their number: a flow that accelerates over dry ground."""
    flow = ["dam_break_dry", "-s", "grid.nx=60", "-s", "grid.ny=7", "-s", "time.dt=0.01", "-s", "time.halvings=4"]
    flow += ["-s", "time.halve_every_steps=2", "-s", "output.every_steps=1", "--executor", "native", "--quiet"]
    one, several = tmp_path / "one", tmp_path / "several"
    swmodel("run", *flow, "--steps", 12, "-o", one)
    swmodel("run", *flow, "--steps", 5, "--nproc", 2, "-o", several)
    swmodel("resume", several, "--steps", 12, "--nproc", 3, "--quiet")
    for name in ("output.nc", "diagnostics.nc", "restart/step-0000000012.nc"):
        assert_same_data(several / name, one / name)
    with netCDF4.Dataset(one / "diagnostics.nc") as numbers:
        assert len({*numbers["time_step"][1:].tolist()}) > 1


TIDE = [
    *("rest", "-s", "grid.kind=latlon", "-s", "grid.south=-60", "-s", "grid.north=60", "-s", "grid.periodic_x=true"),
    *("-s", "grid.nx=24", "-s", "grid.ny=12", "-s", "physics.depth=4000", "-s", "time.start=2012-03-01", "-s"),
    *("tide.constituents=M2,K1", "-s", "output.harmonics=M2,M4", "-s", "output.harmonics_fields=eta,u"),
    *("-s", "time.dt=900"),
    *("-s", "run.dtype=float64", "-s", "time.stepper=rk3", "--executor", "native", "--quiet"),
]


@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.night
def test_the_sums_of_an_analysis_of_tides_are_those_of_any_number_of_processes(tmp_path):
    """And after a restart: one process adds to those of two."""
    two, one = tmp_path / "two", tmp_path / "one"
    swmodel("run", *TIDE, "-s", "restart.every_steps=31", "--steps", 60, "--nproc", 2, "-o", two)
    shutil.copytree(two, one)
    files = "restart/step-0000000060.nc", "harmonics.nc"
    for name in files:
        (one / name).unlink()
    swmodel("resume", one, "--steps", 60, "--nproc", 1, "--quiet")
    for name in files:
        assert_same_data(one / name, two / name)


@pytest.mark.fault("there is no restart file")
@pytest.mark.fault("a restart file belongs to another grid, physics or precision")
@pytest.mark.night
def test_what_is_wrong_is_said_once_by_all_processes_together(stopped, tmp_path):
    directory = shutil.copytree(stopped, tmp_path / "run")
    two = (find_mpiexec(), "-n", "2")
    assert "step 9 (day" in swmodel("resume", directory, under=two)
    assert said(swmodel("resume", directory, "--steps", 20, "-s", "grid.nx=30", under=two, code=2)) == [
        f"Error: {folder.path_of(directory, 9)} is from another run:",
        "Error: grid.nx: 24 before, 30 now",
    ]
    shutil.rmtree(directory / "restart")
    errors = said(swmodel("resume", directory, "--steps", 20, under=two, code=5))
    assert len(errors) == 1
    assert errors[0].startswith(f"Error: {directory} has no restart file to continue from; ")


def said(errors: str) -> list[str]:
    """The lines of the model; Open MPI's mpiexec frames what it adds."""
    return errors.partition("-" * 60)[0].splitlines()
