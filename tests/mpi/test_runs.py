"""Runs on ranks write the files of one process, also if they continue on another number of ranks or on devices."""

import os
import shutil
from functools import cache

import numpy as np
import pytest
from support import quick_compilation
from support.command import option_words
from support.marks import night_params
from support.netcdf import write_netcdf
from support.rank_commands import run_on_ranks, run_swmodel, run_swmodel_in_folder
from support.restarts import assert_same_data, read_variables
from support.user_case import write_bump

from swmodel.files.restart import folder
from swmodel.files.status import read_status

pytestmark = pytest.mark.mpi

#: A tide and a current enter at two sides; there are gauges at walls and between blocks, a section and drifters.
SEA_OPTIONS = {
    "grid.nx": 24, "grid.ny": 17, "grid.periodic_x": "false", "tide.ramp": 4000, "run.executor": "native",
    "open_boundaries.sides": "west,east", "open_boundaries.constituents": "M2", "open_boundaries.current_x": 0.2,
    "open_boundaries.amplitude": 0.3, "open_boundaries.phase": 40, "output.every_steps": 6,
    "output.diagnostics_every_steps": 5, "output.means": "eta,speed,zeta", "output.sections_every_steps": 3,
    "output.stations": '[{name="a", x=61e3, y=42e3}, {name="b", x=100e3, y=20e3}, {name="c", x=112e3, y=81e3}]',
    "output.sections": '[{name="across", start=[20e3, 0.0], end=[90e3, 80e3]}]', "output.maxima": "eta,speed",
    "output.drifters": "[{box=[20e3, 100e3, 10e3, 80e3], spacing=11e3}]", "output.arrival": 0.3,
    "physics.tracers": '[{name="salt", initial=35.0}, {name="dye", initial=2.0}, {name="nitrate", initial=0.1}]',
}  # fmt: skip
JET_COMMAND = ["run", "jet", *option_words(SEA_OPTIONS), "--quiet"]


