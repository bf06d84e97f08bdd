"""How the C++ steps of tests are compiled: in a third of the time, or as for users.

Quick compilation has little optimisation, which changes no bit (tests/executors/test_compile.py), and precompiled
headers. Steps that were built with the package are used unchanged, and so is a compiler that the environment names. The
settings are in the environment, for the processes that tests start.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from swmodel.errors import SetupError
from swmodel.executors.native import compile as steps

#: Variables of the environment: the users' compiler, and the folder of headers, for the script `quick-c++`.
REAL, HEADERS = "SWMODEL_TEST_CXX", "SWMODEL_TEST_HEADERS"


def compile_quickly():
    """From now on compile quickly, into a folder of its own beside the users' steps."""
    if REAL in os.environ or "CXX" in os.environ or "SWMODEL_CXXFLAGS" in os.environ:
        return
    with suppress(SetupError, OSError):  # no compiler, or no folder: tests meet what users meet
        folder = steps.cache_folder() / "tests"
        folder.mkdir(mode=0o700, exist_ok=True)
        (real,) = steps.compiler()
        own = {REAL: real, HEADERS: headers(folder), "CXX": Path(__file__).with_name("quick-c++")}
        os.environ.update({name: str(value) for name, value in own.items()}, SWMODEL_CACHE=str(folder))


def as_users(environ) -> dict:
    """An environment with the users' compiler and folder."""
    own = ("CXX", "SWMODEL_CACHE") if REAL in environ else ()
    return {name: value for name, value in environ.items() if name not in own}


def real() -> str:
    """The users' compiler."""
    return os.environ.get(REAL) or shlex.join(steps.compiler())


def headers(folder: Path) -> Path:
    """A folder with sweep.h precompiled by g++; other compilers ignore it."""
    march = steps.instructions()
    version = subprocess.run([*steps.compiler(), "--version"], capture_output=True, timeout=60).stdout
    text = b"".join(file.read_bytes() for file in sorted(steps.HERE.glob("*.h")))
    made_of = hashlib.sha256(version + text + repr((steps.FLAGS, march)).encode()).hexdigest()
    made = folder / f"headers-{made_of[:24]}" / "sweep.h.gch"
    with steps.one_at_a_time(folder / "headers.lock"):
        if not made.exists():
            for old in folder.glob("headers-*"):
                shutil.rmtree(old)
            made.parent.mkdir()
            target = [] if march.startswith("default") else [f"-march={march.split()[0]}"]
            options = [*steps.FLAGS, *target, "-mprefer-vector-width=512", "-Og", "-x", "c++-header"]
            line = [*steps.compiler(), *options, str(steps.HERE / "sweep.h"), "-o", str(made.with_suffix(".new"))]
            if subprocess.run(line, capture_output=True, timeout=steps.LONGEST).returncode == 0:
                made.with_suffix(".new").rename(made)
    return made.parent
