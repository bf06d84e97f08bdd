"""The kernels of a step, compiled for the GPU of this process and loaded by its driver.

NVRTC, which comes with JAX for CUDA, compiles them, so no CUDA toolkit is needed. The binaries are kept in the folder
of compiled steps (`native.step_library`), under digests of text, headers, options, architecture and NVRTC version.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import logging
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import SetupError, UsageError
from ..native.generate import MAX_CACHED_STEPS
from ..native.step_library import StepRequest, read_or_make
from .kernels import CELLS_PER_THREAD, CudaKernels, write_kernels

HERE = Path(__file__).parent
#: The headers that the kernels include.
HEADERS = ("device_functions.h", "kernel_arguments.h")
#: IEEE division and roots; products are fused only where the text says so; float32 denormals are flushed to zero. The
#: log names register spills.
NVRTC_OPTIONS = ("--std=c++17", "-fmad=false", "-ftz=true", "-prec-div=true", "-prec-sqrt=true", "--ptxas-options=-v")
#: The driver's numbers of CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and ..._MINOR.
MAJOR_VERSION_ATTRIBUTE, MINOR_VERSION_ATTRIBUTE = 75, 76

log = logging.getLogger(__name__)


class CudaPackage(NamedTuple):
    """What a plugin of JAX for CUDA needs, and the GPUs that it supports."""

    cuda_version: int  # the CUDA that the driver must support
    nvrtc: str  # file name of the library NVRTC
    oldest_architecture: int  # the oldest one that this NVRTC supports


#: {name of the plugin: its CudaPackage}.
CUDA_PACKAGES = {
    "jax_cuda13_plugin": CudaPackage(13, "libnvrtc.so.13", 75),
    "jax_cuda12_plugin": CudaPackage(12, "libnvrtc.so.12", 50),
}


class KernelVariant(NamedTuple):
    """How the kernels are written and compiled."""

    cells_per_thread: int  # adjacent cells of a column that a thread computes
    max_values: int | None  # largest number of values per cell in a kernel, see `split.split`
    options: tuple[str, ...] = ()  # in addition to NVRTC_OPTIONS


#: Variants in the order in which they are tried, until no register spills into memory.
KERNEL_VARIANTS = (
    KernelVariant(CELLS_PER_THREAD, None),
    KernelVariant(1, None),
    KernelVariant(1, 800),
    KernelVariant(1, 400),
    KernelVariant(1, 400, ("--ptxas-options=-O1",)),  # else a few numbers spill around divisions in double precision
)
#: Largest size of a text with one kernel per pass, characters times bytes per number: larger ones compile for minutes.
MAX_TEXT_SIZE = 1_000_000


class LoadedKernels(NamedTuple):
    """The kernels of a step, ready to be launched."""

    handle: int  # the CUlibrary of the driver
    kernels: CudaKernels


@lru_cache(maxsize=MAX_CACHED_STEPS)
def unsupported_reason(request: StepRequest) -> str:
    """Why the kernels of a step cannot be used, after an attempt to load them; an empty string if they can."""
    if request.scheme.drying:
        return "kernels do not support drying yet"
    try:
        load(request)
    except (SetupError, UsageError) as error:
        return str(error)
    return ""


@lru_cache(maxsize=MAX_CACHED_STEPS)
def load(request: StepRequest) -> LoadedKernels:
    """The kernels of a step, compiled at first use.

    SetupError: the GPU, NVRTC or the cache cannot be used, or loading fails. UsageError: tracing or compiling fails.
    """
    binary, kernels = compile_kernels(request, architecture())
    handle = ctypes.c_void_p()
    error = driver().cuLibraryLoadData(ctypes.byref(handle), binary, None, None, 0, None, None, 0)
    if error:
        raise SetupError(f"the CUDA driver cannot load the kernels of the step: {error_name(error)}")
    assert handle.value is not None  # The driver has set it.
    return LoadedKernels(handle.value, kernels)


@cache
def driver() -> ctypes.CDLL:
    """The CUDA driver, 12.0 or newer. SetupError: there is none."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        library.cuLibraryLoadData  # noqa: B018
    except (OSError, AttributeError) as error:
        raise SetupError(f"there is no CUDA driver of version 12 or newer: {error}") from None
    return library


def check_driver_version() -> None:
    """Raise SetupError if there is no driver, or one too old for the installed JAX, which would then use the CPU."""
    version = ctypes.c_int()
    if error := driver().cuDriverGetVersion(ctypes.byref(version)):
        raise SetupError(f"the CUDA driver does not report its version: {error_name(error)}")
    major, rest = divmod(version.value, 1000)
    needed = [needs.cuda_version for package, needs in CUDA_PACKAGES.items() if importlib.util.find_spec(package)]
    if needed and major < min(needed):
        raise SetupError(
            f"the driver supports CUDA {major}.{rest // 10}, but JAX is installed for CUDA {min(needed)}: update the "
            f'driver, or pip install "jax[cuda{major}]"'
        )


def error_name(error: int) -> str:
    """The driver's name of an error, such as "CUDA_ERROR_NO_DEVICE"."""
    name = ctypes.c_char_p()
    failed = driver().cuGetErrorName(error, ctypes.byref(name))
    return f"error {error}" if failed or name.value is None else name.value.decode()


