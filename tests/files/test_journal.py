"""Whatever ends the writing of a file, at any moment, the file holds complete records and can be continued."""

import errno
import itertools
import os
import shutil
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.marks import night_params
from support.snapshots import CLASS_OF_FILE, CONFIG, NX, NY, steps_in, write_record

from swmodel.errors import FilesError
from swmodel.files import journal
from swmodel.files.integrity.examine import examine
from swmodel.files.journal import recover
from swmodel.files.output import metadata
from swmodel.parallel.transport import connect

pytestmark = pytest.mark.slow

#: Kinds of files, and the number of changes of the disk from one tested moment to the next.
TRIALS = [("output", 12), *night_params(("diagnostics", 5), ("diagnostics", 1))]
#: Steps of the records before and after each action of `write_through_states`: write three, drop one, write two more.
EXPECTED_RECORDS = ((), (0,), (0, 1), (0, 1, 2), (0, 1), (0, 1, 5), (0, 1, 5, 6))


def open_kind(kind, path, keep=None):
    return CLASS_OF_FILE[f"{kind}.nc"](path, CONFIG, connect("serial", (1, 1), NY, NX), keep=keep)


def write(file, step):
    write_record(file, CONFIG, step)


STEPS_OF_CONTENTS = {}  # {contents of a file: the steps of its records}


def steps_in_intact_file(path):
    """The steps of the records in a file; asserts that it is intact and holds the values that were written."""
    contents = Path(path).read_bytes()
    if contents not in STEPS_OF_CONTENTS:
        assert examine(path)["damaged"] == []
        STEPS_OF_CONTENTS[contents] = tuple(steps_in(path))
    return STEPS_OF_CONTENTS[contents]


def write_through_states(kind, path, callback):
    """Take a file through EXPECTED_RECORDS; call `callback(index)` before the first action and after each."""
    callback(0)
    with open_kind(kind, path) as file:
        file.flush()
        for step in range(3):
            write(file, step)
            file.flush()
            callback(step + 1)
    with open_kind(kind, path, keep=lambda step: step < 2) as file:
        callback(4)
        for step in (5, 6):
            write(file, step)
            file.flush()
            callback(step)


class InterceptedOs:
    """A replacement of the module os in the journal that calls `hook` before each change of the disk.

    It skips syncs, because readers see data before they are synced.
    """

    SYNCS = ("fdatasync", "fsync")
    CHANGES = ("pwrite", "ftruncate", "posix_fallocate", *SYNCS)

    def __init__(self, hook):
        self.hook = hook

    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in self.CHANGES:
            return real

        def call(*arguments):
            if name == "pwrite":
                fd, data, offset = arguments
                self.hook(name, lambda fraction: real(fd, memoryview(data)[: int(fraction * len(data))], offset))
            else:
                self.hook(name, lambda fraction: None)
            return None if name in self.SYNCS else real(*arguments)

        return call


@pytest.fixture(autouse=True)
def frozen_clock(monkeypatch):
    """Stop the clock of the history, so that repeated actions leave the same bytes."""
    monkeypatch.setattr(metadata, "datetime", SimpleNamespace(now=lambda zone: datetime(2000, 1, 1, tzinfo=zone)))


def records_after_reopening(kind, path, cache):
    """The records of a file after repair; asserts that a run that continues the unrepaired file keeps them, too.

    Without any record, the run creates a new file. `cache`: {contents of a folder: records}; many folders are equal.
    """
    contents = tuple(sorted((file.name, file.read_bytes()) for file in path.parent.iterdir()))
    if contents not in cache:
        copy = shutil.copytree(path.parent, path.parent / "copy")
        assert recover(copy / path.name)
        assert [file.name for file in copy.iterdir()] == [path.name]
        steps = steps_in_intact_file(copy / path.name)
        with open_kind(kind, path, keep=(lambda step: True) if steps else None) as file:
            write(file, 9)
        assert steps_in_intact_file(path) == (*steps, 9)
        cache[contents] = steps
    return cache[contents]


@pytest.mark.parametrize(("kind", "interval"), TRIALS)
def test_kill_at_any_moment_leaves_complete_records(tmp_path, monkeypatch, kind, interval):
    """The folder is copied before each `interval`-th change of the disk and, if it is a write, in the middle of it."""
    path, copies, states, n_changes, cache = tmp_path / "run" / "file.nc", [], [], itertools.count(), {}
    path.parent.mkdir()

    def copy():
        copies.append((states[-1], shutil.copytree(path.parent, tmp_path / str(len(copies)))))

    def hook(name, write_part):
        if next(n_changes) % interval:
            return
        copy()
        if name == "pwrite":
            write_part(0.6)
            copy()

    with monkeypatch.context() as patch:
        patch.setattr(journal, "os", InterceptedOs(hook))
        write_through_states(kind, path, states.append)
    assert next(n_changes) > 50
    for state, folder in copies:
        assert records_after_reopening(kind, folder / "file.nc", cache) in EXPECTED_RECORDS[state : state + 2], folder
    assert kind == "output" or set(cache.values()) == set(EXPECTED_RECORDS)


@pytest.mark.fault("the disk fills up with output")
@pytest.mark.parametrize(("kind", "interval"), TRIALS)
def test_full_disk_at_any_moment_keeps_earlier_records(tmp_path, monkeypatch, kind, interval):
    """After some changes of the disk, all writes fail half-way: this gives one error, and earlier records remain."""
    failures, cache = 0, {}
    for max_changes in itertools.count(0, interval):
        path, states, count, message = tmp_path / str(max_changes) / "file.nc", [], [0], ""
        path.parent.mkdir()

        def hook(name, write_part, max_changes=max_changes, count=count):
            count[0] += 1
            if count[0] > max_changes and name != "ftruncate":
                write_part(0.5)
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(journal, "os", InterceptedOs(hook))
            try:
                write_through_states(kind, path, states.append)
            except (FilesError, OSError) as error:
                message = str(error)
        if count[0] <= max_changes:
            break
        records = records_after_reopening(kind, path, cache)
        if not message:  # only the journal could not be removed, which needs no message
            assert records == EXPECTED_RECORDS[-1]
            continue
        failures += 1
        assert records in EXPECTED_RECORDS[states[-1] : states[-1] + 2], max_changes
        assert "No space left on device" in message
        assert message.startswith(f"{path} cannot be ")
    assert failures > 50 // interval


def test_file_being_written_is_not_repaired_or_continued(tmp_path):
    """The journal that an earlier file has left does not damage it either."""
    path = tmp_path / "file.nc"
    with open(journal.journal_path(path), "wb") as file:
        journal.write_journal(file.fileno(), 100, [(0, b"x" * 100)])
    with open_kind("diagnostics", path) as file:
        write(file, 0)
        file.flush()
        before = path.read_bytes(), journal.journal_path(path).read_bytes()
        assert not recover(path)
        with pytest.raises(FilesError, match=r"file\.nc: another process"):
            open_kind("diagnostics", path, keep=lambda step: True)
        assert (path.read_bytes(), journal.journal_path(path).read_bytes()) == before
    assert recover(path)
    assert steps_in_intact_file(path) == (0,)
