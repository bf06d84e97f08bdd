"""output.zarr holds the dataset of output.nc, written by all ranks without messages; a record is complete or absent."""

import time
import warnings

import netCDF4
import numpy as np
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st
from support import snapshots
from support.marks import night_params
from support.rank_threads import run_rank_threads
from support.snapshots import CLASS_OF_FILE, NX, NY, make_config, steps_in, write_record, write_records

from swmodel.errors import FilesError
from swmodel.files import background, queue
from swmodel.files.store import block_store, tiling
from swmodel.files.store.dataset import StoreDataset
from swmodel.files.store.snapshots import OutputStore
from swmodel.parallel.decomposition import blocks_of_layout
from swmodel.parallel.transport import connect

pytestmark = pytest.mark.slow

STEPS = (0, 7, 14)
#: Attributes that depend on the layout or the time of writing, and the checksum of the header.
VARYING_ATTRIBUTES = ("history", "nproc", "layout", "header_crc32")


def comparable_dataset(dataset):
    dataset = dataset.drop_vars("crc32", errors="ignore").load()
    for variable in dataset.variables.values():
        variable.attrs.pop("crc32", None)
    attributes = {name: value for name, value in dataset.attrs.items() if name not in VARYING_ATTRIBUTES}
    return dataset.drop_attrs(deep=False).assign_attrs(attributes)


@pytest.mark.fault("a store holds other values than the NetCDF file, or a run continues it on other blocks")
@pytest.mark.parametrize(
    ("layout", "dtype", "options"),
    [
        ((1, 1), "float32", {"fields": snapshots.RANDOM_FIELDS | {"mask": np.ones((NY, NX))}, "output__means": ()}),
        ((3, 2), "float64", {"output__maxima": ("eta",)}),
        *night_params(((4, 1), "float32", {}), ((1, 2), "float64", {})),
    ],
)
def test_both_formats_hold_the_same_dataset_on_any_layout(tmp_path, monkeypatch, layout, dtype, options):
    monkeypatch.setattr("swmodel.files.gather.CHUNK_BYTES", 3 * NX * 4)
    monkeypatch.setattr("swmodel.files.gather.GATHER_BYTES", 6 * NX * 4)
    config, folder = make_config(run__dtype=dtype, **options), tmp_path / "ranks"
    folder.mkdir()
    write_records(tmp_path / "output.nc", config, STEPS)
    for name in ("output.nc", "output.zarr"):
        write_records(folder / name, config, STEPS, layout=layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stores = [xarray.open_zarr(folder / "output.zarr", consolidated=c) for c in (True, False)]
    with xarray.open_dataset(tmp_path / "output.nc") as expected, xarray.open_dataset(folder / "output.nc") as file:
        for dataset in (*stores, file):
            xarray.testing.assert_identical(comparable_dataset(dataset), comparable_dataset(expected))
    with netCDF4.Dataset(tmp_path / "output.nc") as expected, netCDF4.Dataset(folder / "output.nc") as file:
        ours, theirs = ([(str(v), v.chunking()) for v in data.variables.values()] for data in (file, expected))
        assert ours == theirs
    assert sorted(path.name for path in folder.iterdir()) == ["output.nc", "output.zarr"]


def test_records_are_written_without_messages(tmp_path, monkeypatch):
    def rank(transport):
        with OutputStore(tmp_path / "output.zarr", make_config(), transport) as file, monkeypatch.context() as patch:
            transport.exchange(None)
            patch.setattr(transport, "exchange", pytest.fail)
            for step in STEPS:
                write_record(file, make_config(), step)

    run_rank_threads(rank, (3, 1), NY, NX)


@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
def test_record_appears_when_the_last_rank_has_written_its_part(tmp_path):
    path, visible_steps = tmp_path / "output.zarr", {}

    def wait_for_steps(moment, expected):
        deadline = time.monotonic() + 20
        while (steps := steps_in(path)) != expected and time.monotonic() < deadline:
            time.sleep(0.01)
        visible_steps[moment] = steps

    def rank(transport):
        with OutputStore(path, make_config(), transport) as file:
            write_record(file, make_config(), 0)
            if transport.rank == 0:
                wait_for_steps("first record", [0])
                write_record(file, make_config(), 7)
                time.sleep(0.3)
                visible_steps["half the second record"] = steps_in(path)
            transport.exchange(None)
            if transport.rank == 1:
                write_record(file, make_config(), 7)
                wait_for_steps("second record", [0, 7])
            transport.exchange(None)

    run_rank_threads(rank, (2, 1), NY, NX)
    assert visible_steps == {"first record": [0], "half the second record": [0], "second record": [0, 7]}


def count_records(path):
    return len(StoreDataset(path)["time"]) if (path / "zarr.json").is_file() else 0


@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
@pytest.mark.parametrize("n_kills", [3, 12])
@pytest.mark.night
def test_store_of_a_killed_run_has_complete_records_and_continues(tmp_path, n_kills):
    """After each kill a writer with another layout continues after one of the last complete records."""
    rng, n_kept, path = np.random.default_rng(n_kills), 0, tmp_path / "output.zarr"
    for number in range(n_kills):
        layout, started = [(2, 1), (3, 1), (1, 1), (2, 2)][number % 4], snapshots.FORKSERVER.Event()
        arguments = path, n_kept, layout, started
        process = snapshots.FORKSERVER.Process(target=snapshots.write_until_killed, args=arguments)
        process.start()
        assert started.wait(60)
        deadline = time.monotonic() + 60
        while number % 3 and count_records(path) <= n_kept and time.monotonic() < deadline:
            time.sleep(0.01)  # every third kill may come before a new record is complete
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.join()
        steps = steps_in(path)
        assert steps == list(range(len(steps)))
        assert len(steps) >= n_kept
        n_kept = int(rng.integers(max(n_kept, len(steps) - 2), len(steps) + 1))
    assert n_kept > 0


@pytest.mark.fault("the disk of one rank is full while all write a store")
@pytest.mark.parametrize(
    ("name", "module", "disk_size"), [("output.nc", background, 1 << 19), ("output.zarr", block_store, 1 << 18)]
)
def test_full_disk_is_one_error_on_all_ranks_and_keeps_complete_records(tmp_path, monkeypatch, name, module, disk_size):
    path, config = tmp_path / name, make_config()

    def free_bytes(_):
        return disk_size - sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())

    def rank(transport):
        file, messages = CLASS_OF_FILE[name](path, config, transport), []
        try:
            for step in range(150):
                write_record(file, config, step)
                if any(transport.exchange(file.has_failed())):  # as a run does between its chunks of steps
                    break
            file.flush()
        except FilesError as error:
            messages.append(str(error))
        file.close()
        return messages

    monkeypatch.setattr(module, "free_bytes", free_bytes)
    messages = run_rank_threads(rank, (3, 1), NY, NX)
    assert messages[0] == messages[1] == messages[2]
    assert [message.partition(", ")[0] for message in messages[0]] == [f"{path}: disk full"]
    steps = steps_in(path)
    assert steps == list(range(len(steps)))
    assert 2 < len(steps) < 150


