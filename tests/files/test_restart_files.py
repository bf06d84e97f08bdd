"""A restart file or store is complete or absent; one that is damaged or from another run is detected."""

import errno
import os
import re
import resource
import shutil
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from support.command import invoke_swmodel
from support.rank_threads import run_rank_threads
from support.restarts import bytes_of_files, config, flip_bit_of_variable, read_variables, resume_run, simulation

from swmodel.config import ConfigError, from_toml, load, to_toml
from swmodel.config.loading import fixed_on_resume
from swmodel.errors import FilesError, write_failure_reason
from swmodel.files.restart import folder, write
from swmodel.files.restart.read import read
from swmodel.files.store import block_store
from swmodel.files.store.draft_store import DraftStore
from swmodel.files.verify import verdicts
from swmodel.setup.setup import setup_of

FORMATS = pytest.mark.parametrize("format", ["netcdf", "zarr"])


@pytest.fixture(scope="module")
def run_with_zarr_restarts(tmp_path_factory):
    """Like `halfway_run`, a run of 7 steps with restarts at steps 5 and 7, but these are stores."""
    path = tmp_path_factory.mktemp("runs") / "stores"
    simulation(run__steps=7, restart__every_steps=5, restart__format="zarr").run(path)
    return path


@pytest.fixture
def run_copy(halfway_run, run_with_zarr_restarts, tmp_path, format):
    return shutil.copytree({"netcdf": halfway_run, "zarr": run_with_zarr_restarts}[format], tmp_path / "run")


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("a restart file is corrupt or truncated")
@FORMATS
@pytest.mark.parametrize("name", ["h", "u_memory1", "eta_mean"])
@pytest.mark.slow
def test_variable_with_a_flipped_bit_is_named_and_the_older_file_is_used(run_copy, format, name):
    newest_file = folder.restart_path(run_copy, 7, format)
    flip_bit_of_variable(newest_file, name)
    assert folder.examine_restart(newest_file)["problem"] == f"damaged: variable {name}"
    assert verdicts(run_copy)[f"restart/{newest_file.name}"] == f"damaged: variable {name}"
    restart, (remark,) = folder.choose_restart(run_copy)
    assert restart.step == 5
    assert remark.startswith(f"{newest_file}: damaged: variable {name}; ")
    with pytest.raises(FilesError, match=f"{newest_file}: damaged: variable {name}"):
        simulation(newest_file)
    output = " ".join(invoke_swmodel("info", run_copy).output.split())
    assert f"{newest_file.name}: step 7, day 0.001458" in output
    assert f"MB, damaged: variable {name} step-0000000005{newest_file.suffix}: step 5" in output


def write_attributes(path, **values):
    with h5py.File(path, "r+") as file:
        file.attrs.update(values)


