"""A restart is invisible, and a restart file is intact, refused, or passed over for an older one."""

import os
import resource
import shutil
import signal
import subprocess
import sys

import h5py
import jax
import netCDF4
import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from conftest import ROOT
from support.ranks import run_ranks

import swmodel
from swmodel.cli import main
from swmodel.config import ConfigError, from_toml, to_toml
from swmodel.errors import FilesError, NumericalError, Stopped, UsageError
from swmodel.restart import folder, restarts, write
from swmodel.restart.read import read
from swmodel.status import read_status

SMALL = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "run.steps": 11}
RECORDS = {
    "output.every_steps": 4,
    "output.diagnostics_every_steps": 3,
    "output.means": ["eta", "speed"],
    "output.fields": ["h", "u", "v", "zeta"],
}
FILES = ("output.nc", "diagnostics.nc")


def config(**options):
    options = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.resolve(swmodel.load("jet", SMALL | RECORDS | options, environ={}))


def simulation(restart=None, **options):
    return swmodel.Simulation(config(**options), restart)


def data(path):
    """The values of all variables."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return {name: np.array(variable[...]) for name, variable in file.variables.items()}


def assert_same_data(path, other):
    ours, theirs = data(path), data(other)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert value.tobytes() == ours[name].tobytes(), name


def assert_same_run(ours, theirs, steps=11):
    """Records and the final restart of two run folders are the same to the last bit."""
    for name in (*FILES, f"restart/step-{steps:010d}.nc"):
        assert_same_data(ours / name, theirs / name)


def flip(path, name):
    """Change one bit in the middle of a variable, on the disk."""
    with h5py.File(path, "r") as file:
        place = file[name].id.get_offset() + file[name].id.get_storage_size() // 2
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


def resumed(directory, steps=11, path=None, **options):
    """Go on with the run in a folder, as `swmodel resume` does."""
    restart, _ = folder.choose(directory, path)
    simulation(restart.path, run__steps=steps, **options).run(directory, resume=True)
    return directory


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run of 11 steps."""
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    simulation().run(directory)
    return directory


@pytest.fixture(scope="module")
def halfway(tmp_path_factory):
    """A run of 7 steps with restart files at 5 and 7."""
    directory = tmp_path_factory.mktemp("runs") / "halfway"
    simulation(run__steps=7, restart__every_steps=5).run(directory)
    return directory


@pytest.fixture
def run_folder(halfway, tmp_path):
    """A copy of it."""
    return shutil.copytree(halfway, tmp_path / "run")


