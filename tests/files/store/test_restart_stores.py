"""Restart files in Zarr: the same bits as NetCDF, whole or absent, and every command takes them."""

import netCDF4
import numpy as np
import pytest
from support.ranks import run_ranks
from support.restarts import assert_same_data, assert_same_run, config, resumed, simulation

import swmodel
from swmodel.errors import FilesError
from swmodel.files.restart import folder, write
from swmodel.files.restart.read import read
from swmodel.files.store import block_store
from swmodel.files.store.draft_store import DraftStore
from swmodel.files.verify import verdicts
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

ZARR = {"restart__format": "zarr", "restart__every_steps": 5}


@pytest.fixture
def run_folder(tmp_path):
    """A run of 7 steps with restart files at 5 and 7."""
    simulation(run__steps=7, **ZARR).run(tmp_path / "run")
    return tmp_path / "run"


def flip(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_a_run_in_pieces_has_the_files_of_an_undisturbed_one_in_either_format(run_folder, tmp_path):
    for name, options in {"zarr": ZARR, "netcdf": {"restart__every_steps": 5}}.items():
        simulation(**options).run(tmp_path / name)
    resumed(run_folder, **ZARR)
    assert_same_run(run_folder, tmp_path / "zarr")
    names = (f"restart/step-0000000011.{ending}" for ending in ("zarr", "nc"))
    assert_same_data(*(tmp_path / folder / name for folder, name in zip(("zarr", "netcdf"), names, strict=True)))
    assert sorted(each.name for each in (run_folder / "restart").iterdir()) == [
        "step-0000000010.zarr",
        "step-0000000011.zarr",
    ]


def test_the_format_may_change_when_a_run_goes_on(run_folder, tmp_path):
    simulation(restart__every_steps=5).run(tmp_path / "whole")
    resumed(run_folder, restart__every_steps=5)
    assert_same_run(run_folder, tmp_path / "whole")


def test_one_wrong_bit_is_named_and_the_older_file_taken(run_folder):
    newest = folder.path_of(run_folder, 7, "zarr")
    flip(newest / "u_memory1" / "c" / "0" / "0")
    assert folder.facts(newest)["problem"] == "damaged: variable u_memory1"
    assert verdicts(run_folder)["restart/step-0000000007.zarr"] == "damaged: variable u_memory1"
    assert folder.choose(run_folder)[0].step == 5
    with pytest.raises(FilesError, match=f"{newest}: damaged: variable u_memory1"):
        simulation(newest)


def test_half_a_file_is_passed_over_and_removed_with_the_next(run_folder):
    (run_folder / "restart" / "step-0000000009.zarr").mkdir()
    for left in ("step-0000000008.zarr.writing", "step-0000000006.zarr.unused"):
        (run_folder / "restart" / left / "h").mkdir(parents=True)
    assert folder.choose(run_folder)[0].step == 7
    resumed(run_folder, **ZARR)
    assert sorted(each.name for each in (run_folder / "restart").iterdir()) == [
        "step-0000000010.zarr",
        "step-0000000011.zarr",
    ]


def fail(*arguments):
    raise OSError(28, "No space left on device")


@pytest.mark.fault("the disk of one rank is full while all write a store")
@pytest.mark.parametrize("name", ["_write", "_sync", "_verify"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_failure_of_one_rank_is_one_message_on_all_and_leaves_what_was_there(run_folder, monkeypatch, name, rank):
    path, settings = folder.path_of(run_folder, 7, "zarr"), config()
    before = {each: each.read_bytes() for each in (run_folder / "restart").rglob("*") if each.is_file()}
    truth = getattr(DraftStore, name)

    def broken(store, *arguments):
        (fail if store.transport.rank == rank else truth)(store, *arguments)

    def work(transport):
        loaded = read(path, setup_of(settings), transport)
        contents = write.contents_of(loaded.carry, loaded.step, 139.0, loaded.kept)
        transport.exchange(None)
        with pytest.raises(FilesError, match=f"{path} cannot be written: No space left on device"):
            write.write(path, contents, settings, transport)

    monkeypatch.setattr(DraftStore, name, broken)
    monkeypatch.setattr(block_store, "PATIENCE", 1.0)
    run_ranks(work, (2, 1), 9, 14)
    assert {each: each.read_bytes() for each in (run_folder / "restart").rglob("*") if each.is_file()} == before


def test_a_full_disk_is_refused_before_anything_is_written(run_folder, monkeypatch):
    model = simulation(folder.path_of(run_folder, 7, "zarr"))
    monkeypatch.setattr(block_store, "free", lambda path: 100)
    with pytest.raises(FilesError, match="disk full, 100 bytes free"):
        model.write_restart(run_folder / "restart" / "step-0000000009.zarr")
    assert len(list((run_folder / "restart").iterdir())) == 2


def test_a_new_run_starts_from_a_store(run_folder, tmp_path):
    path = folder.path_of(run_folder, 7, "zarr")
    simulation(path).write_restart(tmp_path / "same.nc")
    with netCDF4.Dataset(tmp_path / "same.nc") as file:
        for source in (path, run_folder):
            state = simulation(input__state=source).state
            for name in state._fields:
                np.testing.assert_array_equal(getattr(state, name), np.asarray(file[name][:]))


@pytest.mark.night
def test_fields_from_python_and_drifters_go_on(tmp_path):
    options = {"grid.nx": 14, "grid.ny": 9, "run.steps": 8, "run.executor": "xla", "restart.format": "zarr"}
    options |= {"output.drifters": [[30e3, 20e3]], "output.every_steps": 4}
    depth = 100 + np.arange(9 * 14.0).reshape(9, 14)
    swmodel.Simulation("jet", options, fields={"depth": depth}).run(tmp_path / "whole")
    swmodel.Simulation("jet", options | {"run.steps": 4}, fields={"depth": depth}).run(tmp_path / "pieces")
    swmodel.Simulation.resume(tmp_path / "pieces", {"run.steps": 8}).run(tmp_path / "pieces")
    for name in ("output.nc", "drifters.nc", "restart/step-0000000008.zarr"):
        assert_same_data(tmp_path / "pieces" / name, tmp_path / "whole" / name)
