"""Python programs that tests start, forked from a process that has imported what they need.

Importing takes half of the processor time of a small run. In the environment `forking(environ)` programs are such
forks: processes of their own with their own command line, environment, folder and files, also as ranks of a real
mpiexec. They lack limits, cores and permissions that are set between fork and exec, and what a test puts on PYTHONPATH
or looks for in /proc: tests of these start programs as users do.
"""

import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import swmodel
from support.stand_in.sitecustomize import SOCKET
from swmodel.parallel.spawn import SPAWN

STAND_IN = Path(__file__).with_name("stand_in")
ROOT = Path(__file__).parents[2]
#: Modules that start MPI when they are imported.
OF_MPI = ("swmodel.parallel.transport.messages", "swmodel.parallel.transport.mpi")
#: Beginnings of the variables that Python, or what it imports, reads at the start: these must be the same.
READ_AT_START = ("PYTHON", "OMP_", "OPENBLAS_", "LANG", "LC_", "TZ", "HOME", "XDG_", "MPLCONFIGDIR", "HDF5_", "LD_")
#: The environment of this process before anything is imported.
AT_START = dict(os.environ)
#: Further folders in which Python looks for modules.
BASE = [path for path in sys.path if "python3" in path or path.endswith("site-packages")]
#: Most files that a program may be started with, and numbers above theirs.
MOST, ABOVE = 64, 512


def forking(environ):
    """An environment in which Python programs are forks; the same environment if the system has no forks."""
    if not hasattr(os, "pidfd_open"):
        return dict(environ)
    path = [str(STAND_IN), *filter(None, [environ.get("PYTHONPATH")])]
    return dict(environ) | {SOCKET: server(), "PYTHONPATH": os.pathsep.join(path)}


@cache
def server() -> str:
    """The socket of a process that forks programs; the process ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="swmodel-")
    path = os.path.join(folder.name, "forks")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environ |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    line = [sys.executable, "-P", "-m", "support.forked_python", str(listener.fileno())]
    process = subprocess.Popen(
        line, env=environ, stdin=subprocess.PIPE, pass_fds=[listener.fileno()], start_new_session=True
    )
    listener.close()
    _kept.append((process, folder))
    return path


#: Objects to keep as long as this process runs.
_kept = []


def serve(listener):
    """Fork the programs that are asked for until the parent ends; in a fork, return the request."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.detach()
            return keep(line)
        line.close()
    sys.exit()


def keep(line):
    """Fork a program and report how it ends; in the fork, return the request. It is killed with its stand-in."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, files, *_ = socket.recv_fds(line, 8, MOST)
    asked = json.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    if not can_be_forked(asked):
        line.sendall(bytes(8))
        os._exit(0)
    pid = os.fork()
    if pid == 0:
        line.detach()
        place(files, asked["files"])
        return asked
    for number in files:
        os.close(number)
    line.sendall(pid.to_bytes(8, "big"))
    program = os.pidfd_open(pid)
    if program not in select.select([line, program], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):  # nobody waits for its end
        line.sendall(status.to_bytes(8, "big"))
    os._exit(0)


def can_be_forked(asked) -> bool:
    """Whether a request is for a module or a file, with the same start-up variables as here, and no rank of `spawn`."""
    words, environ = [word for word in asked["line"][1:] if word != "-P"], asked["environ"]

    def read(environ):
        return {name: text for name, text in environ.items() if name.startswith(READ_AT_START) and name != "PYTHONPATH"}

    return (words[0] == "-m" or words[0].endswith(".py")) and read(environ) == read(AT_START) and SPAWN not in environ


def place(files, numbers):
    """Give the files their numbers, and close all others."""
    above = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, ABOVE) for file in files]
    os.closerange(3, ABOVE)
    for file, number in zip(above, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def follow_environment():
    """Set options of JAX and matplotlib from the environment, which they read only when they are imported."""
    import jax
    import matplotlib

    if "MPLBACKEND" in os.environ:
        matplotlib.rcParams["backend"] = os.environ["MPLBACKEND"]

    kinds = {bool: lambda text: text.lower() in ("1", "true"), int: int}
    for option, value in jax.config.values.items():
        if option.upper() in os.environ:
            jax.config.update(option, kinds.get(type(value), str)(os.environ[option.upper()]))


def become(asked):
    """Become the program that was asked for."""
    from swmodel.parallel import environment

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(asked["environ"])
    os.chdir(asked["folder"])
    environment._IMPORTED = time.time()
    prepare = environment.prepare

    def prepare_and_follow(*arguments, **options):
        prepare(*arguments, **options)
        follow_environment()

    environment.prepare = prepare_and_follow
    follow_environment()
    words = asked["line"][1:]
    safe, words = words[0] == "-P", words[words[0] == "-P" :]
    outside = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if words[0] == "-m":
        sys.argv, sys.path[:] = words[1:], [*([] if safe else [os.getcwd()]), *outside, *BASE]
        sys.modules.pop(words[1], None)
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[:] = words, [*([] if safe else [str(Path(words[0]).resolve().parent)]), *outside, *BASE]
        runpy.run_path(words[0], run_name="__main__")


def main(number):
    """Import the modules, then fork the programs that are asked for at a socket."""
    for module in pkgutil.walk_packages(swmodel.__path__, "swmodel."):
        if module.name not in OF_MPI and not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    gc.freeze()
    become(serve(socket.socket(fileno=number)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