@pytest.mark.parametrize("executor", ["native", "xla", "reference"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stepper", ["ab2", "ab3", "rk3", "rk4", "leapfrog"])
def test_a_restart_is_invisible(tmp_path, stepper, dtype, executor):
    options = {"time__stepper": stepper, "run__dtype": dtype, "run__executor": executor, "time__dt": 10.0}
    whole = simulation(**options)
    whole.advance(5)
    whole.write_restart(tmp_path / "five.nc")
    whole.advance(4)
    rest = simulation(tmp_path / "five.nc", **options)
    assert (rest.step, rest.time) == (5, 50.0)
    rest.advance(4)
    ours, theirs = jax.tree.leaves(rest.carry), jax.tree.leaves(whole.carry)
    kept = {"ab2": 1, "ab3": 2, "leapfrog": 1}.get(stepper, 0)
    assert len(ours) == len(theirs) == 3 + 3 * kept + 1
    for mine, truth in zip(ours, theirs, strict=True):
        assert np.asarray(mine).dtype == np.asarray(truth).dtype
        assert np.asarray(mine).tobytes() == np.asarray(truth).tobytes()


def test_executors_read_each_others_files(tmp_path):
    first = simulation(time__stepper="ab3")
    first.advance(4)
    first.write_restart(tmp_path / "four.nc")
    for executor in ("xla", "native"):
        other = simulation(tmp_path / "four.nc", time__stepper="ab3", run__executor=executor)
        for mine, truth in zip(jax.tree.leaves(other.carry), jax.tree.leaves(first.carry), strict=True):
            np.testing.assert_array_equal(mine, truth)


@pytest.mark.parametrize("stops", [(4,), (6,), (7, 8, 10), (0, 11)])
def test_a_run_in_pieces_leaves_the_files_of_an_undisturbed_one(undisturbed, tmp_path, stops):
    simulation(run__steps=stops[0]).run(tmp_path / "run")
    for steps in (*stops[1:], 11):
        resumed(tmp_path / "run", steps)
    assert_same_run(tmp_path / "run", undisturbed)


def test_an_older_restart_file_gives_the_same_run(undisturbed, run_folder):
    assert_same_run(resumed(run_folder, path="step-0000000005.nc"), undisturbed)


def test_a_run_asked_to_stop_leaves_a_restart_and_the_rest_follows(undisturbed, tmp_path, monkeypatch):
    directory = tmp_path / "run"
    stopping = simulation()
    monkeypatch.setattr("swmodel.run.CHUNK_SECONDS", 1e-9)

    def progress(event):
        if event["step"] == 6:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped) as stopped:
        stopping.run(directory, progress)
    words = f"stopped by SIGTERM at step 6 (day 0.001); continue with `swmodel resume {directory}`"
    assert str(stopped.value) == words
    status = read_status(directory)
    assert (status["state"], status["exit_code"], status["message"], status["steps"]) == ("stopped", 75, words, 6)
    assert [path.name for path in folder.candidates(directory)] == ["step-0000000006.nc"]
    assert data(directory / "output.nc")["step"].tolist() == [0, 4]
    assert_same_run(resumed(directory), undisturbed)
    assert read_status(directory)["state"] == "completed"


def test_resuming_with_other_intervals_keeps_old_records_and_means(undisturbed, run_folder):
    resumed(run_folder, 11, output__every_steps=2, output__diagnostics_every_steps=None)
    assert data(run_folder / "output.nc")["step"].tolist() == [0, 4, 8, 10, 11]
    assert (
        data(run_folder / "output.nc")["time_bounds"][2].tolist()
        == data(undisturbed / "output.nc")["time_bounds"][2].tolist()
    )
    np.testing.assert_array_equal(
        data(run_folder / "output.nc")["eta_mean"][2], data(undisturbed / "output.nc")["eta_mean"][2]
    )


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, [11]),
        ({"restart__every_steps": 3}, [3, 6, 9, 11]),
        ({"restart__every": "1 min", "time__dt": 20.0}, [3, 6, 9, 11]),
        ({"restart__every_wall": 1e-9, "run__check_every_steps": 1}, list(range(1, 12))),
        ({"restart__every_wall": None, "restart__every_steps": 11}, [11]),
    ],
)
def test_when_restart_files_are_written(tmp_path, monkeypatch, options, steps):
    written = []

    def note(path, *rest):
        written.append(folder.step_of(path))
        write.write(path, *rest)

    monkeypatch.setattr(restarts, "write", note)
    simulation(**options).run(tmp_path / "run")
    assert written == steps
    kept = [folder.step_of(path) for path in folder.candidates(tmp_path / "run")]
    assert kept == steps[:-3:-1]
    assert sorted(path.name for path in (tmp_path / "run" / "restart").iterdir()) == sorted(
        f"step-{step:010d}.nc" for step in kept
    )


def test_a_blown_up_state_is_never_written(tmp_path):
    unstable = simulation(time__dt=400.0, run__steps=400, restart__every_steps=1)
    with pytest.raises(NumericalError):
        unstable.run(tmp_path)
    newest = folder.candidates(tmp_path)[0]
    assert 0 < folder.step_of(newest) == unstable.step - 1
    assert "problem" not in folder.facts(newest)
    assert all(np.isfinite(data(newest)[name]).all() for name in "huv")


def test_another_run_into_the_folder_takes_its_restart_files_away(run_folder):
    simulation(run__steps=2).run(run_folder)
    assert [folder.step_of(path) for path in folder.candidates(run_folder)] == [2]


def test_going_on_from_an_older_file_sets_newer_ones_aside(run_folder):
    older = simulation(folder.path_of(run_folder, 5), run__steps=9, restart__every_wall=None)
    seen = []
    older.run(
        run_folder, lambda event: seen.append(sorted(p.name for p in (run_folder / "restart").iterdir())), resume=True
    )
    assert seen[0] == ["step-0000000005.nc", "step-0000000007.nc.unused"]
    assert [folder.step_of(path) for path in folder.candidates(run_folder)] == [9, 5]
    assert len(list((run_folder / "restart").iterdir())) == 2


