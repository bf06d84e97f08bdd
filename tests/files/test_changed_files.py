"""Damaged stores are named with variable and record; files that other programs have changed are read and continued."""

import json
import shutil
import sys
import warnings

import h5py
import netCDF4
import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from support.faults import flip
from support.restarts import FILES, change, data, resumed, simulation
from support.snapshots import config_of, write

from swmodel.cli import main
from swmodel.config import load
from swmodel.errors import ConfigError, FilesError
from swmodel.extras import lacking
from swmodel.files.verify import verdicts
from swmodel.model.validate import check_config
from swmodel.plotting import plot
from swmodel.plotting.dataset import open_data, values_of


def cli(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "output.zarr"
    write(path, config_of(), (0, 7, 14), layout=(2, 1))
    return path


@pytest.fixture
def store(made, tmp_path):
    return shutil.copytree(made, tmp_path / "output.zarr")


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.slow
@pytest.mark.parametrize("place", [0, -1])
def test_flipped_bit_in_any_chunk_is_named(store, place):
    chunks = [each for each in sorted(store.rglob("*")) if each.is_file() and each.name != "zarr.json"]
    for file in chunks[:: max(1, len(chunks) // 8)]:
        before = file.read_bytes()
        flip(file, place)
        assert verdicts(store)["output.zarr"].startswith(f"damaged: variable {file.relative_to(store).parts[0]}")
        file.write_bytes(before)
    assert verdicts(store) == {"output.zarr": "intact"}


@pytest.mark.fault("half a store, a store of another run, a damaged or missing chunk")
@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("h/c/1/1/0", "variable h in record 1 (step 7)"),
        ("h/c/2", "variable h in record 2 (step 14)"),
        ("depth/c/0/0", "variable depth"),
        ("time/c/0", "variable time"),
        ("eta_mean/zarr.json", "variable eta_mean"),
    ],
)
def test_missing_chunk_is_named(store, lost, words):
    shutil.rmtree(store / lost) if (store / lost).is_dir() else (store / lost).unlink()
    assert verdicts(store) == {"output.zarr": f"damaged: {words}"}


def test_changed_metadata_are_named(store):
    document = json.loads((store / "zarr.json").read_text())
    document["consolidated_metadata"]["metadata"]["h"]["attributes"]["units"] = "km"
    (store / "zarr.json").write_text(json.dumps(document))
    assert verdicts(store)["output.zarr"].startswith("damaged: header")


@pytest.mark.slow
def test_copy_by_xarray_is_used_with_a_warning(store, tmp_path, caplog):
    copy = tmp_path / "copy.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zarr, on consolidated metadata
        xarray.open_zarr(store).to_zarr(copy, write_empty_chunks=True)
    with open_data(copy) as ours, open_data(store) as theirs:
        for name in ("h", "zeta", "eta_mean"):
            np.testing.assert_array_equal(values_of(ours, name, 1), values_of(theirs, name, 1))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [str(copy)]
    assert verdicts(copy) == {"copy.zarr": "damaged: header"}


#: What another program leaves in place of the metadata: `to_zarr(consolidated=False)` of xarray, and less.
BARE = '{"attributes": {}, "zarr_format": 3, "node_type": "group"'
OTHERS = {"not consolidated": f"{BARE}}}", "null": f'{BARE}, "consolidated_metadata": null}}', "empty": "{}"}


@pytest.mark.parametrize("harm", ["no metadata", "half the metadata", *OTHERS])
def test_what_is_no_store_is_named_with_code_5(store, harm):
    metadata = store / "zarr.json"
    if harm == "no metadata":
        metadata.unlink()
    else:
        metadata.write_text(OTHERS.get(harm) or metadata.read_text()[:999])
    for command in ("info", "plot", "animate"):
        done = cli(command, store)
        (line,) = done.output.splitlines()
        assert (done.exit_code, str(store) in line) == (5, True), line
        assert harm == "half the metadata" or metadata.name in line
        assert ("consolidated metadata" in line) == (harm in OTHERS)


def test_missing_package_is_named_by_every_command(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    for command in (["info"], ["info", "--verify"], ["plot"], ["animate"]):
        done = cli(*command, store)
        assert (done.exit_code, done.output) == (3, f"Error: {store}{lacking('', 'zarr')}\n")
    with pytest.raises(ConfigError) as error:
        check_config(load("jet", {"output.format": "zarr", "restart.format": "zarr"}, environ={}))
    assert [problem.partition(":")[0] for problem in error.value.problems] == ["output.format", "restart.format"]


def test_drawing_verifies_records_of_a_store(store):
    flip(store / "h" / "c" / "1" / "0" / "0", 20)
    (store / "zeta" / "c" / "2" / "1" / "0").unlink()
    with open_data(store) as data:
        assert values_of(data, "h", 0).shape == (21, 26)
        for name, record in (("h", 1), ("zeta", 2)):
            with pytest.raises(FilesError, match=f"damaged: variable {name} in record {record}$"):
                values_of(data, name, record)


@pytest.mark.slow
def test_run_goes_on_in_a_store_only_after_intact_records(tmp_path):
    """Damage in records that are computed again does no harm."""
    options, store = {"output__format": "zarr"}, tmp_path / "output.zarr"
    simulation(run__steps=7, restart__every_steps=5, **options).run(tmp_path)
    flip(store / "h" / "c" / "2" / "0" / "0", 20)
    resumed(tmp_path, 8, path="step-0000000005.nc", **options)
    assert verdicts(tmp_path)["output.zarr"] == "intact"
    flip(store / "h" / "c" / "1" / "0" / "0", 20)
    with pytest.raises(FilesError, match=r"output.zarr: damaged: variable h in record 1 \(step 4\)"):
        resumed(tmp_path, **options)
    (store / "zarr.json").write_text("{}")
    with pytest.raises(FilesError, match="output.zarr: .*consolidated metadata"):
        resumed(tmp_path, **options)


def remove_checksums(path):
    """Make it a file as earlier versions wrote it."""
    with h5py.File(path, "r+") as file:
        del file["crc32"], file["checked"], file.attrs["header_crc32"]
        for variable in file.values():
            variable.attrs.pop("crc32", None)


@pytest.mark.slow
def test_files_without_checksums_are_read_and_continued(run_folder, tmp_path):
    simulation().run(tmp_path / "whole")
    for name in FILES:
        remove_checksums(run_folder / name)
        assert verdicts(run_folder)[name] == "can be read; it holds no checksums"
    assert cli("info", run_folder).exit_code == 0
    assert cli("plot", run_folder).exit_code == 0
    resumed(run_folder)
    for name in FILES:
        ours, theirs = data(run_folder / name), data(tmp_path / "whole" / name)
        del theirs["crc32"]
        assert {key: value.tobytes() for key, value in ours.items()} == {k: v.tobytes() for k, v in theirs.items()}


@pytest.mark.slow
def test_additions_by_another_program_are_no_damage(run_folder):
    with netCDF4.Dataset(run_folder / "output.nc", "a") as file:
        file.comment = "of Tuesday"
        file["h"].remark = "see there"
        file.createVariable("vorticity", "f8", ("time", "y_c", "x_c"))[:] = 1.0
    assert verdicts(run_folder)["output.nc"] == "intact"
    for line in (["info"], ["plot", "--field", "vorticity"], ["info", "--verify"]):
        done = cli(*line, run_folder)
        assert (done.exit_code, "damaged" in done.output) == (0, False), done.output


def part(path, decode, take):
    """What xarray keeps of a file of records."""
    with xarray.open_dataset(path, decode_times=decode) as data:
        take(data).to_netcdf(path.with_name("part.nc"))
    return path.with_name("part.nc")


@pytest.mark.slow
def test_records_taken_out_by_xarray_are_verified(run_folder):
    path = part(run_folder / "output.nc", False, lambda data: data.isel(time=slice(1, 3)))
    assert verdicts(path) == {"part.nc": "intact"}
    change(path, "h", (1, 3, 4), 1.0)
    assert verdicts(path) == {"part.nc": "damaged: variable h in record 1 (step 7)"}
    plot(path, fields=["u"])
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        plot(path, fields=["h"])


@pytest.mark.slow
@pytest.mark.parametrize("take", [lambda data: data.isel(time=slice(0, 2)), lambda data: data[["h"]]])
def test_file_rewritten_by_xarray_is_drawn_with_a_warning(run_folder, caplog, take):
    """Because xarray rounds times, changes their units, and may leave checksums out."""
    path = part(run_folder / "output.nc", True, take)
    for command in ("info", "plot"):
        caplog.clear()
        done = cli(command, path)
        assert done.exit_code == 0, done.output
        (warned,) = [record.getMessage() for record in caplog.records if record.name.startswith("swmodel")]
        assert warned.startswith(f"{path}: damaged: header")
        assert "\n" not in warned
    assert verdicts(path)["part.nc"].startswith("damaged: header")


def set_text(path, name, text):
    """Write a global attribute of any bytes, or none."""
    with h5py.File(path, "r+") as file:
        del file.attrs[name]
        if text is not None:
            file.attrs.create(name, text)


LATIN = np.bytes_("Montag: geändert\nDienstag".encode("latin-1"))


@pytest.mark.parametrize(("history", "lines"), [(LATIN, 3), (h5py.Empty("S1"), 1), (None, 1)])
def test_run_goes_on_whatever_the_history_says(run_folder, history, lines):
    """But not without a configuration, even if there are no checksums that would tell."""
    for name in FILES:
        set_text(run_folder / name, "history", history)
    assert cli("info", run_folder).exit_code == 0
    resumed(run_folder)
    for name in FILES:
        with netCDF4.Dataset(run_folder / name) as file:
            assert file.history.endswith("swmodel.Simulation")
            assert len(file.history.splitlines()) == lines
    remove_checksums(run_folder / "output.nc")
    set_text(run_folder / "output.nc", "configuration", history)
    with pytest.raises(FilesError, match="output.nc cannot be continued: "):
        resumed(run_folder, 12)
