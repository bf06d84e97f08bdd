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


def run_program(folder, command, path):
    """(exit code, stdout, stderr) of a program with the default SIGINT, which background jobs of a shell ignore."""
    environ = {"PYTHONPATH": str(path)}
    process = run_command(folder, command, environ, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return process.returncode, process.stdout, process.stderr


@pytest.mark.fault("Ctrl-C before a run, while modules are imported")
@pytest.mark.parametrize("module", ["click", "pydantic"])
def test_interrupt_during_imports_ends_program(tmp_path, module):
    """The program imports one module and its command the other; an exception would be raised during the import."""
    (tmp_path / "site").mkdir()
    source = f"try:\n    {RAISE_SIGINT}except BaseException:\n    print('an exception')\n"
    (tmp_path / "site" / f"{module}.py").write_text(source if module == "click" else RAISE_SIGINT)
    outcome = run_program(tmp_path, [*PROGRAM, "run", "jet", "--steps", "1"], tmp_path / "site")
    assert outcome == (EXIT_STOPPED, "", f"{INTERRUPT_MESSAGE}\n")


def test_ignored_interrupt_stays_ignored(tmp_path):
    """A shell ignores the interrupt for programs that it starts in the background (&)."""
    program = "from swmodel.parallel import interrupt\ninterrupt.install_sigint_handler()\n" + RAISE_SIGINT
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", f"{program}print('there')"]
    assert run_program(tmp_path, command, ROOT) == (0, "there\n", "")


RUN = ["run", "jet", *SMALL_OPTIONS, "--steps", "3", "--executor", "reference", "--output", "run"]


def unread_pipe():
    read_end, write_end = os.pipe()
    os.close(read_end)
    return open(write_end, "wb")


def full_disk():
    return open("/dev/full", "wb")


@pytest.mark.fault("the terminal of a run closes, the disk of its log is full, its streams are closed")
@pytest.mark.parametrize("make_stream", [unread_pipe, full_disk])
def test_run_completes_when_its_output_is_closed_or_full(tmp_path, make_stream):
    with make_stream() as stream:
        assert run_swmodel(tmp_path, *RUN, stdout=stream, stderr=stream).returncode == 0
    assert (read_status(tmp_path / "run")["state"], read_status(tmp_path / "run")["steps"]) == ("completed", 3)


@pytest.mark.fault("the terminal of a run closes, the disk of its log is full, its streams are closed")
def test_run_without_any_stream_completes(tmp_path):
    closed = ["sh", "-c", 'exec "$@" 0>&- 1>&- 2>&-', "sh"]
    assert run_swmodel(tmp_path, *RUN, prefix=closed, stdout=None, stderr=None).returncode == 0
    assert read_status(tmp_path / "run")["state"] == "completed"


@pytest.mark.fault("the reader of a result has closed the pipe, or the result cannot be written")
def test_program_ends_silently_if_nobody_reads_its_output(tmp_path):
    with unread_pipe() as stream:
        process = run_swmodel(tmp_path, "cases", stdout=stream)
    assert (process.returncode, process.stderr) == (141, "")


@pytest.mark.fault("the reader of a result has closed the pipe, or the result cannot be written")
def test_result_that_cannot_be_written_is_an_error(tmp_path):
    with full_disk() as stream:
        process = run_swmodel(tmp_path, "init", "jet", stdout=stream)
    assert (process.returncode, "standard output" in process.stderr) == (5, True)


def test_nonblocking_descriptor_loses_no_data():
    """More data than fit into a pipe reach a late reader; other programs may make a terminal non-blocking."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    data = b"0123456789abcdef" * 2**14
    writer = io.BufferedWriter(streams.StandardStream(write_end, is_required=True))
    thread = threading.Thread(target=lambda: (writer.write(data), writer.flush(), os.close(write_end)))
    thread.start()
    with open(read_end, "rb") as reader:
        assert reader.read() == data
    thread.join()


def test_characters_that_encoding_lacks_are_replaced():
    """A byte of a file name that no encoding can represent is replaced too."""
    program = "from swmodel.parallel import streams; streams.replace_standard_streams(); print('ü → \\udcff')"
    process = run_command(ROOT, [sys.executable, "-c", program], {"PYTHONIOENCODING": "ascii"})
    assert (process.returncode, process.stdout) == (0, "? ? ?\n")
