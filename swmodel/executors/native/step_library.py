"""The library of a generated step: an existing file, or a new one from the C++ compiler of the machine.

Libraries of the cases without drying are built when swmodel is installed (`model.build_steps`), others at first use, in
a cache folder of the user. The name of a library is a digest of its source and headers, the options of the compiler and
the instruction set; the compiler does not matter, because the source fixes all rounding. One process compiles while
others wait: it writes the library into a temporary folder, tries to load it, and moves it into the cache. A library in
the cache to which other users can write is never used.
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
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...errors import SetupError, UsageError
from ...ocean.timestep import Method
from .generate import MAX_CACHED_STEPS, StepCode, generate

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme

HERE = Path(__file__).parent
#: Libraries that were installed with the package.
PREBUILT_FOLDER = HERE / "built"
COMPILER_OPTIONS = (
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
#: Largest number of files of one kind (.so or .cubin) in the cache.
MAX_CACHED_FILES = 500
#: Seconds after which a compiler is stopped.
COMPILER_TIMEOUT_SECONDS = 300

log = logging.getLogger(__name__)


class StepRequest(NamedTuple):
    """The properties that identify a step."""

    scheme: Scheme
    method: Method
    kinds: tuple  # kinds of its static fields, `trace.kinds_of`
    dtype: str
    derivative: tuple[str, ...] = ()  # this and the next ones: see `generate.generate`
    controls: tuple[str, ...] = ()
    rotates_planes: bool = True

    @property
    def step_code(self) -> StepCode:
        """The generated step. UsageError: a term cannot be traced, or its chain of operations is too long."""
        try:
            return generate(*self)
        except RecursionError:
            raise UsageError("a term has a longer chain of operations than the native step allows") from None

    def library_name(self, march: str) -> str:
        """The file name of the library for a value of `instructions()`: a digest of all inputs of the compilation."""
        headers = b"".join(file.read_bytes() for file in sorted(HERE.glob("*.h")))
        inputs = (self.step_code.source, COMPILER_OPTIONS, extra_options(), march, platform.machine())
        return hashlib.sha256(headers + repr(inputs).encode()).hexdigest()[:24] + ".so"


@cache
def instructions() -> str:
    """The value of -march, or "default" for none; after "native" the machine and a digest of the processor follow."""
    march = os.environ.get("SWMODEL_INSTRUCTIONS", "native").strip() or "default"
    if march != "native":
        return march
    lines_by_key = {line.split(":")[0].strip(): line for line in cpuinfo().splitlines()}
    keys = ("vendor_id", "cpu family", "model", "flags", "Features")
    processor = "".join(lines_by_key.get(key, "") for key in keys) or platform.processor()
    return f"native {platform.machine()} {hashlib.sha256(processor.encode()).hexdigest()}"


@lru_cache(maxsize=MAX_CACHED_STEPS)
def function_address(request: StepRequest, name: str = "swmodel_run_phase") -> int:
    """The address of a function of a step; compiles the step at first use. SetupError: the step cannot be loaded."""
    try:
        library = ctypes.CDLL(str(library_of(request)))
    except OSError as error:
        raise SetupError(f"the compiled step cannot be loaded: {error}") from None
    _loaded_libraries.append(library)
    address = ctypes.cast(library[name], ctypes.c_void_p).value
    assert address is not None  # No function has the address 0.
    return address


#: References to the libraries in use, which keep them loaded.
_loaded_libraries: list[ctypes.CDLL] = []


@lru_cache(maxsize=MAX_CACHED_STEPS)
def unsupported_reason(request: StepRequest) -> str:
    """Why a step cannot be compiled or loaded, after an attempt to do so; an empty string if it can."""
    try:
        function_address(request)
    except (SetupError, UsageError) as error:  # UsageError: a term cannot be traced
        return str(error)
    return ""


def library_of(request: StepRequest) -> Path:
    """The library of a step, compiled at first use; if that fails, an installed one for a portable instruction set.

    SetupError: no library can be used.
    """
    name = request.library_name(instructions())
    if not has_instructions(instructions()):
        raise SetupError(f"this processor lacks instructions of {instructions()}; change SWMODEL_INSTRUCTIONS")
    if (PREBUILT_FOLDER / name).exists():
        return PREBUILT_FOLDER / name
    try:
        target = cache_folder() / name
        if not is_usable(target):
            with lock_file(target):
                if not is_usable(target):
                    compile_into(target, request, instructions().split()[0])
        return target
    except (SetupError, OSError) as error:
        for portable in PORTABLE_INSTRUCTIONS.get(platform.machine(), ("default",)):
            if (PREBUILT_FOLDER / request.library_name(portable)).exists() and has_instructions(portable):
                return PREBUILT_FOLDER / request.library_name(portable)
        raise error if isinstance(error, SetupError) else SetupError(f"the step cannot be stored: {error}") from None


@contextmanager
def lock_file(target: Path) -> Iterator[None]:
    """A context in which only one process at a time writes a file of the cache, if the file system has locks."""
    with target.with_suffix(".lock").open("a") as lock:
        with suppress(OSError):  # without file locks all processes compile at the same time
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_or_make(name: str, make: Callable[[], bytes]) -> bytes:
    """The content of a file of the cache, from `make` if the file is missing. SetupError: the cache cannot be used."""
    target = cache_folder() / name
    try:
        with suppress(FileNotFoundError):
            return require_private(target).read_bytes()
        with lock_file(target):
            if not target.exists():
                content = make()
                with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
                    new_file = Path(folder, name)
                    new_file.write_bytes(content)
                    publish(new_file, target)
        return require_private(target).read_bytes()
    except OSError as error:
        raise SetupError(f"the step cannot be stored: {error}") from None


def publish(new_file: Path, target: Path) -> None:
    """Move a new file to its place in the cache; remove the oldest files of its kind beyond MAX_CACHED_FILES."""
    new_file.chmod(0o500)
    with new_file.open("rb") as file:
        os.fsync(file.fileno())  # otherwise a power cut could leave a file of zeros under this name
    new_file.replace(target)
    with suppress(OSError):  # another process may remove some of the files, too
        files_by_age = sorted(
            target.parent.glob(f"{'[0-9a-f]' * 24}{target.suffix}"), key=lambda path: path.stat().st_mtime
        )
        for old_file in files_by_age[:-MAX_CACHED_FILES]:
            old_file.unlink()
            old_file.with_suffix(".lock").unlink(missing_ok=True)


def is_usable(library: Path) -> bool:
    """Whether a library exists and can be loaded. SetupError: other users can write to it."""
    try:
        ctypes.CDLL(str(require_private(library)))
    except OSError:
        return False
    return True


#: Instruction sets for which the libraries in packages are compiled, by machine.
PORTABLE_INSTRUCTIONS = {"x86_64": ("x86-64-v4", "x86-64-v3", "x86-64", "default")}
X86_64_V3_FLAGS = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
REQUIRED_CPU_FLAGS = {
    "x86-64-v3": X86_64_V3_FLAGS,
    "x86-64-v4": (*X86_64_V3_FLAGS, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


def has_instructions(march: str) -> bool:
    return set(REQUIRED_CPU_FLAGS.get(march, ())) <= set(cpuinfo().split())


def cpuinfo() -> str:
    """Linux's description of the processors; elsewhere empty."""
    file = Path("/proc/cpuinfo")
    return file.read_text() if file.exists() else ""


