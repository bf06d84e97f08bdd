"""The executor `cuda`: the loop over steps with the kernels of the generated step."""

from __future__ import annotations

import jax

from ...errors import SetupError
from ...ocean.grid import Grid
from ...parallel import ffi_libraries
from ...setup.setup import Setup
from ..native.executor import NativeExecutor
from ..native.kernel import StepKernel
from . import ABI_VERSION, LIBRARY, load_foreign_call
from .calls import CudaCalls, is_own_neighbour

#: Steps per call if a block is its own neighbour, because a call costs as much as several launches.
STEPS_PER_CALL = 10


def register() -> None:
    """Register the foreign call with JAX. SetupError: JAX computes on the processor."""
    if reason := ffi_libraries.unsupported_reason(LIBRARY, ABI_VERSION):
        raise ImportError(
            f"the executor cuda cannot be used: {reason}; {ffi_libraries.BUILD_COMMANDS}, or choose the executor xla"
        )
    if jax.default_backend() != "gpu":
        raise SetupError(
            "the executor cuda cannot be used: JAX did not start on the GPU and computes on the processor; its own "
            "warning says why; choose run.executor = native, or mend the installation"
        )
    capsule = jax.ffi.pycapsule(load_foreign_call().library.swmodel_cuda_step)
    jax.ffi.register_ffi_target("swmodel_cuda_step", capsule, platform="CUDA")


def make_loop(kernel: StepKernel, transport):
    """Make the function loop(carry, static, dt, n) -> carry n steps later, of one block; see `xla.make_loop`."""

    def loop(carry, static, dt, n, update=None, summary=()):
        return CudaCalls(kernel, static, dt, transport).advance(carry, n, update, summary)

    return loop


class CudaExecutor(NativeExecutor):
    """The step as kernels, generated from the dynamics: on NVIDIA GPUs, for every scheme and stepper without drying."""

    name = "cuda"

    def __init__(self, setup: Setup, transport, grid: Grid, params: dict, steps_per_sweep=None):
        register()
        steps = steps_per_sweep or (STEPS_PER_CALL if is_own_neighbour(transport) else 1)
        kernel = StepKernel(setup.scheme, setup.method, setup.scheme.static_halo, steps)
        self.set_kernel_and_loop(setup, transport, kernel, make_loop)
