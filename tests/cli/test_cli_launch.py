"""Starting mpiexec and judging how a run ended, with small programs in the place of mpiexec."""

import io
import os
import signal
import socket
import sys
import threading

import pytest

from swmodel.cli.start import configure
from swmodel.config import to_toml
from swmodel.config.loading.load import gather
from swmodel.errors import SetupError, UsageError
from swmodel.files.run_folder import check_vacant, prepare
from swmodel.files.status import read_status, write_status
from swmodel.model import launch, progress
from swmodel.parallel.environment import World

HYDRA = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 4711 RUNNING AT sea
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""

OPEN_MPI = """
prterun noticed that process rank 3 with PID 4711 on node sea exited on
signal 9 (Killed).
"""


def play(directory, *lines, report=lambda event: None):
    """Run Python statements in the place of mpiexec; the exit code of the launcher."""
    program = "\n".join(["import os, sys, time", f"folder = {str(directory)!r}", *lines])
    return launch.run([sys.executable, "-c", program], 2, directory, report)


def sent(message):
    """The line in which a rank sends a message."""
    stream = io.StringIO()
    progress.send(message, stream)
    return stream.getvalue().rstrip()


@pytest.mark.fault("mpiexec is missing")
def test_mpiexec_is_looked_for_beside_the_interpreter_then_on_the_path(tmp_path, monkeypatch):
    beside, path = tmp_path / "venv", tmp_path / "usr"
    for folder in (beside, path):
        folder.mkdir()
        (folder / "mpiexec").write_text("#!/bin/sh\n")
        (folder / "mpiexec").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(beside / "python"))
    monkeypatch.setenv("PATH", str(path))
    assert launch.find_mpiexec() == str(beside / "mpiexec")
    (beside / "mpiexec").unlink()
    assert launch.find_mpiexec() == str(path / "mpiexec")
    (path / "mpiexec").unlink()
    with pytest.raises(SetupError, match="need mpiexec, not found; .*docs/install.md.* or run with --nproc 1"):
        launch.find_mpiexec()


@pytest.mark.fault("more ranks than cores")
def test_more_ranks_than_cores_let_each_other_run(monkeypatch):
    monkeypatch.setattr(launch.environment, "cores", lambda: 2)
    monkeypatch.delenv("MPIR_CVAR_POLLS_BEFORE_YIELD", raising=False)
    assert "MPIR_CVAR_POLLS_BEFORE_YIELD" not in launch.rank_environment(2)
    assert launch.rank_environment(3)["MPIR_CVAR_POLLS_BEFORE_YIELD"] == "1"


@pytest.mark.fault("absurd numbers of processes")
def test_more_processes_than_memory_are_refused_unless_they_may_lie_on_other_machines(monkeypatch):
    for name in launch.MACHINES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch.environment, "total_memory", lambda: 8e9)
    launch.starter(80, "sharded")
    with pytest.raises(UsageError, match=r"^1000000 processes hold at least 1e\+05 GB .* this machine has 8 GB"):
        launch.starter(10**6, "sharded")
    monkeypatch.setenv("HYDRA_HOST_FILE", "hosts")
    launch.starter(10**6, "sharded")


@pytest.mark.fault("Open MPI: the root user, binding, slots, messages")
def test_open_mpi_starts_as_many_ranks_as_asked_for_by_anybody_and_binds_none_to_a_core(monkeypatch):
    for name in launch.environment.OPEN_MPI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMPI_MCA_hwloc_base_binding_policy", "numa")
    environ = launch.rank_environment(2)
    assert environ["OMPI_ALLOW_RUN_AS_ROOT"] == environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert environ["OMPI_MCA_rmaps_base_oversubscribe"] == "1"
    assert environ["OMPI_MCA_hwloc_base_binding_policy"] == "numa", "what the user has set stays"
    assert environ["PRTE_MCA_hwloc_default_binding_policy"] == "none"


@pytest.mark.parametrize(
    ("status", "mpiexec_code", "code"),
    [
        ({"state": "completed", "exit_code": 0}, 0, 0),
        ({"state": "failed", "exit_code": 4}, 0, 4),  # mpiexec may return 0 after a rank has failed
        ({"state": "stopped", "exit_code": 75}, 1, 75),
        ({"state": "running", "exit_code": 0}, 0, 70),
        ({}, 0, 70),
    ],
)
def test_the_exit_code_is_that_of_the_status(tmp_path, status, mpiexec_code, code):
    write_status(tmp_path, **status)
    assert play(tmp_path, f"sys.exit({mpiexec_code})") == code


def test_the_configuration_of_a_run_serves_another_number_of_processes(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(to_toml(configure(gather("jet", ["run.nproc=2"]), [])))
    for processes in (1, 3):
        run = configure(gather(path), [], World(0, processes, processes)).run
        assert (run.nproc, run.layout) == (processes, f"1x{processes}")


@pytest.mark.fault("Open MPI: the root user, binding, slots, messages")
@pytest.mark.parametrize("words", [HYDRA, OPEN_MPI])
def test_the_rank_that_died_is_named(tmp_path, capfd, words):
    message = "rank 3 ended: Killed (signal 9)"
    hello = sent({"rank": 3, "pid": 4711, "host": "sea"})
    code = play(tmp_path, f"print({hello!r})", "print('before')", f"print({words!r})", "print('after')", "sys.exit(9)")
    out, err = capfd.readouterr()
    assert code == 70
    assert err == f"Error: {message}\n"
    assert out == "before\nafter\n", "none of mpiexec's own words"
    assert read_status(tmp_path)["message"] == message


def test_a_signal_is_passed_on(tmp_path):
    code = play(
        tmp_path,
        "import signal",
        "signal.signal(15, lambda *_: (open(folder + '/heard', 'w').close(), sys.exit()))",
        f"print({sent({'step': 1})!r}, flush=True)",
        "time.sleep(0.5)",  # the signal comes before the ranks have said that they are there, and waits for that
        *(
            f"print({sent({'rank': rank, 'pid': 'PID', 'host': host})!r}.replace('PID', str(os.getpid())), flush=True)"
            for rank, host in enumerate((socket.gethostname(), "elsewhere"))
        ),
        "time.sleep(60)",
        report=lambda event: signal.raise_signal(signal.SIGTERM),
    )
    assert (tmp_path / "heard").exists()
    assert (code, read_status(tmp_path)["state"]) == (75, "stopped")


def test_a_signal_ends_what_keeps_nothing_before_all_ranks_are_there(tmp_path):
    program = f"import time; print({sent({'step': 1})!r}, flush=True); time.sleep(60)"
    interrupt = [sys.executable, "-c", program], 2, tmp_path, lambda event: signal.raise_signal(signal.SIGINT)
    assert launch.run(*interrupt, keeps=False) == 75
    assert read_status(tmp_path)["state"] == "stopped"


def test_the_second_signal_kills(tmp_path):
    def interrupt_twice(event):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    code = play(
        tmp_path,
        "import signal",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        f"print({sent({'step': 1})!r}, flush=True)",
        "time.sleep(60)",
        report=interrupt_twice,
    )
    assert (code, read_status(tmp_path)["state"]) == (75, "stopped")


def test_force_removes_the_run_and_nothing_else(tmp_path):
    for name in ("config.toml", "output.nc", "status.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
    check_vacant(tmp_path, force=True)
    prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
