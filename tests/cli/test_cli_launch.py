"""The launcher starts mpiexec, reports how a run ended, and passes signals on; small programs replace mpiexec."""

import contextlib
import io
import os
import signal
import socket
import sys
import threading

import pytest

from swmodel.errors import SetupError, UsageError
from swmodel.files.run_folder import check_overwritable, prepare_for_new_run
from swmodel.files.status import read_status, write_status
from swmodel.model import launch, progress

HYDRA_MESSAGE = f"""
{83 * "="}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 4711 RUNNING AT sea
=   EXIT CODE: 9
{83 * "="}
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
"""

OPEN_MPI_MESSAGE = """
prterun noticed that process rank 3 with PID 4711 on node sea exited on
signal 9 (Killed).
"""


def launch_program(directory, *lines, report=lambda event: None):
    """Run a program of Python statements in place of mpiexec; returns the exit code of the launcher."""
    program = "\n".join(["import os, sys, time", f"folder = {str(directory)!r}", *lines])
    return launch.run([sys.executable, "-c", program], 2, directory, report)


def message_line(message):
    """The line that a rank prints to send a message."""
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        progress.send_message(message)
    return stream.getvalue().rstrip()


@pytest.mark.fault("mpiexec is missing")
def test_mpiexec_is_searched_beside_the_interpreter_first(tmp_path, monkeypatch):
    venv_folder, path_folder = tmp_path / "venv", tmp_path / "usr"
    for folder in (venv_folder, path_folder):
        folder.mkdir()
        (folder / "mpiexec").write_text("#!/bin/sh\n")
        (folder / "mpiexec").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(venv_folder / "python"))
    monkeypatch.setenv("PATH", str(path_folder))
    for folder in (venv_folder, path_folder):
        assert launch.find_mpiexec() == str(folder / "mpiexec")
        (folder / "mpiexec").unlink()
    with pytest.raises(SetupError, match="mpiexec"):
        launch.find_mpiexec()


@pytest.mark.fault("more ranks than cores")
@pytest.mark.fault("Open MPI refuses the root user or more ranks than slots, binds ranks, or prints messages")
def test_environment_of_ranks_suits_cores_and_mpi(monkeypatch):
    """More ranks than cores yield while they wait; Open MPI starts as many as requested and binds none to a core."""
    for name in (*launch.environment.OPEN_MPI_VARIABLES, "MPIR_CVAR_POLLS_BEFORE_YIELD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch.environment, "n_cores", lambda: 2)
    monkeypatch.setenv("OMPI_MCA_hwloc_base_binding_policy", "numa")
    assert "MPIR_CVAR_POLLS_BEFORE_YIELD" not in launch.rank_environment(2)
    environ = launch.rank_environment(3)
    assert environ["MPIR_CVAR_POLLS_BEFORE_YIELD"] == "1"
    assert environ["OMPI_ALLOW_RUN_AS_ROOT"] == environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert environ["OMPI_MCA_rmaps_base_oversubscribe"] == "1"
    assert environ["OMPI_MCA_hwloc_base_binding_policy"] == "numa", "what the user has set stays"
    assert environ["PRTE_MCA_hwloc_default_binding_policy"] == "none"


@pytest.mark.fault("absurd numbers of processes")
def test_more_processes_than_fit_into_memory_are_refused(monkeypatch):
    """They are accepted if processes may run on other machines."""
    for name in launch.CLUSTER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch.environment, "total_memory", lambda: 8e9)
    launch.launcher_command(80, "sharded")
    with pytest.raises(UsageError, match="1000000 processes .* 8 GB"):
        launch.launcher_command(10**6, "sharded")
    monkeypatch.setenv("HYDRA_HOST_FILE", "hosts")
    launch.launcher_command(10**6, "sharded")


def test_exit_code_is_the_one_in_status_json(tmp_path):
    """The exit code of mpiexec does not count, because it may be 0 although a rank failed."""
    cases = ("completed", 0, 0, 0), ("failed", 4, 0, 4), ("stopped", 75, 1, 75), ("running", 0, 0, 70)
    for state, exit_code, mpiexec_code, launcher_code in cases:
        write_status(tmp_path, state=state, exit_code=exit_code)
        assert launch_program(tmp_path, f"sys.exit({mpiexec_code})") == launcher_code


@pytest.mark.parametrize("end_message", [HYDRA_MESSAGE, OPEN_MPI_MESSAGE])
def test_message_names_the_rank_that_died(tmp_path, capfd, end_message):
    """The output of the ranks is shown, and that of mpiexec itself is not."""
    message = "rank 3 ended: Killed (signal 9)"
    hello_line = message_line({"rank": 3, "pid": 4711, "host": "sea"})
    lines = [f"print({hello_line!r})", "print('before')", f"print({end_message!r})", "print('after')", "sys.exit(9)"]
    code = launch_program(tmp_path, *lines)
    assert (code, *capfd.readouterr()) == (70, "before\nafter\n", f"Error: {message}\n")
    assert read_status(tmp_path)["message"] == message


PRINT_STEP = f"print({message_line({'step': 1})!r}, flush=True)"


@pytest.mark.slow
def test_signal_is_passed_on_once_all_ranks_have_started(tmp_path):
    lines = ["import signal", "signal.signal(15, lambda *_: (open(folder + '/heard', 'w').close(), sys.exit()))"]
    lines += [f"{PRINT_STEP}; time.sleep(0.5)"]  # the signal comes before the ranks report that they have started
    for rank, host in enumerate((socket.gethostname(), "elsewhere")):
        hello_line = message_line({"rank": rank, "pid": "PID", "host": host})
        lines += [f"print({hello_line!r}.replace('PID', str(os.getpid())), flush=True)"]
    lines += ["time.sleep(60)"]
    code = launch_program(tmp_path, *lines, report=lambda event: signal.raise_signal(signal.SIGTERM))
    assert (tmp_path / "heard").exists()
    assert (code, read_status(tmp_path)["state"]) == (75, "stopped")


@pytest.mark.fault("a second SIGINT or SIGTERM")
def test_second_signal_ends_ranks_at_once(tmp_path):
    def interrupt_twice(event):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    program = [sys.executable, "-c", f"import time; {PRINT_STEP}; time.sleep(60)"]
    assert launch.run(program, 2, tmp_path, lambda event: signal.raise_signal(signal.SIGINT), saves_state=False) == 75
    ignore_signal = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    assert launch_program(tmp_path, ignore_signal, f"{PRINT_STEP}; time.sleep(60)", report=interrupt_twice) == 75
    assert read_status(tmp_path)["state"] == "stopped"


def test_force_removes_the_run_and_nothing_else(tmp_path):
    for name in ("config.toml", "output.nc", "status.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
    check_overwritable(tmp_path, force=True)
    prepare_for_new_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
