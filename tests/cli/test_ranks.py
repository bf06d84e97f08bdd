"""What a rank does for its last words to be read."""

import os
import select
import threading

import pytest

from swmodel.parallel.abort import wait_until_read


@pytest.fixture
def pipe():
    """The end to read from and the end to write to, with a word in it."""
    ends = os.pipe()
    os.write(ends[1], b"word")
    yield ends
    for end in ends:
        os.close(end)


def waits(out):
    """Whether there is something to read."""
    return bool(select.select([out], [], [], 0)[0])


def test_a_pipe_is_waited_for_until_it_is_read(pipe):
    """By whoever reads late, as mpiexec does on a busy machine."""
    out, into = pipe
    reader = threading.Timer(0.2, os.read, [out, 100])
    reader.start()
    wait_until_read(into)
    assert not waits(out)
    reader.join()


def test_a_pipe_that_nobody_reads_is_not_waited_for_for_ever(pipe, monkeypatch):
    monkeypatch.setattr("swmodel.parallel.abort.LONGEST_WAIT", 0.1)
    out, into = pipe
    wait_until_read(into)
    assert waits(out)


def test_a_file_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.delattr("swmodel.parallel.abort.fcntl.ioctl")  # which is asked of pipes alone
    with (tmp_path / "log").open("w") as file:
        assert wait_until_read(file.fileno()) is None
