"""Processes started without MPI: each knows its rank, one that dies ends the others, and none survives."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow

PRINT_RANK = (
    "import os; from swmodel.parallel.environment import get_rank_info; place = get_rank_info()\n"
    "words = place.rank, place.size, place.local_rank, place.local_size, os.environ['JAX_COORDINATOR_ADDRESS']\n"
    "os.write(1, (' '.join(map(str, words)) + '\\n').encode())"  # a single write, as all processes share the pipe
)
#: A program in which rank 1 ends in some way while the other waits.
RANK_1_ENDS = "import os, sys, time\nif os.environ['SWMODEL_RANK'] == '1':\n    {}\ntime.sleep(60)"


def start_processes(program, size=2, **options):
    line = [sys.executable, "-P", "-m", "swmodel.parallel.spawn", str(size), sys.executable, "-c", program]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(line, env=environ, text=True, start_new_session=True, **pipes, **options)


def test_each_process_finds_its_rank_and_rank_0():
    process = start_processes(PRINT_RANK, 3)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    places, addresses = zip(*(line.rsplit(" ", 1) for line in sorted(out.splitlines())), strict=True)
    assert places == ("0 3 0 3", "1 3 1 3", "2 3 2 3")
    assert len(set(addresses)) == 1
    host, port = addresses[0].split(":")
    assert host == "127.0.0.1"
    assert 1024 <= int(port) < 65536


@pytest.mark.parametrize(
    ("end", "code", "word", "least"), [("os.kill(os.getpid(), 9)", 9, "signal 9", 0), ("sys.exit(7)", 7, "7", 1)]
)
def test_process_that_ends_early_ends_all_and_is_named(end, code, word, least):
    program = RANK_1_ENDS.format(end)
    line = "import sys; from swmodel.parallel import spawn; spawn.GRACE_SECONDS = 1.0; "
    line += f"sys.exit(spawn.main(2, [sys.executable, '-c', {program!r}]))"
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, timeout=50, cwd=ROOT)
    assert time.monotonic() - begin > least
    (said,) = done.stderr.splitlines()
    assert (done.returncode, "rank 1" in said, word in said) == (code, True, True)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (RANK_1_ENDS.format("from swmodel.parallel.spawn import kill_other_ranks; kill_other_ranks()"), 9),
        ("raise SystemExit(75)", 75),
    ],
)
def test_failure_ends_all_and_common_error_names_none(program, code):
    process = start_processes(program)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == code


@pytest.mark.parametrize(("answer", "signals", "code"), [("os._exit(75)", 1, 75), ("os.write(1, b'heard\\n')", 2, 9)])
def test_signal_is_passed_on_and_second_one_ends_all(answer, signals, code):
    handle = f"import os, signal, time; signal.signal(15, lambda *signal: {answer})"
    process = start_processes(f"{handle}; os.write(1, b'ready\\n'); time.sleep(60)")
    for said in ("ready\n", "heard\n")[:signals]:
        assert [process.stdout.readline() for _ in range(2)] == 2 * [said]
        process.terminate()
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == code


@pytest.mark.parametrize("killed", ["spawn", "what started it"])
def test_processes_end_with_their_launcher(killed):
    if killed == "spawn" and sys.platform != "linux":
        pytest.skip("only Linux ends processes with their parent")
    program = "import os, time; os.write(1, f'{os.getppid()}\\n'.encode()); time.sleep(60)"
    line = [sys.executable, "-P", "-m", "swmodel.parallel.spawn", "2", sys.executable, "-c", program]
    starter = f"import subprocess; subprocess.Popen({line}).wait()"
    parent = subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    (pid,) = {int(parent.stdout.readline()) for _ in range(2)}
    os.kill(pid if killed == "spawn" else parent.pid, signal.SIGKILL)
    assert parent.communicate(timeout=50)[0] == ""  # returns when no process is left that could write
    assert parent.returncode == (0 if killed == "spawn" else -signal.SIGKILL)
