"""Real faults for real runs: a disk that fills up, missing permissions, even for root, and missing packages."""

import contextlib
import ctypes
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

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def run_swmodel(folder, *arguments, before=(), environ=None, **options):
    """Run the program in `folder`, after the words `before`; the completed process."""
    line = [*before, *PROGRAM, *map(str, arguments)]
    return run_command(folder, line, environ, **options)


def run_command(folder, line, environ=None, **options):
    """Run a command line in `folder` with additions to the environment; the completed process, within 100 s."""
    environ = os.environ | {"MPIEXEC_TIMEOUT": "90"} | (environ or {})
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(line, cwd=folder, env=environ, text=True, timeout=100, **streams | options)


def obey_permissions():
    """Let permissions hold for this process and its children, even as root; call it between fork and exec."""
    libc = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@contextlib.contextmanager
def small_disk(folder, size: str):
    """The folder, made anew: a file system of this size (in the notation of `mount`), if mounting is allowed.

    If not, os.path.ismount(folder) is false.
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
    """A folder of links to all installed packages, except those whose names begin with one of `missing`."""
    folder.mkdir()
    for path in (Path(path) for path in sys.path if path.endswith(("site-packages", "dist-packages"))):
        for package in path.iterdir():
            link = folder / package.name
            if not package.name.lower().startswith(excluded) and not link.is_symlink():
                link.symlink_to(package)
    return folder


def wait_until_free(folder, timeout=10.0):
    """Wait until no process holds the run folder: a killed process needs a moment to end."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return lock.check_unlocked(folder)
        except FilesError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def own_messages(process):
    """The program's lines on stderr, without those of mpiexec itself."""
    return [line for line in process.stderr.splitlines() if line.startswith(("Error: ", "WARNING: ", "[rank "))]


def flip_bit(path, position):
    """Change a bit of a file, in the byte at a place."""
    content = bytearray(path.read_bytes())
    content[position] ^= 8
    path.write_bytes(content)
