"""A restart file is whole or not there; one that is damaged or of another run is found out."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import ROOT
from support.ranks import run_ranks
from support.restarts import assert_same_data, config, data, flip, resumed, simulation

from swmodel.config import ConfigError, from_toml, load, to_toml
from swmodel.config.loading import decisive
from swmodel.errors import FilesError
from swmodel.files import background
from swmodel.files.integrity import guard
from swmodel.files.restart import folder, write
from swmodel.files.restart.read import read
from swmodel.setup.setup import setup_of


@pytest.mark.parametrize("name", ["h", "v", "u_memory1", "eta_mean"])
def test_one_wrong_bit_is_found_and_named(run_folder, name):
    newest = folder.path_of(run_folder, 7)
    flip(newest, name)
    assert folder.facts(newest)["problem"] == f"damaged: variable {name}"
    restart, remarks = folder.choose(run_folder)
    assert restart.step == 5
    assert remarks == [f"{newest}: damaged: variable {name}; going on from step-0000000005.nc"]
    with pytest.raises(FilesError, match=f"{newest}: damaged: variable {name}"):
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


#: The program that examines files comes so far.
BEGINS = (
    "import os, sys, time; sys.path.insert(0, sys.argv[1])\n"
    "from swmodel.files.integrity import program; program.WALL = 1.0; program.limit(1.0)\n"
)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (f"{BEGINS}os.kill(os.getpid(), 11)", "cannot be read: HDF5 crashed on it (exit code -11)"),
        (f"{BEGINS}time.sleep(60)", "cannot be read within 1 s"),
    ],
)
def test_a_file_that_crashes_or_hangs_hdf5_is_passed_over(run_folder, monkeypatch, program, words):
    monkeypatch.setattr(guard, "PROGRAM", program)
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
        *("grid.nx", "physics.viscosity", "time.dt", "run.dtype")
    ]
    assert error.value.problems[1] == "grid.nx: 14 before, 15 now"


def test_an_option_that_was_unknown_before_had_its_default():
    now = to_toml(config())
    before = "".join(line for line in now.splitlines(True) if not line.startswith(("reduced_gravity", "full_gravity")))
    assert before != now
    assert decisive.differences(before, now) == []
    other = to_toml(config(physics__reduced_gravity=True))
    assert decisive.differences(before, other) == ["physics.reduced_gravity: False before, True now"]
    assert decisive.differences(before, before.replace("[case]\n", "[case]\nwind = 1.0\n")) == [
        "case.wind: not set before, 1.0 now"
    ]


def test_a_run_goes_on_without_what_its_case_has_been_given_since(tmp_path):
    """A double gyre begun before gravity could be called reduced has sea level in its files, and keeps it."""
    now = to_toml(load("double_gyre", {}, {}))
    before = "".join(line for line in now.splitlines(True) if not line.startswith(("reduced_gravity", "full_gravity")))
    (tmp_path / "config.toml").write_text(before)
    for old in (load(tmp_path / "config.toml", (), {}, complete=True), from_toml(before)):
        assert not old.physics.reduced_gravity
        assert decisive.differences(before, to_toml(old)) == []
    assert load(tmp_path / "config.toml", (), {}).physics.reduced_gravity  # a new run from the file of an old one


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
        pytest.raises(FilesError, match=f"{path} cannot be written: .*; \\d+ bytes free"),
    ):
        model.write_restart(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    model.write_restart(path)
    assert folder.facts(path)["step"] == 1


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (Path, "replace", "No space left on device"),
        (background.JournaledFile, "commit", "No space left on device"),
        (background, "image", "No space left on device"),
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
    monkeypatch.setattr("swmodel.files.background.free", lambda path: 1000)
    with pytest.raises(FilesError, match=r"disk full, 1000 bytes free of the \d+ that"):
        model.write_restart(run_folder / "restart" / "other.nc")


def test_a_journal_of_a_killed_writer_does_not_enter_the_next_file(halfway, tmp_path):
    path = tmp_path / "restart.nc"
    model = simulation(folder.path_of(halfway, 7))
    program = (
        "import os, swmodel.files.background as background, swmodel\n"
        "background.JournaledFile.close = lambda self: os._exit(9)\n"
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
        loaded = read(path, setup_of(settings), transport)
        contents = write.contents_of(loaded.carry, loaded.step, 139.0, loaded.kept)
        write.write(made, contents, settings, transport)
        return loaded

    run_ranks(work, layout, 9, 14)
    assert "problem" not in folder.facts(made)
    assert_same_data(made, path)


@pytest.mark.parametrize("nbytes", [300, 3000, 1 << 22], ids=["some rows", "some members", "all"])
@pytest.mark.parametrize("shares", [1, 2, 3])
def test_members_are_the_same_from_any_shares_and_read_by_any(tmp_path, monkeypatch, shares, nbytes):
    monkeypatch.setattr("swmodel.files.gather.CHUNK_BYTES", nbytes // 2)
    monkeypatch.setattr("swmodel.files.gather.GATHER_BYTES", nbytes)
    settings = config()
    whole = np.random.default_rng(0).standard_normal((5, 9, 14))
    fields = {name: whole + number for number, name in enumerate(("h", "u", "v"))}

    def work(transport):
        here = slice(transport.block.members.start, transport.block.members.stop)
        own = {name: field[here] for name, field in fields.items()}
        write.write(tmp_path / "members.nc", write.Contents(own, 3, 60.0, 0), settings, transport)
        state = read(tmp_path / "members.nc", setup_of(settings), transport).carry.state
        return all(np.array_equal(getattr(state, name), field) for name, field in own.items())

    assert run_ranks(work, (1, 1), 9, 14, members=5, shares=shares) == [True] * shares
    found = data(tmp_path / "members.nc")
    for name, field in fields.items():
        np.testing.assert_array_equal(found[name], field)
    assert folder.facts(tmp_path / "members.nc")["members"] == 5


def test_a_failure_on_rank_0_is_one_on_all_ranks(halfway, tmp_path, monkeypatch):
    path, settings = folder.path_of(halfway, 7), config()
    monkeypatch.setattr(background, "image", fail)

    def work(transport):
        loaded = read(path, setup_of(settings), transport)
        contents = write.contents_of(loaded.carry, loaded.step, 139.0, {})
        with pytest.raises(FilesError) as error:
            write.write(tmp_path / "made.nc", contents, settings, transport)
        return str(error.value)

    words = run_ranks(work, (2, 2), 9, 14)
    assert len(set(words)) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_even_be_cleared_away_is_refused_with_its_first_cause(monkeypatch, tmp_path):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    model = simulation()
    monkeypatch.setattr(background, "image", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(FilesError, match=r"restart.nc cannot be written: Permission denied; \d+ bytes free"):
        model.write_restart(tmp_path / "restart.nc")