@pytest.mark.parametrize("name", ["h", "v", "u_memory1", "eta_mean"])
def test_one_wrong_bit_is_found_and_named(run_folder, name):
    newest = folder.path_of(run_folder, 7)
    flip(newest, name)
    assert folder.facts(newest)["problem"] == f"damaged: variable {name}"
    restart, remarks = folder.choose(run_folder)
    assert restart.step == 5
    assert remarks == [f"{newest}: damaged: variable {name}; going on from step-0000000005.nc"]
    with pytest.raises(FilesError, match=f"is damaged: {name}"):
        simulation(newest)


@pytest.mark.parametrize("change", [{"step": 6}, {"mean_steps": 1}, {"configuration": "[case]"}, {"seconds": 1.0}])
def test_a_wrong_header_is_found(run_folder, change):
    newest = folder.path_of(run_folder, 7)
    with h5py.File(newest, "r+") as file:
        file.attrs.update(change)
    assert folder.facts(newest)["problem"] == "damaged: header"
    assert folder.choose(run_folder)[0].step == 5


@pytest.mark.parametrize("length", [0, 100, 20000, -1])
def test_a_truncated_file_is_passed_over(run_folder, length):
    newest = folder.path_of(run_folder, 7)
    os.truncate(newest, length if length >= 0 else newest.stat().st_size + length)
    assert folder.facts(newest)["problem"].startswith("cannot be read: ")
    assert folder.choose(run_folder)[0].step == 5


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.kill(os.getpid(), 11)", "cannot be read: HDF5 crashed on it (exit code -11)"),
        ("import time; time.sleep(60)", "cannot be read within 1 s"),
    ],
)
def test_a_file_that_crashes_or_hangs_hdf5_is_passed_over(run_folder, tmp_path, monkeypatch, program, words):
    (tmp_path / "examine.py").write_text(program)
    monkeypatch.setattr(folder, "__file__", str(tmp_path / "folder.py"))
    monkeypatch.setattr(folder, "EXAMINE_SECONDS", 1.0)
    assert folder.facts(folder.path_of(run_folder, 7)) == {"problem": words}


def test_without_an_intact_file_all_are_listed(run_folder):
    for step in (5, 7):
        flip(folder.path_of(run_folder, step), "u")
    with pytest.raises(FilesError) as error:
        folder.choose(run_folder)
    assert str(error.value).splitlines() == [
        f"no restart file in {run_folder} is intact",
        f"{run_folder}/restart/step-0000000007.nc: damaged: variable u",
        f"{run_folder}/restart/step-0000000005.nc: damaged: variable u",
    ]


def test_a_missing_file_is_an_error_with_those_that_there_are(run_folder):
    with pytest.raises(FilesError) as error:
        folder.choose(run_folder, "step-0000000006.nc")
    assert str(error.value) == (
        "step-0000000006.nc: there is no such file; "
        f"restart files in {run_folder} are: step-0000000007.nc, step-0000000005.nc"
    )
    shutil.rmtree(run_folder / "restart")
    with pytest.raises(FilesError) as error:
        folder.choose(run_folder)
    anew = f"swmodel run {run_folder}/config.toml --output {run_folder} --force"
    assert str(error.value) == f"{run_folder} holds no restart file to go on from; `{anew}` starts the run anew"


def test_what_determines_the_answer_must_be_the_same(run_folder):
    restart, _ = folder.choose(run_folder)
    folder.compare(config(run__steps=99, output__every_steps=1, run__reproducible=True), restart)
    with pytest.raises(ConfigError) as error:
        folder.compare(config(grid__nx=15, physics__viscosity=7.0, run__dtype="float64", time__dt=12.0), restart)
    assert [line.split(":")[0] for line in error.value.problems[1:]] == [
        *("grid.nx", "physics.viscosity", "time.dt", "run.dtype"),
    ]
    assert error.value.problems[1] == "grid.nx: 14 before, 15 now"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid__nx": 15}, r"cells is \(9, 14\), not \(9, 15\)"),
        ({"run__dtype": "float64"}, "dtype is float32, not float64"),
        ({"time__stepper": "leapfrog"}, "stepper is ab2, not leapfrog"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_the_simulation(halfway, options, words):
    with pytest.raises(FilesError, match=words):
        simulation(folder.path_of(halfway, 7), **options)


class Refusing:
    """Lets files of this process grow up to a number of bytes only: the system refuses more."""

    def __init__(self, nbytes):
        self.nbytes = nbytes

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.nbytes, self.before[1]))

    def __exit__(self, *error):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


