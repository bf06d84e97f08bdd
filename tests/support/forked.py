"""The program that `guard` starts to examine files, forked from a process that has imported what it needs.

So it starts in milliseconds instead of half a second. This module imports little, as each fork imports it.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import patch

from swmodel.files.integrity import guard, program

#: The modules that the process imports from which the others are forked.
IMPORTED = ["h5py", "netCDF4", "isal.isal_zlib", "pytest", guard.EXAMINE, "swmodel.files.restart.examine", __name__]
#: The program as users have it. Tests may replace it; replacements are started like any program.
PROGRAM = guard.PROGRAM


@cache
def server():
    """The context of multiprocessing that forks processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    with patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(sys.path)}):  # so that it finds this module
        forkserver.ensure_running()
    return context


def forked(line, **options):
    """Like `subprocess.run`, for the program of `guard`, which ends itself when late."""
    if guard.PROGRAM != PROGRAM:
        return subprocess.run(line, **options)
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "said")
        process = server().Process(target=examine_into, args=(said, line[-1], os.getcwd()))
        process.start()
        process.join()
        text = said.read_text() if said.exists() else ""
    return subprocess.CompletedProcess(line, process.exitcode, text, "")


def examine_into(path, jobs, folder):
    """Run the program in a folder, with its output in a file."""
    os.chdir(folder)
    with path.open("w") as sys.stdout:
        program.main(jobs)