@pytest.mark.fault("a restart file is corrupt or truncated")
@pytest.mark.parametrize(
    ("damage", "problem"),
    [(partial(write_attributes, **values), "damaged: header") for values in (
        {"step": 6}, {"mean_steps": 1}, {"configuration": "[case]"}, {"seconds": 1.0})]
    + [(lambda path, n=n: os.truncate(path, path.stat().st_size * n // 9), "cannot be read: ") for n in (0, 3, 8)],
)  # fmt: skip
def test_changed_or_truncated_file_is_skipped(run_folder, damage, problem):
    newest_file = folder.restart_path(run_folder, 7)
    damage(newest_file)
    assert folder.examine_restart(newest_file)["problem"].startswith(problem)
    assert folder.choose_restart(run_folder)[0].step == 5


@pytest.mark.fault("there is no restart file")
def test_missing_restart_file_is_an_error_that_names_the_existing_ones(run_folder):
    with pytest.raises(FilesError, match="6.nc: .*: step-0000000007.nc, step-0000000005.nc$"):
        folder.choose_restart(run_folder, "step-0000000006.nc")
    shutil.rmtree(run_folder / "restart")
    with pytest.raises(FilesError, match=f"swmodel run {run_folder}/config.toml --output {run_folder} --force"):
        folder.choose_restart(run_folder)


@pytest.mark.fault("a restart file belongs to another grid, physics or precision")
def test_restart_refuses_another_grid_physics_and_precision(run_folder):
    restart, _ = folder.choose_restart(run_folder)
    folder.require_same_run(config(run__steps=99, output__every_steps=1, run__reproducible=True), restart)
    options = {"grid__nx": 15, "physics__viscosity": 7.0, "time__dt": 12.0, "run__dtype": "float64"}
    with pytest.raises(ConfigError) as error:
        folder.require_same_run(config(**options, output__format="zarr"), restart)
    keys = [line.partition(":")[0] for line in error.value.problems[1:]]
    assert keys == [*(name.replace("__", ".") for name in options), "output.format"]


@pytest.mark.fault("a run of an earlier version, which lacked an option, continues")
def test_run_of_an_earlier_version_keeps_its_old_defaults(tmp_path):
    """The files of a double gyre from before the option `physics.reduced_gravity` contain sea level."""
    texts = (to_toml(each) for each in (config(), load("double_gyre", {}, {})))
    jet, gyre = (re.sub("^(reduced|full)_gravity.*\n", "", text, flags=re.M) for text in texts)
    assert fixed_on_resume.differences(jet, to_toml(config())) == []
    (difference,) = fixed_on_resume.differences(jet, to_toml(config(physics__reduced_gravity=True)))
    assert difference.startswith("physics.reduced_gravity: False before")
    (tmp_path / "config.toml").write_text(gyre)
    for old_run in (load(tmp_path / "config.toml", (), {}, has_all_options=True), from_toml(gyre)):
        assert not old_run.physics.reduced_gravity
        assert fixed_on_resume.differences(gyre, to_toml(old_run)) == []
    assert load(tmp_path / "config.toml", (), {}).physics.reduced_gravity  # a new run with an old configuration


@contextmanager
def limit_file_size(nbytes):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.fault("a restart cannot be written")
@pytest.mark.parametrize("nbytes", [1000, 50_000, 90_000])
def test_restart_that_cannot_be_written_leaves_the_earlier_file(tmp_path, nbytes):
    path, model = tmp_path / "restart.nc", simulation(grid__nx=60, grid__ny=40)
    model.write_restart(path)
    before = path.read_bytes()
    assert len(before) > 90_000
    model.advance(1)
    with limit_file_size(nbytes), pytest.raises(FilesError, match=f"{path} cannot be written: .*bytes free"):
        model.write_restart(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    model.write_restart(path)
    assert folder.examine_restart(path)["step"] == 1


@pytest.mark.slow
@pytest.mark.fault("the disk fills up with output")
def test_message_about_a_full_disk_names_the_last_restart_and_missing_inodes(tmp_path, monkeypatch):
    options = "-s", "grid.nx=20", "-s", "grid.ny=16", "-s", "restart.every_steps=5", "-s", "output.every_steps=1"
    with limit_file_size(300_000):
        result = invoke_swmodel("run", "jet", *options, "-s", "run.steps=200", "-o", tmp_path / "run")
    (newest_file, *_) = folder.list_restart_files(tmp_path / "run")
    assert result.exit_code == 5
    assert f"{newest_file}, continue with `swmodel resume {tmp_path / 'run'}`" in result.stderr
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_files=9, f_favail=0, f_bavail=5, f_frsize=4096))
    assert "20480 bytes free, but no inodes" in write_failure_reason(OSError(errno.ENOSPC, ""), tmp_path / "a.nc")


def raise_disk_full(*arguments):
    raise OSError(28, "No space left on device")


@pytest.mark.fault("the disk of one rank is full while all write a store")
@pytest.mark.slow
@pytest.mark.parametrize("format", ["zarr"])
@pytest.mark.parametrize(("name", "rank"), [("_write", 1), ("_sync", 1), ("_verify", 0)])
def test_failure_of_one_rank_is_an_error_on_all_and_leaves_the_store(run_copy, format, monkeypatch, name, rank):
    path, before = folder.restart_path(run_copy, 7, format), bytes_of_files(run_copy / "restart")
    settings, original = config(), getattr(DraftStore, name)

    def fail_on_rank(store, *arguments):
        (raise_disk_full if store.transport.rank == rank else original)(store, *arguments)

    def write_store(transport):
        restart = read(path, setup_of(settings), transport)
        contents = write.contents_of(restart.carry, restart.step, 139.0, restart.accumulator_fields, "", 1)
        transport.exchange(None)
        with pytest.raises(FilesError, match=f"{path} cannot be written: No space left on device"):
            write.write(path, contents, settings, transport, "", transport.get)

    monkeypatch.setattr(DraftStore, name, fail_on_rank)
    monkeypatch.setattr(block_store, "MAX_WAIT_SECONDS", 1.0)
    run_rank_threads(write_store, (2, 1), 9, 14)
    assert bytes_of_files(run_copy / "restart") == before


@pytest.mark.fault("a restart cannot be written")
@pytest.mark.parametrize(
    ("owner", "name", "fault", "words"),
    [
        (Path, "replace", raise_disk_full, "No space left on device"),
        (write, "examine", lambda path, do=write.examine: flip_bit_of_variable(path, "h") or do(path), "verification"),
    ],
)
def test_restart_that_cannot_be_renamed_or_verified_replaces_none(run_folder, monkeypatch, owner, name, fault, words):
    path, before = folder.restart_path(run_folder, 7), bytes_of_files(run_folder / "restart")
    model = simulation(path)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fault)
        with pytest.raises(FilesError, match=f"{path} cannot be written: .*{words}"):
            model.write_restart(path)
    assert bytes_of_files(run_folder / "restart") == before


@FORMATS
def test_unfinished_files_are_skipped_and_removed(run_copy, format):
    for ending in ("9.nc.writing", "9.nc.writing.journal", "8.nc.unused", "8.zarr.writing", "6.zarr.unused", "9.zarr"):
        path = run_copy / "restart" / f"step-000000000{ending}"
        path.mkdir() if "zarr" in ending else path.write_text("half")
    (run_copy / "restart" / "mine.nc").write_text("not ours")
    assert folder.choose_restart(run_copy)[0].step == 7
    resume_run(run_copy, restart__format=format)
    paths = [folder.restart_path(run_copy, step, format) for step in (7, 11)]
    assert sorted((run_copy / "restart").iterdir()) == [run_copy / "restart" / "mine.nc", *paths]


@FORMATS
@pytest.mark.parametrize(("n_groups", "nbytes"), [(1, 300), (3, 3000)])
def test_members_are_the_same_for_any_distribution_over_ranks(tmp_path, monkeypatch, n_groups, nbytes, format):
    monkeypatch.setattr("swmodel.files.gather.CHUNK_BYTES", nbytes // 2)
    monkeypatch.setattr("swmodel.files.gather.GATHER_BYTES", nbytes)
    settings, path = config(), folder.restart_path(tmp_path, 3, format)
    fields = dict(zip("huv", np.random.default_rng(0).standard_normal((3, 5, 9, 14)), strict=True))

    def write_and_read(transport):
        members = slice(transport.block.members.start, transport.block.members.stop)
        local_fields = {name: field[members] for name, field in fields.items()}
        contents = write.RestartContents(local_fields, 3, 60.0, 0, "", 1)
        write.write(path, contents, settings, transport, "", transport.get)
        state = read(path, setup_of(settings), transport).carry.state
        return all(np.array_equal(getattr(state, name), field) for name, field in local_fields.items())

    assert run_rank_threads(write_and_read, (1, 1), 9, 14, n_members=5, n_member_groups=n_groups) == [True] * n_groups
    variables = read_variables(path)
    for name, field in fields.items():
        np.testing.assert_array_equal(variables[name], field)
    assert folder.examine_restart(path)["members"] == 5
