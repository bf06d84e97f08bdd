"""Generated steps compiled by the C++ compiler of the machine, each once: the library of a step, found or made.

Those of the cases are built when swmodel is installed (`build`), others at first use, into a cache in the user's own
folder. A library is named by its text, by the compiler's options and by the processor; not by the compiler, as rounding
is written out. It is written beside its place, tried, and moved there whole; one process compiles and the others wait.
No library is used that another user could have written.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import logging
import os
import platform
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ...errors import SetupError, UsageError
from ...ocean.timestep import Leapfrog, Multistep, RungeKutta
from .generate import KEPT, Generated, generate

HERE = Path(__file__).parent
#: Libraries that came with the package.
BUILT = HERE / "built"
FLAGS = (
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-tree-loop-distribute-patterns",
    "-fvisibility=hidden",
    "-shared",
    "-fPIC",
    "-w",
)
#: Libraries that a cache keeps.
MOST = 500
#: Seconds after which a compiler is stopped.
LONGEST = 300
#: How the names of folders begin in which a library is made.
MAKING = ".making-"

log = logging.getLogger(__name__)


class Request(NamedTuple):
    """Which step: its scheme, its time stepper, the kinds of its static fields (`trace.kinds_of`), its precision.

    Attributes:
        derivative, controls: see `generate.generate`.
    """

    scheme: object
    method: Multistep | Leapfrog | RungeKutta
    kinds: tuple
    dtype: str
    derivative: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()

    @property
    def made(self) -> Generated:
        """The step."""
        try:
            return generate(*self)
        except RecursionError:
            raise UsageError("a term has more operations, one after the other, than the native step takes") from None

    @property
    def source(self) -> str:
        """The C++ of the step."""
        return self.made.source

    def name(self, instructions: str) -> str:
        """The name of its library for these instructions: a digest of all that the machine code follows from."""
        headers = b"".join(file.read_bytes() for file in sorted(HERE.glob("*.h")))
        rest = (self.source, FLAGS, extra(), instructions, platform.machine())
        return hashlib.sha256(headers + repr(rest).encode()).hexdigest()[:24] + ".so"


@cache
def instructions() -> str:
    """The instructions asked for by -march: "default" without -march; for `native`, with a digest of the processor."""
    asked = os.environ.get("SWMODEL_INSTRUCTIONS", "native").strip() or "default"
    if asked != "native":
        return asked
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found = {line.split(":")[0].strip(): line for line in lines}
        processor = "".join(found.get(key, "") for key in ("vendor_id", "cpu family", "model", "flags", "Features"))
    except OSError:
        processor = platform.processor()
    return f"native {platform.machine()} {hashlib.sha256(processor.encode()).hexdigest()}"


@lru_cache(maxsize=KEPT)
def function(request: Request) -> int:
    """The address of a step's function; compiles the step unless that was done before."""
    try:
        library = ctypes.CDLL(str(library_of(request)))
    except OSError as error:
        raise SetupError(f"its compiled step cannot be loaded: {error}") from None
    _loaded.append(library)
    return ctypes.cast(library.swmodel_call, ctypes.c_void_p).value


#: The libraries in use: held, so that they stay loaded.
_loaded: list[ctypes.CDLL] = []


@lru_cache(maxsize=KEPT)
def obstacle(request: Request) -> str:
    """Why there is no compiled step and none can be made; empty where there is one now."""
    try:
        function(request)
    except (SetupError, UsageError) as error:  # also where a term cannot be traced
        return str(error)
    return ""


def library_of(request: Request) -> Path:
    """The library of a step; compiled unless that was done before."""
    name = request.name(instructions())
    if not runs(instructions()):
        raise SetupError(f"this processor does not have all instructions of {instructions()}: SWMODEL_INSTRUCTIONS")
    if (BUILT / name).exists():
        return BUILT / name
    try:
        return cached(cache_folder() / name, request)
    except (SetupError, OSError) as error:
        for general in PORTABLE.get(platform.machine(), ("default",)):
            if (BUILT / request.name(general)).exists() and runs(general):
                return BUILT / request.name(general)
        raise error if isinstance(error, SetupError) else SetupError(f"its step cannot be kept: {error}") from None


def cached(target: Path, request: Request) -> Path:
    """The library in the cache; compiled if it is missing or cannot be loaded."""
    if not usable(target):
        with one_at_a_time(target.with_suffix(".lock")):
            if not usable(target):
                compile_into(target, request, instructions().split()[0])
    return checked(target)


