"""Whatever ends the writing of a file, and wherever: it holds whole records, and can be written on."""

import errno
import itertools
import re
import shutil
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest
from support.journal_story import KINDS, STATES, Disk, begin, go_on, opened, steps_in, story, write

from swmodel.errors import FilesError
from swmodel.files import journal
from swmodel.files.journal import recover
from swmodel.files.output import metadata

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_moment(monkeypatch):
    """The clock of the history stands still, so that what is done twice leaves the same bytes."""
    monkeypatch.setattr(metadata, "datetime", SimpleNamespace(now=lambda zone: datetime(2000, 1, 1, tzinfo=zone)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_any_moment_leaves_the_records_before_or_with_the_one_in_flight(tmp_path, monkeypatch, kind):
    """The folder is copied before every change of the disk, and with a part of what is written."""
    path, copies, state, count = tmp_path / "run" / "file.nc", [], [0], itertools.count()
    path.parent.mkdir()

    def copy():
        copies.append((state[0], shutil.copytree(path.parent, tmp_path / str(len(copies)))))

    def before(name, write_part):
        if next(count) % KINDS[kind]:
            return
        copy()
        if name == "pwrite":
            write_part(0.6)
            copy()

    monkeypatch.setattr(journal, "os", Disk(before))
    story(kind, path, lambda number: state.__setitem__(0, number))
    monkeypatch.undo()
    assert next(count) > 50
    found = {}
    for number_, folder in copies:
        assert reopened_once(kind, folder / "file.nc", found) in STATES[number_ : number_ + 2], folder
    assert kind == "output" or set(found.values()) == set(STATES)


def reopened_once(kind, path, found):
    """As `reopened`, {contents: records} of folders before: a sync changes nothing that the next folder shows."""
    contents = tuple(sorted((file.name, file.read_bytes()) for file in path.parent.iterdir()))
    if contents not in found:
        found[contents] = reopened(kind, path)
    return found[contents]


def reopened(kind, path):
    """The records of a file when it is repaired; as many are kept when it is written on without that.

    Without any record the run starts anew.
    """
    copy = path.parent / "copy"
    shutil.copytree(path.parent, copy)
    assert recover(copy / path.name)
    assert [file.name for file in copy.iterdir()] == [path.name]
    found = steps_in(copy / path.name)
    with opened(kind, path, keep=(lambda step: True) if found else None) as file:
        write(file, 9)
    assert steps_in(path) == (*found, 9)
    return found


@pytest.mark.fault("the disk fills up with output")
@pytest.mark.night
@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_is_full_at_any_moment_costs_no_earlier_record(tmp_path, monkeypatch, kind):
    """From the n-th change on nothing can be written: one error, no crash, and the records before are there.

    The moments of the second half of the story begin with the file that the first has left.
    """
    moments, halfway = [], tmp_path / "halfway"
    halfway.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(journal, "os", Disk(lambda name, write_part: moments.append(name)))
        begin(kind, halfway / "file.nc", lambda number: None)
        first = len(moments)
        go_on(kind, shutil.copytree(halfway, tmp_path / "whole") / "file.nc", lambda number: None)
    failures, repaired = 0, {}
    for moment in range(0, len(moments), KINDS[kind]):
        folder = tmp_path / str(moment)
        if moment < first:
            folder.mkdir()
            found, message = on_a_full_disk(story, kind, folder, 0, moment, monkeypatch, repaired)
        else:
            shutil.copytree(halfway, folder)
            found, message = on_a_full_disk(go_on, kind, folder, 3, moment - first, monkeypatch, repaired)
        if not message:  # the journal could not be removed, of which nobody has to know
            assert found == STATES[-1]
            continue
        failures += 1
        words = rf"{folder}/file.nc cannot be (written|continued): No space left on device(; \d+ bytes free)?$"
        assert re.match(words if kind == "output" else r"\[Errno 28\] No space left on device", message)
    assert failures > 50 // KINDS[kind]


def on_a_full_disk(act, kind, folder, start, last, monkeypatch, repaired):
    """The records of a file, and the message with which the act ends where it does not come to its end.

    Args:
        act: from the state `start` of the story on.
        last: number of changes of the disk until it is full.
        repaired: as `reopened_once` has it.
    """
    path, state, count = folder / "file.nc", [start], [0]

    def before(name, write_part):
        count[0] += 1
        if count[0] > last and name != "ftruncate":
            write_part(0.5)
            raise OSError(errno.ENOSPC, "No space left on device")

    message = ""
    with monkeypatch.context() as patch:
        patch.setattr(journal, "os", Disk(before))
        try:
            act(kind, path, lambda number: state.__setitem__(0, number))
        except (FilesError, OSError) as error:
            message = str(error)
    assert count[0] > last
    found = reopened_once(kind, path, repaired)
    assert found in STATES[state[0] : state[0] + 2], last
    return found, message


def test_a_record_that_was_begun_is_not_in_the_file_after_an_error_of_the_run(tmp_path):
    path = tmp_path / "file.nc"

    def fail():
        with opened("output", path) as file:
            write(file, 0)
            file.begin()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert steps_in(path) == (0,)


def test_nobody_repairs_or_continues_a_file_that_is_being_written(tmp_path):
    path = tmp_path / "file.nc"
    with opened("diagnostics", path) as file:
        write(file, 0)
        file.flush()
        before = path.read_bytes(), journal.journal_of(path).read_bytes()
        assert not recover(path)
        with pytest.raises(FilesError, match=r"file\.nc: another process is writing it"):
            opened("diagnostics", path, keep=lambda step: True)
        assert (path.read_bytes(), journal.journal_of(path).read_bytes()) == before
    assert recover(path)
    assert steps_in(path) == (0,)


def test_the_journal_of_an_earlier_file_does_not_spoil_a_new_one(tmp_path):
    path = tmp_path / "file.nc"
    with open(journal.journal_of(path), "wb") as left:
        journal.write_journal(left.fileno(), 100, [(0, b"x" * 100)])
    with opened("diagnostics", path) as file:
        write(file, 0)
    assert steps_in(path) == (0,)


def test_a_file_reads_as_it_was_written_at_any_place(tmp_path):
    """Random writes, cuts and reads before and behind the committed end, against an array of bytes."""
    path, random = tmp_path / "file", np.random.default_rng(0)
    path.write_bytes(random.bytes(9000))
    file, model = journal.JournaledFile(path), bytearray(path.read_bytes())
    for turn in range(2000):
        begin = int(random.integers(len(model) + 1))
        data = random.bytes(int(random.integers(1, 6000)))
        file.seek(begin)
        file.write(data)
        model[begin : begin + len(data)] = data
        if turn % 7 == 0:
            model = model[: int(random.integers(4000, 20_000))]
            file.truncate(len(model))
        if turn % 11 == 0:
            file.commit()
            assert path.read_bytes() == model
        begin, size = (int(random.integers(len(model))) for _ in range(2))
        buffer = bytearray(min(size, len(model) - begin))
        file.seek(begin)
        assert file.readinto(buffer) == len(buffer)
        assert buffer == model[begin : begin + len(buffer)]
    file.commit()
    file.close()
    assert path.read_bytes() == model
