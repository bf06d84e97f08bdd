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


def run_swmodel(folder, *arguments, before=(), environ=None, **options):
    """Run the program in `folder`, with the words `before` before it; returns the completed process."""
    return run_command(folder, [*before, *PROGRAM, *map(str, arguments)], environ, **options)


def run_command(folder, line, environ=None, **options):
    """Run a command line in `folder` with additions to the environment, for at most 100 s; returns the process."""
    environ = os.environ | {"MPIEXEC_TIMEOUT": "90"} | (environ or {})
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(line, cwd=folder, env=environ, text=True, timeout=100, **streams | options)


@contextlib.contextmanager
def small_disk(folder, size: str):
    """A context with a new folder that is a file system of this size, as `mount` writes it.

    If mounting is not allowed, it is an ordinary folder, and os.path.ismount(folder) is false.
    """
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = shutil.which("mount") and subprocess.run(line, capture_output=True).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
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
    """Wait until no process locks the run folder, because a killed process needs a moment to end."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return lock.check_unlocked(folder)
        except FilesError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def own_messages(process):
    """The lines of the program on stderr, without those of mpiexec itself."""
    return [line for line in process.stderr.splitlines() if line.startswith(("Error: ", "WARNING: ", "[rank "))]


def flip_bit(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 8
    path.write_bytes(content)