def fail(*arguments):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("nbytes", [1000, 50_000, 90_000])
def test_a_file_system_that_refuses_leaves_what_was_there(tmp_path, nbytes):
    path = tmp_path / "restart.nc"
    model = simulation(grid__nx=60, grid__ny=40)
    model.write_restart(path)
    before = path.read_bytes()
    assert len(before) > 90_000
    model.advance(1)
    with (
        Refusing(nbytes),
        pytest.raises(FilesError, match=f"restart file {path} cannot be written: .*; \\d+ bytes free"),
    ):
        model.write_restart(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    model.write_restart(path)
    assert folder.facts(path)["step"] == 1


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (write.Path, "replace", "No space left on device"),
        (write.JournaledFile, "commit", "No space left on device"),
        (write, "image", "No space left on device"),
    ],
)
def test_a_failure_at_any_moment_leaves_what_was_there(run_folder, monkeypatch, owner, name, words):
    path = folder.path_of(run_folder, 7)
    before = {each: each.read_bytes() for each in (run_folder / "restart").iterdir()}
    model = simulation(path)
    with monkeypatch.context() as broken:
        broken.setattr(owner, name, fail)
        with pytest.raises(FilesError, match=f"{path} cannot be written: {words}"):
            model.write_restart(path)
    assert {each: each.read_bytes() for each in (run_folder / "restart").iterdir()} == before


def test_a_file_that_reads_back_otherwise_is_not_put_in_place(run_folder, monkeypatch):
    path = folder.path_of(run_folder, 7)
    before = path.read_bytes()
    model = simulation(path)
    truth = write.examine
    monkeypatch.setattr(write, "examine", lambda path: flip(path, "h") or truth(path))
    with pytest.raises(FilesError, match="what was read back is not what was written"):
        model.write_restart(path)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 2


def test_a_disk_too_full_is_noticed_before(run_folder, monkeypatch):
    model = simulation(folder.path_of(run_folder, 7))
    monkeypatch.setattr(write, "free", lambda path: 1000)
    with pytest.raises(FilesError, match=r"cannot be written: disk full, it takes \d+ bytes; 1000 bytes free"):
        model.write_restart(run_folder / "restart" / "other.nc")


def test_a_journal_of_a_killed_writer_does_not_enter_the_next_file(halfway, tmp_path):
    path = tmp_path / "restart.nc"
    model = simulation(folder.path_of(halfway, 7))
    program = (
        "import os, swmodel.restart.write as write, swmodel\n"
        "write.JournaledFile.close = lambda self: os._exit(9)\n"
        f"swmodel.Simulation.from_restart({str(folder.path_of(halfway, 5))!r}).write_restart({str(path)!r})"
    )
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60)
    assert killed.returncode == 9
    assert sorted(each.name for each in tmp_path.iterdir()) == ["restart.nc.writing", "restart.nc.writing.journal"]
    model.write_restart(path)
    assert list(tmp_path.iterdir()) == [path]
    assert folder.facts(path)["step"] == 7


def test_what_a_killed_writer_left_is_removed_with_the_next_file(run_folder):
    for name in ("step-0000000009.nc.writing", "step-0000000009.nc.writing.journal", "step-0000000008.nc.unused"):
        (run_folder / "restart" / name).write_text("half")
    (run_folder / "restart" / "mine.nc").write_text("not ours")
    resumed(run_folder)
    left = sorted(path.name for path in (run_folder / "restart").iterdir())
    assert left == ["mine.nc", "step-0000000007.nc", "step-0000000011.nc"]


@pytest.mark.parametrize("layout", [(2, 1), (1, 3), (2, 2)])
def test_files_are_the_same_from_any_layout_and_read_by_any(halfway, tmp_path, layout):
    path, made = folder.path_of(halfway, 7), tmp_path / "made.nc"
    settings = config()

    def work(transport):
        loaded = read(path, settings, transport)
        contents = write.contents_of(loaded.carry, loaded.step, 139.0, loaded.means, loaded.mean_steps)
        write.write(made, contents, settings, transport)
        return loaded

    run_ranks(work, layout, 9, 14)
    assert "problem" not in folder.facts(made)
    assert_same_data(made, path)


