"""The executor `cuda`: the loop over steps with the kernels of the generated step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

from ...errors import SetupError
from ...ocean.grid import Grid
from ...parallel import ffi_libraries
from ...setup.setup import Setup
from ..native.executor import NativeExecutor
from ..native.generated_step import GeneratedStep
from . import ABI_VERSION, LIBRARY, load_foreign_call
from .calls import CudaCalls, is_own_neighbour

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport

#: Steps per foreign call if a block is its own neighbour; a call takes time in addition to that of its launches.
STEPS_PER_CALL = 10


def register() -> None:
    """Register the foreign call with JAX. ImportError: its library cannot be used. SetupError: JAX uses the CPU."""
    if reason := ffi_libraries.unsupported_reason(LIBRARY, ABI_VERSION):
        raise ImportError(
            f"the executor cuda cannot be used: {reason}; {ffi_libraries.BUILD_COMMANDS}, or choose the executor xla"
        )
    if jax.default_backend() != "gpu":
        raise SetupError(
            "the executor cuda cannot be used: JAX did not start on the GPU and computes on the CPU (its own warning "
            "says why); choose run.executor = native, or repair the installation"
        )
    capsule = jax.ffi.pycapsule(load_foreign_call().library.swmodel_cuda_step)
    jax.ffi.register_ffi_target("swmodel_cuda_step", capsule, platform="CUDA")


class CudaExecutor(NativeExecutor):
    """The step as kernels for NVIDIA GPUs, generated from the dynamics, for all steppers, but not with drying.

    ImportError, SetupError: see `register`.

    Args:
        steps_per_sweep: steps per foreign call; more than one only for a block that is its own neighbour.
    """

    name = "cuda"

    def __init__(self, setup: Setup, transport: Transport, grid: Grid, params: dict, steps_per_sweep=None):
        register()
        steps = steps_per_sweep or (STEPS_PER_CALL if is_own_neighbour(transport) else 1)
        generated_step = GeneratedStep(setup.scheme, setup.method, setup.scheme.static_halo, steps)
        self.set_step_and_loop(setup, transport, generated_step, CudaCalls)
