"""output.zarr is the dataset of output.nc, written by all ranks without messages; a record is whole or absent."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import xarray
from support.ranks import Thread, run_ranks
from support.snapshots import CASE, NX, NY, config_of, record, whole, write

from swmodel.errors import FilesError
from swmodel.files.output import Output
from swmodel.files.store import block_store
from swmodel.files.store.data import StoreData
from swmodel.files.store.snapshots import OutputStore
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

pytestmark = pytest.mark.slow

STEPS = (0, 7, 14)
#: Checksums, and what differs between two runs.
OWN = ("history", "nproc", "layout", "header_crc32")


def dataset(opened):
    """A dataset without its checksums and the attributes of OWN."""
    found = opened.drop_vars("crc32", errors="ignore").load()
    for each in found.variables.values():
        each.attrs.pop("crc32", None)
    return found.drop_attrs(deep=False).assign_attrs({k: v for k, v in found.attrs.items() if k not in OWN})


@pytest.mark.fault("a store has other values than the NetCDF file, or a run goes on in it on other blocks")
@pytest.mark.parametrize("layout", [(1, 1), (1, 2), (4, 1), (3, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_xarray_reads_the_same_dataset_from_both_formats_on_any_layout(tmp_path, layout, dtype):
    config = config_of(run__dtype=dtype, output__maxima=("eta",))
    write(tmp_path / "output.nc", Output, config, STEPS)
    write(tmp_path / "output.zarr", OutputStore, config, STEPS, layout=layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stores = [xarray.open_zarr(tmp_path / "output.zarr", consolidated=c) for c in (True, False)]
    with xarray.open_dataset(tmp_path / "output.nc") as file:
        for store in stores:
            xarray.testing.assert_identical(dataset(store), dataset(file))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["output.nc", "output.zarr"]


class Silent(Thread):
    """A rank whose messages are counted."""

    sent = 0

    def exchange(self, value):
        self.sent += 1
        return super().exchange(value)


@pytest.mark.parametrize("layout", [(2, 1), (3, 1)])
def test_records_are_written_without_messages(tmp_path, monkeypatch, layout):
    monkeypatch.setattr("support.ranks.Thread", Silent)

    def rank(transport):
        with OutputStore(tmp_path / "output.zarr", config_of(), transport) as file:
            before = transport.sent
            for step in STEPS:
                record(file, config_of(), step)
            return transport.sent - before

    assert set(run_ranks(rank, layout, NY, NX)) == {0}


@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
def test_a_record_appears_when_the_last_rank_has_written_its_part(tmp_path):
    path, seen = tmp_path / "output.zarr", {}

    def look(name, until):
        end = time.monotonic() + 20
        while (steps := steps_in(path)) != until and time.monotonic() < end:
            time.sleep(0.01)
        seen[name] = steps

    def rank(transport):
        with OutputStore(path, config_of(), transport) as file:
            record(file, config_of(), 0)
            if transport.rank == 0:
                look("both", [0])
                record(file, config_of(), 7)
                time.sleep(0.3)
                seen["one"] = steps_in(path)
            transport.exchange(None)
            if transport.rank == 1:
                record(file, config_of(), 7)
                look("later", [0, 7])
            transport.exchange(None)

    run_ranks(rank, (2, 1), NY, NX)
    assert seen == {"both": [0], "one": [0], "later": [0, 7]}


def steps_in(path):
    """The steps of the records that a reader sees; each is whole."""
    if not (path / "zarr.json").is_file():
        return []
    with StoreData(path) as data:
        steps = data["step"][:].tolist()
        for number, step in enumerate(steps):
            there, land = np.ma.getdata(data["zeta"][number]), np.ma.getmaskarray(data["zeta"][number])
            np.testing.assert_array_equal(np.where(land, 0, there), np.where(land, 0, whole(config_of(), "zeta", step)))
        assert data["time"][:].tolist() == [20.0 * step for step in steps]
    return steps


def records_in(path):
    """The number of records that a reader sees."""
    return len(StoreData(path)["time"]) if (path / "zarr.json").is_file() else 0


PROGRAM = """
from support.ranks import run_ranks
from support.snapshots import NX, NY, config_of, record
from swmodel.files.store.snapshots import OutputStore
def rank(transport):
    with OutputStore("output.zarr", config_of(), transport, keep=KEEP) as file:
        for step in range(FIRST, 10**6):
            record(file, config_of(), step)
            print(step, flush=True)
run_ranks(rank, LAYOUT, NY, NX)
"""


@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
@pytest.mark.parametrize("kills", [3, 12])
def test_after_a_kill_at_any_moment_all_records_are_whole_and_the_run_goes_on(tmp_path, kills):
    """Each time the writer goes on behind a record of before, on another layout."""
    chance, kept = np.random.default_rng(kills), 0
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for number in range(kills):
        keep = f"lambda step: step < {kept}" if (tmp_path / "output.zarr" / "zarr.json").exists() else "None"
        layout = [(2, 1), (3, 1), (1, 1), (2, 2)][number % 4]
        text = PROGRAM.replace("KEEP", keep).replace("FIRST", str(kept)).replace("LAYOUT", str(layout))
        process = subprocess.Popen([sys.executable, "-c", text], cwd=tmp_path, env=environ, stdout=subprocess.PIPE)
        process.stdout.readline()
        end = time.monotonic() + 60
        while number % 3 and records_in(tmp_path / "output.zarr") <= kept and time.monotonic() < end:
            time.sleep(0.01)  # every third kill comes as the store is opened
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        steps = steps_in(tmp_path / "output.zarr")
        assert steps == list(range(len(steps)))
        assert len(steps) >= kept
        kept = int(chance.integers(max(kept, len(steps) - 2), len(steps) + 1))
    assert kept > 0


@pytest.mark.fault("the disk of one rank is full while all write a store")
def test_a_full_disk_is_one_message_on_all_ranks_and_leaves_whole_records(tmp_path, monkeypatch):
    path, config, size = tmp_path / "output.zarr", config_of(), 1 << 18

    def free(_):
        return size - sum(each.stat().st_size for each in tmp_path.rglob("*") if each.is_file())

    monkeypatch.setattr(block_store, "free", free)

    def rank(transport):
        messages = []
        try:
            with OutputStore(path, config, transport) as file:
                for step in range(60):
                    record(file, config, step)
                    if any(transport.exchange(file.failed())):  # as a run asks between its chunks of steps
                        break
                file.flush()
        except FilesError as error:
            messages.append(str(error))
        return messages

    messages = run_ranks(rank, (3, 1), NY, NX)
    assert [len(each) for each in messages] == [1, 1, 1]
    assert len({each[0] for each in messages}) == 1
    assert messages[0][0].startswith(f"{path}: disk full, ")
    steps = steps_in(path)
    assert steps == list(range(len(steps)))
    assert 2 < len(steps) < 60


def test_a_folder_that_is_missing_is_one_message(tmp_path):
    with pytest.raises(FilesError, match="there is no folder"):
        OutputStore(tmp_path / "none" / "output.zarr", config_of(), Serial(block(0, (1, 1), NY, NX)))


def test_a_run_without_land_or_means_has_the_same_dataset(tmp_path):
    config = config_of({**CASE, "mask": np.ones((NY, NX))}, output__means=())
    for name, kind in {"output.nc": Output, "output.zarr": OutputStore}.items():
        write(tmp_path / name, kind, config, STEPS)
    with xarray.open_dataset(tmp_path / "output.nc") as file:
        xarray.testing.assert_identical(dataset(xarray.open_zarr(tmp_path / "output.zarr")), dataset(file))
