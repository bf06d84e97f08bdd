"""Whatever ends the writing of a file, and when, the file holds complete records and can be continued."""

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

#: Kinds of files, and the number of changes of the disk between two moments that are tried; at night it is 1.
TRIALS = [("output", 12), *night_params(("diagnostics", 5), ("diagnostics", 1))]
#: Steps of the records before and after each action of `write_through_states`: write three, drop one, write two more.
EXPECTED_RECORDS = ((), (0,), (0, 1), (0, 1, 2), (0, 1), (0, 1, 5), (0, 1, 5, 6))


def open_kind(kind, path, keep=None):
    return CLASS_OF_FILE[f"{kind}.nc"](path, CONFIG, connect("serial", (1, 1), NY, NX), keep=keep)


def write(file, step):
    write_record(file, CONFIG, step)


STEPS_OF_CONTENTS = {}  # {contents of a file: the steps in it}


def steps_in_intact(path):
    """The steps of the records in a file, which has no damage and the values that were written."""
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
    """Replaces the module os in the journal; calls `before` ahead of each call that changes the disk.

    It skips syncs, because readers see what was written without them.
    """

    SYNCS = ("fdatasync", "fsync")
    CHANGES = ("pwrite", "ftruncate", "posix_fallocate", *SYNCS)

    def __init__(self, before):
        self.before = before

    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in self.CHANGES:
            return real

        def call(*arguments):
            if name == "pwrite":
                descriptor, data, place = arguments
                self.before(name, lambda part: real(descriptor, memoryview(data)[: int(part * len(data))], place))
            else:
                self.before(name, lambda part: None)
            return None if name in self.SYNCS else real(*arguments)

        return call


@pytest.fixture(autouse=True)
def frozen_clock(monkeypatch):
    """Stop the clock of the history, so that repeated actions leave the same bytes."""
    monkeypatch.setattr(metadata, "datetime", SimpleNamespace(now=lambda zone: datetime(2000, 1, 1, tzinfo=zone)))


def records_after_reopening(kind, path, found):
    """The records of a file after repair; asserts that a run that continues the unrepaired file keeps them, too.

    Without any record the run starts anew. `found`: cache of {contents of a folder: records}, because many are equal.
    """
    contents = tuple(sorted((file.name, file.read_bytes()) for file in path.parent.iterdir()))
    if contents not in found:
        copy = shutil.copytree(path.parent, path.parent / "copy")
        assert recover(copy / path.name)
        assert [file.name for file in copy.iterdir()] == [path.name]
        steps = steps_in_intact(copy / path.name)
        with open_kind(kind, path, keep=(lambda step: True) if steps else None) as file:
            write(file, 9)
        assert steps_in_intact(path) == (*steps, 9)
        found[contents] = steps
    return found[contents]


@pytest.mark.parametrize(("kind", "every"), TRIALS)
def test_kill_at_any_moment_leaves_whole_records(tmp_path, monkeypatch, kind, every):
    """The folder is copied before every change of the disk, and after a part of each write."""
    path, copies, states, count, found = tmp_path / "run" / "file.nc", [], [], itertools.count(), {}
    path.parent.mkdir()

    def copy():
        copies.append((states[-1], shutil.copytree(path.parent, tmp_path / str(len(copies)))))

    def before(name, write_part):
        if next(count) % every:
            return
        copy()
        if name == "pwrite":
            write_part(0.6)
            copy()

    with monkeypatch.context() as patch:
        patch.setattr(journal, "os", InterceptedOs(before))
        write_through_states(kind, path, states.append)
    assert next(count) > 50
    for number, folder in copies:
        assert records_after_reopening(kind, folder / "file.nc", found) in EXPECTED_RECORDS[number : number + 2], folder
    assert kind == "output" or set(found.values()) == set(EXPECTED_RECORDS)


@pytest.mark.fault("the disk fills up with output")
@pytest.mark.parametrize(("kind", "every"), TRIALS)
def test_disk_full_at_any_moment_costs_no_earlier_record(tmp_path, monkeypatch, kind, every):
    """From the n-th change on, nothing can be written: this gives one error, and the earlier records remain."""
    failures, found = 0, {}
    for last in itertools.count(0, every):
        path, states, count, message = tmp_path / str(last) / "file.nc", [], [0], ""
        path.parent.mkdir()

        def before(name, write_part, last=last, count=count):
            count[0] += 1
            if count[0] > last and name != "ftruncate":
                write_part(0.5)
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(journal, "os", InterceptedOs(before))
            try:
                write_through_states(kind, path, states.append)
            except (FilesError, OSError) as error:
                message = str(error)
        if count[0] <= last:
            break
        records = records_after_reopening(kind, path, found)
        if not message:  # only the journal could not be removed, which needs no message
            assert records == EXPECTED_RECORDS[-1]
            continue
        failures += 1
        assert records in EXPECTED_RECORDS[states[-1] : states[-1] + 2], last
        assert "No space left on device" in message
        assert message.startswith(f"{path} cannot be ")
    assert failures > 50 // every


def test_file_being_written_is_not_repaired_or_continued(tmp_path):
    """And the journal of an earlier file does not damage it."""
    path = tmp_path / "file.nc"
    with open(journal.journal_path(path), "wb") as left:
        journal.write_journal(left.fileno(), 100, [(0, b"x" * 100)])
    with open_kind("diagnostics", path) as file:
        write(file, 0)
        file.flush()
        before = path.read_bytes(), journal.journal_path(path).read_bytes()
        assert not recover(path)
        with pytest.raises(FilesError, match=r"file\.nc: another process"):
            open_kind("diagnostics", path, keep=lambda step: True)
        assert (path.read_bytes(), journal.journal_path(path).read_bytes()) == before
    assert recover(path)
    assert steps_in_intact(path) == (0,)
