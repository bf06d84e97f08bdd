"""The executor `cuda`: the generated steps of `native` as kernels of NVIDIA GPUs.

kernels           the CUDA C++ of a step, from its Programs
library           its compilation by NVRTC, and the loading by the driver
calls             the foreign call from JAX, with the planes of the fields and the flags of land
executor          the executor of runs
launch.cc         the foreign call: launches on XLA's stream
device_functions.h, job.h     the words of the kernels, for one cell; the arguments of a kernel
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SetupError
from ...parallel import environment, foreign

#: The foreign call.
LIBRARY = Path(__file__).parent / "_launch.so"
#: Number of the calling convention that calls.py and launch.cc share.
ABI_VERSION = 3


def load_foreign_call() -> foreign.ForeignLibrary:
    """The foreign call (launch.cc) of this machine."""
    return foreign.load_library(LIBRARY)


def machine_unsupported_reason() -> str:
    """Why this machine cannot run kernels; empty where it can."""
    from . import library

    if not environment.has_gpu():
        return "JAX has no NVIDIA GPU here"
    if reason := foreign.unsupported_reason(LIBRARY, ABI_VERSION):
        return f"{reason}; build it: {foreign.BUILD_COMMANDS}"
    try:
        library.driver()
        library.nvrtc(library.architecture())
    except SetupError as error:
        return str(error)
    return ""
