"""The executor `native`: steps in C++ for CPUs, generated from the dynamics.

    symbol, graph     arrays without values, and the graph that records operations on them
    operations        the operations of a graph: values, C++ and derivatives
    trace, derive     the dynamics and the time steppers, run on such arrays; tangent and adjoint of a graph
    rewrite, schedule  fused multiply-adds, static parts, forms far from land; the order of computations
    body, emit, expressions   the C++ of an iteration of the loop, of the loop, and of one operation
    generate, step_library  the C++ of a step; its library, from a folder or from the machine's compiler
    generated_step, calls   the static fields of a step; the foreign calls from JAX, and the loop over steps
    executor          the executor itself
    step_table        a table of the generated step
    step.cc           the foreign calls, and the threads
    sweep.h           the pass over rows: halos, ring buffers, several steps at once
    vector.h, pass_arguments.h   vectors of numbers; the arguments of a pass
    drying_flags.h, ffi_arguments.h  flags of breaking and thin water; arguments and threads of a foreign call

Only calls, generated_step and executor need JAX.
"""

from __future__ import annotations

from pathlib import Path

from ...parallel import environment, ffi_libraries
from ...parallel.decomposition import block_of_rank
from ...setup.setup import Setup
from .step_library import StepRequest
from .trace import kinds_of

#: The library with the foreign calls.
LIBRARY = Path(__file__).parent / "_step.so"
#: Version of the calling convention of calls.py, as in pass_arguments.h; raise both when arrays or options change.
ABI_VERSION = 13


def request_of(setup: Setup) -> StepRequest:
    """The StepRequest of a Setup; it does not depend on the length of the time step."""
    config = setup.config
    if config.time.dt is None:
        setup = setup.with_config(config.model_copy(update={"time": config.time.model_copy(update={"dt": 1.0})}))
    cell = block_of_rank(0, setup.shape, *setup.shape)
    return StepRequest(setup.scheme, setup.method, kinds_of(*setup.static(cell)), config.run.dtype)


def load_foreign_calls() -> ffi_libraries.FfiLibrary:
    return ffi_libraries.load_library(LIBRARY)


def library_unsupported_reason() -> str:
    """Why the foreign calls cannot be used; an empty string if they can."""
    return ffi_libraries.unsupported_reason(LIBRARY, ABI_VERSION)


def machine_unsupported_reason() -> str:
    """Why this machine cannot run native steps; an empty string if it can."""
    if environment.has_gpu():
        return "JAX computes on a GPU on this machine"
    reason = library_unsupported_reason()
    return f"{reason}; build it: {ffi_libraries.BUILD_COMMANDS}" if reason else ""
