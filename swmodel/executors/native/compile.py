"""The library of a generated step: one from a folder, or a new one from the C++ compiler of the machine.

Libraries of the cases are built when swmodel is installed (`build`), others at first use, into a cache in the user's
folder. The name of a library follows from its text, the compiler's options and the processor. The compiler does not
matter, as the text fixes all rounding. One process compiles while others wait: it writes the library beside its place,
tries it, and moves it there. A library that another user could have written is never used.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ...errors import SetupError, UsageError
from ...ocean.timestep import Method
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
#: Most libraries in a cache.
MOST = 500
#: Seconds after which a compiler is stopped.
LONGEST = 300

log = logging.getLogger(__name__)


class Request(NamedTuple):
    """The properties that identify a step."""

    scheme: object
    method: Method
    kinds: tuple  # kinds of its static fields, `trace.kinds_of`
    dtype: str
    derivative: tuple[str, ...] = ()  # as controls: see `generate.generate`
    controls: tuple[str, ...] = ()
    moving: bool = True

    @property
    def made(self) -> Generated:
        """The step."""
        try:
            return generate(*self)
        except RecursionError:
            raise UsageError("a term has a longer chain of operations than the native step allows") from None

    def name(self, instructions: str) -> str:
        """The name of its library for these instructions: a digest of all inputs of the compilation."""
        headers = b"".join(file.read_bytes() for file in sorted(HERE.glob("*.h")))
        rest = (self.made.source, FLAGS, extra(), instructions, platform.machine())
        return hashlib.sha256(headers + repr(rest).encode()).hexdigest()[:24] + ".so"


@cache
def instructions() -> str:
    """The instructions of -march: "default" without -march; for `native`, with a digest of the processor."""
    march = os.environ.get("SWMODEL_INSTRUCTIONS", "native").strip() or "default"
    if march != "native":
        return march
    found = {line.split(":")[0].strip(): line for line in cpuinfo().splitlines()}
    keys = ("vendor_id", "cpu family", "model", "flags", "Features")
    processor = "".join(found.get(key, "") for key in keys) or platform.processor()
    return f"native {platform.machine()} {hashlib.sha256(processor.encode()).hexdigest()}"


@lru_cache(maxsize=KEPT)
def function(request: Request, name: str = "swmodel_call") -> int:
    """The address of a function of a step; compiles the step at first use."""
    try:
        library = ctypes.CDLL(str(library_of(request)))
    except OSError as error:
        raise SetupError(f"its compiled step cannot be loaded: {error}") from None
    _loaded.append(library)
    return ctypes.cast(library[name], ctypes.c_void_p).value


#: References to the libraries in use, which keep them loaded.
_loaded: list[ctypes.CDLL] = []


@lru_cache(maxsize=KEPT)
def unsupported_reason(request: Request) -> str:
    """Why a step cannot be compiled; empty where its library exists now."""
    try:
        function(request)
    except (SetupError, UsageError) as error:  # also where a term cannot be traced
        return str(error)
    return ""


def library_of(request: Request) -> Path:
    """The library of a step, compiled at first use."""
    name = request.name(instructions())
    if not runs(instructions()):
        raise SetupError(f"this processor does not have all instructions of {instructions()}: SWMODEL_INSTRUCTIONS")
    if (BUILT / name).exists():
        return BUILT / name
    try:
        target = cache_folder() / name
        if not usable(target):
            with locked(target):
                if not usable(target):
                    compile_into(target, request, instructions().split()[0])
        return target
    except (SetupError, OSError) as error:
        for general in PORTABLE.get(platform.machine(), ("default",)):
            if (BUILT / request.name(general)).exists() and runs(general):
                return BUILT / request.name(general)
        raise error if isinstance(error, SetupError) else SetupError(f"its step cannot be stored: {error}") from None


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """A context in which one process at a time makes a file of the cache."""
    with target.with_suffix(".lock").open("a") as lock:
        with suppress(OSError):  # without locks of files all processes compile at once
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cached(name: str, make: Callable[[], bytes]) -> bytes:
    """The content of a file of the cache; `make` returns it where the file is missing.

    SetupError: the cache cannot be used.
    """
    target = cache_folder() / name
    try:
        with suppress(FileNotFoundError):
            return checked(target).read_bytes()
        with locked(target):
            if not target.exists():
                content = make()
                with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
                    made = Path(folder, name)
                    made.write_bytes(content)
                    publish(made, target)
        return checked(target).read_bytes()
    except OSError as error:
        raise SetupError(f"its step cannot be stored: {error}") from None


def publish(made: Path, target: Path) -> None:
    """Give a new file its name in the cache; remove the oldest files of the folder beyond MOST."""
    made.chmod(0o500)
    with made.open("rb") as file:
        os.fsync(file.fileno())  # else a file of zeros could have its name after a power cut
    made.replace(target)
    with suppress(OSError):  # another process may remove some of them, too
        found = sorted(target.parent.glob(f"{'[0-9a-f]' * 24}{target.suffix}"), key=lambda path: path.stat().st_mtime)
        for old in found[:-MOST]:
            old.unlink()
            old.with_suffix(".lock").unlink(missing_ok=True)


def usable(library: Path) -> bool:
    """Whether a library exists, belongs to this user, and can be loaded."""
    try:
        ctypes.CDLL(str(checked(library)))
    except OSError:
        return False
    return True


#: Instructions of libraries in packages, by machine.
PORTABLE = {"x86_64": ("x86-64-v4", "x86-64-v3", "x86-64", "default")}
V3 = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
NEEDS = {"x86-64-v3": V3, "x86-64-v4": (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")}


def runs(general: str) -> bool:
    """Whether this processor has the instructions."""
    return set(NEEDS.get(general, ())) <= set(cpuinfo().split())


def cpuinfo() -> str:
    """Linux's description of the processors; elsewhere empty."""
    file = Path("/proc/cpuinfo")
    return file.read_text() if file.exists() else ""


