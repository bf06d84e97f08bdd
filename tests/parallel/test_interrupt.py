"""Ctrl-C outside of a run: exit code 75 and one message, whatever Python is executing."""

import signal
import sys

import pytest
from support.faults import PROGRAM, ROOT, run_command

from swmodel.errors import EXIT_STOPPED
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
    (tmp_path / "program.py").write_text(
        f"from swmodel.parallel import interrupt\ninterrupt.install_sigint_handler()\n{RAISE_SIGINT}print('there')\n"
    )
    line = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "program.py"]
    assert run_program(tmp_path, line, ROOT) == (0, "there\n", "")