@pytest.fixture(scope="module")
def undisturbed_run(ranks, tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    run_on_ranks(ranks, 1, *JET_COMMAND, "--steps", 20, "-o", directory)
    return directory


@pytest.fixture(scope="module")
def stopped_runs(ranks, tmp_path_factory):
    """stopped_runs(store, nproc): a run that ended between records, at step 9; restart files at 8 and 9."""

    @cache
    def stopped_run(store, nproc=2):
        directory = tmp_path_factory.mktemp("runs") / f"{store}-{nproc}"
        formats = {"output.format": store, "restart.format": store, "restart.every_steps": 8}
        run_on_ranks(ranks, nproc, *JET_COMMAND, *option_words(formats), "--steps", 9, "-o", directory)
        return directory

    return stopped_run


def assert_same_files(run, truth, steps=20):
    """Assert that records, series and the last restart have the same bits, in either format."""
    suffix = ".zarr" if (run / "output.zarr").exists() else ".nc"
    assert_same_data(run, truth, "diagnostics.nc", "stations.nc", "sections.nc", "drifters.nc")
    for name in ("output", f"restart/step-{steps:010d}"):
        ours, theirs = read_variables(run / f"{name}{suffix}"), read_variables(truth / f"{name}.nc")
        assert theirs.keys() - ours.keys() <= {"crc32"}
        assert all(ours[key].tobytes() == theirs[key].tobytes() for key in ours.keys() & theirs.keys()), name


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.promise("gauges, sections and largest values see every step")
@pytest.mark.fault("a run continues on another number of ranks")
@pytest.mark.fault("the sums of two tracers are exchanged, as the order of a set differs between ranks")
@pytest.mark.fault("a tide's ramp differs after a restart, between executors or layouts")
@pytest.mark.parametrize(
    ("store", "old_nproc", "nproc"), [("zarr", 1, 2), *night_params(("netcdf", 2, 1), ("zarr", 2, 3), ("netcdf", 2, 3))]
)
def test_run_continues_on_new_number_of_ranks(ranks, undisturbed_run, stopped_runs, tmp_path, store, old_nproc, nproc):
    """A Zarr store has the bits of a NetCDF file; the blocks of the ranks that continue differ from its chunks."""
    run = shutil.copytree(stopped_runs(store, old_nproc), tmp_path / "run")
    run_on_ranks(ranks, nproc, "resume", run, "--steps", 20, "--quiet")
    assert_same_files(run, undisturbed_run)
    status = read_status(run)
    assert (status["state"], status["nproc"], status["steps"]) == ("completed", nproc, 20)


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.night
def test_ranks_leave_files_of_one_process_with_all_instructions(ranks, tmp_path):
    """Programs use all instructions, as users' do; other tests on ranks use those that `--reproducible` allows."""
    ranks = ranks.with_environment("plain", XLA_FLAGS=quick_compilation.XLA_FLAGS)
    for number in (1, 3):
        run_on_ranks(ranks, number, *JET_COMMAND, "--steps", 20, "-o", tmp_path / str(number))
    assert_same_files(tmp_path / "3", tmp_path / "1")


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.promise("gauges, sections and largest values see every step")
@pytest.mark.night
def test_devices_continue_run_of_ranks(ranks, undisturbed_run, stopped_runs, tmp_path):
    directory = shutil.copytree(stopped_runs("zarr"), tmp_path / "run")
    run_on_ranks(ranks, 1, "resume", directory, "--steps", 20, "--quiet", "--transport", "sharded", "--devices", 4)
    assert_same_files(directory, undisturbed_run)


@pytest.mark.night
@pytest.mark.parametrize("command", ["info --verify", "plot --field speed", "view -o a.html", "animate -o a.gif"])
def test_commands_accept_a_zarr_store(stopped_runs, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    name, *options = command.split()
    for path in (stopped_runs("zarr"), stopped_runs("zarr") / "output.zarr"):
        code, _, err = run_swmodel(name, path, *options)
        assert code == 0, err


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("a restart file is corrupt or truncated")
@pytest.mark.night
def test_ranks_continue_from_older_restart_if_newest_is_damaged(ranks, undisturbed_run, stopped_runs, tmp_path):
    directory = shutil.copytree(stopped_runs("netcdf"), tmp_path / "run")
    newest = folder.restart_path(directory, 9)
    os.truncate(newest, newest.stat().st_size - 5000)
    errors = run_on_ranks(ranks, 4, "resume", directory, "--steps", 20, "--quiet")
    assert str(newest) in errors
    assert errors.count("continues from step-0000000008.nc") == 1
    assert_same_files(directory, undisturbed_run)


@pytest.mark.fault("a run continues with other weather in a file of the same name")
@pytest.mark.night
def test_ranks_refuse_other_weather_in_file(ranks, tmp_path):
    path, values = tmp_path / "wind.nc", np.random.default_rng(2).standard_normal((3, 17, 24))
    for factor in (1, 2):
        time = ("time", np.arange(3.0), {"units": "hours since 2020-01-01"})
        wind = ("time y x", factor * values, {"standard_name": "eastward_wind", "units": "m s-1"})
        write_netcdf(path, {"time": time, "wind": wind})
        if factor == 1:
            options = option_words({"input.u10": f"{path}:wind", "time.start": "2020-01-01"})
            run_on_ranks(ranks, 2, *JET_COMMAND, *options, "--steps", 3, "-o", tmp_path / "run")
            run_on_ranks(ranks, 1, "resume", tmp_path / "run", "--steps", 5, "--quiet")
    errors = run_on_ranks(ranks, 3, "resume", tmp_path / "run", "--steps", 9, "--quiet", code=2)
    assert errors.count("2020-01-01T00:00:00") == 1


@pytest.mark.promise("steps are halved alike on any layout and after any restart (`time.max_substeps`)")
def test_ranks_choose_the_same_substeps(ranks, tmp_path):
    """The flow accelerates over dry ground, and one of the runs stops between two choices of the number."""
    options = {"grid.nx": 60, "grid.ny": 7, "time.dt": 0.01, "output.every_steps": 1, "run.executor": "native"}
    options |= {"time.max_substeps": 16, "time.substeps_every_steps": 2}
    command = ["run", "dam_break_dry", *option_words(options), "--quiet"]
    one, several = tmp_path / "one", tmp_path / "several"
    run_on_ranks(ranks, 1, *command, "--steps", 12, "-o", one)
    run_on_ranks(ranks, 2, *command, "--steps", 5, "-o", several)
    run_on_ranks(ranks, 1, "resume", several, "--steps", 12, "--quiet")
    assert_same_data(several, one, "output.nc", "diagnostics.nc", "restart/step-0000000012.nc")
    assert len({*read_variables(one / "diagnostics.nc")["time_step"][1:].tolist()}) > 1


@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.night
def test_analysis_of_tides_does_not_depend_on_number_of_ranks(ranks, tmp_path):
    """After a restart, one process continues the sums of two."""
    two, one = tmp_path / "two", tmp_path / "one"
    options = {
        "grid.kind": "latlon", "grid.south": -60, "grid.north": 60, "grid.periodic_x": "true", "grid.nx": 24,
        "grid.ny": 12, "physics.depth": 4000, "time.start": "2012-03-01", "tide.constituents": "M2,K1",
        "output.harmonics": "M2,M4", "output.harmonics_fields": "eta,u", "time.dt": 900, "run.dtype": "float64",
        "run.executor": "native", "restart.every_steps": 31,
    }  # fmt: skip
    run_on_ranks(ranks, 2, "run", "rest", *option_words(options), "--steps", 60, "--quiet", "-o", two)
    shutil.copytree(two, one)
    files = "restart/step-0000000060.nc", "harmonics.nc"
    for name in files:
        (one / name).unlink()
    run_on_ranks(ranks, 1, "resume", one, "--steps", 60, "--quiet")
    assert_same_data(one, two, *files)


@pytest.mark.night
def test_ranks_load_user_case_from_run_folder(ranks, tmp_path):
    path, options = write_bump(tmp_path), ["-s", "grid.nx=24", "-s", "grid.ny=17", "--executor", "native", "--quiet"]
    run_on_ranks(ranks, 1, "run", path, *options, "--steps", 6, "-o", tmp_path / "one")
    run_on_ranks(ranks, 2, "run", path, *options, "--steps", 3, "-o", tmp_path / "two")
    path.unlink()
    run_on_ranks(ranks, 2, "resume", tmp_path / "two", "--steps", 6, "--quiet")
    assert_same_data(tmp_path / "two", tmp_path / "one", "output.nc", "restart/step-0000000006.nc")


@pytest.mark.fault("a layout for another number of ranks")
@pytest.mark.fault("there is no restart file")
@pytest.mark.fault("a restart file belongs to another grid, physics or precision")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "jet", "--layout", "3x1"], 2, "3x1"),
        *night_params((["run", "jet", "-s", "grid.dx=-1"], 2, "-s grid.dx=-1")),
        *night_params((["run", "jet", "--nproc", 3], 2, "--nproc 3")),
        (["run", "jet", "--output", "taken"], 2, "taken holds a run"),
        (["resume", "stopped", "--steps", 20, "-s", "grid.nx=30"], 2, "grid.nx: 24 before, 30 now"),
        (["resume", "stopped", "--steps", 20, "-s", "output.format=netcdf"], 2, "zarr before, netcdf now"),
        (["resume", "empty", "--steps", 20], 5, "empty has no restart file"),
    ],
)
def test_ranks_report_wrong_input_once(ranks, stopped_runs, tmp_path, arguments, code, words):
    for name in ("taken", "stopped", "empty"):
        shutil.copytree(stopped_runs("zarr", 1), tmp_path / name)
    shutil.rmtree(tmp_path / "empty" / "restart")
    before = sorted(tmp_path.rglob("*"))
    codes, _, errors = zip(*ranks(2, run_swmodel_in_folder, tmp_path, *arguments), strict=True)
    assert codes == (code, code)
    assert "".join(errors).count(words) == 1
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "run.lock"] == before