def cache_folder() -> Path:
    """The folder of compiled steps, created if it is missing. SetupError: it cannot be used."""
    folder = os.environ.get("SWMODEL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "swmodel")
    try:
        folder = Path(folder).expanduser().resolve()  # after this nobody can redirect a link on the way
        for parent in (*reversed(folder.parents), folder):
            parent.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise SetupError(f"the folder for compiled steps cannot be made: {error}") from None
    for parent in folder.parents:
        status = parent.stat()
        if status.st_uid not in (os.geteuid(), 0) or (
            status.st_mode & WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX
        ):
            raise SetupError(f"{folder} is not used, because other users can write to {parent}: set SWMODEL_CACHE")
    return require_private(folder)


#: Permission to write, for the group or for anybody.
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def require_private(path: Path) -> Path:
    """Return the path. SetupError: other users can write to it."""
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & WRITABLE_BY_OTHERS:
        raise SetupError(f"{path} is not used, because other users can write to it: chmod go-w, or set SWMODEL_CACHE")
    return path


def compiler() -> list[str]:
    """The C++ compiler, with options from CXX. SetupError: there is none."""
    for words in (os.environ.get("CXX", "").split(), ["c++"], ["g++"], ["clang++"]):
        if words and (path := shutil.which(words[0])):
            return [path, *words[1:]]
    raise SetupError("no C++ compiler was found for the native step: set CXX")


def compile_into(target: Path, request: StepRequest, march: str) -> None:
    """Generate a step, compile it, try to load the library, and publish it as `target`. SetupError: this fails."""
    program, text = compiler(), request.step_code.source
    step_name = " of the ".join((*reversed(request.derivative), "native step"))
    log.info(f"compiling the {step_name} of this configuration; this takes a few seconds, only once")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        source, library = Path(folder, "step.cc"), Path(folder, "step.so")
        source.write_text(text)
        command = [*program, *options_for(march), "-o", str(library), str(source)]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=COMPILER_TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise SetupError(f"{program[0]} took more than {COMPILER_TIMEOUT_SECONDS} s for the step") from None
        if result.returncode == -signal.SIGINT:  # a terminal sends SIGINT to the compiler, too
            raise KeyboardInterrupt
        if result.returncode:
            line = next(
                (line for line in result.stderr.splitlines() if "error" in line), f"exit code {result.returncode}"
            )
            raise SetupError(f"{program[0]} cannot compile the step: {line}")
        try:
            ctypes.CDLL(str(library))
        except OSError as error:
            raise SetupError(f"the library that {program[0]} made of the step cannot be loaded: {error}") from None
        publish(library, target)


def options_for(march: str) -> list[str]:
    """The compiler's options for an instruction set, the value of -march."""
    options = [*COMPILER_OPTIONS, *([] if march == "default" else [f"-march={march}"]), *extra_options(), f"-I{HERE}"]
    return [*options, *(["-mprefer-vector-width=512"] if platform.machine() == "x86_64" else [])]


def extra_options() -> list[str]:
    """Further options of the compiler: CXX from its first option on, and SWMODEL_CXXFLAGS, which tests set."""
    words = dropwhile(lambda word: not word.startswith("-"), os.environ.get("CXX", "").split())
    return [*words, *os.environ.get("SWMODEL_CXXFLAGS", "").split()]