def test_a_failure_on_rank_0_is_one_on_all_ranks(halfway, tmp_path, monkeypatch):
    path, settings = folder.path_of(halfway, 7), config()
    monkeypatch.setattr(write, "image", fail)

    def work(transport):
        loaded = read(path, settings, transport)
        contents = write.contents_of(loaded.carry, loaded.step, 139.0, {}, 0)
        with pytest.raises(FilesError) as error:
            write.write(tmp_path / "made.nc", contents, settings, transport)
        return str(error.value)

    words = run_ranks(work, (2, 2), 9, 14)
    assert len(set(words)) == 1
    assert list(tmp_path.iterdir()) == []


def test_python_users_go_on_from_a_folder_or_a_file(halfway, tmp_path):
    newest = swmodel.Simulation.from_restart(halfway)
    older = swmodel.Simulation.from_restart(folder.path_of(halfway, 5))
    assert (newest.step, older.step) == (7, 5)
    assert newest.config == from_toml((halfway / "config.toml").read_text())
    older.advance(2)
    assert older.state.h.tobytes() == newest.state.h.tobytes()
    newest.advance(1)
    with pytest.raises(UsageError, match="step 8 is beyond the 7 steps of the run"):
        newest.run(tmp_path / "new")


def test_a_configuration_comes_back_from_its_text():
    several = config(run__nproc=4, input__depth="/data/depth.nc:h", output__institution="42", restart__every="2 h")
    assert from_toml(to_toml(several)) == several


def test_files_open_in_xarray_with_units_and_history(halfway):
    with xarray.open_dataset(folder.path_of(halfway, 7)) as file:
        assert file.h.dims == ("y_c", "x_c")
        assert file.u.units == "m s-1"
        assert file.attrs["step"] == 7
        assert file.h_memory1.long_name == "memory 1 of the time stepper ab2, for h"
        assert file.eta_mean.long_name == "mean of eta over the last 3 steps"
        assert "swmodel" in file.history


def cli(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_resume_on_the_command_line(undisturbed, run_folder):
    done = cli("resume", run_folder, "--steps", 11, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert_same_run(run_folder, undisturbed)
    settings = from_toml((run_folder / "config.toml").read_text())
    assert settings == config(restart__every_steps=5)
    with netCDF4.Dataset(run_folder / "output.nc") as file:
        assert len(file.history.splitlines()) == 2


def test_a_run_that_has_arrived_is_left_alone(run_folder):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run_folder.rglob("*.*") if path.is_file()}
    for options in ([], ["--steps", 7], ["--steps", 3]):
        done = cli("resume", run_folder, *options)
        assert done.exit_code == 0
        assert done.output == (
            f"{run_folder}: step 7 (day 0.001617) is reached already; --days or --steps prolongs the run\n"
        )
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run_folder.rglob("*.*") if path.is_file()}
    assert before == after


def test_what_cannot_be_resumed_is_refused(run_folder, tmp_path):
    other = cli("resume", run_folder, "--steps", 9, "-s", "grid.dx=4000")
    assert other.exit_code == 2
    assert other.output.splitlines()[1] == "Error: grid.dx: 5000.0 before, 4000.0 now"
    nothing = cli("resume", tmp_path / "nothing")
    assert nothing.exit_code == 5
    assert nothing.output == f"Error: {tmp_path}/nothing is not the folder of a run: it holds no config.toml\n"
    missing = cli("resume", run_folder, "--steps", 9, "--from", "step-3.nc")
    assert missing.exit_code == 5
    assert "restart files in" in missing.output
    limit = cli("resume", run_folder, "--walltime", "soon")
    assert limit.exit_code == 2
    assert limit.output.startswith('Error: --walltime soon: "soon" is not a length of time')


def test_info_shows_restart_files_and_verifies_them(run_folder):
    flip(folder.path_of(run_folder, 7), "h")
    lines = cli("info", run_folder).output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("restarts"))
    words = " ".join(" ".join(lines[start : start + 4]).split())
    assert "step-0000000007.nc: step 7, day 0.001617, written 2" in words
    assert "MB, damaged: variable h step-0000000005.nc: step 5, day 0.001155" in words
    assert "MB, intact" in words
