"""Python runs this module first if its folder is on the path: the program becomes a fork (support/forked_python.py).

This process stands in for the fork: mpiexec and tests know this process; it hands on signals, and ends as the fork
ends. If the program cannot be a fork, this process goes on like any Python.
"""

import json
import os
import signal
import socket
import sys

#: Variable of the environment: the socket of the process that forks.
SOCKET = "SWMODEL_TEST_FORKS"


def open_files():
    """The numbers of all files that this process was started with."""
    found = []
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            os.fstat(number)
        except OSError:
            continue  # the number of the listed folder, which is closed again
        found.append(number)
    return found


def stand_for(pid, line):
    """Wait for the fork, and end like it."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, frame: os.kill(pid, number))
    code = os.waitstatus_to_exitcode(int.from_bytes(line.recv(8), "big"))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


def run_as_fork():
    """Hand over the command line, the folder, the environment and all open files."""
    files = open_files()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ[SOCKET])
        handed = {"line": sys.orig_argv, "folder": os.getcwd(), "environ": dict(os.environ), "files": files}
        text = json.dumps(handed).encode()
        socket.send_fds(line, [len(text).to_bytes(8, "big")], files)
        line.sendall(text)
        pid = int.from_bytes(line.recv(8), "big")
        if pid:
            for number in files[3:]:
                os.close(number)
            stand_for(pid, line)


if SOCKET in os.environ:
    run_as_fork()
