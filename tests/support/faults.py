"""Real faults for real runs: a disk that fills up, missing packages, and damaged files."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from swmodel.errors import FilesError
from swmodel.files import lock

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, str(ROOT / "cli.py")]
SMALL_OPTIONS = ["-s", "grid.nx=23", "-s", "grid.ny=11", "-s", "grid.dx=5e3", "-s", "grid.dy=5e3"]


def run_swmodel(folder, *arguments, prefix=(), environ=None, **options):
    """Run the command `prefix` swmodel `arguments` in `folder`; returns the completed process."""
    return run_command(folder, [*prefix, *PROGRAM, *map(str, arguments)], environ, **options)


def run_command(folder, command, environ=None, **options):
    """Run a command in `folder` with additions to the environment, for at most 100 s; returns the completed process."""
    environ = os.environ | {"MPIEXEC_TIMEOUT": "90"} | (environ or {})
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(command, cwd=folder, env=environ, text=True, timeout=100, **streams | options)


@contextlib.contextmanager
def small_disk(folder, size: str):
    """A context with a new folder that is a file system of this size, written as for `mount`, for example "256k".

    If mounting is not allowed, the folder is an ordinary one, and os.path.ismount(folder) is false.
    """
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    is_mounted = shutil.which("mount") and subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def packages_without(folder, *excluded):
    """A folder of links to all installed packages, except those whose names start with one of `excluded`."""
    folder.mkdir()
    for path in (Path(path) for path in sys.path if path.endswith(("site-packages", "dist-packages"))):
        for package in path.iterdir():
            link = folder / package.name
            if not package.name.lower().startswith(excluded) and not link.is_symlink():
                link.symlink_to(package)
    return folder


def wait_until_free(folder, timeout=10.0):
    """Wait until no process locks the run folder; a killed process needs a moment to end."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return lock.check_unlocked(folder)
        except FilesError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def model_messages(process):
    """The lines that the model, not mpiexec, has written to stderr."""
    return [line for line in process.stderr.splitlines() if line.startswith(("Error: ", "WARNING: ", "[rank "))]


def flip_bit(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 8
    path.write_bytes(content)