@pytest.mark.parametrize("name", CLASS_OF_FILE)
def test_missing_folder_is_named(tmp_path, name):
    with pytest.raises(FilesError, match=f"no folder {tmp_path}/none"):
        CLASS_OF_FILE[name](tmp_path / "none" / name, make_config(), connect("serial", (1, 1), NY, NX))


def test_write_queue_stays_within_byte_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "MAX_QUEUE_BYTES", 100)
    submitted_bytes, written_bytes, max_queued_bytes = 0, [0], 0

    def write_slowly(records, size):
        time.sleep(0.002)
        written_bytes[0] += size

    file = background.BackgroundFile(tmp_path / "file.nc", connect("serial", (1, 1), NY, NX), lambda dataset: None)
    for size in [30, 50, 40, 250, 10, 20, 100, 30] * 3:
        file.submit(write_slowly, size, nbytes=size)
        submitted_bytes += size
        max_queued_bytes = max(max_queued_bytes, submitted_bytes - written_bytes[0] if size <= 100 else 0)
    file.close()
    assert max_queued_bytes <= 100
    assert written_bytes[0] == submitted_bytes


def block_bounds(layout, ny, nx):
    return [(b.y.start, b.y.stop, b.x.start, b.x.stop) for b in blocks_of_layout(layout, ny, nx)]


layouts = st.tuples(st.integers(1, 5), st.integers(1, 5))


@given(layouts, layouts, st.integers(5, 90), st.integers(5, 90))
def test_each_file_of_a_store_has_one_writer_and_each_cell_is_written_once(old_layout, new_layout, ny, nx):
    shape, parts = tiling.choose_file_shape(block_bounds(old_layout, ny, nx), ny, nx), block_bounds(new_layout, ny, nx)
    written_files, n_writes = [], np.zeros((ny, nx), int)
    for rank, part in enumerate(parts):
        cells = tiling.cells_of_whole_files(part, ny, nx, shape)
        written_files += tiling.file_indices(cells, shape)
        if cells:
            n_writes[cells[0] : cells[1], cells[2] : cells[3]] += 1
        for file in tiling.shared_files(rank, parts, ny, nx, shape):
            south, north, west, east = tiling.intersection(file.cells, part)
            n_writes[south:north, west:east] += 1
            written_files += [file.file_index] if file.writers[0] == rank else []
    assert (n_writes == 1).all()
    assert sorted(written_files) == sorted(tiling.file_indices((0, ny, 0, nx), shape))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40), st.integers(1, 40))
def test_files_of_a_new_store_are_the_blocks_if_all_blocks_have_one_size(py, px, rows, columns):
    parts = block_bounds((py, px), py * rows, px * columns)
    assert tiling.choose_file_shape(parts, py * rows, px * columns) == (rows, columns)
    assert tiling.has_no_shared_files(parts, (rows, columns))
