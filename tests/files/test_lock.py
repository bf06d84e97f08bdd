"""The lock of a run folder."""

import os
import socket
import subprocess
import sys

import pytest

from swmodel.errors import FilesError
from swmodel.files import lock, run_folder


@pytest.mark.fault("the folder is in use")
def test_a_folder_in_use_is_refused_and_the_holder_named(tmp_path):
    words = rf"{tmp_path} is in use by a run, process {os.getpid()} on {socket.gethostname()}; wait"
    with lock.held(tmp_path):
        with pytest.raises(FilesError, match=words), lock.held(tmp_path):
            pass
        with pytest.raises(FilesError, match=words):
            run_folder.check_vacant(tmp_path, force=True)
        assert (tmp_path / "run.lock").exists()
    assert list(tmp_path.iterdir()) == []
    run_folder.check_vacant(tmp_path)
    with lock.held(tmp_path):
        pass


def test_the_lock_of_a_killed_process_is_free_and_its_file_in_nobodys_way(tmp_path):
    program = (
        "import os, signal, sys; from swmodel.files.lock import held\n"
        "with held(sys.argv[1]):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60)
    assert killed.returncode == -9
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]
    run_folder.check_vacant(tmp_path)
    with lock.held(tmp_path):
        pass


def test_a_process_with_the_file_holds_the_folder_after_its_parent_is_killed(tmp_path):
    """As mpiexec after the launcher."""
    program = (
        "import os, signal, subprocess, sys; from swmodel.files.lock import held\n"
        "with held(sys.argv[1]) as file:\n"
        "    silent = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "    child = subprocess.Popen(['sleep', '60'], pass_fds=[file.fileno()], **silent)\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60)
    child = int(done.stdout)
    try:
        with pytest.raises(FilesError, match="in use"):
            lock.check_free(tmp_path)
    finally:
        os.kill(child, 9)
