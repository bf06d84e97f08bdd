"""The executor `cuda`: the loop over steps of the generated step's kernels."""

from __future__ import annotations

import jax

from ...ocean.grid import Grid
from ...parallel import foreign
from ...setup.setup import Setup
from ..native.executor import Native
from ..native.kernel import Kernel
from . import CONVENTION, LIBRARY, built
from .calls import CudaCalls, is_alone

#: Steps in one call where a block is its own neighbour: a call costs as much as some launches.
STEPS = 10


def register() -> None:
    """Register the foreign call with JAX."""
    if reason := foreign.unsupported_reason(LIBRARY, CONVENTION):
        raise ImportError(f"the executor cuda cannot be used: {reason}; {foreign.REMEDY}, or choose the executor xla")
    capsule = jax.ffi.pycapsule(built().calls.swmodel_cuda_step)
    jax.ffi.register_ffi_target("swmodel_cuda_step", capsule, platform="CUDA")


def make_loop(kernel: Kernel, transport):
    """The function loop(carry, static, dt, n) -> carry n steps later, of one block; see `xla.make_loop`."""

    def loop(carry, static, dt, n, look=None, seen=()):
        return CudaCalls(kernel, static, dt, transport).advance(carry, n, look, seen)

    return loop


class Cuda(Native):
    """The step as kernels, generated from the dynamics: on NVIDIA GPUs, for every scheme and stepper without drying."""

    name = "cuda"

    def __init__(self, setup: Setup, transport, grid: Grid, params: dict, steps_per_sweep=None):
        register()
        steps = steps_per_sweep or (STEPS if is_alone(transport) else 1)
        self._begin(setup, transport, Kernel(setup.scheme, setup.method, setup.scheme.margin, steps), make_loop)
