"""Damaged stores are named with variable and record; files that other programs have changed are read and continued."""

import json
import shutil
import sys

import h5py
import netCDF4
import pytest
import xarray
from support.command import invoke_swmodel
from support.faults import flip_bit
from support.restarts import RECORD_FILES, read_variables, resume_run, set_value, simulation
from support.snapshots import make_config, write_records

from swmodel.config import load
from swmodel.errors import ConfigError, FilesError
from swmodel.extras import missing_package_reason
from swmodel.files.verify import verdicts
from swmodel.model.validate import check_config
from swmodel.plotting import plot
from swmodel.plotting.dataset import open_data, read_verified

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def original_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "output.zarr"
    write_records(path, make_config(), (0, 7, 14), layout=(2, 1))
    return path


@pytest.fixture
def copied_store(original_store, tmp_path):
    return shutil.copytree(original_store, tmp_path / "output.zarr")


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.parametrize("position", [0, -1])
def test_variable_with_a_flipped_bit_in_a_chunk_is_named(copied_store, position):
    chunks = [path for path in sorted(copied_store.rglob("*")) if path.is_file() and path.name != "zarr.json"]
    for chunk in chunks[:: max(1, len(chunks) // 8)]:
        before = chunk.read_bytes()
        flip_bit(chunk, position)
        name = chunk.relative_to(copied_store).parts[0]
        assert verdicts(copied_store)["output.zarr"].startswith(f"damaged: variable {name}")
        chunk.write_bytes(before)
    assert verdicts(copied_store) == {"output.zarr": "intact"}


def remove_entry(store, name):
    shutil.rmtree(store / name) if (store / name).is_dir() else (store / name).unlink()


def change_units(store, name):
    document = json.loads((store / "zarr.json").read_text())
    document["consolidated_metadata"]["metadata"][name]["attributes"]["units"] = "km"
    (store / "zarr.json").write_text(json.dumps(document))


@pytest.mark.fault("half a store, a store of another run, a damaged or missing chunk")
@pytest.mark.parametrize(
    ("damage", "name", "words"),
    [
        (remove_entry, "h/c/1/1/0", "variable h in record 1 (step 7)"),
        (remove_entry, "h/c/2", "variable h in record 2 (step 14)"),
        (remove_entry, "depth/c/0/0", "variable depth"), (remove_entry, "time/c/0", "variable time"),
        (remove_entry, "eta_mean/zarr.json", "variable eta_mean"), (change_units, "h", "header, variable h"),
    ],
)  # fmt: skip
def test_missing_chunk_and_changed_metadata_are_named(copied_store, damage, name, words):
    damage(copied_store, name)
    assert verdicts(copied_store) == {"output.zarr": f"damaged: {words}"}


#: Metadata that other programs may leave: those of xarray's `to_zarr(consolidated=False)`, or even fewer.
METADATA_START = '{"attributes": {}, "zarr_format": 3, "node_type": "group"'
INVALID_METADATA = {
    "not consolidated": f"{METADATA_START}}}",
    "null": f'{METADATA_START}, "consolidated_metadata": null}}',
    "empty": "{}",
}


@pytest.mark.parametrize("damage", ["no metadata", "half the metadata", *INVALID_METADATA])
def test_store_without_valid_metadata_ends_commands_with_code_5(copied_store, damage):
    metadata = copied_store / "zarr.json"
    if damage == "no metadata":
        metadata.unlink()
    else:
        metadata.write_text(INVALID_METADATA.get(damage) or metadata.read_text()[:999])
    for command in ("info", "plot", "animate"):
        result = invoke_swmodel(command, copied_store)
        (line,) = result.output.splitlines()
        assert (result.exit_code, str(copied_store) in line) == (5, True), line
        assert damage == "half the metadata" or metadata.name in line
        assert ("consolidated metadata" in line) == (damage in INVALID_METADATA)


def test_missing_package_is_named_by_every_command(copied_store, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    for command in (["info"], ["info", "--verify"], ["plot"], ["animate"]):
        result = invoke_swmodel(*command, copied_store)
        assert (result.exit_code, result.output) == (3, f"Error: {copied_store}{missing_package_reason('', 'zarr')}\n")
    with pytest.raises(ConfigError) as error:
        check_config(load("jet", {"output.format": "zarr", "restart.format": "zarr"}, environ={}))
    assert [problem.partition(":")[0] for problem in error.value.problems] == ["output.format", "restart.format"]


def test_records_of_a_store_are_verified_before_they_are_drawn(copied_store):
    flip_bit(copied_store / "h" / "c" / "1" / "0" / "0", 20)
    (copied_store / "zeta" / "c" / "2" / "1" / "0").unlink()
    with open_data(copied_store) as data:
        assert read_verified(data, "h", 0).shape == (21, 26)
        for name, record in (("h", 1), ("zeta", 2)):
            with pytest.raises(FilesError, match=f"damaged: variable {name} in record {record}$"):
                read_verified(data, name, record)


def test_run_continues_in_a_store_only_after_intact_records(tmp_path):
    """Damage to records that the resumed run replaces is ignored."""
    options, store = {"output__format": "zarr"}, tmp_path / "output.zarr"
    simulation(run__steps=7, restart__every_steps=5, **options).run(tmp_path)
    flip_bit(store / "h" / "c" / "2" / "0" / "0", 20)
    resume_run(tmp_path, 8, path="step-0000000005.nc", **options)
    assert verdicts(tmp_path)["output.zarr"] == "intact"
    flip_bit(store / "h" / "c" / "1" / "0" / "0", 20)
    with pytest.raises(FilesError, match=r"output.zarr: damaged: variable h in record 1 \(step 4\)"):
        resume_run(tmp_path, **options)
    (store / "zarr.json").write_text("{}")
    with pytest.raises(FilesError, match="output.zarr: .*consolidated metadata"):
        resume_run(tmp_path, **options)


def remove_checksums(path):
    """Turn a file into one like those that earlier versions wrote."""
    with h5py.File(path, "r+") as file:
        del file["crc32"], file["checked"], file.attrs["header_crc32"]
        for variable in file.values():
            variable.attrs.pop("crc32", None)


def test_files_without_checksums_are_read_and_continued(run_folder, uninterrupted_run):
    for name in RECORD_FILES:
        remove_checksums(run_folder / name)
        assert verdicts(run_folder)[name] == "can be read; it holds no checksums"
    assert invoke_swmodel("info", run_folder).exit_code == 0
    resume_run(run_folder)
    for name in RECORD_FILES:
        ours, theirs = read_variables(run_folder / name), read_variables(uninterrupted_run / name)
        del theirs["crc32"]
        assert {key: value.tobytes() for key, value in ours.items()} == {k: v.tobytes() for k, v in theirs.items()}


def test_additions_by_another_program_do_not_count_as_damage(run_folder):
    with netCDF4.Dataset(run_folder / "output.nc", "a") as file:
        file.comment = "run of Tuesday"
        file["h"].remark = "thickness"
        file.createVariable("vorticity", "f8", ("time", "y_c", "x_c"))[:] = 1.0
    assert verdicts(run_folder)["output.nc"] == "intact"
    with open_data(run_folder / "output.nc") as file:
        assert (read_verified(file, "vorticity", 1) == 1.0).all()


def test_records_selected_by_xarray_are_verified(run_folder):
    path = run_folder / "part.nc"
    with xarray.open_dataset(run_folder / "output.nc", decode_times=False) as data:
        data.isel(time=slice(1, 3)).to_netcdf(path)
    assert verdicts(path) == {"part.nc": "intact"}
    set_value(path, "h", (1, 3, 4), 1.0)
    assert verdicts(path) == {"part.nc": "damaged: variable h in record 1 (step 7)"}
    plot(path, fields=["u"])
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        plot(path, fields=["h"])


@pytest.mark.parametrize("select", [lambda data: data.isel(time=slice(0, 2)), lambda data: data[["h"]]])
def test_file_rewritten_by_xarray_is_read_with_a_warning(run_folder, caplog, select):
    """The warning is due because xarray rounds times, changes their units, and may leave checksums out."""
    path = run_folder / "part.nc"
    with xarray.open_dataset(run_folder / "output.nc") as data:
        select(data).to_netcdf(path)
    assert invoke_swmodel("info", path).exit_code == 0
    (warning,) = [record.getMessage() for record in caplog.records if record.name.startswith("swmodel")]
    assert warning.startswith(f"{path}: damaged: header")
    assert verdicts(path)["part.nc"].startswith("damaged: header")
