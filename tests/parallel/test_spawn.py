"""Processes started without MPI: each knows its rank, the end of one ends the others, and none survives."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow

PRINT_RANK = (
    "import os; from swmodel.parallel.environment import get_rank_info; info = get_rank_info()\n"
    "words = info.rank, info.size, info.local_rank, info.local_size, os.environ['JAX_COORDINATOR_ADDRESS']\n"
    "os.write(1, (' '.join(map(str, words)) + '\\n').encode())"  # a single write, as all processes share the pipe
)
#: A program in which rank 1 ends by the statement to be inserted, while the other rank waits.
RANK_1_ENDS = "import os, sys, time\nif os.environ['SWMODEL_RANK'] == '1':\n    {}\ntime.sleep(60)"


def start_processes(program, size=2, **options):
    command = [sys.executable, "-P", "-m", "swmodel.parallel.spawn", str(size), sys.executable, "-c", program]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, env=environ, text=True, start_new_session=True, **pipes, **options)


def test_each_process_knows_its_rank_and_address_of_rank_0():
    process = start_processes(PRINT_RANK, 3)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    infos, addresses = zip(*(line.rsplit(" ", 1) for line in sorted(out.splitlines())), strict=True)
    assert infos == ("0 3 0 3", "1 3 1 3", "2 3 2 3")
    assert len(set(addresses)) == 1
    host, port = addresses[0].split(":")
    assert host == "127.0.0.1"
    assert 1024 <= int(port) < 65536


@pytest.mark.parametrize(
    ("end", "code", "word", "min_seconds"), [("os.kill(os.getpid(), 9)", 9, "signal 9", 0), ("sys.exit(7)", 7, "7", 1)]
)
def test_process_that_ends_early_ends_all_and_is_named(end, code, word, min_seconds):
    program = RANK_1_ENDS.format(end)
    source = "import sys; from swmodel.parallel import spawn; spawn.GRACE_SECONDS = 1.0; "
    source += f"sys.exit(spawn.main(2, [sys.executable, '-c', {program!r}]))"
    start_time = time.monotonic()
    process = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=50, cwd=ROOT)
    assert time.monotonic() - start_time > min_seconds
    (message,) = process.stderr.splitlines()
    assert (process.returncode, "rank 1" in message, word in message) == (code, True, True)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (RANK_1_ENDS.format("from swmodel.parallel.spawn import kill_other_ranks; kill_other_ranks()"), 9),
        ("raise SystemExit(75)", 75),
    ],
)
def test_failure_ends_all_and_common_exit_code_names_no_rank(program, code):
    process = start_processes(program)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == code


@pytest.mark.parametrize(("reaction", "signals", "code"), [("os._exit(75)", 1, 75), ("os.write(1, b'heard\\n')", 2, 9)])
def test_signal_is_forwarded_and_second_one_ends_all(reaction, signals, code):
    handle = f"import os, signal, time; signal.signal(15, lambda *signal: {reaction})"
    process = start_processes(f"{handle}; os.write(1, b'ready\\n'); time.sleep(60)")
    for line in ("ready\n", "heard\n")[:signals]:
        assert [process.stdout.readline() for _ in range(2)] == 2 * [line]
        process.terminate()
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == code


@pytest.mark.parametrize("killed", ["spawn", "parent of spawn"])
def test_processes_end_with_their_launcher(killed):
    if killed == "spawn" and sys.platform != "linux":
        pytest.skip("only Linux ends processes with their parent")
    program = "import os, time; os.write(1, f'{os.getppid()}\\n'.encode()); time.sleep(60)"
    command = [sys.executable, "-P", "-m", "swmodel.parallel.spawn", "2", sys.executable, "-c", program]
    source = f"import subprocess; subprocess.Popen({command}).wait()"
    parent = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    (pid,) = {int(parent.stdout.readline()) for _ in range(2)}
    os.kill(pid if killed == "spawn" else parent.pid, signal.SIGKILL)
    assert parent.communicate(timeout=50)[0] == ""  # returns when no process is left that could write
    assert parent.returncode == (0 if killed == "spawn" else -signal.SIGKILL)