def cache_folder() -> Path:
    """The folder of compiled steps, made if it is missing."""
    folder = os.environ.get("SWMODEL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "swmodel")
    try:
        folder = Path(folder).expanduser().resolve()  # no link on the way can be redirected after this
        for place in (*reversed(folder.parents), folder):
            place.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise SetupError(f"there is no folder for compiled steps: {error}") from None
    for place in folder.parents:
        found = place.stat()
        if found.st_uid not in (os.geteuid(), 0) or (found.st_mode & WRITABLE and not found.st_mode & stat.S_ISVTX):
            raise SetupError(f"{folder} is not used, as other users can write {place}: set SWMODEL_CACHE")
    return checked(folder)


#: Permission to write, for the group or for anybody.
WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def checked(path: Path) -> Path:
    """The path. SetupError: another user can write it."""
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & WRITABLE:
        raise SetupError(f"{path} is not used, as other users can write it: chmod go-w, or set SWMODEL_CACHE")
    return path


def compiler() -> list[str]:
    """The C++ compiler, with options from CXX."""
    for words in (os.environ.get("CXX", "").split(), ["c++"], ["g++"], ["clang++"]):
        if words and (found := shutil.which(words[0])):
            return [found, *words[1:]]
    raise SetupError("there is no C++ compiler for its step")


def compile_into(target: Path, request: Request, march: str) -> None:
    """Generate a step and compile it; remove the oldest libraries of the folder beyond MOST."""
    program, text = compiler(), request.made.source
    what = " of the ".join((*reversed(request.derivative), "native step"))
    log.info(f"compiling the {what} of this configuration: once, a few seconds")
    options = [*FLAGS, *([] if march == "default" else [f"-march={march}"]), *extra(), f"-I{HERE}"]
    options += ["-mprefer-vector-width=512"] if platform.machine() == "x86_64" else []
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        source, made = Path(folder, "step.cc"), Path(folder, "step.so")
        source.write_text(text)
        command = [*program, *options, "-o", str(made), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LONGEST)
        except subprocess.TimeoutExpired:
            raise SetupError(f"{program[0]} took more than {LONGEST} s for its step") from None
        if done.returncode == -signal.SIGINT:  # a terminal sends it to the compiler, too
            raise KeyboardInterrupt
        if done.returncode:
            line = next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
            raise SetupError(f"{program[0]} cannot compile its step: {line}")
        made.chmod(0o500)
        try:
            ctypes.CDLL(str(made))
        except OSError as error:
            raise SetupError(f"what {program[0]} made of its step cannot be loaded: {error}") from None
        publish(made, target)


def extra() -> list[str]:
    """Further options of the compiler: those of CXX, and those of tests with sanitizers."""
    named = os.environ.get("CXX", "").split()[1:]
    return [*(word for word in named if word.startswith("-")), *os.environ.get("SWMODEL_CXXFLAGS", "").split()]
