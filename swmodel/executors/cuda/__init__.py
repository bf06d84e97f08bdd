"""The executor `cuda`: the generated steps of `native` as kernels for NVIDIA GPUs.

kernels           the CUDA C++ of a step, from its Programs
library           its compilation by NVRTC, and its loading by the driver
calls             the foreign call from JAX, with the planes of the fields and the flags of land
executor          the executor itself
launch.cc         the foreign call, which launches kernels on XLA's stream
device_functions.h, job.h     the functions that kernels call, for one cell; the arguments of a kernel
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SetupError
from ...parallel import environment, ffi_libraries

#: The foreign call.
LIBRARY = Path(__file__).parent / "_launch.so"
#: Number of the calling convention that calls.py and launch.cc share.
ABI_VERSION = 3


def load_foreign_call() -> ffi_libraries.FfiLibrary:
    return ffi_libraries.load_library(LIBRARY)


def machine_unsupported_reason() -> str:
    """Why this machine cannot run kernels; an empty string if it can."""
    from . import library

    if not environment.has_gpu():
        return "JAX finds no NVIDIA GPU on this machine"
    if reason := ffi_libraries.unsupported_reason(LIBRARY, ABI_VERSION):
        return f"{reason}; build it: {ffi_libraries.BUILD_COMMANDS}"
    try:
        library.check_driver_version()
        library.nvrtc(library.architecture())
    except SetupError as error:
        return str(error)
    return ""
