"""Ctrl-C outside of a run: 75 and one line, wherever Python is."""

import signal
import subprocess
import sys

import pytest
from support.faults import PROGRAM

from swmodel.errors import STOPPED
from swmodel.parallel.interrupt import MESSAGE

pytestmark = pytest.mark.night

INTERRUPT = "import signal; signal.raise_signal(signal.SIGINT)\n"


def python(folder, *words, before=(), **options):
    """Run Python; (exit code, stdout, stderr). Tests that a shell has put into the background have SIGINT ignored."""
    line = [*before, sys.executable, *map(str, words)]
    options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.fault("Ctrl-C before a run, while modules are imported")
@pytest.mark.parametrize("module", ["click", "pydantic"])
def test_interrupt_during_imports_ends_program(tmp_path, module):
    """Whether by the program or by its command; an exception would come out of the middle of the import."""
    (tmp_path / "site").mkdir()
    text = f"try:\n    {INTERRUPT}except BaseException:\n    print('an exception')\n"
    (tmp_path / "site" / f"{module}.py").write_text(text if module == "click" else INTERRUPT)
    environ = {"PYTHONPATH": str(tmp_path / "site")}
    found = python(tmp_path, *PROGRAM[1:], "run", "jet", "--steps", "1", env=environ)
    assert found == (STOPPED, "", f"{MESSAGE}\n")


def test_ignored_interrupt_stays_ignored(tmp_path):
    """As a shell that starts the program behind itself (&)."""
    (tmp_path / "program.py").write_text(
        f"from swmodel.parallel import interrupt\ninterrupt.install()\n{INTERRUPT}print('there')\n"
    )
    environ = {"PYTHONPATH": str(PROGRAM[1]).removesuffix("cli.py")}
    before = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    assert python(tmp_path, "program.py", before=before, env=environ) == (0, "there\n", "")