@cache
def architecture() -> str:
    """The architecture of the first GPU of this process, such as "sm_90". SetupError: the driver finds none.

    The driver is asked, because JAX must not start in a process that only launches others.
    """
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    error = driver().cuInit(0) or driver().cuDeviceGet(ctypes.byref(device), 0)
    for attribute, number in (MAJOR_VERSION_ATTRIBUTE, major), (MINOR_VERSION_ATTRIBUTE, minor):
        error = error or driver().cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
    if error:
        raise SetupError(f"the CUDA driver finds no GPU: {error_name(error)}")
    return f"sm_{major.value}{minor.value}"


@cache
def gpu_memory_bytes() -> int:
    """The memory of the first GPU of this process, bytes. SetupError: the driver finds no GPU or does not report it."""
    architecture()
    size = ctypes.c_size_t()
    if error := driver().cuDeviceTotalMem_v2(ctypes.byref(size), 0):
        raise SetupError(f"the CUDA driver does not report the memory of the GPU: {error_name(error)}")
    return size.value


@cache
def nvrtc(architecture: str) -> ctypes.CDLL:
    """NVRTC, the compiler, for an architecture. SetupError: it is missing, or the GPU is too old for it."""
    number = int(architecture.removeprefix("sm_"))
    name_by_package = {
        package: needs.nvrtc for package, needs in CUDA_PACKAGES.items() if needs.oldest_architecture <= number
    }
    if not name_by_package:
        oldest = min(needs.oldest_architecture for needs in CUDA_PACKAGES.values())
        raise SetupError(
            f"the GPU is too old: its architecture is {architecture}, and kernels need sm_{oldest} or newer"
        )
    names = [
        name_by_package[package]
        for package in sorted(name_by_package, key=lambda package: importlib.util.find_spec(package) is None)
    ]
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
    paths = [str(path) for name in names for folder in folders for path in folder.glob(f"*/lib/{name}")]
    for path in [*paths, *names]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    extras = " or ".join(f'"jax[{package.split("_")[1]}]"' for package in name_by_package)
    raise SetupError(f"NVRTC, the compiler of kernels for {architecture}, is missing: pip install {extras}")


@cache
def nvrtc_version(architecture: str) -> tuple[int, int]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc(architecture).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def compile_kernels(request: StepRequest, architecture: str) -> tuple[bytes, CudaKernels]:
    """The binary and the CudaKernels of the first of KERNEL_VARIANTS without register spills, or of the last one."""
    headers = "".join((HERE / name).read_text() for name in HEADERS)
    for variant in KERNEL_VARIANTS:
        kernels = write_kernels(request.step_code, request.dtype, variant.cells_per_thread, variant.max_values)
        if variant.max_values is None and len(kernels.source) * np.dtype(request.dtype).itemsize > MAX_TEXT_SIZE:
            continue
        inputs = headers, kernels.source, NVRTC_OPTIONS, variant.options, architecture, nvrtc_version(architecture)
        name = hashlib.sha256(repr(inputs).encode()).hexdigest()

        def make(text=kernels.source, options=variant.options) -> bytes:
            log.info("compiling the kernels of this configuration for the GPU; this takes a few seconds, only once")
            binary, spills = compile_text(text, architecture, options)
            return spills.to_bytes(8, "little") + binary  # a stored file begins with the bytes of register spills

        stored = read_or_make(name[:24] + ".cubin", make)
        if not int.from_bytes(stored[:8], "little"):
            break
    return stored[8:], kernels


def compile_text(text: str, architecture: str, extra_options: tuple[str, ...] = ()) -> tuple[bytes, int]:
    """The binary of a text for an architecture, and the bytes of register spills.

    UsageError: NVRTC cannot compile the text. SetupError: NVRTC cannot begin, or does not return its results.
    """
    library, program = nvrtc(architecture), ctypes.c_void_p()
    strings = ctypes.c_char_p * len(HEADERS)
    texts, names = strings(*((HERE / name).read_bytes() for name in HEADERS)), strings(*map(str.encode, HEADERS))
    arguments = ctypes.byref(program), text.encode(), b"step.cu", len(HEADERS), texts, names
    if error := library.nvrtcCreateProgram(*arguments):
        raise SetupError(f"NVRTC cannot begin to compile the kernels of the step: error {error}")
    options = [option.encode() for option in (*NVRTC_OPTIONS, *extra_options, f"--gpu-architecture={architecture}")]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    compiler_log = program_output(library, program, "ProgramLog").decode(errors="replace")
    if failed:
        line = next((line for line in compiler_log.splitlines() if "error" in line), f"error {failed}")
        raise UsageError(f"NVRTC cannot compile the kernels of the step for {architecture}: {line}")
    return program_output(library, program, "CUBIN"), sum(
        map(int, re.findall(r"(\d+) bytes spill stores", compiler_log))
    )


def program_output(library: ctypes.CDLL, program, what: str) -> bytes:
    """The "ProgramLog" or the "CUBIN" of a program of NVRTC. SetupError: NVRTC does not return it."""
    size = ctypes.c_size_t()
    if error := getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)):
        raise SetupError(f"NVRTC does not return the size of its {what}: error {error}")
    content = ctypes.create_string_buffer(size.value)
    if error := getattr(library, f"nvrtcGet{what}")(program, content):
        raise SetupError(f"NVRTC does not return its {what}: error {error}")
    return content.raw
