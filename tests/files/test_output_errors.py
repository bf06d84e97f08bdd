"""What happens to output.nc where the disk is full or the folder is missing, and how much may wait to be written."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
from support.ranks import run_ranks

from swmodel.config import load
from swmodel.errors import FilesError
from swmodel.files import background
from swmodel.files.output import Diagnostics, Output
from swmodel.model.resolve import resolve
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

NY, NX = 60, 80
DISK_BYTES = 1 << 20


def config():
    return resolve(load("rest", {"grid.nx": NX, "grid.ny": NY, "output.fields": ["h"]}))


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """A folder on a disk of DISK_BYTES: a real one where mounting is allowed, else one that says so."""
    disk = tmp_path / "disk"
    disk.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if shutil.which("mount") and not subprocess.run(line, capture_output=True).returncode:
        yield disk
        subprocess.run(["umount", "-l", str(disk)], check=True)
    else:

        def usage(folder):
            return SimpleNamespace(free=DISK_BYTES - sum(path.stat().st_size for path in disk.iterdir()))

        monkeypatch.setattr(shutil, "disk_usage", usage)
        yield disk


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


LIMITED = """
import resource, signal, sys
sys.path[:0] = sys.argv[2:]
from test_output_errors import background, write_until_it_fails, NY, NX
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
background.COMMIT_SECONDS = 0.0
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
print(*write_until_it_fails(sys.argv[1], Serial(block(0, (1, 1), NY, NX))), sep="\\n")
"""


def test_a_write_that_fails_is_reported_once_and_the_file_can_be_continued(tmp_path):
    """A limit on the size of files, of which the free space on the disk tells nothing."""
    path = tmp_path / "output.nc"
    line = [sys.executable, "-c", LIMITED, str(path), str(Path(__file__).parent), *sys.path]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    (message,) = done.stdout.splitlines()
    assert message.startswith(f"{path} cannot be written: ")
    assert message.endswith("bytes free")
    with Output(path, config(), Serial(block(0, (1, 1), NY, NX)), keep=lambda step: True) as output:
        output.write(1000, 1000.0, {"h": noise(1000)})
    with netCDF4.Dataset(path) as data:
        steps = data["step"][:].tolist()
        assert len(steps) > 4
        assert steps == [*range(len(steps) - 1), 1000]
        assert all((data["h"][record] == noise(step)).all() for record, step in enumerate(steps))


@pytest.mark.parametrize("kind", [Output, Diagnostics])
def test_a_missing_folder_is_found_at_once_on_all_ranks(tmp_path, kind):
    def rank(transport):
        with pytest.raises(FilesError, match=r"missing/output\.nc cannot be written: there is no folder"):
            kind(tmp_path / "missing" / "output.nc", config(), transport)

    run_ranks(rank, (1, 2), NY, NX)


def test_an_error_of_the_run_passes_while_the_file_is_closed_without_agreement(tmp_path):
    """The other ranks may not come to agree; what was written before is there."""
    path, transport = tmp_path / "output.nc", Alone(block(0, (1, 1), NY, NX))

    def fail():
        with Output(path, config(), transport) as output:
            output.write(0, 0.0, {"h": noise(0)})
            transport.alone = True
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with netCDF4.Dataset(path) as data:
        assert (data["h"][0] == noise(0)).all()


class Alone(Serial):
    """A transport whose other ranks are gone once `alone` is set."""

    __setattr__ = object.__setattr__
    alone = False

    def broadcast(self, value):
        assert not self.alone
        return value


def test_no_more_than_the_budget_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "BUDGET", 100)
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
