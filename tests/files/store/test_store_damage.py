"""Any damage of a store is named with its variable and record, by `info --verify`, pictures and `resume`."""

import json
import shutil
import sys
import warnings

import numpy as np
import pytest
import xarray
from support.restarts import resumed, simulation
from support.snapshots import config_of, write

from swmodel.cli import main
from swmodel.config import load
from swmodel.errors import ConfigError, FilesError
from swmodel.extras import lacking
from swmodel.files.store.snapshots import OutputStore
from swmodel.files.verify import verdicts
from swmodel.model.validate import check_config
from swmodel.plotting.dataset import open_data, values_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "output.zarr"
    write(path, OutputStore, config_of(), (0, 7, 14), layout=(2, 1))
    return path


@pytest.fixture
def store(made, tmp_path):
    return shutil.copytree(made, tmp_path / "output.zarr")


def flip(file, place=0.5):
    data = bytearray(file.read_bytes())
    data[int(place * (len(data) - 1))] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 1.0])
def test_a_flipped_bit_in_any_chunk_is_named(store, place):
    chunks = [each for each in sorted(store.rglob("*")) if each.is_file() and each.name != "zarr.json"]
    for file in chunks[:: max(1, len(chunks) // 8)]:
        before = file.read_bytes()
        flip(file, place)
        assert verdicts(store)["output.zarr"].startswith(f"damaged: variable {file.relative_to(store).parts[0]}")
        file.write_bytes(before)
    assert verdicts(store) == {"output.zarr": "intact"}


def test_a_copy_that_xarray_has_saved_is_used_with_a_warning(store, tmp_path, caplog):
    copy = tmp_path / "copy.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zarr, on consolidated metadata
        xarray.open_zarr(store).to_zarr(copy, write_empty_chunks=True)
    with open_data(copy) as ours, open_data(store) as theirs:
        for name in ("h", "zeta", "eta_mean"):
            np.testing.assert_array_equal(values_of(ours, name, 1), values_of(theirs, name, 1))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [str(copy)]
    assert verdicts(copy) == {"copy.zarr": "damaged: header"}


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
def test_what_is_missing_is_named(store, lost, words):
    shutil.rmtree(store / lost) if (store / lost).is_dir() else (store / lost).unlink()
    assert verdicts(store) == {"output.zarr": f"damaged: {words}"}


def test_changed_metadata_are_named(store):
    document = json.loads((store / "zarr.json").read_text())
    document["consolidated_metadata"]["metadata"]["h"]["attributes"]["units"] = "km"
    (store / "zarr.json").write_text(json.dumps(document))
    assert verdicts(store)["output.zarr"].startswith("damaged: header")


#: What another program leaves in place of the metadata: `to_zarr(consolidated=False)` of xarray, and less.
OTHERS = {
    "not consolidated": '{"attributes": {}, "zarr_format": 3, "node_type": "group"}',
    "null": '{"attributes": {}, "zarr_format": 3, "node_type": "group", "consolidated_metadata": null}',
    "empty": "{}",
}


@pytest.mark.parametrize("harm", ["no metadata", "half the metadata", "no store", *OTHERS])
def test_what_is_no_store_is_one_line_with_code_5(store, harm, capsys):
    """It names the store, and what is missing."""
    metadata = store / "zarr.json"
    if harm == "no metadata":
        metadata.unlink()
    elif harm == "half the metadata":
        metadata.write_bytes(metadata.read_bytes()[:999])
    elif harm == "no store":
        shutil.rmtree(store)
        store.mkdir()
    else:
        metadata.write_text(OTHERS[harm])
    for command in ("info", "plot", "animate"):
        with pytest.raises(SystemExit) as end:
            main([command, str(store)])
        assert end.value.code == 5
        (line,) = capsys.readouterr().err.splitlines()
        assert str(store) in line
        assert harm == "half the metadata" or metadata.name in line
        assert ("consolidated metadata" in line) == (harm in OTHERS)


def test_a_run_does_not_go_on_in_a_store_without_its_metadata(tmp_path):
    simulation(run__steps=7, restart__every_steps=5, output__format="zarr").run(tmp_path)
    (tmp_path / "output.zarr" / "zarr.json").write_text(OTHERS["empty"])
    with pytest.raises(FilesError, match=r"output.zarr: .* consolidated metadata"):
        resumed(tmp_path, output__format="zarr")


def test_every_command_names_what_installs_a_missing_package(store, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "zarr", None)
    sentence = lacking("", "zarr")
    for command in (["info"], ["info", "--verify"], ["plot"], ["animate"]):
        with pytest.raises(SystemExit) as end:
            main([*command, str(store)])
        assert end.value.code == 3
        assert capsys.readouterr().err == f"Error: {store}{sentence}\n"
    with pytest.raises(ConfigError) as error:
        check_config(load("jet", {"output.format": "zarr", "restart.format": "zarr"}, environ={}))
    assert error.value.problems == tuple(f'{table}.format: "zarr"{sentence}' for table in ("output", "restart"))


def test_what_is_drawn_is_verified(store):
    flip(store / "h" / "c" / "1" / "0" / "0")
    (store / "zeta" / "c" / "2" / "1" / "0").unlink()
    with open_data(store) as data:
        assert values_of(data, "h", 0).shape == (21, 26)
        for name, record in (("h", 1), ("zeta", 2)):
            with pytest.raises(FilesError, match=f"damaged: variable {name} in record {record}$"):
                values_of(data, name, record)


def test_a_run_goes_on_only_behind_intact_records(tmp_path):
    simulation(run__steps=7, restart__every_steps=5, output__format="zarr").run(tmp_path)
    flip(tmp_path / "output.zarr" / "h" / "c" / "1" / "0" / "0")
    with pytest.raises(FilesError, match=r"damaged: variable h in record 1 \(step 4\); restore a copy, or start again"):
        resumed(tmp_path, output__format="zarr")


def test_damage_in_records_that_are_computed_again_does_no_harm(tmp_path):
    simulation(run__steps=7, restart__every_steps=5, output__format="zarr").run(tmp_path)
    flip(tmp_path / "output.zarr" / "h" / "c" / "2" / "0" / "0")
    resumed(tmp_path, path="step-0000000005.nc", output__format="zarr")
    assert verdicts(tmp_path)["output.zarr"] == "intact"
