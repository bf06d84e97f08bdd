"""Ctrl-C outside of a run: 75 and one line, wherever Python is."""

import signal
import sys

import pytest
from support.faults import PROGRAM, ROOT, run_command

from swmodel.errors import EXIT_STOPPED
from swmodel.parallel.interrupt import INTERRUPT_MESSAGE

pytestmark = pytest.mark.night

RAISE_SIGINT = "import signal; signal.raise_signal(signal.SIGINT)\n"


def run_program(folder, line, path):
    """(exit code, stdout, stderr) of a program. Tests that a shell has put into the background have SIGINT ignored."""
    environ = {"PYTHONPATH": str(path)}
    done = run_command(folder, line, environ, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.fault("Ctrl-C before a run, while modules are imported")
@pytest.mark.parametrize("module", ["click", "pydantic"])
def test_interrupt_during_imports_ends_program(tmp_path, module):
    """Whether by the program or by its command; an exception would come out of the middle of the import."""
    (tmp_path / "site").mkdir()
    text = f"try:\n    {RAISE_SIGINT}except BaseException:\n    print('an exception')\n"
    (tmp_path / "site" / f"{module}.py").write_text(text if module == "click" else RAISE_SIGINT)
    found = run_program(tmp_path, [*PROGRAM, "run", "jet", "--steps", "1"], tmp_path / "site")
    assert found == (EXIT_STOPPED, "", f"{INTERRUPT_MESSAGE}\n")


def test_ignored_interrupt_stays_ignored(tmp_path):
    """As a shell that starts the program behind itself (&)."""
    (tmp_path / "program.py").write_text(
        f"from swmodel.parallel import interrupt\ninterrupt.install()\n{RAISE_SIGINT}print('there')\n"
    )
    line = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "program.py"]
    assert run_program(tmp_path, line, ROOT) == (0, "there\n", "")
