"""What happens to output.nc where the disk is full or the folder is missing, and how much may wait to be written."""

import time

import netCDF4
import numpy as np
import pytest
from support.ranks import run_ranks

from swmodel.config import load
from swmodel.errors import FilesError
from swmodel.files import background, queue
from swmodel.files.output import Output
from swmodel.model.resolve import resolve

pytestmark = pytest.mark.slow

NY, NX = 60, 80
DISK_BYTES = 1 << 20


def config():
    return resolve(load("rest", {"grid.nx": NX, "grid.ny": NY, "output.fields": ["h"]}))


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """A folder on a disk that says that it has DISK_BYTES."""

    def free(path):
        return DISK_BYTES - sum(each.stat().st_size for each in tmp_path.iterdir())

    monkeypatch.setattr(background, "free", free)
    return tmp_path


def noise(step):
    """A field that cannot be compressed."""
    return np.random.default_rng(step).integers(1 << 30, size=(NY, NX), dtype=np.int32).view(np.float32)


def write_until_it_fails(path, transport):
    """Messages of the errors that `write` and `close` raise."""
    here, messages = transport.block, []
    output = Output(path, config(), transport)
    try:
        for step in range(1000):
            output.write(step, float(step), {"h": noise(step)[here.y.start : here.y.stop, here.x.start : here.x.stop]})
    except FilesError as error:
        messages.append(str(error))
    output.close()
    return messages


def test_a_full_disk_is_one_message_on_all_ranks_and_leaves_whole_records(small_disk):
    path = small_disk / "output.nc"
    messages = run_ranks(lambda transport: write_until_it_fails(path, transport), (3, 1), NY, NX)
    assert [len(found) for found in messages] == [1, 1, 1]
    assert len({found[0] for found in messages}) == 1
    assert messages[0][0].startswith(f"{path}: disk full, ")
    assert "bytes free" in messages[0][0]
    with netCDF4.Dataset(path) as data:
        times = data["time"][:].tolist()
        assert times == list(range(len(times)))
        assert len(times) > 10
        assert all((data["h"][step] == noise(step)).all() for step in range(len(times)))


def test_no_more_than_the_budget_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "BUDGET", 100)
    asked, done, most = [0], [0], [0]

    def slow(dataset, size):
        time.sleep(0.002)
        done[0] += size

    def rank(transport):
        file = background.BackgroundFile(tmp_path / "file.nc", transport, lambda dataset: None)
        for size in [30, 50, 40, 250, 10, 20, 100, 30] * 3:
            file.put(slow, size, nbytes=size)
            asked[0] += size
            if size <= 100:
                most[0] = max(most[0], asked[0] - done[0])
        file.close()

    run_ranks(rank, (1, 1), NY, NX)
    assert most[0] <= 100
    assert done[0] == asked[0]
