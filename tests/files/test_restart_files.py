"""A restart file is whole or not there; one that is damaged or of another run is found out."""

import os
import resource
import shutil
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.ranks import run_ranks
from support.restarts import assert_same_data, config, data, flip, resumed, simulation

from swmodel.config import ConfigError, from_toml, load, to_toml
from swmodel.config.loading import decisive
from swmodel.errors import FilesError
from swmodel.files import background
from swmodel.files.restart import folder, write
from swmodel.files.restart.read import read
from swmodel.setup.setup import setup_of


@pytest.mark.fault("a restart file is corrupt or truncated")
@pytest.mark.parametrize("name", ["h", "u_memory1", "eta_mean"])
def test_one_wrong_bit_is_found_and_named(run_folder, name):
    newest = folder.path_of(run_folder, 7)
    flip(newest, name)
    assert folder.facts(newest)["problem"] == f"damaged: variable {name}"
    restart, remarks = folder.choose(run_folder)
    assert restart.step == 5
    assert remarks == [f"{newest}: damaged: variable {name}; continues from step-0000000005.nc"]
    with pytest.raises(FilesError, match=f"{newest}: damaged: variable {name}"):
        simulation(newest)


@pytest.mark.parametrize("change", [{"step": 6}, {"mean_steps": 1}, {"configuration": "[case]"}, {"seconds": 1.0}])
def test_a_wrong_header_is_found(run_folder, change):
    newest = folder.path_of(run_folder, 7)
    with h5py.File(newest, "r+") as file:
        file.attrs.update(change)
    assert folder.facts(newest)["problem"] == "damaged: header"
    assert folder.choose(run_folder)[0].step == 5


@pytest.mark.fault("a restart file is corrupt or truncated")
@pytest.mark.parametrize("length", [0, 20000, -1])
def test_a_truncated_file_is_passed_over(run_folder, length):
    newest = folder.path_of(run_folder, 7)
    os.truncate(newest, length if length >= 0 else newest.stat().st_size + length)
    assert folder.facts(newest)["problem"].startswith("cannot be read: ")
    assert folder.choose(run_folder)[0].step == 5


@pytest.mark.fault("there is no restart file")
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
    assert str(error.value) == f"{run_folder} has no restart file to continue from; `{anew}` starts the run again"


@pytest.mark.fault("a restart file belongs to another grid, physics or precision")
def test_what_determines_the_answer_must_be_the_same(run_folder):
    restart, _ = folder.choose(run_folder)
    folder.compare(config(run__steps=99, output__every_steps=1, run__reproducible=True), restart)
    with pytest.raises(ConfigError) as error:
        folder.compare(config(grid__nx=15, physics__viscosity=7.0, run__dtype="float64", time__dt=12.0), restart)
    assert [line.split(":")[0] for line in error.value.problems[1:]] == [
        *("grid.nx", "physics.viscosity", "time.dt", "run.dtype")
    ]
    assert error.value.problems[1] == "grid.nx: 14 before, 15 now"


@pytest.mark.fault("a run of an earlier version, which lacked an option, continues")
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


@pytest.mark.fault("a run of an earlier version, which lacked an option, continues")
def test_a_run_goes_on_without_what_its_case_has_been_given_since(tmp_path):
    """A double gyre begun before gravity could be called reduced has sea level in its files, and keeps it."""
    now = to_toml(load("double_gyre", {}, {}))
    before = "".join(line for line in now.splitlines(True) if not line.startswith(("reduced_gravity", "full_gravity")))
    (tmp_path / "config.toml").write_text(before)
    for old in (load(tmp_path / "config.toml", (), {}, complete=True), from_toml(before)):
        assert not old.physics.reduced_gravity
        assert decisive.differences(before, to_toml(old)) == []
    assert load(tmp_path / "config.toml", (), {}).physics.reduced_gravity  # a new run from the file of an old one


@contextmanager
def refusing(nbytes):
    """Lets files of this process grow up to a number of bytes only: the system refuses more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


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
        refusing(nbytes),
        pytest.raises(FilesError, match=f"{path} cannot be written: .*; \\d+ bytes free"),
    ):
        model.write_restart(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    model.write_restart(path)
    assert folder.facts(path)["step"] == 1


@pytest.mark.fault("a restart cannot be written")
@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (Path, "replace", "No space left on device"),
        (background.JournaledFile, "commit", "No space left on device"),
        (write, "define_contents", "No space left on device"),
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
    with pytest.raises(FilesError, match="verification failed"):
        model.write_restart(path)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 2


def test_what_a_killed_writer_left_is_removed_with_the_next_file(run_folder):
    for name in ("step-0000000009.nc.writing", "step-0000000009.nc.writing.journal", "step-0000000008.nc.unused"):
        (run_folder / "restart" / name).write_text("half")
    (run_folder / "restart" / "mine.nc").write_text("not ours")
    resumed(run_folder)
    left = sorted(path.name for path in (run_folder / "restart").iterdir())
    assert left == ["mine.nc", "step-0000000007.nc", "step-0000000011.nc"]


@pytest.mark.parametrize("ending", ["nc", "zarr"])
@pytest.mark.parametrize("layout", [(2, 1), (1, 3), (2, 2)])
def test_files_are_the_same_from_any_layout_and_read_by_any(halfway, tmp_path, layout, ending):
    path, made = folder.path_of(halfway, 7), tmp_path / f"made.{ending}"
    settings = config()

    def work(transport):
        loaded = read(path, setup_of(settings), transport)
        contents = write.contents_of(loaded.carry, loaded.step, 139.0, loaded.kept)
        write.write(made, contents, settings, transport)
        return loaded

    run_ranks(work, layout, 9, 14)
    assert "problem" not in folder.facts(made)
    assert_same_data(made, path)


@pytest.mark.parametrize("ending", ["nc", "zarr"])
@pytest.mark.parametrize(("shares", "nbytes"), [(1, 300), (2, 1 << 22), (3, 3000)])
def test_members_are_the_same_from_any_shares_and_read_by_any(tmp_path, monkeypatch, shares, nbytes, ending):
    monkeypatch.setattr("swmodel.files.gather.CHUNK_BYTES", nbytes // 2)
    monkeypatch.setattr("swmodel.files.gather.GATHER_BYTES", nbytes)
    settings, path = config(), tmp_path / f"members.{ending}"
    whole = np.random.default_rng(0).standard_normal((5, 9, 14))
    fields = {name: whole + number for number, name in enumerate(("h", "u", "v"))}

    def work(transport):
        here = slice(transport.block.members.start, transport.block.members.stop)
        own = {name: field[here] for name, field in fields.items()}
        write.write(path, write.Contents(own, 3, 60.0, 0), settings, transport)
        state = read(path, setup_of(settings), transport).carry.state
        return all(np.array_equal(getattr(state, name), field) for name, field in own.items())

    assert run_ranks(work, (1, 1), 9, 14, members=5, shares=shares) == [True] * shares
    found = data(path)
    for name, field in fields.items():
        np.testing.assert_array_equal(found[name], field)
    assert folder.facts(path)["members"] == 5