def usable(library: Path) -> bool:
    """Whether a library is there, is ours, and can be loaded."""
    if not library.exists():
        return False
    try:
        ctypes.CDLL(str(checked(library)))
    except OSError:
        return False
    return True


#: Instructions that packages may have been built for, by machine.
PORTABLE = {"x86_64": ("x86-64-v4", "x86-64-v3", "x86-64", "default")}
V3 = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
NEEDS = {"x86-64-v3": V3, "x86-64-v4": (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")}


def runs(general: str) -> bool:
    """Whether this processor has the instructions."""
    needs = NEEDS.get(general, ())
    try:
        flags = Path("/proc/cpuinfo").read_text().split() if needs else ()
    except OSError:
        return False
    return all(flag in flags for flag in needs)


def cache_folder() -> Path:
    """The folder of compiled steps, made if it is missing."""
    folder = os.environ.get("SWMODEL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "swmodel")
    try:
        folder = Path(folder).expanduser().resolve()  # no link on the way can be turned elsewhere after this
        for place in (*reversed(folder.parents), folder):
            place.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise SetupError(f"there is no folder to keep compiled steps in: {error}") from None
    for place in folder.parents:
        found = place.stat()
        if found.st_uid not in (os.geteuid(), 0) or (found.st_mode & WRITABLE and not found.st_mode & stat.S_ISVTX):
            raise SetupError(f"{folder} is not used, as other users can write {place}: set SWMODEL_CACHE")
    return checked(folder)


#: Permission to write, for the group or for anybody.
WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def checked(path: Path) -> Path:
    """The path, if nobody else can have written it."""
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & WRITABLE:
        raise SetupError(f"{path} is not used, as other users can write it: chmod go-w, or set SWMODEL_CACHE")
    return path


@contextmanager
def one_at_a_time(path: Path):
    """A context for one process of a machine at a time; where files cannot be locked, for all at once."""
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def compiler() -> list[str]:
    """The C++ compiler, with the options that CXX has after its name."""
    for words in (os.environ.get("CXX", "").split(), ["c++"], ["g++"], ["clang++"]):
        if words and (found := shutil.which(words[0])):
            return [found, *words[1:]]
    raise SetupError("there is no C++ compiler to make its step with")


def compile_into(target: Path, request: Request, march: str) -> None:
    """Generate a step and compile it."""
    program, text = compiler(), request.source
    what = " of the ".join((*reversed(request.derivative), "native step"))
    log.info(f"compiling the {what} of this configuration: once, a few seconds")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=MAKING) as folder:
        source, made = Path(folder, "step.cc"), Path(folder, "step.so")
        source.write_text(text)
        options = [*FLAGS, *([] if march == "default" else [f"-march={march}"]), *extra(), f"-I{HERE}"]
        for wide in (["-mprefer-vector-width=512"], []):  # not all compilers know it
            command = [*program, *options, *wide, "-o", str(made), str(source)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LONGEST)
            except subprocess.TimeoutExpired:
                raise SetupError(f"{program[0]} took more than {LONGEST} s for its step") from None
            if done.returncode == 0:
                break
            if done.returncode == -signal.SIGINT:  # a terminal sends it to the compiler, too
                raise KeyboardInterrupt
        else:
            line = next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
            raise SetupError(f"{program[0]} cannot compile its step: {line}")
        made.chmod(0o500)
        try:
            ctypes.CDLL(str(made))
        except OSError as error:
            raise SetupError(f"what {program[0]} made of its step cannot be loaded: {error}") from None
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(target)
    forget(target.parent)


def forget(folder: Path) -> None:
    """Remove the oldest libraries above MOST, and what killed processes have left."""
    with suppress(OSError):  # another process removes some of them too
        for left in folder.glob(f"{MAKING}*"):
            if time.time() - left.stat().st_mtime > 10 * LONGEST:
                shutil.rmtree(left)
        libraries = sorted(folder.glob(f"{'[0-9a-f]' * 24}.so"), key=lambda path: path.stat().st_mtime)
        for old in libraries[:-MOST]:
            old.unlink()
            old.with_suffix(".lock").unlink(missing_ok=True)


def extra() -> list[str]:
    """Further options of the compiler: those that CXX has after its name, and those of tests with sanitizers."""
    named = os.environ.get("CXX", "").split()[1:]
    return [*(word for word in named if word.startswith("-")), *os.environ.get("SWMODEL_CXXFLAGS", "").split()]
