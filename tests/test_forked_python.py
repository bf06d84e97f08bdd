"""Programs that are forks in tests (support/forked_python.py) are the programs that they would be."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT
from support.forked_python import forking

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="there are no forks")

PROGRAM = """
import json, os, sys
told = {"imported": "swmodel.model.run" in sys.modules, "words": sys.argv[1:], "path": sys.path[0]}
told |= {"folder": os.getcwd(), "flags": os.environ.get("XLA_FLAGS"), "handed": os.read(HANDED, 9).decode()}
print(json.dumps(told))
import jax
print(jax.config.jax_enable_x64, jax.device_count())
sys.exit(7)
"""


def environment(**more):
    return forking(os.environ | {"PYTHONPATH": str(ROOT)} | more)


def test_a_fork_has_its_own_command_line_environment_folder_files_and_exit_code(tmp_path):
    read, write = os.pipe()
    os.write(write, b"something")
    program, folder = tmp_path / "programs" / "told.py", tmp_path / "folder"
    program.parent.mkdir()
    folder.mkdir()
    program.write_text(PROGRAM.replace("HANDED", str(read)))
    line = [sys.executable, str(program), "one", "--two"]
    environ = environment(XLA_FLAGS="--xla_cpu_max_isa=AVX", JAX_ENABLE_X64="1", JAX_NUM_CPU_DEVICES="3")
    done = subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True, pass_fds=[read], timeout=100)
    told, options = done.stdout.splitlines()
    assert told == (
        f'{{"imported": true, "words": ["one", "--two"], "path": "{program.parent}", "folder": "{folder}", '
        '"flags": "--xla_cpu_max_isa=AVX", "handed": "something"}'
    )
    assert (options, done.stderr, done.returncode) == ("True 3", "", 7)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_fork_ends_with_what_stands_for_it(tmp_path, number):
    (tmp_path / "sleep.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(100)\n")
    line = [sys.executable, str(tmp_path / "sleep.py")]
    with subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        fork = int(process.stdout.readline())
        assert fork != process.pid
        process.send_signal(number)
        assert process.wait(60) == -number
    deadline = time.monotonic() + 60
    while os.path.exists(f"/proc/{fork}"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_is_read_when_python_starts_makes_it_start(tmp_path):
    (tmp_path / "look.py").write_text("import sys\nprint('swmodel.model.run' in sys.modules)\n")
    line = [sys.executable, str(tmp_path / "look.py")]
    done = subprocess.run(line, env=environment(TZ="UTC+3"), capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("False\n", "")
