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
from support.restarts import FILES, read_variables, resume_run, set_value, simulation
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
def store_original(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "output.zarr"
    write_records(path, make_config(), (0, 7, 14), layout=(2, 1))
    return path


@pytest.fixture
def store_copy(store_original, tmp_path):
    return shutil.copytree(store_original, tmp_path / "output.zarr")


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.parametrize("place", [0, -1])
def test_flipped_bit_in_chunk_is_named_with_its_variable(store_copy, place):
    chunks = [each for each in sorted(store_copy.rglob("*")) if each.is_file() and each.name != "zarr.json"]
    for file in chunks[:: max(1, len(chunks) // 8)]:
        before = file.read_bytes()
        flip_bit(file, place)
        name = file.relative_to(store_copy).parts[0]
        assert verdicts(store_copy)["output.zarr"].startswith(f"damaged: variable {name}")
        file.write_bytes(before)
    assert verdicts(store_copy) == {"output.zarr": "intact"}


def remove_entry(store, name):
    shutil.rmtree(store / name) if (store / name).is_dir() else (store / name).unlink()


def change_units(store, name):
    document = json.loads((store / "zarr.json").read_text())
    document["consolidated_metadata"]["metadata"][name]["attributes"]["units"] = "km"
    (store / "zarr.json").write_text(json.dumps(document))


@pytest.mark.fault("half a store, a store of another run, a damaged or missing chunk")
@pytest.mark.parametrize(
    ("harm", "name", "words"),
    [
        (remove_entry, "h/c/1/1/0", "variable h in record 1 (step 7)"),
        (remove_entry, "h/c/2", "variable h in record 2 (step 14)"),
        (remove_entry, "depth/c/0/0", "variable depth"), (remove_entry, "time/c/0", "variable time"),
        (remove_entry, "eta_mean/zarr.json", "variable eta_mean"), (change_units, "h", "header, variable h"),
    ],
)  # fmt: skip
def test_missing_chunk_and_changed_metadata_are_named(store_copy, harm, name, words):
    harm(store_copy, name)
    assert verdicts(store_copy) == {"output.zarr": f"damaged: {words}"}


#: Metadata that other programs may leave: those of xarray's `to_zarr(consolidated=False)`, or even less.
METADATA_START = '{"attributes": {}, "zarr_format": 3, "node_type": "group"'
INVALID_METADATA = {
    "not consolidated": f"{METADATA_START}}}",
    "null": f'{METADATA_START}, "consolidated_metadata": null}}',
    "empty": "{}",
}


@pytest.mark.parametrize("harm", ["no metadata", "half the metadata", *INVALID_METADATA])
def test_store_without_valid_metadata_ends_with_code_5(store_copy, harm):
    metadata = store_copy / "zarr.json"
    if harm == "no metadata":
        metadata.unlink()
    else:
        metadata.write_text(INVALID_METADATA.get(harm) or metadata.read_text()[:999])
    for command in ("info", "plot", "animate"):
        done = invoke_swmodel(command, store_copy)
        (line,) = done.output.splitlines()
        assert (done.exit_code, str(store_copy) in line) == (5, True), line
        assert harm == "half the metadata" or metadata.name in line
        assert ("consolidated metadata" in line) == (harm in INVALID_METADATA)


def test_missing_package_is_named_by_every_command(store_copy, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    for command in (["info"], ["info", "--verify"], ["plot"], ["animate"]):
        done = invoke_swmodel(*command, store_copy)
        assert (done.exit_code, done.output) == (3, f"Error: {store_copy}{missing_package_reason('', 'zarr')}\n")
    with pytest.raises(ConfigError) as error:
        check_config(load("jet", {"output.format": "zarr", "restart.format": "zarr"}, environ={}))
    assert [problem.partition(":")[0] for problem in error.value.problems] == ["output.format", "restart.format"]


def test_drawing_verifies_records_of_a_store(store_copy):
    flip_bit(store_copy / "h" / "c" / "1" / "0" / "0", 20)
    (store_copy / "zeta" / "c" / "2" / "1" / "0").unlink()
    with open_data(store_copy) as data:
        assert read_verified(data, "h", 0).shape == (21, 26)
        for name, record in (("h", 1), ("zeta", 2)):
            with pytest.raises(FilesError, match=f"damaged: variable {name} in record {record}$"):
                read_verified(data, name, record)


def test_run_continues_in_a_store_only_after_intact_records(tmp_path):
    """Damage in records that are computed again does no harm."""
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
    """Turn the file into one like those of earlier versions."""
    with h5py.File(path, "r+") as file:
        del file["crc32"], file["checked"], file.attrs["header_crc32"]
        for variable in file.values():
            variable.attrs.pop("crc32", None)


def test_files_without_checksums_are_read_and_continued(run_folder, undisturbed_run):
    for name in FILES:
        remove_checksums(run_folder / name)
        assert verdicts(run_folder)[name] == "can be read; it holds no checksums"
    assert invoke_swmodel("info", run_folder).exit_code == 0
    resume_run(run_folder)
    for name in FILES:
        ours, theirs = read_variables(run_folder / name), read_variables(undisturbed_run / name)
        del theirs["crc32"]
        assert {key: value.tobytes() for key, value in ours.items()} == {k: v.tobytes() for k, v in theirs.items()}


def test_additions_by_another_program_are_no_damage(run_folder):
    with netCDF4.Dataset(run_folder / "output.nc", "a") as file:
        file.comment = "of Tuesday"
        file["h"].remark = "see there"
        file.createVariable("vorticity", "f8", ("time", "y_c", "x_c"))[:] = 1.0
    assert verdicts(run_folder)["output.nc"] == "intact"
    with open_data(run_folder / "output.nc") as file:
        assert (read_verified(file, "vorticity", 1) == 1.0).all()


def test_records_selected_by_xarray_are_verified(run_folder):
    path = run_folder / "part.nc"
    with xarray.open_dataset(run_folder / "output.nc", decode_times=False) as whole:
        whole.isel(time=slice(1, 3)).to_netcdf(path)
    assert verdicts(path) == {"part.nc": "intact"}
    set_value(path, "h", (1, 3, 4), 1.0)
    assert verdicts(path) == {"part.nc": "damaged: variable h in record 1 (step 7)"}
    plot(path, fields=["u"])
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        plot(path, fields=["h"])


@pytest.mark.parametrize("take", [lambda whole: whole.isel(time=slice(0, 2)), lambda whole: whole[["h"]]])
def test_file_rewritten_by_xarray_is_read_with_a_warning(run_folder, caplog, take):
    """Because xarray rounds times, changes their units, and may leave checksums out."""
    path = run_folder / "part.nc"
    with xarray.open_dataset(run_folder / "output.nc") as whole:
        take(whole).to_netcdf(path)
    assert invoke_swmodel("info", path).exit_code == 0
    (warned,) = [record.getMessage() for record in caplog.records if record.name.startswith("swmodel")]
    assert warned.startswith(f"{path}: damaged: header")
    assert verdicts(path)["part.nc"].startswith("damaged: header")
