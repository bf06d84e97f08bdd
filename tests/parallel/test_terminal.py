"""Ctrl-C outside of a run, and standard streams that nobody reads, that are full or closed."""

import io
import os
import signal
import sys
import threading

import pytest
from support.faults import PROGRAM, ROOT, SMALL_OPTIONS, run_command, run_swmodel

from swmodel.errors import EXIT_STOPPED
from swmodel.files.status import read_status
from swmodel.parallel import streams
from swmodel.parallel.interrupt import INTERRUPT_MESSAGE

pytestmark = pytest.mark.night

RAISE_SIGINT = "import signal; signal.raise_signal(signal.SIGINT)\n"


def run_program(folder, line, path):
    """(exit code, stdout, stderr) of a program with the default SIGINT, which background jobs of a shell ignore."""
    environ = {"PYTHONPATH": str(path)}
    done = run_command(folder, line, environ, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.fault("Ctrl-C before a run, while modules are imported")
@pytest.mark.parametrize("module", ["click", "pydantic"])
def test_interrupt_during_imports_ends_program(tmp_path, module):
    """This holds for the program and for its command; an exception would be raised in the middle of the import."""
    (tmp_path / "site").mkdir()
    text = f"try:\n    {RAISE_SIGINT}except BaseException:\n    print('an exception')\n"
    (tmp_path / "site" / f"{module}.py").write_text(text if module == "click" else RAISE_SIGINT)
    found = run_program(tmp_path, [*PROGRAM, "run", "jet", "--steps", "1"], tmp_path / "site")
    assert found == (EXIT_STOPPED, "", f"{INTERRUPT_MESSAGE}\n")


def test_ignored_interrupt_stays_ignored(tmp_path):
    """A shell that starts the program in the background (&) ignores it."""
    start = "from swmodel.parallel import interrupt\ninterrupt.install_sigint_handler()\n"
    line = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", f"{start}{RAISE_SIGINT}print('there')"]
    assert run_program(tmp_path, line, ROOT) == (0, "there\n", "")


RUN = ["run", "jet", *SMALL_OPTIONS, "--steps", "3", "--executor", "reference", "--output", "run"]


def unread_pipe():
    ours, theirs = os.pipe()
    os.close(ours)
    return open(theirs, "wb")


def full_disk():
    return open("/dev/full", "wb")


@pytest.mark.fault("the terminal of a run closes, the disk of its log is full, its streams are closed")
@pytest.mark.parametrize("make", [unread_pipe, full_disk])
def test_run_completes_when_its_output_is_closed_or_full(tmp_path, make):
    with make() as gone:
        assert run_swmodel(tmp_path, *RUN, stdout=gone, stderr=gone).returncode == 0
    assert (read_status(tmp_path / "run")["state"], read_status(tmp_path / "run")["steps"]) == ("completed", 3)


@pytest.mark.fault("the terminal of a run closes, the disk of its log is full, its streams are closed")
def test_run_without_any_stream_completes(tmp_path):
    closed = ["sh", "-c", 'exec "$@" 0>&- 1>&- 2>&-', "sh"]
    assert run_swmodel(tmp_path, *RUN, before=closed, stdout=None, stderr=None).returncode == 0
    assert read_status(tmp_path / "run")["state"] == "completed"


@pytest.mark.fault("the reader of a result has closed the pipe, or the result cannot be written")
def test_program_ends_silently_if_reader_has_gone(tmp_path):
    with unread_pipe() as gone:
        done = run_swmodel(tmp_path, "cases", stdout=gone)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.fault("the reader of a result has closed the pipe, or the result cannot be written")
def test_result_that_cannot_be_written_is_an_error(tmp_path):
    with full_disk() as gone:
        done = run_swmodel(tmp_path, "init", "jet", stdout=gone)
    assert (done.returncode, "standard output" in done.stderr) == (5, True)


def test_nonblocking_descriptor_loses_nothing():
    """More data than fit into a pipe reach a late reader; other programs may make a terminal non-blocking."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    said = b"0123456789abcdef" * 2**14
    writer = io.BufferedWriter(streams.StandardStream(theirs, is_required=True))
    thread = threading.Thread(target=lambda: (writer.write(said), writer.flush(), os.close(theirs)))
    thread.start()
    with open(ours, "rb") as reader:
        assert reader.read() == said
    thread.join()


def test_characters_that_encoding_lacks_are_replaced():
    """So is a file name that no encoding can represent."""
    program = "from swmodel.parallel import streams; streams.replace_standard_streams(); print('ü → \\udcff')"
    done = run_command(ROOT, [sys.executable, "-c", program], {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout) == (0, "? ? ?\n")
