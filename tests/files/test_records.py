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
#: Attributes that differ between two runs, and the checksum.
ATTRIBUTES_OF_LAYOUT = ("history", "nproc", "layout", "header_crc32")


def comparable_dataset(opened):
    found = opened.drop_vars("crc32", errors="ignore").load()
    for each in found.variables.values():
        each.attrs.pop("crc32", None)
    kept = {name: value for name, value in found.attrs.items() if name not in ATTRIBUTES_OF_LAYOUT}
    return found.drop_attrs(deep=False).assign_attrs(kept)


@pytest.mark.fault("a store has other values than the NetCDF file, or a run goes on in it on other blocks")
@pytest.mark.parametrize(
    ("layout", "dtype", "more"),
    [
        ((1, 1), "float32", {"fields": snapshots.RANDOM_FIELDS | {"mask": np.ones((NY, NX))}, "output__means": ()}),
        ((3, 2), "float64", {"output__maxima": ("eta",)}),
        *night_params(((4, 1), "float32", {}), ((1, 2), "float64", {})),
    ],
)
def test_both_formats_hold_the_same_dataset_on_any_layout(tmp_path, monkeypatch, layout, dtype, more):
    monkeypatch.setattr("swmodel.files.gather.CHUNK_BYTES", 3 * NX * 4)
    monkeypatch.setattr("swmodel.files.gather.GATHER_BYTES", 6 * NX * 4)
    config, many = make_config(run__dtype=dtype, **more), tmp_path / "many"
    many.mkdir()
    write_records(tmp_path / "output.nc", config, STEPS)
    for name in ("output.nc", "output.zarr"):
        write_records(many / name, config, STEPS, layout=layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [xarray.open_zarr(many / "output.zarr", consolidated=c) for c in (True, False)]
    with xarray.open_dataset(tmp_path / "output.nc") as one, xarray.open_dataset(many / "output.nc") as file:
        for each in (*found, file):
            xarray.testing.assert_identical(comparable_dataset(each), comparable_dataset(one))
    with netCDF4.Dataset(tmp_path / "output.nc") as one, netCDF4.Dataset(many / "output.nc") as file:
        ours, theirs = ([(str(v), v.chunking()) for v in each.variables.values()] for each in (file, one))
        assert ours == theirs
    assert sorted(each.name for each in many.iterdir()) == ["output.nc", "output.zarr"]


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
    path, seen = tmp_path / "output.zarr", {}

    def look(name, until):
        end = time.monotonic() + 20
        while (steps := steps_in(path)) != until and time.monotonic() < end:
            time.sleep(0.01)
        seen[name] = steps

    def rank(transport):
        with OutputStore(path, make_config(), transport) as file:
            write_record(file, make_config(), 0)
            if transport.rank == 0:
                look("both", [0])
                write_record(file, make_config(), 7)
                time.sleep(0.3)
                seen["one"] = steps_in(path)
            transport.exchange(None)
            if transport.rank == 1:
                write_record(file, make_config(), 7)
                look("later", [0, 7])
            transport.exchange(None)

    run_rank_threads(rank, (2, 1), NY, NX)
    assert seen == {"both": [0], "one": [0], "later": [0, 7]}


def n_records(path):
    return len(StoreDataset(path)["time"]) if (path / "zarr.json").is_file() else 0


@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
@pytest.mark.parametrize("kills", [3, 12])
@pytest.mark.night
def test_killed_store_has_whole_records_and_continues(tmp_path, kills):
    """After each kill the writer continues after one of the last records, with another layout."""
    chance, kept, path = np.random.default_rng(kills), 0, tmp_path / "output.zarr"
    for number in range(kills):
        layout, begun = [(2, 1), (3, 1), (1, 1), (2, 2)][number % 4], snapshots.FORKSERVER.Event()
        arguments = path, kept, layout, begun
        process = snapshots.FORKSERVER.Process(target=snapshots.write_until_killed, args=arguments)
        process.start()
        assert begun.wait(60)
        end = time.monotonic() + 60
        while number % 3 and n_records(path) <= kept and time.monotonic() < end:
            time.sleep(0.01)  # every third kill happens while the store is opened
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.join()
        steps = steps_in(path)
        assert steps == list(range(len(steps)))
        assert len(steps) >= kept
        kept = int(chance.integers(max(kept, len(steps) - 2), len(steps) + 1))
    assert kept > 0


@pytest.mark.fault("the disk of one rank is full while all write a store")
@pytest.mark.parametrize(
    ("name", "module", "size"), [("output.nc", background, 1 << 19), ("output.zarr", block_store, 1 << 18)]
)
def test_full_disk_is_one_error_of_all_and_leaves_whole_records(tmp_path, monkeypatch, name, module, size):
    path, config = tmp_path / name, make_config()

    def free(_):
        return size - sum(each.stat().st_size for each in tmp_path.rglob("*") if each.is_file())

    def rank(transport):
        file, messages = CLASS_OF_FILE[name](path, config, transport), []
        try:
            for step in range(150):
                write_record(file, config, step)
                if any(transport.exchange(file.has_failed())):  # like a run between its chunks of steps
                    break
            file.flush()
        except FilesError as error:
            messages.append(str(error))
        file.close()
        return messages

    monkeypatch.setattr(module, "free_bytes", free)
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
    asked, done, most = 0, [0], 0

    def slow(dataset, size):
        time.sleep(0.002)
        done[0] += size

    file = background.BackgroundFile(tmp_path / "file.nc", connect("serial", (1, 1), NY, NX), lambda samples: None)
    for size in [30, 50, 40, 250, 10, 20, 100, 30] * 3:
        file.submit(slow, size, nbytes=size)
        asked += size
        most = max(most, asked - done[0] if size <= 100 else 0)
    file.close()
    assert most <= 100
    assert done[0] == asked


def block_bounds(layout, ny, nx):
    return [(b.y.start, b.y.stop, b.x.start, b.x.stop) for b in blocks_of_layout(layout, ny, nx)]


layouts = st.tuples(st.integers(1, 5), st.integers(1, 5))


@given(layouts, layouts, st.integers(5, 90), st.integers(5, 90))
def test_each_file_has_one_writer_and_each_cell_is_written_once(before, now, ny, nx):
    shape, parts = tiling.choose_file_shape(block_bounds(before, ny, nx), ny, nx), block_bounds(now, ny, nx)
    written, cells = [], np.zeros((ny, nx), int)
    for rank, part in enumerate(parts):
        whole = tiling.cells_of_whole_files(part, ny, nx, shape)
        written += tiling.file_indices(whole, shape)
        if whole:
            cells[whole[0] : whole[1], whole[2] : whole[3]] += 1
        for piece in tiling.shared_files(rank, parts, ny, nx, shape):
            south, north, west, east = tiling.intersection(piece.cells, part)
            cells[south:north, west:east] += 1
            written += [piece.file_index] if piece.writers[0] == rank else []
    assert (cells == 1).all()
    assert sorted(written) == sorted(tiling.file_indices((0, ny, 0, nx), shape))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40), st.integers(1, 40))
def test_files_of_a_new_store_are_the_blocks_if_these_are_equal(py, px, rows, columns):
    parts = block_bounds((py, px), py * rows, px * columns)
    assert tiling.choose_file_shape(parts, py * rows, px * columns) == (rows, columns)
    assert tiling.has_no_shared_files(parts, (rows, columns))
