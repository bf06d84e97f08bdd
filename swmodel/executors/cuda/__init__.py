"""The executor `cuda`: the generated steps of `native` as kernels for NVIDIA GPUs.

kernels           the CUDA C++ of a step, from its Programs
split             a pass as several kernels, where one would not fit into the registers
kernel_library    the compilation of the kernels by NVRTC, and their loading by the driver
calls             the foreign call from JAX; the planes of the fields, and the flags of land
executor          the executor itself
launch.cc         the foreign call, which launches kernels on XLA's stream
device_functions.h, kernel_arguments.h  the functions that kernels call, for one cell; the arguments of a kernel
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SetupError
from ...parallel import environment, ffi_libraries

#: The library with the foreign call.
LIBRARY = Path(__file__).parent / "_launch.so"
#: Version of the calling convention that calls.py, launch.cc and kernel_arguments.h share.
ABI_VERSION = 4


def load_foreign_call() -> ffi_libraries.FfiLibrary:
    return ffi_libraries.load_library(LIBRARY)


def machine_unsupported_reason() -> str:
    """Why this machine cannot run kernels; an empty string if it can."""
    from . import kernel_library

    if not environment.has_gpu():
        return "JAX finds no NVIDIA GPU on this machine"
    if reason := ffi_libraries.unsupported_reason(LIBRARY, ABI_VERSION):
        return f"{reason}; build it: {ffi_libraries.BUILD_COMMANDS}"
    try:
        kernel_library.check_driver_version()
        kernel_library.nvrtc(kernel_library.architecture())
    except SetupError as error:
        return str(error)
    return ""
